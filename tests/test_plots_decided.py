"""What would be decided: the spread of the choice against brute force, labels, densities and intervals by value."""

import copy
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import norm

import hentropy as he
from hentropy.core.beliefs import Needs
from hentropy.views.plots.chosen import ChosenInfo, chosen_info, chosen_picture
from hentropy.views.plots.decided import OwnInfo, decided_info, decided_panels, decided_picture, own_info
from hentropy.views.plots.estimates import estimates_info, estimates_picture
from hentropy.views.plots.identified import MaximumInfo, PlacesInfo
from hentropy.views.plots.levels import boundaries, levels_info, levels_picture
from hentropy.views.plots.marks import Bars, Contour, Dots, Heat, Line, Panel, Role, Rule, Table
from hentropy.views.plots.scene import Scene, scene_of
from hentropy.views.plots.spread import action_spread, best_tuples, candidate_designs, function_values
from hentropy.views.plots.theme import dashes
from support.decisions import BothSides
from support.studies import AT, DECISIONS, LINE, MIXED, PLANE, Worst, begun

SMALL = he.Pool(PLANE.sample(7, seed=3), names=["x", "rate"])


def scene(decision: he.Decision | None = None, space: Any = PLANE, count: int = 6, **options: Any) -> Scene:
    return scene_of(begun(space, decision, count, **options))


