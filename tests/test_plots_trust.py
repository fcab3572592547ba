"""Whether the model is to be trusted: predictions of what was left out, coverage, length scales."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.core.beliefs import Gaussian
from hentropy.core.beliefs.kernels import Composed, Stationary
from hentropy.core.models.families import leave_one_out
from hentropy.errors import InputError
from hentropy.views.plots.marks import Dots, Line, Panel, Role
from hentropy.views.plots.scene import scene_of
from hentropy.views.plots.trust import TrustInfo, coverage, joint_chance, predictions_info, trust_picture
from support.studies import LINE, MIXED, PLANE, begun


def information(study: he.Study) -> TrustInfo:
    return predictions_info(scene_of(study))


@pytest.mark.parametrize("treatment", ["map", "mixture"])
def test_it_is_what_leaving_one_out_says(treatment: str) -> None:
    study = begun(PLANE, count=9, hyperparameters=treatment)
    info = information(study)
    assert isinstance(study.belief, Gaussian)
    found = leave_one_out(study.belief)
    np.testing.assert_allclose(info.observed, np.array([trial.value for trial in study.records], float), rtol=1e-9)
    np.testing.assert_allclose(info.predicted, found.mean)
    np.testing.assert_allclose(info.sd, found.sd)
    low, _, _, high = found.quantiles((0.025, 0.25, 0.75, 0.975)).numpy()
    assert info.inside95.tolist() == ((low <= info.observed) & (info.observed <= high)).tolist()
    assert bool((info.inside95 | ~info.inside50).all())
    assert [each.inside for each in info.coverage] == [info.inside50.sum(), info.inside95.sum()]


def test_an_outlier_is_outside_and_is_seen() -> None:
    study = begun(LINE, count=12)
    study.attach({"x": 2.0}, 40.0)
    info = information(study)
    assert not info.inside95[-1]
    [[panel, _]] = trust_picture(info).rows
    assert isinstance(panel, Panel)
    [outside] = [mark for mark in panel.marks if isinstance(mark, Dots) and mark.role is Role.FAILED]
    assert 40.0 in outside.x.round(6).tolist()


@pytest.mark.parametrize(("n", "level"), [(1, 0.95), (7, 0.5), (15, 0.95), (200, 0.5)])
def test_the_expected_coverage_is_binomial(n: int, level: float) -> None:
    """The tails left out hold at most 2.5 % each, and would hold more with one number more in them."""
    found = coverage(np.ones(n, dtype=bool), level)
    chances = [math.comb(n, k) * level**k * (1 - level) ** (n - k) for k in range(n + 1)]
    assert sum(chances[: found.low]) <= 0.025 < sum(chances[: found.low + 1])
    assert sum(chances[found.high + 1 :]) <= 0.025 + 1e-12
    assert sum(chances[found.high :]) > 0.025 - 1e-12
    assert (found.inside, found.count) == (n, n)


def test_coverage_in_words() -> None:
    inside = np.array([True] * 14 + [False])
    assert str(coverage(inside, 0.95)) == "14 of 15 inside the 95 % interval"


def test_both_coverages_are_judged_together_by_the_chance_of_counts_as_rare() -> None:
    n, half, most = 6, 1, 4
    chances = {
        (a, b): math.factorial(n)
        / (math.factorial(a) * math.factorial(b) * math.factorial(n - a - b))
        * (0.5**a * 0.45**b * 0.05 ** (n - a - b))
        for a in range(n + 1)
        for b in range(n + 1 - a)
    }
    rare = sum(chance for chance in chances.values() if chance <= chances[half, most - half] * (1 + 1e-9))
    assert joint_chance(half, most, n) == pytest.approx(rare)
    assert joint_chance(3, 6, 6) == pytest.approx(1.0)
    assert joint_chance(0, 0, 1) == pytest.approx(0.05)


def test_a_smooth_parameter_is_not_called_idle() -> None:
    space = he.Space(lin=he.Real(0, 1), wig=he.Real(0, 1), idle=he.Real(0, 1))
    study = he.Study(space, he.Maximize(), seed=0, hyperparameters="map")
    for lin, wig, idle in space.sample(40, 5).tolist():
        study.attach({"lin": lin, "wig": wig, "idle": idle}, 10.0 * lin + 0.5 * math.sin(12.0 * wig))
    caption = trust_picture(information(study)).caption
    assert "the value hardly depends on idle." in caption


def test_length_scales_are_those_of_the_kernel() -> None:
    study = begun(MIXED, count=9, hyperparameters="mixture")
    info = information(study)
    assert isinstance(study.belief, Gaussian)
    kernel = study.belief.kernel
    assert isinstance(kernel, Stationary)
    assert info.reach is not None
    assert info.reach.components == kernel.lengthscale.shape[0] > 1
    np.testing.assert_allclose(info.reach.low, kernel.lengthscale.min(0).values)
    np.testing.assert_allclose(info.reach.high, kernel.lengthscale.max(0).values)
    assert bool(((info.reach.low <= info.reach.median) & (info.reach.median <= info.reach.high)).all())


@pytest.mark.parametrize("count", [1, 2])
def test_few_values_are_said_to_be_few(count: int) -> None:
    picture = trust_picture(information(begun(LINE, count=count, hyperparameters="mixture")))
    assert "cannot be judged yet" in picture.caption
    [[panel, _]] = picture.rows
    assert isinstance(panel, Panel)
    assert panel.x.low is not None
    assert panel.x.high is not None
    assert panel.x.low < panel.x.high


def test_equal_values_are_drawn_too() -> None:
    study = he.Study(LINE, he.Maximize(), hyperparameters="map")
    study.attach_many([({"x": x}, 3.0) for x in (0.0, 1.0, 2.0)])
    [[panel, _]] = trust_picture(information(study)).rows
    assert isinstance(panel, Panel)
    assert all(np.isfinite(mark.x).all() for mark in panel.marks if isinstance(mark, Dots))


def test_the_picture_has_an_interval_for_each_value_and_the_diagonal() -> None:
    info = information(begun(PLANE, count=8))
    [[predictions, scales]] = trust_picture(info).rows
    assert isinstance(predictions, Panel)
    assert isinstance(scales, Panel)
    [diagonal] = (mark for mark in predictions.marks if isinstance(mark, Line))
    assert diagonal.x.tolist() == diagonal.y.tolist()
    dots = [mark for mark in predictions.marks if isinstance(mark, Dots)]
    ends = {x: (y - e[0], y + e[1]) for mark in dots for x, y, e in zip(mark.x, mark.y, _bars(mark).T, strict=True)}
    np.testing.assert_allclose([ends[x] for x in info.observed], info.quantiles[[0, 3]].T)
    assert scales.x.names == ("x", "rate")
    assert scales.y.log


def _bars(dots: Dots) -> np.ndarray:
    assert dots.error is not None
    return dots.error


def test_a_model_that_is_too_sure_is_called_so() -> None:
    info = information(begun(PLANE, count=12))
    none = np.zeros(12, dtype=bool)
    bold = replace(info, coverage=(coverage(none, 0.5), coverage(none, 0.95)), chance=joint_chance(0, 0, 12))
    assert "overconfident" in trust_picture(bold).caption
    timid = replace(info, coverage=(coverage(~none, 0.5), coverage(~none, 0.95)), chance=joint_chance(12, 12, 12))
    assert "underconfident" in trust_picture(timid).caption


def test_a_belief_of_samples_says_that_it_cannot() -> None:
    scene = scene_of(begun(LINE))
    samples = he.Samples(scene.belief.X, lambda points: points.sum(-1).expand(2, -1), torch.ones(2), 0.1)
    with pytest.raises(InputError, match="leave an observation out"):
        predictions_info(replace(scene, belief=samples))


def test_the_caption_says_which_family_carries_the_weight() -> None:
    study = begun(PLANE, count=9, hyperparameters="families")
    info = information(study)
    # length scales are those of the components that have no waves
    assert isinstance(study.belief, Gaussian)
    kernel = study.belief.kernel
    assert isinstance(kernel, Composed)
    alone = kernel.stationary_alone()
    assert 0 < len(alone) < study.belief.components
    assert info.reach is not None
    assert info.reach.components == len(alone)
    np.testing.assert_allclose(info.reach.low, kernel.stationary.lengthscale[alone].min(0).values)
    ordered = sorted(info.families.values(), reverse=True)
    caption = trust_picture(info).caption
    said = [int(share) for share in re.findall(r": (\d+) %", caption)]
    assert said == [round(100 * weight) for weight in ordered]
    assert "functions" in caption
    assert not information(begun(PLANE, count=5)).families


def test_a_stretched_parameter_is_named() -> None:
    space = he.Space(x=he.Real(0.0, 10.0), y=he.Real(-1.0, 1.0))
    study = he.Study(space, he.Maximize())
    for row in space.sample(40, seed=1):
        x, y = space.to_unit(row).tolist()
        study.attach(space.decode(row), math.sin(30.0 * math.expm1(3.0 * x) / math.expm1(3.0)) + y)
    info = information(study)
    assert info.stretched == {"x": "upper end"}
    assert "stretches: x (its upper end)" in trust_picture(info).caption
