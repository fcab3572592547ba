"""Visitors of a server: browsers that log in, the fields and forms of its pages, and all its routes."""

import re
from collections.abc import Iterable
from html.parser import HTMLParser
from typing import Any

import httpx
from fastapi.routing import APIRoute

from hentropy.views.server import events, health, login
from hentropy.views.server.pages import posting, reading
from support.serving import TOKEN, Served
from support.waiting import PATIENCE

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def browser(server: Served) -> httpx.Client:
    """A client that keeps its cookies for itself, says where its forms come from, and follows no redirects."""
    own = {"Origin": server.url}
    # there are no certificates to verify, and to read all that are trusted takes longer than most visits
    return httpx.Client(base_url=server.url, headers=own, timeout=PATIENCE, trust_env=False, verify=False)


def begun_in(html: str) -> str:
    """When the study of a page was begun, which its forms say."""
    found = re.search(r'name="begun" value="([^"]+)"', html)
    assert found is not None
    return found[1]


def sent(visit: httpx.Client, shown: str, action: str, files: Any = None, **fields: str) -> httpx.Response:
    """Send a form of a page."""
    return visit.post(action, data={"begun": begun_in(visit.get(shown).text), **fields}, files=files)


class _Inputs(HTMLParser):
    """The values of the fields of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "input" and given.get("name"):
            self.values[str(given["name"])] = given.get("value") or ""


def fields(page: httpx.Response) -> dict[str, str]:
    parser = _Inputs()
    parser.feed(page.text)
    return parser.values


class _Entries(HTMLParser):
    """What a browser would send of a page's forms, and the visible fields that no label names."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: dict[str, str] = {}
        self.named: set[str] = set()
        self.visible: list[str] = []
        self._within: list[str] = []
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "label":
            self.named.add(given.get("for", ""))
            self._within.append("label")
        if tag in ("input", "textarea", "select") and given.get("type") != "hidden":
            self.visible.append(given.get("id", ""))
            if "label" in self._within:
                self.named.add(given.get("id", ""))
        name, value = given.get("name", ""), given.get("value", "")
        if tag == "input" and (given.get("type") not in ("radio", "checkbox") or "checked" in given):
            self.sent[name] = value
        if tag in ("textarea", "select"):
            self.sent[name], self._text = "", name
        if tag == "option" and "selected" in given and self._text:
            self.sent[self._text] = value

    def handle_data(self, data: str) -> None:
        if self._text and self.lasttag == "textarea":
            self.sent[self._text] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "label":
            self._within.pop()
        if tag in ("textarea", "select"):
            self.sent[self._text] = self.sent[self._text].removeprefix("\n")
            self._text = ""


def entries(html: str) -> dict[str, str]:
    """What a browser would send of the forms of a page, buttons aside."""
    parser = _Entries()
    parser.feed(html)
    return parser.sent


def unlabelled(html: str) -> list[str]:
    """The ids of visible fields that no label names."""
    parser = _Entries()
    parser.feed(html)
    return [one for one in parser.visible if one not in parser.named]


def log_in(client: httpx.Client, token: str = TOKEN, after: str = "/") -> httpx.Response:
    form = fields(client.get("/login", params={"next": after}))
    return client.post("/login", data={**form, "token": token})


PAGES = (login, health, events, posting, reading)
"""The modules with routes of pages."""


def paths(path: str, methods: Iterable[str]) -> list[tuple[str, str]]:
    """The methods of a route, each with its path; what varies in it is 0."""
    plain = re.sub(r"{[^}]*}", "0", path)
    return [(method.upper(), plain) for method in methods]


def of_the_api(server: Served) -> list[tuple[str, str]]:
    """All routes for programs."""
    described = server.app.openapi()["paths"]
    return [route for path, methods in described.items() for route in paths(path, methods)]


def of_the_pages() -> list[tuple[str, str]]:
    """All routes for people."""
    found = [route for module in PAGES for route in module.router.routes if isinstance(route, APIRoute)]
    return [each for route in found for each in paths(route.path, route.methods or ())]