def drawn(seen: Scene, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The candidates of the spread, and the values there of the functions that it draws."""
    rows, _ = candidate_designs(seen, seen.action, 256)
    return rows, function_values(seen.belief, rows, count, seen.seed)


def test_maximize_spreads_over_the_tops_of_drawn_functions() -> None:
    seen = scene(space=he.Pool(PLANE.sample(60, seed=3), names=["x", "rate"]))
    rows, values = drawn(seen, 40)
    spread = action_spread(seen, 40)
    assert spread.designs[:, 0].tolist() == rows[values.argmax(-1)].tolist()
    assert spread.values[:, 0].tolist() == values.max(-1).values.tolist()
    assert len({tuple(row) for row in spread.designs[:, 0].tolist()}) > 1


def test_minimize_spreads_over_the_bottoms() -> None:
    seen = scene(he.Minimize(), SMALL)
    rows, values = drawn(seen, 20)
    assert action_spread(seen, 20).designs[:, 0].tolist() == rows[values.argmin(-1)].tolist()


def test_top_k_without_distance_spreads_over_the_k_best() -> None:
    seen = scene(he.TopK(3, weight=0.0), SMALL)
    _, values = drawn(seen, 30)
    spread = action_spread(seen, 30)
    assert spread.values.sort(-1).values.tolist() == values.topk(3).values.sort(-1).values.tolist()


@pytest.mark.parametrize(
    "decision",
    [
        he.TopK(3, weight=5.0, cap=2.0),
        he.KGuesses(2),
        he.KGuesses(3, largest=False),
        he.MinMax(),
        he.Sequence([-1.0, 0.5, 2.0], link=0.3),
        he.Sequence([-1.0, 2.0], power=1),
        Worst(),
    ],
    ids=repr,
)
def test_the_spread_is_that_of_all_tuples_tried(decision: he.Decision) -> None:
    seen = scene(decision, SMALL)
    rows, values = drawn(seen, 16)
    today = torch.arange(seen.action.shape[0])
    found, matters = best_tuples(seen.decision, rows, values, today, seed=0)
    as_set = isinstance(decision.actions, he.Points) and decision.actions.as_set
    k = len(today)
    every = list(itertools.combinations(range(7), k) if as_set else itertools.product(range(7), repeat=k))
    for f, index in zip(values, found, strict=True):
        losses = [float(seen.decision.loss(f[list(each)], rows[list(each)])) for each in every]
        assert float(seen.decision.loss(f[index], rows[index])) == pytest.approx(min(losses))
    assert bool(matters.all()) or isinstance(decision, he.KGuesses)


@pytest.mark.parametrize(
    ("decision", "found_always"),
    [
        (he.TopK(4, weight=5.0, cap=2.0), False),
        (he.Sequence([-1.0, 0.5, 2.0]), True),
        (he.Sequence([-1.0, 0.5, 2.0], link=0.3), False),
    ],
    ids=repr,
)
def test_exchange_finds_what_trying_all_finds(decision: he.Decision, found_always: bool) -> None:
    seen = scene(decision, he.Pool(PLANE.sample(17, seed=3), names=["x", "rate"]))
    rows, values = drawn(seen, 8)
    k = len(seen.action)
    chosen, _ = best_tuples(_with(seen.decision, he.Points(k)), rows, values, torch.arange(k), seed=0)
    every = torch.cartesian_prod(*[torch.arange(17)] * k)
    least = seen.decision.loss(values[:, every], rows[every]).min(-1).values
    own = torch.stack([seen.decision.loss(f[each], rows[each]) for f, each in zip(values, chosen, strict=True)])
    worse = (own - least) > 1e-9
    assert int(worse.sum()) <= (0 if found_always else 2)


def _with(decision: he.Decision, actions: he.Points) -> he.Decision:
    """A copy of the decision whose points have an order, so that its tuples are too many to try."""
    made = copy.copy(decision)
    made.actions = actions
    return made


def test_of_k_guesses_only_the_best_matters() -> None:
    seen = scene(he.KGuesses(3), SMALL)
    rows, values = drawn(seen, 12)
    spread = action_spread(seen, 12)
    known = ~torch.isnan(spread.values)
    assert known.sum(-1).tolist() == [1] * 12
    assert spread.values[known].tolist() == values.max(-1).values.tolist()
    assert spread.designs[known].tolist() == rows[values.argmax(-1)].tolist()


def test_a_decision_that_looks_elsewhere_is_judged_there() -> None:
    pool = he.Pool(PLANE.sample(9, seed=3), names=["x", "rate"])
    seen = scene(BothSides(), pool)
    spread = action_spread(seen, 10)
    rows = pool.points.unique(dim=0)
    points = seen.decision.points(rows.unsqueeze(-2))
    values = function_values(seen.belief, points, 10, seen.seed)
    assert spread.designs[:, 0].tolist() == rows[values.min(-1).values.argmax(-1)].tolist()
    assert bool(torch.isnan(spread.values).all())
    info = chosen_info(seen, draws=10)
    mean = seen.belief.moments(spread.designs, Needs.MEAN).mean[0]
    assert info.spread_values == pytest.approx(mean.numpy())


def test_two_points_that_look_elsewhere_are_among_the_tuples_tried() -> None:
    class Pair(BothSides):
        actions = he.Points(2)

    seen = scene(Pair(), SMALL)
    rows = SMALL.points.unique(dim=0)
    pairs = torch.stack([rows[list(pair)] for pair in itertools.product(range(7), repeat=2)])
    values = function_values(seen.belief, seen.decision.points(pairs), 6, seen.seed)
    best = pairs[values.min(-1).values.argmax(-1)]
    assert action_spread(seen, 6).designs.tolist() == best.tolist()


def test_the_best_observed_is_one_of_the_data() -> None:
    seen = scene(he.BestObserved())
    values = function_values(seen.belief, seen.belief.X, 20, seen.seed)
    assert action_spread(seen, 20).designs[:, 0].tolist() == seen.belief.X[values.argmax(-1)].tolist()


class Counted(he.TopK):
    """Counts the actions whose loss is asked for."""

    asked = 0

    def loss(self, f: torch.Tensor, a: Any) -> torch.Tensor:
        Counted.asked += f[..., 0].numel()
        return super().loss(f, a)


def test_a_choice_of_five_on_a_plane_takes_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: 1.7 million actions, in half a second of one core."""
    seen = scene(Counted(5, weight=1.0, cap=0.5), count=20)
    monkeypatch.setattr(Counted, "asked", 0)
    chosen_info(seen)
    assert 0 < Counted.asked < 3_000_000


@pytest.mark.smoke
def test_chosen_designs_are_those_of_the_verdict() -> None:
    study = begun(PLANE, he.TopK(3, weight=1.0, cap=0.5), 8)
    info = decided_info(scene_of(study), draws=4, plane=5)
    assert isinstance(info, ChosenInfo)
    rows = study.decide().action
    assert [[row["x"], row["rate"]] for row in rows] == info.chosen.tolist()
    assert [row["mean"] for row in rows] == pytest.approx(info.mean.tolist())
    assert [row["sd"] for row in rows] == pytest.approx(info.sd.tolist())
    [panel] = decided_panels(info)
    assert isinstance(panel, Panel)
    assert [type(mark) for mark in panel.marks] == [Heat, Dots, Dots]
    last = panel.marks[-1]
    assert isinstance(last, Dots)
    assert last.texts == ("1", "2", "3")


def test_a_sequence_is_a_path_with_its_targets() -> None:
    info = chosen_info(scene(he.Sequence([1.0, 2.0, 0.5]), LINE), draws=4, points=9)
    assert info.targets == (1.0, 2.0, 0.5)
    panel = chosen_picture(info).rows[0][0]
    assert isinstance(panel, Panel)
    assert [mark.at for mark in panel.marks if isinstance(mark, Rule)] == [1.0, 2.0, 0.5]
    path = [mark for mark in panel.marks if isinstance(mark, Line)][-1]
    assert path.x.tolist() == info.chosen[:, 0].tolist()


def test_lowest_and_highest_are_named() -> None:
    info = chosen_info(scene(he.MinMax()), draws=4, plane=5)
    assert info.labels == ("lowest", "highest")


def test_more_parameters_are_seen_in_pairs_and_one_by_one() -> None:
    picture = chosen_picture(chosen_info(scene(space=MIXED), draws=8, points=9, plane=5))
    assert [len(row) for row in picture.rows] == [3, 3, 1]
    shares = [panel.marks[0] for panel in picture.rows[1] if isinstance(panel, Panel)]
    assert all(isinstance(bars, Bars) and bars.heights.sum() == pytest.approx(1.0) for bars in shares)
    steps = next(panel for panel in picture.rows[1] if panel.title == "how open steps is")
    assert isinstance(steps, Panel)
    assert isinstance(steps.marks[0], Bars)
    assert steps.marks[0].edges.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]


