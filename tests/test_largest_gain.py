"""What `propose` returns has about the largest gain there is, early and late in a run, for every kind of decision.

The oracle is brute force (`benchmarks/search.py`, which also has the whole table). Both sides are valued together, by
the same outcomes: the ratio is the search's, not that of random errors.
"""

from dataclasses import astuple

import pytest
import torch
from benchmarks.search import BruteForce, against_brute_force
from benchmarks.search_cases import Case, setting

import hentropy as he
from hentropy import Real, Space, propose
from hentropy.core.gain import Appraisal
from hentropy.core.solvers.ascent import CLOSE, ascend, beside, first_designs, step_lengths
from hentropy.core.solvers.base import CostModel, leading, with_few_draws
from support.beliefs import designs, gaussian
from support.decisions import ROWS, SPACE
from support.tiers import cover, nightly

LEAST = 0.8
"""The share of the largest gain that every proposal must have."""

QUICK = BruteForce(filling=1024, around=8, kept=8, rounds=8, finalists=4)

CASES = [
    Case("BestObserved", "Forrester", "early"),
    Case("BestObserved", "Hartmann-3", "converged"),
    Case("BestObserved", "Styblinski-Tang-10", "late"),
    Case("BestObserved", "Hartmann-3", "late", "auto"),
    Case("BestObserved", "Ackley-4", "converged", "auto"),
    Case("BestObserved", "Ackley-4", "converged", noise=0.001, seed=1),
    Case("Maximize", "Forrester", "late"),
    Case("Maximize", "Cosines-2", "late"),
    Case("Maximize", "Hartmann-3", "late", "auto"),
    Case("Maximize", "Ackley-4", "converged", noise=0.001, seed=1),
    Case("Maximize", "Hartmann-6", "early"),
    Case("Maximize", "Branin", "late", mixed=True),
    Case("TopK", "Hartmann-3", "late"),
    Case("KGuesses", "Branin", "late"),
    Case("MinMax", "Hartmann-3", "late"),
    Case("Sequence", "Hartmann-3", "late"),
    Case("Target", "Branin", "early", noise=0.05),
    Case("LevelSets", "Hartmann-3", "late"),
    Case("own loss", "Branin", "late"),
    Case("own loss", "Forrester", "converged", noise=0.05, seed=100),
    Case("own points", "Branin", "late"),
    Case("own points", "Cosines-2", "late", seed=100),
    Case("limits", "Hartmann-3", "late"),
    Case("Sequence", "Ackley-4", "converged", noise=0.001, seed=100),
]


COVER = cover(map(astuple, CASES))


@pytest.mark.parametrize("case", [case if astuple(case) in COVER else nightly(case) for case in CASES], ids=str)
def test_a_proposal_has_almost_the_largest_gain(case: Case) -> None:
    made = setting(case)
    found = propose(made.decision, made.belief, made.space)
    against = against_brute_force(made, found.x, QUICK)
    assert against.ratio >= LEAST, (against, found)


def test_brute_force_finds_a_peak_that_is_known() -> None:
    """Late in a run, expected improvement on a grid of 20,001 designs of one parameter: brute force has as much."""
    made = setting(Case("BestObserved", "Forrester", "late"))
    appraisal = Appraisal.prepare(made.decision, made.belief, made.space)
    grid = torch.linspace(0.0, 1.0, 20_001, dtype=torch.float64).reshape(-1, 1, 1)
    largest = float(appraisal.screen(grid, appraisal.nodes(2, 1)).max())
    rivals = QUICK.rivals(appraisal, made.belief.X[made.y.argmax()].unsqueeze(0))
    assert float(appraisal.screen(rivals, appraisal.nodes(2, 1)).max()) >= 0.999 * largest


@pytest.mark.parametrize("name", ["best_observed", "maximize", "level_sets"])
def test_first_designs_lie_around_the_best_observed_design_on_all_scales(name: str) -> None:
    """Whatever the actions are: within each decade of distances from 0.001 to 0.1 of the cube, per coordinate."""
    belief = gaussian(1)
    appraisal = Appraisal.prepare(ROWS[name].make(0.0), belief, SPACE)
    best = belief.X[belief.means(belief.X).mean.squeeze(0).argmax()]
    far = (SPACE.to_cube(first_designs(appraisal, 144)) - SPACE.to_cube(best)).abs().amax(-1)
    for low, high in ((0.0003, 0.003), (0.003, 0.03), (0.03, 0.3)):
        assert bool(((far > low) & (far <= high)).any()), (low, high)


