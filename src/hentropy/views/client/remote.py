"""`RemoteStudy`: ask, tell and decide in a study on a server, as one does in a `Study` of one's own.

    study = RemoteStudy("http://127.0.0.1:8470/?token=...", "lab")
    trial = study.ask()
    study.tell(trial, measure(**trial.params))
    print(study.decide())

The server computes; here nothing but the standard library is needed to reach it.
"""

import math
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hentropy.core.given import check_at_once
from hentropy.errors import HentropyError, InputError, NoSuchTrial, StudyError
from hentropy.studies.records import Comparison, Failed, ToldCost, Trial, Values, Verdict, earlier_rows
from hentropy.studies.records.numbers import checked_value
from hentropy.studies.study.tables import trials_table
from hentropy.views.client.connection import Again, Connection, NotThere

if TYPE_CHECKING:
    import pandas

WAIT = 20.0
"""Seconds that the server may keep a question before it says that there is no answer yet."""

PAGE = 5_000
"""Trials in an answer."""


class RemoteStudy:
    """The study called `name` on the server at `url`; the name is looked up once, on construction.

    `url` may be the link that the server prints, which holds the token; else `token` is that of the server or your own.
    Requests to a busy or unreachable server are repeated for
    `patience` seconds. No request takes effect twice: asking and attaching carry an idempotency key, which the server
    remembers for as long as it runs. Errors are those of `Study`, with the server's messages.
    """

    def __init__(self, url: str, name: str, token: str | None = None, *, patience: float = 60.0) -> None:
        self._connection = Connection(url, token, patience)
        self.name = name
        found = self._connection.call("GET", "/api/studies", {"name": name})["studies"]
        if not found:
            known = [each["name"] for each in self._connection.call("GET", "/api/studies")["studies"]]
            there = ", ".join(map(repr, known)) or "none"
            raise StudyError(f"there is no study {name!r} at {self._connection.url}; available: {there}")
        self.id = int(found[0]["id"])
        self._created_at = found[0]["created_at"]
        self._designs: dict[int, Mapping[str, Any]] = {}

    def ask(self, *, measures: str | Sequence[str] | None = None, timeout: float | None = None) -> Trial:
        """The next experiment to run; a `StudyError` if there is none after `timeout` seconds.

        With `measures`, for that assay, as in `Study.ask`.
        """
        return self.ask_many(1, measures=measures, timeout=timeout)[0]

    def ask_many(
        self, count: int, *, measures: str | Sequence[str] | None = None, timeout: float | None = None
    ) -> list[Trial]:
        """The next experiments to run in parallel."""
        check_at_once("count", count)
        until = math.inf if timeout is None else time.monotonic() + timeout
        assay = measures if measures is None or isinstance(measures, str) else list(measures)
        # as in `Study`, the rules are the caller's to heed
        question = {"count": int(count), "anyway": True, "measures": assay}
        said = self._call("POST", "/ask", body=question, key=_key(), again="always")
        job = f"/api/jobs/{said['job']['id']}"
        try:
            while not _ended(said) and time.monotonic() < until:
                said = self._about(self._connection.call("GET", job, {"wait": _wait(until)}, again="always"))
            if not _ended(said):
                said = self._about(self._connection.call("DELETE", job, again="always"))
        except NotThere:
            raise self._forgotten() from None
        except (KeyboardInterrupt, SystemExit):
            with suppress(HentropyError):
                self._connection.call("DELETE", job, again="never")
            raise
        if said["job"]["state"] != "done":
            after = f"there was no proposal after {timeout:g} s; it was cancelled" if timeout is not None else ""
            raise StudyError(said["job"]["error"] or after or "the proposal was cancelled on the server")
        return [self._trial(plain) for plain in said["trials"]]

    def tell(
        self,
        trial: Trial | int,
        value: Values | None = None,
        *,
        failed: str | None = None,
        note: str | None = None,
        replace_value: bool = False,
        cost: ToldCost = None,
    ) -> Trial:
        """Record the result of a trial: a number, (value, standard error), or failed="why"; and its cost.

        Several outcomes are told by name, as in `Study.tell`.
        """
        number = self._number(trial)
        if (value is None) == (failed is None):
            raise StudyError(f"tell trial {number} either a value or failed='why'")
        if failed is not None:
            return self._change(number, "fail", {"why": failed, "replace": replace_value, "cost": cost}, "always")
        told = {**_told(value), "note": note, "replace": replace_value, "cost": cost}
        return self._change(number, "tell", told, "always")  # the same twice is harmless

    def withdraw(self, trial: Trial | int, note: str = "") -> Trial:
        """Withdraw a trial that will not be run."""
        return self._change(self._number(trial), "withdraw", {"note": note}, "busy")

    def attach(self, params: Mapping[str, Any], value: Values | Failed) -> Trial:
        """Add an earlier experiment: its measurements, or `Failed("why")`."""
        return self.attach_many([(params, value)])[0]

    def attach_many(self, data: Iterable[tuple[Mapping[str, Any], Values | Failed]]) -> list[Trial]:
        """Add many earlier measurements, pairs (params, value): all of them, or none if one is invalid."""
        rows = []
        for params, value in earlier_rows(data):
            design = {str(name): _plain(name, given) for name, given in params.items()}
            rows.append({"params": design, **({"failed": value.reason} if isinstance(value, Failed) else _told(value))})
        if not rows:
            return []
        said = self._call("POST", "/attach", body={"rows": rows, "again": True}, key=_key(), again="always")
        return [self._trial(plain) for plain in said["trials"]]

    def decide(self, *, timeout: float | None = None) -> Verdict:
        """The current recommendation; its `raw` action stays on the server."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            said = self._call("POST", "/decide", {"wait": _wait(until)}, {}, again="always")
            if said["job"]["state"] in ("failed", "cancelled"):
                raise StudyError(said["job"]["error"] or "the decision was cancelled on the server")
            if said["verdict"] is not None:
                return _verdict(said["verdict"])
            if time.monotonic() >= until:
                raise StudyError(f"there was no decision after {timeout:g} s; the server still works on it")

    @property
    def records(self) -> tuple[Trial, ...]:
        """All trials in the order of their numbers."""
        found: list[Trial] = []
        while True:
            page = self._call("GET", "/trials", {"first": len(found), "most": PAGE})["trials"]
            found += [self._trial(plain) for plain in page]
            if len(page) < PAGE:
                return tuple(found)

    @property
    def trials(self) -> "pandas.DataFrame":
        """All trials as a pandas DataFrame."""
        study = self._call("GET", "")
        measured = {one["name"]: one["grades"] for one in study["outcomes"] if one["computed"] is None}
        return trials_table(self.records, [value["name"] for value in study["design"]], measured)

    @property
    def spent(self) -> float:
        """The total known cost of the trials that have ended."""
        return float(self._call("GET", "")["spent"])

    @property
    def stopped(self) -> str | None:
        """Why the study should stop now, by its rules; None while it should continue."""
        reason: str | None = self._call("GET", "")["stopped"]
        return reason

    @property
    def enough(self) -> str | None:
        """Why no further experiment should begin: as `stopped`, with running experiments counted as finished."""
        reason: str | None = self._call("GET", "")["enough"]
        return reason

    def __repr__(self) -> str:
        return f"RemoteStudy({self._connection.url!r}, {self.name!r})"

    def _change(self, number: int, verb: str, body: Mapping[str, Any], again: Again) -> Trial:
        return self._trial(self._call("POST", f"/trials/{number}/{verb}", body=body, again=again)["trial"])

    def _forgotten(self) -> StudyError:
        """What to say of a proposal that the server does not know any more; another error if the study is gone."""
        self._call("GET", "")
        return StudyError(
            "the server does not know this proposal any more: it was restarted meanwhile. The trial may have been"
            " asked anyway: see `records`, and ask again if none is pending there"
        )

    def _number(self, trial: Trial | int) -> int:
        """The number of a trial, which must be one of this study."""
        if not isinstance(trial, Trial):
            if not isinstance(trial, int) or isinstance(trial, bool) or trial < 0:
                raise NoSuchTrial(f"there is no trial {trial!r} in this study")
            return trial
        if trial.number not in self._designs:
            self._trial(self._call("GET", f"/trials/{trial.number}")["trial"])
        design = self._designs[trial.number]
        if trial.params != design:
            raise StudyError(
                f"trial {trial.number} of this study has the design {design}, not {trial.params};"
                " it seems to come from another study"
            )
        return trial.number

    def _trial(self, plain: Mapping[str, Any]) -> Trial:
        trial = Trial.of(plain)
        self._designs[trial.number] = trial.params
        return trial

    def _call(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        key: str | None = None,
        again: Again | None = None,
    ) -> dict[str, Any]:
        headers = {"Study-Created-At": self._created_at} | ({} if key is None else {"Idempotency-Key": key})
        whenever = again or ("always" if method == "GET" else "busy")
        said = self._connection.call(method, f"/api/studies/{self.id}{path}", query, body, headers, whenever)
        return self._about(said)

    def _about(self, said: dict[str, Any]) -> dict[str, Any]:
        """An answer, if it is about this study: another may have got its id."""
        if (said["id"], said["created_at"]) != (self.id, self._created_at):
            raise StudyError(
                f"the study {self.name!r} at {self._connection.url} was deleted, and another one took its place"
            )
        return said


def _wait(until: float) -> float:
    return max(0.0, min(WAIT, until - time.monotonic()))


def _key() -> str:
    """A text that nobody else makes up."""
    return secrets.token_hex(16)


def _told(values: Any) -> dict[str, Any]:
    """What was measured, as the server takes it: a value, or measurements by outcome, whose names it knows."""
    if not isinstance(values, Mapping):
        return _told_value(values)
    return {
        "measurements": {
            str(name): None if one is None else _told_value(one, f" for {name}") for name, one in values.items()
        }
    }


def _told_value(told: Any, of: str = "") -> dict[str, Any]:
    """A value and its standard error; a word is left to the server, which knows them."""
    value, error = (told, None) if isinstance(told, str | bool) else checked_value(told, of)
    return {"value": value, "std_error": error}


def _ended(said: Mapping[str, Any]) -> bool:
    return said["job"]["state"] in ("done", "failed", "cancelled")


def _plain(name: str, value: Any) -> bool | float | str | None:
    """A value of a design as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | str):
        return value
    try:
        number = value.__index__() if isinstance(value, int) else float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; it must be a number or an option") from None
    if isinstance(value, bytes) or not math.isfinite(number):
        raise InputError(f"{name} is {value!r}; it must be a finite number")
    return number


def _verdict(plain: Mapping[str, Any]) -> Verdict:
    loss, error = (math.inf if plain[name] is None else plain[name] for name in ("expected_loss", "std_error"))
    known = plain["decision"], plain["observations"]
    said = {name: plain[name] for name in ("headline", "worth", "failed")}
    compared = Comparison.of(plain.get("comparison"))
    return Verdict(plain["action"], loss, error, *known, raw=None, comparison=compared, **said)
