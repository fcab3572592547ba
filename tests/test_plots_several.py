"""Pictures of several outcomes: limits and the chance to hold them, fronts, and the trust in yes and no."""

import math
from typing import Literal

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.core.beliefs import Graded, Needs
from hentropy.core.decisions.hypervolume import hypervolume
from hentropy.core.models.success import chances_left_out
from hentropy.views.plots.chosen import FrontInfo, _steps, front_picture
from hentropy.views.plots.known import known_info, known_picture
from hentropy.views.plots.marks import Contour, Dots, Panel, Rule
from hentropy.views.plots.pictures import information, picture
from hentropy.views.plots.scene import scene_of
from hentropy.views.plots.trust import ReliabilityInfo, wilson

LINE = he.Space(x=he.Real(0, 1))
SQUARE = he.Space(x=he.Real(0, 1), y=he.Real(0, 1))


def limited(space: he.Space) -> he.Study:
    outcomes = {"yield": he.Outcome(unit="%"), "impurity": he.Outcome(unit="%", log=True)}
    study = he.Study(space, he.Maximize("yield", ["impurity <= 3"]), outcomes=outcomes, hyperparameters="map")
    for row in map(space.decode, space.sample(8, 0)):
        study.attach(row, {"yield": 80 + 10 * row["x"], "impurity": math.exp(3 * row["x"] - 1)})
    return study


@pytest.mark.parametrize("space", [LINE, SQUARE], ids=["line", "plane"])
def test_each_outcome_is_shown_with_its_limit_and_the_chance_to_hold_it(space: he.Space) -> None:
    scene = scene_of(limited(space))
    info = known_info(scene, points=21, plane=11)
    [other] = info.others
    assert (other.title, other.limits) == ("ln impurity", (math.log(3.0),))
    [view] = info.slices
    designs = torch.tensor(view.ground.grids[0]).unsqueeze(-1)
    if space is LINE:
        moments = scene.whole.of("impurity").moments(designs, Needs.VARIANCE)
        closed = torch.special.ndtr((math.log(3.0) - moments.mean[0]) / moments.variance[0].sqrt())
        assert view.holds == pytest.approx(closed.numpy(), abs=1e-6)
    panels = [panel for row in known_picture(info).rows for panel in row if isinstance(panel, Panel)]
    kind = Rule if space is LINE else Contour
    drawn = [panel for panel in panels if any(isinstance(m, kind) and m.label == "limit" for m in panel.marks)]
    assert [("impurity" in f"{panel.title} {panel.y.title}") for panel in drawn] == [True]
    assert sum("probability of impurity <= 3" in panel.title for panel in panels) == 1


def front(way: Literal["max", "min"]) -> FrontInfo:
    outcomes: dict[str, he.Outcome | he.Computed] = {
        "yield": he.Outcome(unit="%"),
        "price": he.Computed("price", "2 + x"),
        "ton": he.Outcome(log=True),
    }
    second, reference = ("price", 4.0) if way == "min" else ("ton", 0.1)
    decision = he.Pareto(3, {"yield": "max", second: way}, {"yield": 0.0, second: reference})
    study = he.Study(SQUARE, decision, outcomes=outcomes, hyperparameters="map")
    for row in map(SQUARE.decode, SQUARE.sample(8, 0)):
        study.attach(row, {"yield": 50 * row["x"] + row["y"], "ton": math.exp(-row["x"])})
    info = information(study, "decided")
    assert isinstance(info, FrontInfo)
    return info


@pytest.mark.parametrize("way", ["max", "min"])
def test_a_front_bounds_the_volume_that_its_designs_dominate(way: Literal["max", "min"]) -> None:
    info = front(way)
    step = _steps(info)
    area = abs(np.trapezoid(step[:, 1] - info.reference[1], step[:, 0]))
    signs = np.array([1.0, 1.0 if way == "max" else -1.0])
    corners = torch.from_numpy(signs * (info.values - info.reference)).clamp_min(0.0)
    assert area == pytest.approx(float(hypervolume(corners)))
    assert len(info.measured) == 8  # what is computed is known of each trial
    assert (info.low <= info.values + 1e-9).all()
    assert (info.values <= info.high + 1e-9).all()
    [panel] = front_picture(info).rows[0]
    assert isinstance(panel, Panel)
    assert {mark.label for mark in panel.marks if isinstance(mark, Dots)} == {"measured", "decision"}
    assert sum(isinstance(mark, Rule) for mark in panel.marks) == 2


def crystals(count: int) -> he.Study:
    study = he.Study(LINE, he.Maximize(), outcomes={"crystal": he.Outcome(kind="yes/no")}, hyperparameters="map")
    for place in range(count):
        study.attach({"x": place / count}, "yes" if place % 4 in (0, 3) else "no")
    return study


def test_a_result_left_out_is_as_probable_as_draws_from_the_prior_say() -> None:
    """Weighted draws of the latent function at all data; EP itself is off by less than 0.01."""
    belief = crystals(5).belief
    assert isinstance(belief, Graded)
    happened = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0], dtype=torch.float64)
    one = belief.some([int(belief.latent.weights.argmax())])
    found = chances_left_out(one, happened)
    latent = one.latent
    root = torch.linalg.cholesky(latent.kernel(latent.inputs, latent.inputs)[0] + 1e-9 * torch.eye(5))
    draws = torch.randn(200_000, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    g = latent.prior_mean(latent.inputs)[0] + draws @ root.mT
    likely = torch.where(happened > 0.5, torch.special.ndtr(g), torch.special.ndtr(-g))
    for i in range(5):
        weight = likely.prod(-1) / likely[:, i]
        expected = float((weight * torch.special.ndtr(g[:, i])).sum() / weight.sum())
        assert float(found[i]) == pytest.approx(expected, abs=0.03)


def test_the_trust_in_yes_and_no_is_shown_by_how_often_they_come() -> None:
    study = crystals(12)
    info = information(study, "trust")
    assert isinstance(info, ReliabilityInfo)
    assert info.happened.sum() == 6
    assert (info.group_bounds[0] <= info.group_share).all()
    assert "12 results" in picture(study, "trust").caption
    # the closed form solves (p - share)^2 = z^2 p (1 - p) / n
    [low], [high] = wilson(np.array([0.25]), np.array([8]))
    for p in (low, high):
        assert (p - 0.25) ** 2 == pytest.approx(1.96**2 * p * (1 - p) / 8)
