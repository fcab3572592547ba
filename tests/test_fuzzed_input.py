"""Forms, CSV files and study files with whatever may be in them: an answer each time, never an error of the server.

Requests to the API are made from its description, in test_schemathesis.py.
"""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hentropy.studies.definition.reading import read_toml
from hentropy.views.server.new_study import described
from hentropy.views.server.settings import ServerLimits, Settings
from support.commands import hentropy
from support.serving import Served, served
from support.visiting import begun_in, browser, entries

FAST = ServerLimits(per_second=1e6, burst=10**6)

WHOLE: dict[str, Any] = {
    "space": {
        "x": {"type": "real", "low": -1.0, "high": 3.0, "unit": "bar"},
        "n": {"type": "integer", "low": 1, "high": 5},
        "solvent": {"type": "choice", "options": ["water", "acetone"]},
    },
    "outcomes": {"yield": {"unit": "%", "low": 0, "high": 100}, "taste": {"kind": "grades", "grades": ["bad", "good"]}},
    "decision": {"name": "maximize", "outcome": "yield"},
    "cost": {"of": "told", "unit": "h"},
}
"""A study whose forms have fields of all kinds."""

AWKWARD = [
    *(
        "",
        " ",
        "0",
        "-0",
        "1e400",
        "-1e-400",
        "nan",
        "inf",
        "1_0",
        "9,72",
        "٣",
        "²",
        "1e5",
        "0x10",
        "999999999999999999999",
    ),
    *(
        "None",
        "true",
        "\x00",
        "a\x00b",
        "\u202e",
        "\ud83e\uddea",
        "\n",
        "a\r\nb",
        "=1+1",
        "<script>",
        "'\";--",
        "%s",
        "{{7*7}}",
    ),
    *(
        "../../etc/passwd",
        "yield",
        "water",
        "x" * 3_000,
        "1" * 5_000,
        ";",
        ",",
        "x,x",
        "a=b",
        "=",
        "==",
        "[",
        "e\u0301",
    ),
]
TEXT = st.sampled_from(AWKWARD) | st.text(max_size=20)


def fuzzed(examples: int) -> Any:
    """The same examples each time, few enough for every run of the tests."""
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("fuzzed")
    with served(Settings(f"sqlite:///{folder / 'lab.db'}", limits=FAST)) as running:
        study = running.create(**WHOLE)
        text = "x,n,solvent,yield,taste\n0,1,water,10,bad\n1,2,acetone,20,good\n"
        running.services.study_service.attach_csv(study, text)
        yield running


@pytest.fixture(scope="module")
def visit(server: Served) -> Iterator[httpx.Client]:
    with browser(server) as client:
        yield client


def check(answer: httpx.Response) -> None:
    """An answer for a person: done, or what to change."""
    assert answer.status_code in (200, 303, 400, 404, 409, 413, 422), (answer.status_code, answer.text[:500])
    assert "Traceback" not in answer.text
    if answer.status_code not in (200, 303):
        assert answer.headers["content-type"].startswith("text/html")
        assert "<h1" in answer.text


@st.composite
def changed(draw: st.DrawFn, offered: dict[str, str]) -> list[tuple[str, str]]:
    """What somebody sends of a form: some fields changed, left out, sent twice, or made up."""
    sent = []
    for name, value in offered.items():
        how = draw(st.integers(0, 9))
        if how < 7:
            sent.append((name, value))
        elif how < 9:
            sent.append((name, draw(TEXT)))
        if how == 8:
            sent.append((name, draw(TEXT)))
    return sent + draw(st.lists(st.tuples(TEXT, TEXT), max_size=2))


def post(visit: httpx.Client, path: str, sent: list[tuple[str, str]]) -> httpx.Response:
    fields: dict[str, list[str]] = {}
    for name, value in sent:
        encoded = value.encode("utf-8", "replace").decode()
        fields.setdefault(name.encode("utf-8", "replace").decode(), []).append(encoded)
    return visit.post(path, data=fields)


