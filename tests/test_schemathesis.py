"""The API against its own description: whatever is sent, no answer is a surprise."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from hentropy.views.server.app import make_app
from hentropy.views.server.settings import ServerLimits, Settings
from support.serving import Served, served
from support.tiers import nightly
from support.waiting import PATIENCE

VERBS = ("ask", "attach", "attach.csv", "import", "trials/{number}/tell", "what_if")
FAST = ServerLimits(per_second=1e6, burst=10**6)
"""Schemathesis comes faster than any client may."""


@schemathesis.serializer("text/csv", "application/x-ndjson")
def as_text(context: schemathesis.SerializationContext, value: object) -> bytes:
    """A body of text as it is."""
    return str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("described")
    with served(Settings(f"sqlite:///{folder / 'lab.db'}", limits=FAST)) as running:
        study = running.create()
        running.services.study_service.attach_csv(study, "x,value\n0,1\n1,2\n2,1.5\n")
        yield running


DATA = {f"POST /api/{path}" for path in ("studies", "check", *(f"studies/{{study}}/{verb}" for verb in VERBS))}
"""Where what is sent has to fit together, or the parameters and outcomes of a study: no schema says whether it does."""

COMPUTED = ("/ask", "/decide", "/worth", "/what_if", "/predict")

BEYOND: list[Any] = [positive_data_acceptance]
"""The check that all that fits the description is taken."""

DESCRIBED = schemathesis.openapi.from_dict(make_app(Settings("sqlite:///not-opened.db")).openapi())
OPERATIONS = {each.ok().label: each.ok() for each in DESCRIBED.get_all_operations() if isinstance(each, Ok)}


@pytest.mark.parametrize("examples", [8, nightly(40)])
@pytest.mark.parametrize("label", OPERATIONS)
def test_every_answer_is_as_described(server: Served, label: str, examples: int) -> None:
    excluded: list[Any] = BEYOND if label in DATA else []

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), database=None)
    @given(case=strategy(label))
    def answers(case: schemathesis.Case) -> None:
        case.call_and_validate(base_url=server.url, excluded_checks=excluded, timeout=PATIENCE)

    answers()


def strategy(label: str) -> SearchStrategy[schemathesis.Case]:
    """Requests that fit the description, and such that do not."""
    operation = OPERATIONS[label]
    modes = schemathesis.GenerationMode
    right, wrong = (operation.as_strategy(generation_mode=mode) for mode in (modes.POSITIVE, modes.NEGATIVE))
    # what is computed takes its time: one study and its first trial are there for all the rest
    return (right if label.endswith(COMPUTED) else right.map(of_the_study)) | wrong


def of_the_study(case: schemathesis.Case) -> schemathesis.Case:
    """The same request to a study, and a trial, that are there."""
    there = {"study": 1, "number": 0}
    case.path_parameters = {key: there.get(key, value) for key, value in (case.path_parameters or {}).items()}
    return case


def test_all_of_it_is_described(server: Served) -> None:
    described = server.app.openapi()
    assert len(described["paths"]) > 18
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], (method, path)
            assert {"4XX", "5XX"} <= set(operation["responses"]), (method, path)
    assert server.http.get("/api/studies").status_code == 200


def test_programs_can_be_made_from_the_description() -> None:
    described = make_app(Settings("sqlite:///not-opened.db", token="a-token-for-tests-only")).openapi()
    [(scheme, bearer)] = described["components"]["securitySchemes"].items()
    assert (bearer["type"], bearer["scheme"]) == ("http", "bearer")
    names = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert operation["security"] == [{scheme: []}], (method, path)
            names.append(operation["operationId"])
    assert len(names) == len(set(names))
    assert {"list_studies", "ask", "tell", "attach_csv"} <= set(names)
    assert "securitySchemes" not in make_app(Settings("sqlite:///not-opened.db")).openapi()["components"]
    ask = described["paths"]["/api/studies/{study}/ask"]["post"]["responses"]
    assert "has ended" in ask["200"]["description"]
    assert "goes on" in ask["202"]["description"]
