"""Every picture of every decision in every kind of space can be made, and says only what can be drawn."""

import json
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.errors import InputError, StudyError
from hentropy.studies.records import State, Trial
from hentropy.views.plots import PICTURES, Picture, as_plain, information, picture, scene_of
from hentropy.views.plots.decided import decided_info, decided_picture
from hentropy.views.plots.known import known_info, known_picture
from hentropy.views.plots.loss import loss_info, loss_picture
from hentropy.views.plots.marks import Axis, Panel, Role, Table
from hentropy.views.plots.progress import progress_info, progress_picture
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.why import why_info
from support.pictures import PNG, checked, drawn, rough
from support.studies import LINE, MIXED, PLANE, Worst, begun, hill, measured, price, ship, study

DOCS = Path(__file__).parents[1] / "docs"
POOL = he.Pool(MIXED.sample(12, seed=1), names=["x", "rate", "steps"])
SPACES: dict[str, Any] = {"line": LINE, "plane": PLANE, "three": MIXED, "pool": POOL}


class Robust(he.Decision):
    """The README's setting that is used with an error: the worse side counts."""

    actions = he.Points(1)

    def points(self, a: Any) -> Tensor:
        step = torch.zeros(a.shape[-1], dtype=torch.float64)
        step[0] = 0.1
        return torch.cat([a - step, a + step], -2)

    def loss(self, f: Tensor, a: Any) -> Tensor:
        return -f.min(-1).values


def announce(f: Tensor, a: Tensor) -> Tensor:
    return (3.0 * torch.relu(f - a) + torch.relu(a - f)).sum(-1)


MAKERS: dict[str, Callable[[Tensor], he.Decision]] = {
    "maximize": lambda at: he.Maximize(),
    "minimize": lambda at: he.Minimize(),
    "best observed": lambda at: he.BestObserved(),
    "improve": lambda at: he.Improve(1.0),
    "identify argmax": lambda at: he.Identify("argmax", candidates=16),
    "identify max": lambda at: he.Identify("max", candidates=16),
    "identify values": he.Identify,
    "k guesses": lambda at: he.KGuesses(2),
    "top k": lambda at: he.TopK(3, weight=1.0, cap=0.5),
    "level sets": lambda at: he.LevelSets([0.0, 2.0]),
    "level sets at points": lambda at: he.LevelSets(1.0, at, "misclassification"),
    "sequence": lambda at: he.Sequence([0.0, 1.0]),
    "min max": lambda at: he.MinMax(),
    "estimate": he.Estimate,
    "estimate everywhere": lambda at: he.Estimate(),
    "own class": lambda at: Worst(),
    "own points": lambda at: Robust(),
    "own box": lambda at: he.decision(announce, actions=he.Box([-20.0], [20.0], at=at[:1])),
    "own box of prices": lambda at: he.decision(price, actions=he.Box([-2.0, 0.0], [5.0, 1.0], at=at)),
    "own options": lambda at: he.decision(ship, actions=he.Options(["ship", "wait"], at=at)),
    "own list": lambda at: he.decision(lambda f, a: -f.sum(-1), actions=he.Listed(torch.stack([at[:2], at[1:]]))),
}

QUICK: dict[str, Callable[[Scene], Any]] = {
    "known": lambda scene: known_info(scene, points=7, plane=4),
    "decided": lambda scene: decided_info(scene, draws=4, candidates=12, points=7, plane=4),
    "why": lambda scene: why_info(scene, numbers=1.0),
    "progress": lambda scene: progress_info(scene, draws=20),
    "loss": lambda scene: loss_info(scene, draws=20),
}
"""The same information with fewer draws on coarser grids."""


def asked_once(space: Any, decision: he.Decision) -> he.Study:
    """A study that knows six values, with one experiment failed and one proposed and waited for."""
    rows = [space.decode(row) for row in space.sample(8, seed=7)]
    trials = [
        Trial(n, params, State.COMPLETE, measured(hill(**params)), origin="first") for n, params in enumerate(rows[:6])
    ]
    trials.append(Trial(6, rows[6], State.FAILED, note="broken", origin="first"))
    trials.append(Trial(7, rows[7], gain=0.3, gain_error=0.1, entropy=-1.0))
    return study(space, decision, records=trials, stop=[he.Budget(9), he.GainBelow(0.01)])


