"""A connection to a server: questions and answers in JSON over HTTP, by the standard library alone."""

import json
import time
from collections.abc import Mapping
from http.client import HTTPException
from typing import IO, Any, Literal
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from hentropy.errors import Advice, DocPage, HentropyError, InputError, StorageError, StudyError

SECONDS = 60.0
"""The most seconds without a byte from the server."""

PAUSE = 1.0
"""Seconds before a busy server is asked again, if it does not say how long."""

Again = Literal["never", "busy", "always"]
"""When a question is asked again: never, of a server that was too busy to do anything, or also of one that cannot be
reached or whose answer was lost. The last is for what may be done twice without harm."""


class NotThere(StudyError):  # noqa: N818 (it reads better where it is caught)
    """What a question is about is not, or no longer, on the server."""


KINDS: dict[str, type[HentropyError]] = {"input": InputError, "study": StudyError, "gone": NotThere}
"""What the problems of a server are here; all others are those of a store that cannot be used."""


class _NoRedirects(HTTPRedirectHandler):
    """A server of ours redirects no program; who did might be after the token."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Connection:
    """Questions to the server at `url`; one that is busy or away is asked again for `patience` seconds.

    The address may be the link that the server prints, which holds the token.
    """

    def __init__(self, url: str, token: str | None, patience: float) -> None:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        linked = query.pop("token", None)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or query or parts.fragment:
            shown = url.partition("?")[0]
            raise InputError(f"the address of a server looks like http://127.0.0.1:8470, not {shown!r}")
        self.url = parts._replace(query="").geturl().rstrip("/")
        self._token = linked if token is None else token
        self._patience = patience
        self._opener = build_opener(_NoRedirects)

    def call(
        self,
        method: Literal["GET", "POST", "DELETE"],
        path: str,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        again: Again = "busy",
    ) -> dict[str, Any]:
        """The answer to a question, or the error that it is."""
        until = time.monotonic() + self._patience
        while True:
            try:
                return self._once(self._request(method, path, query, body, headers or {}))
            except HTTPError as error:
                with error:
                    problem, did_nothing = self._problem(error)
                    pause = _pause(error)
                helps = again == "always" or (again == "busy" and did_nothing)
                if pause is None or not helps or time.monotonic() + pause > until:
                    raise problem from None
            except (URLError, HTTPException, OSError) as error:
                why, pause = error.reason if isinstance(error, URLError) else error, PAUSE
                if again != "always" or time.monotonic() + pause > until:
                    raise StorageError(f"the server at {self.url} is unreachable: {why}") from None
            time.sleep(pause)

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: Mapping[str, Any] | None,
        more: Mapping[str, str],
    ) -> Request:
        asked = f"?{urlencode(query)}" if query else ""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"Accept": "application/json", **more}
        if method == "POST":
            headers["Content-Type"] = "application/json"
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        return Request(f"{self.url}{path}{asked}", data, headers, method=method)

    def _once(self, request: Request) -> dict[str, Any]:
        with self._opener.open(request, timeout=SECONDS) as answer:
            return self._read(answer)

    def _read(self, answer: IO[bytes]) -> dict[str, Any]:
        said = _plain(answer)
        if said is None:
            raise StorageError(f"what answers at {self.url} is not a hentropy server")
        return said

    def _problem(self, error: HTTPError) -> tuple[HentropyError, bool]:
        """What an answer says went wrong, and whether the server says that it did nothing."""
        said = _plain(error)
        told = None if said is None else said.get("error")
        if said is None and error.code in (429, 503):
            # too many connections: so says what stands before the server, which did not see the request
            return StorageError(f"the server at {self.url} is busy: status {error.code}"), True
        if not isinstance(told, dict) or not isinstance(told.get("sentence"), str):
            return StorageError(f"what answers at {self.url} is not a hentropy server: status {error.code}"), False
        sentence = told["sentence"]
        if told.get("kind") == "internal":
            sentence = f"{sentence} ({told.get('id')})"
        kind, named = KINDS.get(str(told.get("kind")), StorageError), str(told.get("advice")).upper()
        advised = isinstance(told.get("what"), str) and named in Advice.__members__
        # what to do next is said in the words of Python here, not in those of a page
        problem = kind(told["what"], Advice[named]) if advised else kind(sentence)
        problem.lead_to(_page(told.get("docs")))
        return problem, told.get("kind") == "busy"


def _page(told: Any) -> DocPage | None:
    """The page of the documentation that an answer names, if it is one that is known here."""
    name = told.get("name") if isinstance(told, dict) else None
    return next((page for page in DocPage if page.label == name), None)


def _plain(answer: IO[bytes]) -> dict[str, Any] | None:
    """The object that an answer holds, if it is one in JSON."""
    try:
        said = json.loads(answer.read() or b"{}")
    except ValueError:
        return None
    return said if isinstance(said, dict) else None


def _pause(error: HTTPError) -> float | None:
    """Seconds to wait before asking again, or None if that does not help."""
    if error.code not in (429, 503):
        return None
    given = error.headers.get("Retry-After", "")
    return float(given) if given.isdecimal() else PAUSE
