"""Every picture of every decision in every kind of space can be made, and says only what can be drawn."""

import html
import json
import re
from collections.abc import Callable, Sequence
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
from hentropy.views.plots.fields import varying
from hentropy.views.plots.known import known_info, known_picture
from hentropy.views.plots.loss import loss_info, loss_picture
from hentropy.views.plots.marks import Axis, Heat, Line, Panel, Role, Table
from hentropy.views.plots.pictures import pictured
from hentropy.views.plots.progress import progress_info, progress_picture
from hentropy.views.plots.scene import Scene
from hentropy.views.plots.why import why_info
from support.pictures import SPACES, checked, drawn, rough, value
from support.studies import LINE, MIXED, PLANE, Worst, begun, measured, price, ship, study
from support.tiers import nightly

DOCS = Path(__file__).parents[1] / "docs"
POOL = he.Pool(MIXED.sample(12, seed=1), names=["x", "rate", "steps"])


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

ALL = {"line": LINE, "plane": PLANE, "three": MIXED, "pool": POOL, **SPACES}
"""Spaces of every kind, by name."""

QUICK: dict[str, Callable[[Scene], Any]] = {
    "known": lambda scene: known_info(scene, points=7, plane=4),
    "decided": lambda scene: decided_info(scene, draws=4, candidates=12, points=7, plane=4),
    "why": lambda scene: why_info(scene, numbers=1.0),
    "progress": lambda scene: progress_info(scene, draws=20),
    "loss": lambda scene: loss_info(scene, draws=20),
}
"""The same information with fewer draws on coarser grids."""


def asked_once(space: Any, decision: he.Decision) -> he.Study:
    """A study that knows some values, with one experiment failed and one proposed and waited for."""
    count = 5 if space is SPACES["named levels"] else 8
    rows = [space.decode(row) for row in space.sample(count, seed=7)]
    trials = [
        Trial(n, params, State.COMPLETE, measured(value(params)), origin="first") for n, params in enumerate(rows[:-2])
    ]
    trials.append(Trial(count - 2, rows[-2], State.FAILED, note="broken", origin="first"))
    trials.append(Trial(count - 1, rows[-1], gain=0.3, gain_error=0.1, entropy=-1.0))
    return study(space, decision, records=trials, stop=[he.Budget(9), he.GainBelow(0.01)])


KINDS = (
    "top k",
    "sequence",
    "identify argmax",
    "identify max",
    "identify values",
    "level sets",
    "level sets at points",
    "estimate everywhere",
    "own points",
    "own box of prices",
    "own options",
)
"""A decision or two for each kind of picture, for each way of searching it."""