@pytest.mark.parametrize("hyperparameters", ["map", "mixture"])
@pytest.mark.parametrize("relation", ["difference", "misclassification"])
def test_labels_on_the_grid_are_those_of_the_decision(relation: Any, hyperparameters: str) -> None:
    grid = torch.linspace(-1.0, 3.0, 9, dtype=torch.float64).unsqueeze(-1)
    decision = he.LevelSets([0.5, 2.0], grid, relation)
    info = levels_info(scene(decision, LINE, hyperparameters=hyperparameters), points=9)
    assert info.views[0].labels.tolist() == info.labels.tolist()
    assert len(set(info.labels.tolist())) == 3
    assert (info.views[0].labels == (info.views[0].evidence > 0).sum(0)).all()
    assert info.given


@pytest.mark.parametrize("hyperparameters", ["map", "mixture"])
def test_probabilities_of_levels_are_those_of_draws(hyperparameters: str) -> None:
    seen = scene(he.LevelSets([0.5, 2.0]), LINE, count=4, hyperparameters=hyperparameters)
    [view] = levels_info(seen, points=7).views
    at = torch.from_numpy(view.ground.grids[0]).unsqueeze(-1)
    draws = seen.belief.sample(at, 20_000, seed=1)
    for threshold, chances in zip((0.5, 2.0), view.above, strict=True):
        assert (draws > threshold).double().mean(0).numpy() == pytest.approx(chances, abs=0.02)


@pytest.mark.parametrize("relation", ["difference", "misclassification"])
def test_boundaries_are_where_the_label_changes(relation: Any) -> None:
    seen = scene(he.LevelSets([0.5, 2.0], relation=relation), LINE)
    info = levels_info(seen, points=201)
    found = info.views[0].boundaries
    assert [len(where) for where in found] == [2, 2]
    for threshold, where in zip((0.5, 2.0), found, strict=True):
        mean = seen.belief.moments(torch.tensor(where).double().unsqueeze(-1), Needs.MEAN).mean[0]
        assert mean.tolist() == pytest.approx([threshold] * 2, abs=0.01)
    panel = levels_picture(info).rows[0][0]
    assert isinstance(panel, Panel)
    rules = [mark for mark in panel.marks if isinstance(mark, Rule)]
    assert sorted(rule.at for rule in rules if rule.axis == "x") == sorted(found[0] + found[1])
    assert [rule.at for rule in rules if rule.axis == "y"] == [0.5, 2.0]
    labels = {rule.label for rule in rules if rule.axis == "x"}
    assert labels == {"boundary at 0.5", "boundary at 2"}
    strokes = dashes(levels_picture(info))
    assert len({strokes[Rule, Role.DECIDED, label] for label in labels}) == 2


