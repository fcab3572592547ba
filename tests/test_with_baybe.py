"""BayBE as a peer. With HENTROPY_BAYBE, the Python of an environment with BayBE, it is really asked."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import hentropy as he
from hentropy.bench.baselines.with_baybe import Baybe, definition

SPACE = he.Space(
    base=he.Choice(["a", "b", 3]),
    count=he.Integer(1, 4),
    time=he.Real(0.0, 2.0),
    dose=he.Levels([0.1, 1.0]),
    step=he.Real(0.0, 0.3, step=0.1),
)
TABLE = he.Pool([["x", 2.0], ["y", 1.0], ["y", 2.0]], names=["acid", "heat"])


def test_a_space_is_said_in_the_words_of_the_script() -> None:
    assert definition(SPACE, 5) == {
        "seed": 5,
        "parameters": [
            {"name": "base", "options": ["a", "b", "3"]},
            {"name": "count", "values": [1, 2, 3, 4]},
            {"name": "time", "low": 0.0, "high": 2.0},
            {"name": "dose", "values": [0.1, 1.0]},
            {"name": "step", "values": [0.0, 0.1, 0.2, 0.3]},
        ],
        "rows": None,
    }


def test_a_table_is_said_with_its_rows() -> None:
    said = definition(TABLE, 0)
    assert said["parameters"] == [{"name": "acid", "options": ["x", "y"]}, {"name": "heat", "values": [1.0, 2.0]}]
    assert said["rows"] == [["x", 2.0], ["y", 1.0], ["y", 2.0]]


@pytest.mark.skipif(find_spec("baybe") is not None, reason="this interpreter has BayBE")
def test_an_interpreter_without_baybe_is_named() -> None:
    with pytest.raises(he.InputError, match=r"run by .*, failed: ModuleNotFoundError: No module named 'baybe'"):
        Baybe(sys.executable, SPACE, 0)


def test_what_does_not_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(he.InputError, match=r"does not run: .*; give the Python of an environment with BayBE"):
        Baybe(tmp_path / "python", SPACE, 0)


PYTHON = os.environ.get("HENTROPY_BAYBE", "")


@pytest.mark.skipif(not PYTHON, reason="HENTROPY_BAYBE is not set")
def test_baybe_is_asked_for_one_design_after_the_other() -> None:
    def value(params: dict[str, float]) -> float:
        return 2.0 * (params["base"] == 3) - (params["time"] - 1.3) ** 2

    rows = [SPACE.decode(row) for row in SPACE.sample(8, 0)]
    measured = [(params, value(params)) for params in rows]
    best = [max(each for _, each in measured)]
    with Baybe(PYTHON, SPACE, 0) as peer:
        for _ in range(6):
            params, seconds = peer.ask(measured)
            assert params == SPACE.cleaned(params)
            assert seconds > 0
            measured = [(params, value(params))]
            best.append(max(best[-1], measured[0][1]))
    assert best[-1] > 1.9  # the best is 2


@pytest.mark.skipif(not PYTHON, reason="HENTROPY_BAYBE is not set")
def test_baybe_chooses_rows_of_a_table_that_it_has_not_seen() -> None:
    with Baybe(PYTHON, TABLE, 0) as peer:
        params, _ = peer.ask([({"acid": "x", "heat": 2.0}, 1.0), ({"acid": "y", "heat": 1.0}, 2.0)])
    assert params == {"acid": "y", "heat": 2.0}