FORMS = [
    ("/new", "/new", {"what": ["make", "check", "goal", "add:parameters", "remove:parameters:0", "add:", "x"]}),
    (
        "/studies/1/trials/0",
        "/studies/1/trials/0",
        {"what": ["tell", "fail", "withdraw", "correct", "correct_failed", "x"]},
    ),
    ("/studies/1", "/studies/1/own", {"what": ["tell", "fail", "x"], "again": ["yes", ""]}),
    ("/studies/1", "/studies/1/ask", {"count": ["0", "51", "-1"], "anyway": ["x"], "measures": ["yield", "none"]}),
    ("/", "/login", {"token": ["x"], "next": ["//x", "/"]}),
]


@pytest.mark.parametrize(("shown", "path", "ways"), FORMS, ids=[path for _, path, _ in FORMS])
def test_forms(server: Served, visit: httpx.Client, shown: str, path: str, ways: dict[str, list[str]]) -> None:
    page = visit.get(shown).text
    offered = {name: value for name, value in entries(page).items() if name}
    begun = {"begun": begun_in(page)} if shown.startswith("/studies") else {}

    @fuzzed(25)
    @given(data=st.data())
    def answers(data: st.DataObject) -> None:
        sent = data.draw(changed({name: value for name, value in offered.items() if name not in ways}))
        for name, values in ways.items():
            sent.append((name, data.draw(st.sampled_from(values) | TEXT)))
        known = [(name, value) for name, value in sent if name not in begun]
        check(post(visit, path, [*known, *begun.items()] if data.draw(st.integers(0, 9)) else sent))

    answers()
    check(visit.get("/"))
    check(visit.get("/studies/1"))


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "text/plain", ""]
)
def test_bodies_that_are_no_forms(server: Served, visit: httpx.Client, kind: str) -> None:
    @fuzzed(15)
    @given(
        path=st.sampled_from([path for _, path, _ in FORMS] + ["/studies/1/attach"]),
        body=st.binary(max_size=60)
        | st.binary(max_size=40).map(
            lambda b: b'--b\r\nContent-Disposition: form-data; name="begun"\r\n\r\n' + b + b"\r\n--b--"
        ),
    )
    def answers(path: str, body: bytes) -> None:
        check(visit.post(path, content=body, headers={"Content-Type": kind} if kind else {}))

    answers()


NAMES = (
    st.sampled_from(["x", "n", "solvent", "yield", "taste", "yield_se", "note", "failed", "cost", "X", "", "x "]) | TEXT
)


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """A file that is, or might be, a table: in some encoding, with some separator, with rows of any length."""
    between = draw(st.sampled_from([",", ";", "\t", "|", ", "]))
    header = draw(st.lists(NAMES, max_size=7) | st.just(["x", "n", "solvent", "yield", "taste"]))
    good = {"x": "0.5", "n": "2", "solvent": "water", "yield": "40", "taste": "good"}
    cells = [st.just(good.get(name, "1")) | TEXT for name in header]
    rows = draw(st.lists(st.tuples(*cells).map(list) | st.lists(TEXT, max_size=6), max_size=5))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    quote = draw(st.sampled_from(["", '"', "'"]))
    text = end.join(between.join(f"{quote}{cell}{quote}" for cell in row) for row in [header, *rows])
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    return text.encode(encoding, "replace")


def test_csv_files(server: Served, visit: httpx.Client) -> None:
    begun = begun_in(visit.get("/studies/1").text)

    @fuzzed(80)
    @given(
        content=tables(),
        name=TEXT,
        columns=TEXT | st.just("X=x"),
        flags=st.sets(st.sampled_from(["skip_bad", "again"])),
    )
    def answers(content: bytes, name: str, columns: str, flags: set[str]) -> None:
        shown = "".join(letter for letter in name if letter.isprintable()).encode("utf-8", "replace").decode()
        fields = {"begun": begun, "map": columns.encode("utf-8", "replace").decode(), **dict.fromkeys(flags, "yes")}
        for dry_run in ({"dry_run": "yes"}, {}):
            check(visit.post("/studies/1/attach", data={**fields, **dry_run}, files={"file": (shown, content)}))
        headers = {"Content-Type": "text/csv"}
        answer = visit.post(
            "/api/studies/1/attach.csv", content=content, headers=headers, params=dict.fromkeys(flags, True)
        )
        assert answer.status_code in (201, 422), answer.text
        assert "Traceback" not in answer.text

    answers()
    check(visit.get("/studies/1"))
    assert visit.get("/api/studies/1/export.csv").status_code == 200