def test_boundaries_lie_where_the_evidence_is_zero() -> None:
    x = np.array([0.0, 1.0, 2.0, 3.0])
    evidence = np.array([[-1.0, 3.0, 1.0, -1.0], [1.0, 1.0, 1.0, 1.0]])
    assert boundaries(x, evidence) == ((0.25, 2.5), ())


def test_levels_on_a_plane_have_a_map_for_each_threshold() -> None:
    info = levels_info(scene(he.LevelSets([0.0, 2.0])), plane=9)
    assert info.names == ("below 0", "0 to 2", "above 2")
    assert replace(info, unit="%").names == ("below 0 %", "0 to 2 %", "above 2 %")
    assert not info.given
    [maps] = levels_picture(info).rows
    assert [panel.title for panel in maps] == [
        "the levels",
        "how probable it is to be above 0",
        "how probable it is to be above 2",
    ]
    assert isinstance(maps[0], Panel)
    assert isinstance(maps[0].marks[0], Heat)
    assert maps[0].marks[0].names == info.names
    assert sum(isinstance(mark, Contour) for mark in maps[0].marks) == 2


def test_chosen_designs_have_the_intervals_of_a_mixture() -> None:
    seen = scene(he.TopK(2), LINE, count=4, hyperparameters="mixture")
    info = chosen_info(seen, draws=4, points=9)
    draws = seen.belief.sample(seen.action, 20_000, seed=2).numpy()
    inside = ((draws > info.quantiles[0]) & (draws < info.quantiles[3])).mean(0)
    assert inside == pytest.approx(np.full(2, 0.95), abs=0.01)
    [panel] = decided_panels(info)
    assert isinstance(panel, Panel)
    [dots] = [mark for mark in panel.marks if isinstance(mark, Dots) and mark.role is Role.DECIDED]
    assert dots.error is not None
    np.testing.assert_allclose(np.stack([dots.y - dots.error[0], dots.y + dots.error[1]]), info.quantiles[[0, 3]])


def test_shares_of_several_designs_are_not_called_shares_of_functions() -> None:
    for k, what in ((1, "share of functions"), (3, "share of best designs")):
        info = chosen_info(scene(he.TopK(k), LINE), draws=8, points=9)
        panel = chosen_picture(info).rows[0][1]
        assert isinstance(panel, Panel)
        assert panel.y.title == what
        assert info.shares[0].sum() == pytest.approx(1.0)


def test_texts_of_places_that_lie_together_do_not_cover_each_other() -> None:
    seen = scene(he.Identify("argmax", candidates=64), PLANE)
    info = decided_info(seen)
    assert isinstance(info, PlacesInfo)
    near = replace(info, designs=np.repeat(info.designs[:1], len(info.designs), 0))
    [panel] = decided_panels(near)
    assert isinstance(panel, Panel)
    [dots] = [mark for mark in panel.marks if isinstance(mark, Dots)]
    assert dots.texts[0]
    assert not any(dots.texts[1:])


def test_levels_of_more_parameters_show_their_own_points() -> None:
    picture = levels_picture(levels_info(scene(he.LevelSets(1.0), MIXED), points=9, plane=5))
    own = picture.rows[1][0]
    assert isinstance(own, Panel)
    assert sum(len(mark.x) for mark in own.marks if isinstance(mark, Dots)) == 512
    counts = picture.rows[2][0]
    assert isinstance(counts, Panel)
    assert isinstance(counts.marks[0], Bars)
    assert counts.marks[0].heights.sum() == 512


def test_the_density_of_the_maximum_is_that_of_drawn_maxima() -> None:
    seen = scene(he.Identify("max"), LINE, count=4)
    info = decided_info(seen)
    assert isinstance(info, MaximumInfo)
    assert np.trapezoid(info.density, info.values) == pytest.approx(1.0, abs=0.01)
    maxima = seen.belief.sample(seen.decision.points(None), 4000, seed=5).max(-1).values.numpy()
    assert info.quantiles == pytest.approx(np.quantile(maxima, (0.05, 0.25, 0.5, 0.75, 0.95)), abs=0.15)


