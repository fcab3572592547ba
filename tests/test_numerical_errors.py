"""Numbers that cannot be computed with never end a run: it goes on with a simpler model, or with designs that fill the
space, and says so.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from linear_operator.utils.errors import NotPSDError

import hentropy as he
from hentropy.errors import NumericalError
from hentropy.studies import outcomes
from hentropy.studies.execution import Local, PythonObjective
from hentropy.studies.execution.runner import run

SPACE = he.Space(x=he.Real(0.0, 1.0))
ERRORS: dict[str, Callable[[], object]] = {
    "torch": lambda: torch.linalg.cholesky(-torch.eye(2)),
    "numpy": lambda: np.linalg.inv(np.zeros((2, 2))),
    "python": lambda: 1.0 / 0.0,
}


def study(**options: Any) -> he.Study:
    return he.Study(SPACE, he.Maximize(), first=4, stop=[he.Budget(7)], **options)


@pytest.mark.parametrize("name", ERRORS)
def test_a_run_goes_on_where_a_model_of_ones_own_cannot_be_computed(name: str, tmp_path: Path) -> None:
    """With five results it cannot; with others it can."""

    def model(data: he.ModelData) -> he.Belief:
        if len(data.Y) == 5:
            ERRORS[name]()
        return he.fit(data.X, data.Y, space=data.space, hyperparameters="map", seed=data.seed)

    (tmp_path / "growth.py").write_text("def measure(x):\n    return x * (1 - x)\n")
    made = study(model=model)
    assert run(made, Local(PythonObjective("growth:measure", tmp_path))) == "the budget of 7 trials is used up"
    assert [trial.origin for trial in made.records] == ["first"] * 4 + ["proposed", "first", "proposed"]
    assert len({trial.params["x"] for trial in made.records}) == 7
    note = made.records[5].note
    assert note.startswith("chosen to fill the space, because the model model raised")
    assert "all measurements are kept" in note


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception, simple: bool) -> None:
    """Let fits fail; the simplest one only if `simple`."""
    fit = outcomes.fit

    def fails(*arguments: Any, **options: Any) -> Any:
        if simple or options["hyperparameters"] != "map":
            raise error
        return fit(*arguments, **options)

    monkeypatch.setattr(outcomes, "fit", fails)


@pytest.mark.parametrize("error", [torch.linalg.LinAlgError("input 0 is singular"), NotPSDError("not p.d.")])
def test_a_fit_that_fails_gives_way_to_a_simpler_one(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    made = study()
    made.attach_many([({"x": x / 4}, x * (3.0 - x)) for x in range(5)])
    failing(monkeypatch, error, simple=False)
    trial = made.ask()
    assert trial.gain is not None
    assert 'The model is a simpler one (hyperparameters="map"), because the fit of the model came to num' in trial.note
    assert str(error) in trial.note
    comparison = made.decide().comparison
    assert comparison is not None
    assert "The model is a simpler one" in comparison.sentence


def test_where_the_simpler_one_fails_too_the_space_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    made = study()
    made.attach_many([({"x": x / 4}, x * (3.0 - x)) for x in range(5)])
    failing(monkeypatch, torch.linalg.LinAlgError("input 0 is singular"), simple=True)
    first, second = made.ask_many(2)
    assert first.params != second.params
    assert {trial.gain for trial in (first, second)} == {None}
    assert "chosen to fill the space, because the fit of the model, and of a simpler one," in second.note
    with pytest.raises(NumericalError, match="all results are kept"):
        made.decide()
