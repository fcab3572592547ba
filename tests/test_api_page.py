"""docs/api.md: its blocks are sent to a real server, and its table has every request with the options that it names."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hentropy.views.server.app import make_app
from hentropy.views.server.settings import Settings
from support.serving import TOKEN, Served, served
from support.studies import hill
from support.waiting import PATIENCE

PAGE = (Path(__file__).parents[1] / "docs" / "api.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8470"
DESCRIBED: dict[str, Any] = make_app(Settings("sqlite:///not-opened.db")).openapi()
VERBS = ("get", "post", "delete")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(Settings(f"sqlite:///{tmp_path / 'hentropy.db'}", token=TOKEN)) as it:
        it.http.headers["Authorization"] = f"Bearer {TOKEN}"
        yield it


def block(language: str) -> str:
    """The only block of a language."""
    [text] = [text for found, text in BLOCKS if found == language]
    return text


def sent(server: Served, command: str, folder: Path) -> httpx.Response:
    """What the server answers to a line for curl: it posts where there is a body."""
    words = iter(shlex.split(command.replace("$TOKEN", TOKEN)))
    assert next(words) == "curl"
    headers, body, address = {}, b"", ""
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(words).encode()
        elif word == "--data-binary":
            body = (folder / next(words).removeprefix("@")).read_bytes()
        elif word != "-s":
            address = word
    assert address.startswith(ADDRESS), command
    with httpx.Client(timeout=PATIENCE, trust_env=False) as http:
        return http.post(server.url + address.removeprefix(ADDRESS), headers=headers, content=body)


def within(shown: Any, answer: Any) -> bool:
    """Whether an answer has all that is shown of it; ids of jobs are made at random."""
    if isinstance(shown, dict):
        return all(name in answer and within(value, answer[name]) for name, value in shown.items())
    if isinstance(shown, list):
        return len(shown) == len(answer) and all(map(within, shown, answer))
    return bool(shown == answer) or (
        isinstance(shown, str) and re.fullmatch("[0-9a-f]{8}|[0-9a-f]{16}", shown) is not None
    )


def test_the_loop_runs(server: Served) -> None:
    server.create(stop={"trials": 4})
    code = block("python").replace(ADDRESS, server.url).replace("?token=...", f"?token={TOKEN}")
    assert server.url in code
    names: dict[str, Any] = {"measure": hill}
    exec(code, names)
    assert names["study"].stopped == "the budget of 4 trials is used up"


def test_the_client_of_the_page_on_pages_runs(server: Served) -> None:
    server.create(name="bread")
    text = (Path(__file__).parents[1] / "docs" / "page.md").read_text()
    [code] = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code.replace(f"{ADDRESS}/?token=...", f"{server.url}/?token={TOKEN}"), names)
    assert [trial.value for trial in names["study"].records] == [9.2]


def test_the_requests_are_answered_as_shown(server: Served, tmp_path: Path) -> None:
    assert server.create(first=3) == 1
    (tmp_path / "old.csv").write_text("Temperature,value\n0.5,1\n2,0.25\n")
    commands = re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", block("console"), re.MULTILINE)
    assert len(commands) == 3
    for command, shown in commands:
        answer = sent(server, command, tmp_path)
        assert answer.is_success, answer.text
        if shown:
            assert within(json.loads(shown.replace(", ...", "")), answer.json()), answer.text
    trials = server.http.get("/api/studies/1/trials").json()["trials"]
    assert [trial["measurements"].get("value", {}).get("value") for trial in trials] == [1.25, None, 1.0, 0.25]


def test_the_error_is_the_one_shown(server: Served) -> None:
    server.create()
    server.http.post("/api/studies/1/attach", json={"rows": [{"params": {"x": 1}, "value": 1.25}]})
    answer = server.http.post("/api/studies/1/trials/0/tell", json={"value": 2.0})
    assert answer.status_code == 409
    shown = json.loads(block("json"))
    assert within(shown, answer.json())
    assert set(shown["error"]) == set(answer.json()["error"])


def requests() -> list[tuple[str, str, str]]:
    """Method, path and row of each request in the table."""
    found = []
    for row in re.findall(r"^\| \w+ \| (`(?:GET|POST|DELETE) .*)$", PAGE, re.MULTILINE):
        cell, rest = row.split(" | ", 1)
        method, path = "", ""
        for text in re.findall(r"`([^`?]+)[^`]*`", cell):  # the second of a row is named by its end
            name, _, address = text.rpartition(" ")
            method = name.lower() or method
            path = address if address.startswith("/") else f"{path.rpartition('/')[0]}/{address.removeprefix('.../')}"
            found.append((method, path, f"{cell} {rest}"))
    return found


def test_the_table_has_every_request() -> None:
    described = {(verb, path) for path, verbs in DESCRIBED["paths"].items() for verb in VERBS if verb in verbs}
    assert {(method, path) for method, path, _ in requests()} == described


def properties(schema: dict[str, Any]) -> set[str]:
    """The names that an object may have, in any of its forms."""
    if "$ref" in schema:
        schema = DESCRIBED["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    forms = [form for key in ("anyOf", "oneOf", "allOf") for form in schema.get(key, ())]
    return set(schema.get("properties", ())).union(*map(properties, forms))


@pytest.mark.parametrize(("method", "path", "row"), requests(), ids=lambda text: text[:60])
def test_a_request_takes_the_options_and_the_body_of_its_row(method: str, path: str, row: str) -> None:
    operation = DESCRIBED["paths"][path][method]
    queries = {option["name"] for option in operation.get("parameters", ()) if option["in"] == "query"}
    named = {name for query in re.findall(r"\?([\w=&]+)", row) for name in re.findall(r"(?:^|&)(\w+)=", query)}
    assert named <= queries
    for text in re.findall(r"`(\{\"[^`]*\})`", row):
        content = operation["requestBody"]["content"]["application/json"]["schema"]
        assert set(json.loads(text.replace("...", "x"))) <= properties(content), text
