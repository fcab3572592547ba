"""Looking at a study in bounded time: the verdict, what it was before, and the pictures, one by one."""

import hashlib
import logging
import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hentropy.errors import HentropyError
from hentropy.studies import storage
from hentropy.studies.records import StoredVerdict, Verdict, in_state
from hentropy.studies.study import State, Study
from hentropy.views.plots.pictures import PICTURES, as_plain, information, pictured
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.with_plotly import specification
from hentropy.views.server.work import ON_PAGES
from hentropy.views.text.formats import counted, json_text
from hentropy.views.text.trials import verdict_json

SHORTEST = 0.001
"""Seconds; a timer of 0 would never ring."""

STORAGE = f"{storage.__name__}."


class TooLong(KeyboardInterrupt):
    """A computation has had all its time: an interrupt, and no error that others catch by accident."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """`TooLong` once this process has computed for so many seconds; waiting does not count.

    What the store does is not cut off: it could leave a transaction open, or a verdict unrecorded.
    """

    def ring(_: int, frame: FrameType | None) -> None:
        if not _in_store(frame):
            raise TooLong
        signal.setitimer(signal.ITIMER_PROF, SHORTEST)  # look again

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, max(SHORTEST, seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _in_store(frame: FrameType | None) -> bool:
    """Whether a function of the store is at work in a frame or below it."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(STORAGE):
            return True
        frame = frame.f_back
    return False


log = logging.getLogger("hentropy.views.server")

NOTHING_TOLD = "No results yet: run an experiment and enter its value."

Answer = Callable[[Mapping[str, Any]], None]


def look(study: Study, known: str | None, seconds: float, answer: Answer) -> None:
    """Say the parts of a look, unless it is `known`: a mark of the trials and the definition.

    The verdict may take so many `seconds` of processor time, else `TooLong`; the pictures together as many again, and
    those that are left are said to be too much.
    """
    complete, revision = in_state(study.records, State.COMPLETE), study.log.revision
    mark = mark_of(study)
    if mark == known:
        return
    seen = {"mark": mark, "revision": revision}
    if not complete:
        nothing = {"verdict": None, "earlier": None, "observations": 0, "troubles": {"verdict": NOTHING_TOLD}}
        answer({"part": "verdict", "seen": seen | nothing})
        answer({"part": "end", "order": []})
        return
    answer({"phase": f"fitting the model to {counted(len(complete), 'value')}"})
    until = time.process_time() + seconds
    with at_most(seconds):  # nothing is said under a deadline: it could end in the middle of a word
        study.belief  # noqa: B018 (it is fitted and kept)
    answer({"phase": "deciding"})
    before = study.store.verdicts(study.log.record)
    with at_most(until - time.process_time()):
        verdict = study.decide(worth=False)
    earlier = last_other(before, verdict)
    said = seen | {
        "verdict": verdict_json(verdict),
        "earlier": None if earlier is None else verdict_json(earlier),
        "observations": verdict.observations,
    }
    if study.stopped:  # the last word on it
        said["verdict"] = verdict_json(valued_in_time(study, verdict, until, answer))
    answer({"part": "verdict", "seen": said})
    scene = scene_of(study, verdict)
    until = time.process_time() + seconds
    if not study.stopped and all(trial.state is not State.RUNNING for trial in study.records):
        # pictures need the same search, and have it from here; half of the time is for those that do not
        valued = valued_in_time(study, verdict, until - seconds / 2, answer)
        if valued.worth != verdict.worth:
            answer({"part": "verdict", "seen": said | {"verdict": verdict_json(valued)}})
    for place, name in enumerate(PICTURES, start=1):
        answer({"phase": f"computing pictures, {place} of {len(PICTURES)}"})
        answer({"part": name, **drawn_in_time(scene, name, until)})
    answer({"part": "end", "order": list(PICTURES)})


def valued_in_time(study: Study, verdict: Verdict, until: float, answer: Answer) -> Verdict:
    """With what another experiment is worth, if that is found before the process has computed until then."""
    left = until - time.process_time()
    if verdict.worth or left <= 0:
        return verdict
    answer({"phase": "valuing another experiment"})
    try:
        with at_most(left):
            return study.with_worth(verdict)
    except TooLong:
        return verdict


def mark_of(study: Study) -> str:
    """A text that changes with what a look shows: trials, but not who works on them, and the definition."""
    trials = [
        (trial.number, dict(trial.params), trial.state.value, trial.plain()["measurements"]) for trial in study.records
    ]
    whole = json_text([trials, dict(study.log.record.definition)])
    return hashlib.sha256(whole.encode()).hexdigest()


def last_other(stored: Sequence[StoredVerdict], now: Verdict) -> Verdict | None:
    """The last verdict that stood on other data than the one now: fewer, or since corrected."""

    def same(verdict: Verdict) -> bool:
        close = math.isclose(verdict.expected_loss, now.expected_loss, rel_tol=1e-6, abs_tol=1e-12)
        return verdict.observations == now.observations and close

    return next((one.verdict for one in reversed(stored) if not same(one.verdict)), None)


def drawn_in_time(scene: Scene, name: str, until: float) -> dict[str, Any]:
    """A picture, if it is made before the process has computed until then."""
    left = until - time.process_time()
    try:
        if left > 0:
            with at_most(left):
                return _drawn(scene, name)
    except TooLong:
        pass
    return {"trouble": "This picture takes too long to compute here; run `hentropy plot` in a terminal."}


def _drawn(scene: Scene, name: str) -> dict[str, Any]:
    """A picture, or why there is none."""
    try:
        info = information(scene, name)
        made = pictured(scene, name, info)
        drawn = {
            "information": as_plain(info),
            "specification": specification(made),
            "title": made.title,
            "caption": made.caption,
            "observations": len(scene.in_state(State.COMPLETE)),
        }
    except HentropyError as error:
        return {"trouble": error.worded(ON_PAGES)}
    except Exception:
        log.exception("the picture %r of the study %r", name, scene.study.name)
        return {"trouble": "This picture could not be computed; see the server's log."}
    return {"picture": drawn}