@pytest.mark.covering
@pytest.mark.parametrize("where", ["plane", "pool"])
@pytest.mark.parametrize("name", [name if name in ("maximize", *KINDS) else nightly(name) for name in MAKERS])
def test_every_decision_has_all_pictures(name: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rough(monkeypatch)
    conforms(asked_once(ALL[where], MAKERS[name](ALL[where].sample(3, seed=5))), [*PICTURES])


FEW_SPACES = ("line", "reaction", "parts", "table")


@pytest.mark.parametrize(
    "where", [name if name in FEW_SPACES else nightly(name) for name in ALL if name not in ("plane", "pool")]
)
def test_every_space_has_all_pictures(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rough(monkeypatch)
    conforms(asked_once(ALL[where], he.Maximize()), [*PICTURES])


@pytest.mark.covering
@pytest.mark.parametrize("where", [name for name in ALL if name not in ("plane", "pool")])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_decision_is_drawn_over_every_space(name: str, where: str) -> None:
    space = ALL[where]
    conforms(asked_once(space, MAKERS[name](space.sample(3, seed=5))), ["decided", "loss"])


YIELD, IMPURITY, WORKS = he.Outcome(unit="%"), he.Outcome(unit="mg", log=True), he.Outcome(kind="yes/no")
OUTCOMES: dict[str, tuple[he.Decision, dict[str, he.Outcome]]] = {
    "unit": (he.Maximize(), {"yield": YIELD}),
    "limit": (he.Maximize("yield", ["impurity <= 3"]), {"yield": YIELD, "impurity": IMPURITY}),
    "logarithm": (he.Minimize(), {"impurity": IMPURITY}),
    "yes or no": (he.Maximize(), {"works": WORKS}),
    "front": (
        he.Pareto(2, {"yield": "max", "impurity": "min"}, {"yield": 0.0, "impurity": 9.0}),
        {"yield": YIELD, "impurity": IMPURITY},
    ),
}
TITLES = {"yield": "yield (%)", "impurity": "ln impurity", "works": "probability of works"}


@pytest.mark.parametrize("kind", [nightly(kind) if kind in ("unit", "logarithm") else kind for kind in OUTCOMES])
def test_every_kind_of_outcome_has_all_pictures(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rough(monkeypatch)
    decision, outcomes = OUTCOMES[kind]
    made = he.Study(PLANE, decision, outcomes=outcomes, hyperparameters="map", first=4)
    for row in map(PLANE.decode, PLANE.sample(8, seed=7)):
        told = {"yield": value(row), "impurity": 1.0 + row["x"], "works": "yes" if row["x"] > 2.0 else "no"}
        made.attach(row, {name: told[name] for name in outcomes})
    made.ask()
    pictures = conforms(made, [*PICTURES])
    titles = {panel.y.title for panel in panels_of(pictures["trust"])} | {
        mark.label for panel in panels_of(pictures["known"]) for mark in panel.marks if isinstance(mark, Heat)
    }
    assert any(TITLES[name] in title for name in outcomes for title in titles), titles


def conforms(it: he.Study, names: Sequence[str]) -> dict[str, Picture]:
    """Each picture of a study can be made, says what is so, and says the same in files and on pages."""
    scene, made = scene_of(it), {}
    for name in names:
        info = QUICK.get(name, PICTURES[name][0])(scene)
        assert is_dataclass(info)
        json.dumps(as_plain(info), allow_nan=False)
        made[name] = pictured(scene, name, info)
        assert made[name].name == name
        check(made[name])
        check_both(made[name])
    shown = [title for name in ("known", "decided") if name in made for title in titles_of(made[name])]
    for index in varying(scene.space)[:8] if "known" in made else ():
        title = scene.space.fields[index].title  # with its unit
        assert any(each.startswith(title) or each.endswith(f"by {title}") for each in shown), title
    return made


def panels_of(made: Picture) -> list[Panel]:
    return [part for row in made.rows for part in row if isinstance(part, Panel)]


def titles_of(made: Picture) -> list[str]:
    return [title for panel in panels_of(made) for title in (panel.title, panel.x.title, panel.y.title)]


def check(made: Picture) -> None:
    """Marks fit their panels: shapes agree, lines lie within, no panel has two maps, text is text."""
    assert made.title
    assert made.caption.endswith((".", "?"))
    assert not re.search(r"\b(nan|inf|None)\b", made.caption)
    assert made.rows
    for part in (part for row in made.rows for part in row):
        if isinstance(part, Table):
            assert all(len(row) == len(part.columns) for row in part.rows)
            assert all(isinstance(cell, str) for row in part.rows for cell in row)
            continue
        assert sum(isinstance(mark, Heat) for mark in part.marks) <= 1
        for mark in part.marks:
            arrays = {field.name: getattr(mark, field.name) for field in fields(mark)}
            if "z" in arrays:
                assert arrays["z"].shape == (len(arrays["y"]), len(arrays["x"]))
                assert not arrays.get("texts") or np.shape(arrays["texts"]) == arrays["z"].shape
            elif "edges" in arrays:
                assert len(arrays["edges"]) == len(arrays["heights"]) + 1
                assert (np.diff(arrays["edges"]) > 0).all()
            else:
                sizes = {value.shape[-1:] for value in arrays.values() if isinstance(value, np.ndarray)}
                assert len(sizes) <= 1
                assert not arrays.get("texts") or len(arrays["texts"]) == len(arrays["x"])
            if isinstance(mark, Line) and None not in (part.y.low, part.y.high) and np.isfinite(mark.y).any():
                assert part.y.low <= np.nanmin(mark.y) <= np.nanmax(mark.y) <= part.y.high


def check_both(made: Picture) -> None:
    """The file and the page have the same panels, names, legend and tables."""
    figure, page = drawn(made), checked(made)
    panels = panels_of(made)
    layout, parts = page["layout"], [*page["data"], *page["layout"].get("shapes", ())]
    for position, panel in enumerate(panels, start=1):
        own = "" if position == 1 else str(position)
        for axis, there in ((panel.x, layout[f"xaxis{own}"]), (panel.y, layout[f"yaxis{own}"])):
            text = html.unescape(there["title"]["text"])
            assert text == "" or text.startswith(axis.title[:43])
            assert not axis.names or [html.unescape(name)[:6] for name in there["ticktext"]] == [
                name[:6] for name in axis.names
            ]
            assert (there["type"] == "log") == axis.log
    named = {html.unescape(part["name"]) for part in parts if part.get("showlegend")}
    wanted = {mark.label for panel in panels for mark in panel.marks if not isinstance(mark, Heat)} - {""}
    assert {name[:59] for name in named} <= {label[:59] for label in wanted}
    if figure is not None:
        legends = [text.get_text() for part in figure.subfigs for one in part.legends for text in one.get_texts()]
        labels = {name for panel in panels for mark in panel.marks if isinstance(mark, Heat) for name in mark.names}
        assert {name[:59] for name in legends} - labels == {name[:59] for name in named} - labels
    tables = [part for row in made.rows for part in row if isinstance(part, Table)]
    assert [table["columns"] for table in layout["meta"]["tables"]] == [list(table.columns) for table in tables]


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
