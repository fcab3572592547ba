"""How spaces are looked at: lines, planes and slices, by value."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

import hentropy as he
from hentropy.core.beliefs import Frame
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.models.gp import ConstantMean
from hentropy.core.spaces import DesignSpace
from hentropy.views.plots.fields import bin_edges, by_relevance, parameter_axis, relevance
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.slices import MAX_LINES, held, reference_design, slices
from hentropy.views.plots.trust import length_scales, weighted_median


def scene(space: DesignSpace, decision: he.Decision, count: int = 6) -> Scene:
    """A study with values of a smooth function at designs that fill the space."""
    study = he.Study(space, decision, seed=3)
    rows = space.sample(count, 5)
    values = (space.to_unit(rows) - 0.3).square().sum(-1).neg()
    study.attach_many([(space.decode(row), float(value)) for row, value in zip(rows, values, strict=True)])
    return scene_of(study)


def test_one_parameter_is_a_line_over_its_bounds() -> None:
    [line] = slices(he.Space(t=he.Real(-1.0, 3.0)), points=5)
    assert line.names == ("t",)
    assert not line.is_plane
    assert line.grids[0].tolist() == [-1.0, 0.0, 1.0, 2.0, 3.0]
    assert line.designs.tolist() == [[-1.0], [0.0], [1.0], [2.0], [3.0]]


def test_a_logarithmic_parameter_is_spaced_by_ratios() -> None:
    [line] = slices(he.Space(rate=he.Real(1e-3, 1e1, log=True)), points=5)
    np.testing.assert_allclose(line.grids[0], [1e-3, 1e-2, 1e-1, 1.0, 1e1], rtol=1e-12)


@pytest.mark.parametrize("log", [False, True])
def test_few_whole_values_are_all_there(log: bool) -> None:
    [line] = slices(he.Space(k=he.Integer(1, 8, log=log)), points=8)
    assert line.grids[0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_many_whole_values_are_thinned_and_stay_whole() -> None:
    [line] = slices(he.Space(k=he.Integer(1, 1000, log=True)), points=31)
    grid = line.grids[0]
    assert grid[0] == 1
    assert grid[-1] == 1000
    assert len(grid) <= 31
    assert bool((grid == grid.round()).all())
    assert bool((grid.diff() > 0).all())


def test_two_parameters_are_a_plane_whose_first_axis_runs_fastest() -> None:
    [plane] = slices(he.Space(a=he.Real(0, 1), k=he.Integer(0, 2)), plane=5)
    assert plane.shape == (3, 5)
    assert plane.designs[:6].tolist() == [[0, 0], [0.25, 0], [0.5, 0], [0.75, 0], [1, 0], [0, 1]]
    z = plane.filled(plane.designs[:, 0] + 10 * plane.designs[:, 1])
    assert z[2, 3] == 0.75 + 20  # z[j, i] is at (x[i], y[j])


def test_more_parameters_are_slices_through_the_reference_most_relevant_first() -> None:
    space = he.Space.box([0.0] * 4, [1.0] * 4)
    reference = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    views = slices(space, reference, order=(2, 0, 3, 1), points=3, plane=4)
    assert [view.axes for view in views] == [(2,), (0,), (3,), (1,), (2, 0), (2, 3), (0, 3)]
    assert views[0].designs.tolist() == [[0.1, 0.2, 0.0, 0.4], [0.1, 0.2, 0.5, 0.4], [0.1, 0.2, 1.0, 0.4]]
    plane = views[4]
    assert plane.designs.shape == (16, 4)
    assert bool((plane.designs[:, [1, 3]] == reference[[1, 3]]).all())
    assert plane.designs[1].tolist() == pytest.approx([0.0, 0.2, 1 / 3, 0.4])  # x3 is the first axis
    assert held(plane) == "x2 = 0.2, x4 = 0.4"


def test_of_very_many_parameters_a_few_are_shown() -> None:
    views = slices(he.Space.box([0.0] * 12, [1.0] * 12), points=3, plane=3)
    assert sum(not view.is_plane for view in views) == MAX_LINES
    assert sum(view.is_plane for view in views) == 3


def test_a_pool_is_looked_at_over_its_bounds_without_its_constant_columns() -> None:
    pool = he.Pool([[0.0, 7.0, 1.0], [4.0, 7.0, 3.0], [1.0, 7.0, 2.0]], names=["a", "same", "b"])
    [plane] = slices(pool, pool.points[1], plane=3)
    assert plane.names == ("a", "b")
    assert plane.grids[0].tolist() == [0.0, 2.0, 4.0]
    assert bool((plane.designs[:, 1] == 7.0).all())
    [line] = slices(he.Pool([[5.0], [5.0]]), points=3)
    assert line.grids[0].tolist() == [4.5, 5.0, 5.5]


def test_axes_of_parameters() -> None:
    space = he.Space(rate=he.Real(0.1, 10, log=True), k=he.Integer(2, 9))
    rate, k = parameter_axis(space, 0), parameter_axis(space, 1)
    assert (rate.title, rate.low, rate.high, rate.log, rate.whole) == ("rate", 0.1, 10.0, True, False)
    assert (k.low, k.high, k.log, k.whole) == (2.0, 9.0, False, True)
    assert parameter_axis(he.Pool([[5.0]]), 0).low == 4.5


def belief_with(lengthscale: list[list[float]], space: DesignSpace) -> he.Gaussian:
    """A belief with given length scales in the unit cube."""
    scales = torch.tensor(lengthscale, dtype=torch.float64)
    H, X = len(scales), space.sample(4, 0)
    ones = torch.ones(H, dtype=torch.float64)
    frame = Frame(space.to_unit, torch.tensor(0.0), torch.tensor(1.0))
    kernel = Stationary(Profile.MATERN52, scales, ones)
    noise = 0.1 * ones[:, None].expand(H, 4)
    outcomes = torch.arange(4.0, dtype=torch.float64)
    return he.Gaussian.from_data(X, outcomes, noise, 0.1 * ones, kernel, ConstantMean(0 * ones), frame, ones)


def test_length_scales_are_shares_of_the_range() -> None:
    space = he.Space(a=he.Real(0, 50), rate=he.Real(1e-4, 1.0, log=True))
    found = length_scales(belief_with([[0.5, 0.25], [2.0, 0.1]], space), space)
    assert found is not None
    np.testing.assert_allclose([found.low, found.median, found.high], [[0.5, 0.1], [0.5, 0.1], [2.0, 0.25]])
    assert found.components == 2
    common = length_scales(belief_with([[0.5]], space), space)
    assert common is not None
    np.testing.assert_allclose(common.median, [0.5, 0.5])


def noted(function: Callable[..., float], space: he.Space, count: int = 24) -> he.Study:
    """A study with values of a function at designs that fill the space."""
    study = he.Study(space, he.Maximize(), seed=0, hyperparameters="map")
    designs = [space.decode(row) for row in space.sample(count, 5)]
    study.attach_many([(design, function(**design)) for design in designs])
    return study


def test_a_parameter_matters_by_how_much_the_value_changes_along_it_not_by_its_length_scale() -> None:
    space = he.Space(wig=he.Real(0, 1), lin=he.Real(0, 1), idle=he.Real(0, 1))
    study = noted(lambda lin, wig, idle: 10.0 * lin + 0.5 * math.sin(12.0 * wig), space, 40)
    scales = length_scales(study.belief, space)
    assert scales is not None
    assert scales.median[1] > scales.median[0], "the line is smooth"
    wig, lin, idle = relevance(study.belief, space)
    # sd of 10 u is 2.9, of 0.5 sin about 0.36
    assert lin == pytest.approx(0.99, abs=0.05)
    assert wig == pytest.approx(0.12, abs=0.06)
    assert idle < 0.02
    assert by_relevance(study.belief, space) == (1, 0, 2)


def test_relevance_is_that_of_the_mean_by_brute_force() -> None:
    """Along a, a^2 has the sd sqrt(4 / 45) of the uniform distribution; along b, 0.5 b has 0.5 / sqrt(12)."""
    X = torch.rand(3, 2, dtype=torch.float64)
    space = he.Space.box([0, 0], [1, 1])
    belief = he.Samples(X, lambda x: (x[..., 0].square() + 0.5 * x[..., 1]).expand(2, -1), torch.ones(2), 0.1)
    own = np.array([math.sqrt(4 / 45), 0.5 / math.sqrt(12)])
    np.testing.assert_allclose(relevance(belief, space), own / np.hypot(*own), rtol=0.12)
    flat = he.Samples(X, lambda x: (0 * x[..., 0] + 7.0).expand(2, -1), torch.ones(2), 0.1)
    assert relevance(flat, space).tolist() == [0.0, 0.0]
    assert by_relevance(flat, space) == (0, 1)


def test_a_column_that_never_varies_does_not_matter() -> None:
    pool = he.Pool([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0]])
    belief = he.fit(pool.points, torch.tensor([0.0, 1.0, 4.0]), space=pool, hyperparameters="map")
    assert by_relevance(belief, pool) == (0, 1)
    assert relevance(belief, pool)[1] == 0.0


def test_length_scales_in_another_frame_are_still_shares_of_the_range() -> None:
    """A model fitted without a space scales designs by the range of its data."""
    X = torch.tensor([[0.0], [2.0], [4.0]], dtype=torch.float64)
    belief = he.fit(X, torch.tensor([0.0, 1.0, 0.5]), hyperparameters="map")
    assert isinstance(belief.kernel, Stationary)
    found = length_scales(belief, he.Space(x=he.Real(0, 8)))
    assert found is not None
    np.testing.assert_allclose(found.median, belief.kernel.lengthscale[0].numpy() / 2)


def test_a_belief_of_samples_has_no_length_scales() -> None:
    X = torch.rand(3, 2, dtype=torch.float64)
    belief = he.Samples(X, lambda points: torch.stack([points.sum(-1), points[..., 0]]), torch.ones(2), 0.1)
    space = he.Space.box([0, 0], [1, 1])
    assert length_scales(belief, space) is None
    assert by_relevance(belief, space) == (0, 1)


def test_the_weighted_median() -> None:
    shares = np.array([[1.0, 5.0], [2.0, 4.0], [3.0, 6.0]])
    assert weighted_median(shares, np.array([0.2, 0.2, 0.6])).tolist() == [3.0, 6.0]
    assert weighted_median(shares, np.array([1 / 3] * 3)).tolist() == [2.0, 5.0]


def test_the_reference_is_the_first_decided_point() -> None:
    found = scene(he.Space.box([0, 0, 0], [1, 2, 3]), he.TopK(2))
    assert reference_design(found).tolist() == found.action[0].tolist()
    assert slices(found, points=3, plane=3)[0].reference.tolist() == found.action[0].tolist()


def test_where_the_greatest_value_is_asked_for_the_reference_is_near_it() -> None:
    space = he.Space.box([0, 0, 0], [1, 2, 3])
    found = scene(space, he.Identify("max"))
    best = max(found.trials, key=lambda trial: trial.value or -math.inf)
    assert reference_design(found).tolist() == list(best.params.values())
    place = scene(space, he.Identify("argmax", candidates=32))
    assert isinstance(place.decision, he.Identify)
    assert reference_design(place).tolist() == place.decision.settled_points[place.action.argmax()].tolist()


def test_levels_are_looked_at_near_a_threshold() -> None:
    found = scene(he.Space.box([0, 0, 0], [1, 2, 3]), he.LevelSets([-0.5, -0.1]))
    nearest = min(found.trials, key=lambda trial: min(abs((trial.value or 0.0) - level) for level in (-0.5, -0.1)))
    assert reference_design(found).tolist() == list(nearest.params.values())


def test_a_decision_about_all_of_the_space_is_looked_at_from_the_middle_of_the_data() -> None:
    """An estimate at as many points as there are parameters is no point."""
    space = he.Space.box([0, 0, 0], [1, 2, 3])
    found = scene(space, he.Estimate(torch.rand(3, 3, dtype=torch.float64)))
    unit = space.to_unit(found.rows(found.trials))
    middle = (unit - unit.median(0).values).norm(dim=-1).argmin()
    assert reference_design(found).tolist() == found.rows(found.trials)[middle].tolist()


def test_a_pool_s_column_of_whole_numbers_is_whole() -> None:
    pool = he.Pool([[0.5, 2.0], [1.5, 4.0], [2.0, 7.0]], names=["a", "n"])
    assert [parameter_axis(pool, index).whole for index in (0, 1)] == [False, True]
    [plane] = slices(pool, pool.points[0], plane=9)
    assert plane.grids[1].tolist() == [2, 3, 4, 5, 6, 7]
    assert [len(edges) for edges in bin_edges(pool, 20)] == [21, 7]