@pytest.mark.parametrize("space", [LINE, PLANE, MIXED], ids=["1", "2", "3"])
def test_probabilities_of_places_sum_to_one(space: he.Space) -> None:
    seen = scene(he.Identify("argmax", candidates=64), space)
    info = decided_info(seen)
    assert isinstance(info, PlacesInfo)
    assert info.probabilities.tolist() == seen.action.tolist()
    panels = [panel for row in decided_picture(info).rows for panel in row if isinstance(panel, Panel)]
    for panel in panels:
        mark = panel.marks[0]
        assert isinstance(mark, Bars | Heat)
        assert (mark.heights if isinstance(mark, Bars) else mark.z).sum() == pytest.approx(1.0)
    if space is PLANE:
        heat, best = panels[0].marks[0], info.designs[info.probabilities.argmax()]
        assert isinstance(heat, Heat)
        across, up = np.searchsorted(info.edges[0], best[0]) - 1, np.searchsorted(info.edges[1], best[1]) - 1
        assert heat.z[up, across] >= info.probabilities.max()
        assert heat.x[across] == pytest.approx(best[0], abs=0.25)


def test_estimates_have_normal_intervals_under_one_process() -> None:
    seen = scene(he.Estimate(AT))
    info = estimates_info(seen, plane=5)
    mean, var = (each.numpy() for each in seen.belief.moments(AT, Needs.VARIANCE).total())
    assert info.estimates == pytest.approx(mean)
    assert info.sd == pytest.approx(np.sqrt(var))
    for row, share in zip(info.quantiles, (0.025, 0.25, 0.75, 0.975), strict=True):
        assert row == pytest.approx(norm.ppf(share, mean, np.sqrt(var)))
    identified = estimates_info(scene(he.Identify(AT)), plane=5)
    assert identified.quantiles == pytest.approx(info.quantiles, rel=1e-5)


def test_intervals_of_a_mixture_hold_their_share_of_draws() -> None:
    seen = scene(he.Estimate(AT), count=4, hyperparameters="mixture")
    info = estimates_info(seen, plane=5)
    draws = seen.belief.sample(AT, 20_000, seed=2).numpy()
    inside = ((draws > info.quantiles[0]) & (draws < info.quantiles[3])).mean(0)
    assert inside == pytest.approx(np.full(3, 0.95), abs=0.01)


def test_many_estimates_are_bands_few_are_bars() -> None:
    many = estimates_picture(estimates_info(scene(he.Estimate(), LINE), points=9))
    few = estimates_picture(estimates_info(scene(he.Estimate([[0.0], [1.0]]), LINE), points=9))
    for picture, kinds in ((many, ["Band", "Band", "Line"]), (few, ["Dots", "Dots"])):
        panel = picture.rows[0][0]
        assert isinstance(panel, Panel)
        assert [type(mark).__name__ for mark in panel.marks] == kinds
    assert isinstance(few.rows[1][0], Table)
    assert len(many.rows) == 1


def test_each_option_has_its_expected_loss() -> None:
    seen = scene(DECISIONS["own function, options"])
    info = own_info(seen)
    assert info.options == ("ship", "wait")
    chosen = info.options.index(seen.action)
    assert info.losses[chosen] == pytest.approx(seen.found.value, abs=0.02)
    assert info.losses.argmin() == chosen
    assert info.losses[1] == 0.0
    assert info.rows == ((seen.action,),)


def test_an_action_of_numbers_is_a_table() -> None:
    seen = scene(DECISIONS["own function, box"])
    info = decided_info(seen)
    assert isinstance(info, OwnInfo)
    [table] = decided_panels(info)
    assert isinstance(table, Table)
    assert table.rows == ((f"{float(seen.action):.5g}",),)


def test_each_kind_of_decision_has_its_picture() -> None:
    kinds = {
        name: type(decided_info(scene(decision), draws=2, candidates=16, points=5, plane=3)).__name__
        for name, decision in DECISIONS.items()
    }
    assert {name: kind for name, kind in kinds.items() if kind != "ChosenInfo"} == {
        "identify argmax": "PlacesInfo",
        "identify max": "MaximumInfo",
        "identify values": "EstimatesInfo",
        "level sets": "LevelsInfo",
        "level sets at points": "LevelsInfo",
        "estimate": "EstimatesInfo",
        "estimate everywhere": "EstimatesInfo",
        "own function, box": "OwnInfo",
        "own function, options": "OwnInfo",
    }
