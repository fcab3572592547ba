"""The distribution of the loss: its mean is the expected loss of the decision, whatever the decision."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.core.beliefs import Needs
from hentropy.views.plots.loss import loss_draws, loss_info, loss_picture
from hentropy.views.plots.marks import Bars, Panel, Rule
from hentropy.views.plots.scene import scene_of
from hentropy.views.plots.why import outcomes
from support.beliefs import two_sided
from support.decisions import BothSides
from support.studies import DECISIONS, LINE, PLANE, begun

# of few candidates each has a chance, so that no loss is infinite
ALL = {**DECISIONS, "identify argmax": he.Identify("argmax", candidates=4), "own points": BothSides()}


@pytest.mark.parametrize("name", ALL)
def test_the_mean_of_the_losses_is_the_expected_loss(name: str) -> None:
    scene = scene_of(begun(PLANE, ALL[name], count=5))
    losses = loss_draws(scene, 4000)
    error = np.hypot(losses.std() / len(losses) ** 0.5, scene.found.std_error)
    # what is drawn and what is exact differ by rounding where nothing is left to chance
    slack = 1e-6 + (0.05 if name.startswith("identify") else 0.0)
    assert abs(losses.mean() - scene.found.value) < two_sided(1e-3, len(ALL)) * error + slack


@pytest.mark.parametrize("name", ["maximize", "k guesses", "top k", "estimate", "level sets at points"])
def test_a_mixture_is_drawn_from_by_weight(name: str) -> None:
    scene = scene_of(begun(PLANE, DECISIONS[name], count=4, hyperparameters="mixture"))
    losses = loss_draws(scene, 4000)
    error = np.hypot(losses.std() / len(losses) ** 0.5, scene.found.std_error)
    assert abs(losses.mean() - scene.found.value) < two_sided(1e-3, 5) * error + 1e-6


def test_the_losses_of_the_greatest_value_are_normal() -> None:
    scene = scene_of(begun(LINE, count=4))
    info = loss_info(scene, draws=4000)
    mean, var = (float(each) for each in scene.belief.moments(scene.action, Needs.VARIANCE).total())
    expected = -mean + var**0.5 * np.array([-1.645, 0.0, 1.645])
    assert info.quantiles == pytest.approx(expected, abs=0.1 * var**0.5)
    assert info.heights.sum() == pytest.approx(1.0)
    assert info.infinite == 0.0


def test_losses_are_said_with_the_digits_that_are_known() -> None:
    info = loss_info(scene_of(begun(LINE, count=4)), draws=200)
    losses = np.array([-14.541234, -9.9658123, -6.7855123])
    said = replace(info, losses=losses, expected=-9.88437, std_error=0.0, quantiles=losses, infinite=0.0)
    assert (
        "The expected loss is -9.9. The loss is between -14.5 and -6.8 with 90 % probability; its median is -10.0."
        in loss_picture(said).caption
    )
    drawn = replace(said, std_error=0.012)
    assert "The expected loss is -9.884 (± 0.012, the Monte Carlo error" in loss_picture(drawn).caption


def test_infinite_losses_are_said_and_left_out_of_the_histogram() -> None:
    scene = scene_of(begun(PLANE, he.Identify("argmax", candidates=256), count=3))
    info = loss_info(scene, draws=2000)
    assert info.infinite == pytest.approx(np.isinf(info.losses).mean())
    assert 0.0 < info.infinite < 1.0
    assert info.heights.sum() == pytest.approx(1.0 - info.infinite)
    assert np.isfinite(info.edges).all()
    picture = loss_picture(info)
    assert "infinite" in picture.caption
    [[panel]] = picture.rows
    assert isinstance(panel, Panel)
    assert all(np.isfinite(mark.at) for mark in panel.marks if isinstance(mark, Rule))


def test_a_loss_that_is_certain_is_one_bar() -> None:
    fixed = he.decision(lambda f, a: 0.0 * f[..., 0] + 2.5, actions=he.Options(["a"], at=[[1.0]]))
    info = loss_info(scene_of(begun(LINE, fixed)), draws=50)
    assert info.heights.tolist() == [1.0]
    assert info.edges[0] < 2.5 < info.edges[1]
    assert info.quantiles.tolist() == [2.5] * 3


def test_the_picture_has_the_expected_loss_and_the_quantiles() -> None:
    info = loss_info(scene_of(begun(LINE, count=4)), draws=200)
    [[panel]] = loss_picture(info).rows
    assert isinstance(panel, Panel)
    assert isinstance(panel.marks[0], Bars)
    assert [mark.at for mark in panel.marks if isinstance(mark, Rule)] == [info.expected, *info.quantiles]


def test_losses_over_a_long_list_are_drawn_from_functions() -> None:
    pool = he.Pool(torch.linspace(-1.0, 3.0, 1500, dtype=torch.float64).unsqueeze(-1), names=["x"])
    scene = scene_of(begun(pool, he.LevelSets(1.0, relation="misclassification"), count=5))
    losses = loss_draws(scene, 2000)
    assert losses.mean() == pytest.approx(scene.found.value, abs=5 * losses.std() / 2000**0.5)


def failing(decision: he.Decision) -> he.Study:
    """Better to the right, where experiments fail."""
    study = he.Study(LINE, decision, hyperparameters="map")
    for x in (0.05, 0.2, 0.4, 0.55, 0.7):
        study.attach({"x": x}, x * x)
    for x in (0.8, 0.95):
        study.attach({"x": x}, he.Failed("burnt"))
    return study


@pytest.mark.parametrize("decision", [he.Maximize(), he.TopK(2), he.KGuesses(2)], ids=repr)
def test_designs_that_may_fail_are_among_the_losses(decision: he.Decision) -> None:
    scene = scene_of(failing(decision))
    losses = loss_draws(scene, 4000)
    error = np.hypot(losses.std() / len(losses) ** 0.5, scene.found.std_error)
    assert abs(losses.mean() - scene.found.value) < two_sided(1e-3, 3) * error
    assert "fails" in loss_picture(loss_info(scene, draws=200)).caption


def test_what_would_be_decided_after_an_outcome_counts_failures_too() -> None:
    scene = scene_of(failing(he.Maximize()))
    target = scene.explained.target
    assert target is not None
    after = [one.expected_loss for one in outcomes(scene, torch.from_numpy(target.design))]
    # as if all succeeded, even a low outcome would seem to beat the expected loss of today
    assert min(after) < scene.found.value < max(after)