@pytest.mark.parametrize("where", SPACES)
@pytest.mark.parametrize("name", MAKERS)
def test_every_picture_can_be_made(name: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rough(monkeypatch)
    space = SPACES[where]
    scene = scene_of(asked_once(space, MAKERS[name](space.sample(3, seed=5))))
    for what, (info_of, picture_of) in PICTURES.items():
        if what == "why" and where in ("line", "three"):
            continue  # the slowest; a plane and a pool have it
        info = QUICK.get(what, info_of)(scene)
        assert is_dataclass(info)
        made = picture_of(info)
        check(made)
        assert made.name == what
        json.dumps(as_plain(info), allow_nan=False)
        if where == "plane":  # every picture of every decision becomes a file; a warning would be an error
            checked(made)
            assert drawn(made).startswith(PNG)


def check(made: Picture) -> None:
    """Marks fit their panels: shapes agree, no panel has two maps, text is text."""
    assert made.title
    assert made.caption.endswith((".", "?"))
    assert not re.search(r"\b(nan|inf|None)\b", made.caption)
    assert made.rows
    for part in (part for row in made.rows for part in row):
        if isinstance(part, Table):
            assert all(len(row) == len(part.columns) for row in part.rows)
            assert all(isinstance(cell, str) for row in part.rows for cell in row)
            continue
        assert sum(type(mark).__name__ == "Heat" for mark in part.marks) <= 1
        for mark in part.marks:
            arrays = {field.name: getattr(mark, field.name) for field in fields(mark)}
            if "z" in arrays:
                assert arrays["z"].shape == (len(arrays["y"]), len(arrays["x"]))
            elif "edges" in arrays:
                assert len(arrays["edges"]) == len(arrays["heights"]) + 1
                assert (np.diff(arrays["edges"]) > 0).all()
            else:
                sizes = {value.shape[-1:] for value in arrays.values() if isinstance(value, np.ndarray)}
                assert len(sizes) <= 1
            if arrays.get("texts"):
                assert len(arrays["texts"]) == len(arrays["x"])


def test_a_study_and_a_scene_give_the_same() -> None:
    made = begun(LINE, count=5)
    assert as_plain(picture(made, "decided")) == as_plain(picture(scene_of(made), "decided"))
    assert as_plain(information(made, "worth")) == as_plain(information(scene_of(made), "worth"))


def test_nothing_told_is_said_plainly() -> None:
    with pytest.raises(StudyError, match="nothing has been told yet"):
        picture(study(LINE), "known")


def test_an_unknown_picture_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match="no picture 'gain'; available: known, decided, why"):
        picture(begun(LINE), "gain")


def test_every_picture_is_described_in_its_order() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (DOCS / "pictures.md").read_text(), re.MULTILINE)
    assert rows == list(PICTURES)


def test_plain_values_are_what_json_has() -> None:
    panel = Panel("t", Axis("x"), Axis("y", 0.0), ())
    assert as_plain(panel)["y"] == {
        "title": "y",
        "low": 0.0,
        "high": None,
        "log": False,
        "whole": False,
        "names": [],
        "ticks": [],
    }
    mixed = {"a": np.array([[1.0, np.nan], [np.inf, 2.0]]), 3: Role.MEAN, "n": np.float64(0.5), "t": torch.ones(2)}
    assert as_plain(mixed) == {"a": [[1.0, None], [None, 2.0]], "3": "mean", "n": 0.5, "t": [1.0, 1.0]}
    assert as_plain((True, None, "text", 2)) == [True, None, "text", 2]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_first_values_make_pictures_already(count: int) -> None:
    scene = scene_of(begun(PLANE, he.TopK(2, weight=1.0, cap=0.5), count, hyperparameters="auto"))
    check(known_picture(known_info(scene, points=7, plane=4)))
    check(decided_picture(decided_info(scene, draws=4, points=7, plane=4)))
    check(loss_picture(loss_info(scene, draws=20)))
    check(progress_picture(progress_info(scene, draws=20)))


def test_a_constant_column_of_a_pool_is_no_trouble() -> None:
    rows = torch.cat([LINE.sample(9, seed=2), torch.full((9, 1), 2.0, dtype=torch.float64)], -1)
    pool = he.Pool(rows, names=["x", "steps"])
    for decision in (he.Maximize(), he.Identify("argmax"), he.LevelSets(1.0), he.Estimate()):
        scene = scene_of(begun(pool, decision, count=5))
        check(decided_picture(decided_info(scene, draws=4, points=7, plane=4)))


def test_titles_name_the_outcome_and_leave_parameters_alone() -> None:
    options: dict[str, Any] = {"outcomes": {"yield": he.Outcome(unit="%")}, "hyperparameters": "map", "first": 3}
    it = he.Study(he.Space(observed=he.Real(0.0, 1.0)), he.Maximize(), **options)
    for x in (0.0, 0.2, 0.5, 0.7, 1.0):
        it.attach({"observed": x}, x * (1.0 - x))
    (known, *_), *_ = picture(it, "known").rows
    (trusted, *_), *_ = picture(it, "trust").rows
    assert isinstance(known, Panel)
    assert isinstance(trusted, Panel)
    assert (known.x.title, known.y.title) == ("observed", "yield (%)")
    assert trusted.title == "each yield (%) predicted from the others"
    assert (trusted.x.title, trusted.y.title) == ("observed yield (%)", "predicted yield (%)")
    [table] = [one for row in picture(it, "why").rows for one in row if isinstance(one, Table)]
    assert table.columns == ("outcome", "yield (%)", "expected loss afterwards")