def test_designs_beside_others_are_runnable_and_near() -> None:
    space = Space(x=Real(0.0, 1.0), y=Real(10.0, 20.0))
    x = space.sample(5, 0)
    reach = torch.full((5, 1), CLOSE[0], dtype=torch.float64)
    near = beside(space, x, reach, 64, torch.Generator().manual_seed(0))
    space.check(near.flatten(0, 1))
    far = (space.to_cube(near) - space.to_cube(x)).abs().amax(-1)
    assert float(far.max()) < 6.0 * CLOSE[0]
    assert float(far.median()) < 0.3 * CLOSE[0]
    assert bool(((near == x).any(-1) & (near != x).any(-1)).any())  # some differ in one parameter only


def test_steps_are_short_where_data_are_near() -> None:
    belief = gaussian(1)
    appraisal = Appraisal.prepare(ROWS["best_observed"].make(0.0), belief, SPACE)
    at = SPACE.to_cube(belief.X[0])
    inward = torch.where(at < 0.5, 0.01, -0.01)
    close = SPACE.from_cube(at + inward).reshape(1, 1, -1)
    steps = step_lengths(appraisal, torch.cat([close, designs(1, 1, seed=71)]))
    assert steps.shape == (2,)
    torch.testing.assert_close(steps[0], torch.tensor(0.01, dtype=torch.float64))
    assert bool(steps[1] >= steps[0])


def test_gains_of_separate_ascents_can_be_compared() -> None:
    """They are those of the designs reached, on the scale of gains, wherever the ascent began."""
    appraisal = Appraisal.prepare(he.BestObserved(), gaussian(1), SPACE)
    nodes, x = appraisal.nodes(12, 1), designs(6, 1, seed=72)
    both = ascend(appraisal, x, nodes, 6, 1, None)
    alone = ascend(appraisal, x[:1], nodes, 0, 1, None)
    torch.testing.assert_close(both[2], appraisal.screen(both[0], nodes))
    torch.testing.assert_close(alone[2], appraisal.screen(x[:1], nodes))


class _NoNumber(CostModel):
    """Designs in one half of the space have a worth that is no number."""

    def score(self, gains: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.where(SPACE.to_unit(x)[..., 0].amax(-1) > 0.5, torch.nan, gains)


@pytest.mark.parametrize("decision", [he.BestObserved(), he.Maximize()], ids=str)
def test_a_design_of_no_known_worth_does_not_hold_back_the_others(decision: he.Decision) -> None:
    appraisal = Appraisal.prepare(decision, gaussian(1), SPACE)
    at = torch.tensor([[0.2, 0.4], [0.9, 0.6]], dtype=torch.float64)
    nodes, x = appraisal.nodes(12, 1), SPACE.from_cube(at).unsqueeze(-2)
    before = appraisal.screen(x[:1], nodes, 4)
    reached, _, gains = ascend(appraisal, x, nodes, 6, 1, _NoNumber())
    assert float(appraisal.screen(reached[:1], nodes, 4)) > 1.01 * float(before)
    assert float(gains[0]) > 1.01 * float(before)
    assert not float(gains[1]) > 0.0


def test_few_draws_show_no_gain_where_there_is_none() -> None:
    """By a few draws of the values, today's best action is another one: that is no gain of any design."""
    made = setting(Case("own loss", "Forrester", "converged", noise=0.05, seed=100))
    appraisal = Appraisal.prepare(made.decision, made.belief, made.space)
    x = torch.linspace(0.0, 1.0, 41, dtype=torch.float64).reshape(-1, 1, 1)
    nodes, quick = appraisal.nodes(24, 1), with_few_draws(appraisal)
    gains, few = appraisal.screen(x, nodes), quick.screen(x, nodes)
    useless = gains < 0.01 * gains.max()
    assert int(useless.sum()) >= 10
    assert float(few[useless].max()) < 0.1 * float(gains.max())


def test_designs_that_go_on_are_near_and_far_in_turn() -> None:
    """Distances count per coordinate; every other place is for a design further away, whatever its gain."""
    line, plane = Space(x=Real(0.0, 1.0)), Space(x=Real(0.0, 1.0), y=Real(0.0, 1.0))
    for space in (line, plane):
        belief = he.fit(space.sample(6, 0), torch.arange(6.0, dtype=torch.float64), space=space, hyperparameters="map")
        appraisal = Appraisal.prepare(he.BestObserved(), belief, space)
        places = torch.tensor([0.50, 0.52, 0.55, 0.58, 0.90], dtype=torch.float64)
        at = places.reshape(5, 1, 1).expand(5, 1, space.dim)
        scores = torch.tensor([5.0, 4.0, 3.0, 2.0, 1.0], dtype=torch.float64)
        torch.testing.assert_close(leading(at, scores, 3, appraisal, apart=0.03), at[[0, 2, 4]])
        torch.testing.assert_close(leading(at, scores, 3, appraisal, apart=0.0), at[:3])