EXAMPLES = [
    {"version": 1, "name": "a", "first": 2, "stop": {"trials": 4}, **WHOLE},
    read_toml(
        """
        version = 1
        name = "b"
        pool = {id = "id", names = ["id", "x"], rows = [["a", 1.0], ["b", 2.0]]}
        decision = {name = "top_k", k = 1}
        model = {hyperparameters = "map"}
        solver = {max_memory = "1 GB"}
        storage = {url = "sqlite:///b.db"}
        objective = {type = "manual"}
        """
    ),
    {
        "version": 1,
        "name": "c",
        "space": {
            "mix": {"type": "fractions", "names": ["a", "b", "c"]},
            "t": {"type": "real", "low": 1, "high": 9, "log": True},
        },
        "where": ["t < 8"],
        "outcomes": {"good": {"computed": "t * 2"}, "y": {"noise": 0.1}},
        "decision": {"name": "minimize", "outcome": "y"},
        "assays": {"quick": {"measures": ["y"], "cost": 1}},
    },
]


def test_the_examples_are_valid() -> None:
    for words in EXAMPLES:
        described({key: part for key, part in words.items() if key != "storage"})


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        2**70,
        1e308,
        float("nan"),
        float("inf"),
        -0.0,
        "",
        [],
        {},
        [[]],
        {"": None},
        [None],
        "1e3",
        "x" * 500,
    ]
) | st.recursive(
    st.none() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all parts of a value."""
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


@st.composite
def definitions(draw: st.DrawFn) -> Any:
    """An example with a few parts replaced, left out, or called otherwise."""
    words: Any = copy.deepcopy(draw(st.sampled_from(EXAMPLES)))
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([place for place in places(words) if place]))
        whole = words
        for key in way:
            whole = whole[key]
        how = draw(st.sampled_from(["replace", "replace", "drop", "add", "swap"]))
        if how == "replace":
            whole[last] = copy.deepcopy(draw(ODD))
        elif how == "drop":
            del whole[last]
        elif how == "add" and isinstance(whole, dict):
            whole[draw(TEXT)] = copy.deepcopy(draw(ODD))
        elif isinstance(whole, dict):
            whole[last] = copy.deepcopy(draw(st.sampled_from(list(whole.values()))))
        if not any(places(words)) or words == {}:
            break
    return words


def check_file(file: Path) -> None:
    """`hentropy check` says that a file is valid or what is wrong, in words that somebody foresaw."""
    said = hentropy("check", str(file))
    assert said.code in (0, 1), said
    assert "Traceback" not in said.out + said.err
    assert "HENTROPY_TRACEBACK" not in said.err, (file.read_bytes(), said.err)


def test_definitions_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    @fuzzed(120)
    @given(words=definitions(), as_yaml=st.booleans())
    def checked(words: Any, as_yaml: bool) -> None:
        file = tmp_path / ("s.yaml" if as_yaml else "s.json")
        file.write_text(yaml.safe_dump(words) if as_yaml else json.dumps(words))
        check_file(file)

    checked()


def test_definitions_sent_to_the_server(server: Served) -> None:
    @fuzzed(60)
    @given(words=definitions())
    def answers(words: Any) -> None:
        content = json.dumps(words)
        for path in ("/api/check", "/api/studies"):
            answer = server.http.post(path, content=content, headers={"Content-Type": "application/json"})
            assert answer.status_code in (200, 201, 409, 422), (answer.text, words)

    answers()


TOML = """version = 1
name = "lab"
first = 2
[space]
x = {type = "real", low = -1.0, high = 3.0}
[decision]
name = "maximize"
[stop]
trials = 4
"""


def test_texts_that_are_nearly_study_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    @fuzzed(80)
    @given(
        start=st.integers(0, len(TOML)),
        length=st.integers(0, 12),
        instead=TEXT,
        ending=st.sampled_from(["toml", "toml", "yaml", "json"]),
        encoding=st.sampled_from(["utf-8", "utf-8", "utf-16", "latin-1"]),
    )
    def checked(start: int, length: int, instead: str, ending: str, encoding: str) -> None:
        file = tmp_path / f"s.{ending}"
        file.write_bytes((TOML[:start] + instead + TOML[start + length :]).encode(encoding, "replace"))
        check_file(file)

    checked()
