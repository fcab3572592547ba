"""Spaces with choices, levels and fractions: coordinates, the model, and searches against brute force."""

import itertools
import math
from functools import cache
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Gaussian, Needs
from hentropy.core.beliefs.kernels import Profile, Stationary
from hentropy.core.gain import Effort
from hentropy.core.models.hyperparameters import LogPosterior
from hentropy.core.spaces import Choice, Fractions, Integer, Levels, Params, Pool, Real, Space
from hentropy.core.spaces.coordinates import Simplex
from hentropy.errors import InputError
from support.beliefs import tensor
from support.tiers import nightly

close = torch.testing.assert_close


LIGANDS = ("PPh3", "XPhos", "dppf", "none")
EFFECT = {"PPh3": 0.0, "XPhos": 1.0, "dppf": 0.4, "none": -0.6}
BEST = {"PPh3": 30.0, "XPhos": 70.0, "dppf": 55.0, "none": 20.0}
REACTION = Space(
    ligand=LIGANDS, wet=[False, True], temperature=Real(0.0, 100.0, unit="C"), loading=Levels([0.5, 1.0, 4.0])
)


def reaction(ligand: str, wet: bool, temperature: float, loading: float) -> float:
    return EFFECT[ligand] - 0.4 * wet - ((temperature - BEST[ligand]) / 45.0) ** 2 + 0.3 * math.log2(loading)


def observed(space: Space, count: int, seed: int) -> tuple[Tensor, Tensor]:
    X = space.sample(count, seed)
    return X, tensor([reaction(**space.decode(row)) for row in X])


def believed(space: Space = REACTION, count: int = 14, seed: int = 1, **options: Any) -> Gaussian:
    return he.fit(*observed(space, count, seed), space=space, **options)


def everywhere(space: Space, along: int) -> Tensor:
    """Every combination of options and levels, with a grid of the numbers."""
    axes = [
        np.linspace(field.low, field.high, along).tolist() if not field.options else list(field.options)
        for field in space.fields
    ]
    return space.encode_many([dict(zip(space.names, values, strict=True)) for values in itertools.product(*axes)])


def test_coordinates_are_numbers_positions_and_one_of_each_option() -> None:
    row = REACTION.encode({"ligand": "dppf", "wet": True, "temperature": 25.0, "loading": 4.0})
    assert row.tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 25.0, 4.0]
    assert REACTION.decode(row) == {"ligand": "dppf", "wet": True, "temperature": 25.0, "loading": 4.0}
    assert [type(value) for value in REACTION.decode(row).values()] == [str, bool, float, float]
    assert (REACTION.dim, REACTION.cube, REACTION.scales) == (8, 4, (0, 0, 0, 0, 1, 1, 2, 3))
    close(REACTION.to_unit(row), tensor([0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.25, 1.0]))


@pytest.mark.parametrize("given", [np.str_("XPhos"), " XPhos ", "XPhos"], ids=["numpy", "spaces", "plain"])
def test_options_are_found_however_they_come(given: Any) -> None:
    params = {"ligand": given, "wet": np.bool_(True), "temperature": 1, "loading": np.float32(0.5)}
    assert REACTION.cleaned(params) == {"ligand": "XPhos", "wet": True, "temperature": 1.0, "loading": 0.5}


def test_an_unknown_option_is_answered_with_the_closest() -> None:
    with pytest.raises(
        InputError, match=r"parameter ligand is 'Xphos'; did you mean XPhos\? The options are PPh3, XPh"
    ):
        REACTION.encode({"ligand": "Xphos", "wet": True, "temperature": 1.0, "loading": 4.0})
    with pytest.raises(InputError, match=r"parameter loading is 2.0; the options are 0.5, 1, 4"):
        REACTION.encode({"ligand": "XPhos", "wet": True, "temperature": 1.0, "loading": 2.0})
    halfway = REACTION.sample(1, 0)
    halfway[0, :4] = tensor([0.5, 0.5, 0.0, 0.0])
    with pytest.raises(InputError, match=r"parameter ligand has coordinates .* which none of its values has"):
        REACTION.check(halfway)


def test_samples_have_every_option_equally_often() -> None:
    sample = REACTION.sample(240, seed=5)
    REACTION.check(sample)
    counts = sample[:, :4].sum(0)
    assert counts.sum() == 240
    assert bool(((counts - 60.0).abs() <= 6.0).all())


def test_neighbours_differ_in_one_value() -> None:
    x = REACTION.sample(5, seed=2)
    around = REACTION.neighbours(x)
    assert around.shape == (5, REACTION.exchanges, 8) == (5, 4 + 2 + 3, 8)
    for row, others in zip(x, around, strict=True):
        REACTION.check(others)
        own = REACTION.decode(row)
        for other in others:
            changed = {name: value for name, value in REACTION.decode(other).items() if value != own[name]}
            assert changed.keys() <= {"ligand", "wet", "loading"}
            assert len(changed) <= 1
    assert Space(k=Integer(0, 9)).neighbours(tensor([[0.0], [4.0]])).flatten(-2).tolist() == [[0.0, 1.0], [3.0, 5.0]]


def test_finitely_many_designs_are_listed() -> None:
    space = Space(a=["x", "y"], n=Integer(1, 3), s=Real(0.0, 1.0, step=0.5))
    assert space.points is not None
    assert len(space.points) == 2 * 3 * 3
    assert len({tuple(space.decode(row).values()) for row in space.points}) == 18
    assert Space(a=["x", "y"], t=Real(0.0, 1.0)).points is None
    assert Space(n=Integer(0, 10**6), m=Integer(0, 10**6)).points is None


def test_steps_are_written_as_people_write_them() -> None:
    space = Space(x=Real(0.1, 1.0, step=0.1), t=Real(0.0, 1.0))
    row = space.project(tensor([0.31, 0.2]))
    assert space.decode(row) == {"x": 0.3, "t": 0.2}
    assert torch.equal(space.encode({"x": 0.3, "t": 0.2}), row)
    with pytest.raises(InputError, match=r"the last value would be 0.9"):
        Real(0.0, 1.0, step=0.3)


LOW_HIGH = [((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), ((0.1, 0.0, 0.2), (0.5, 0.6, 0.9)), ((0.0,) * 5, (0.3,) * 5)]


@pytest.mark.parametrize(("low", "high"), LOW_HIGH)
def test_the_nearest_fractions_are_those_of_a_general_optimiser(
    low: tuple[float, ...], high: tuple[float, ...]
) -> None:
    block = Simplex(low, high, 1.0, None)
    generator = torch.Generator().manual_seed(0)
    y = torch.randn(12, len(low), generator=generator, dtype=torch.float64)
    found = block.project(y)
    close(found.sum(-1), torch.ones(12, dtype=torch.float64), atol=1e-12, rtol=0)
    for start, end in zip(y.numpy(), found.numpy(), strict=True):
        exact = minimize(
            lambda x, start=start: ((x - start) ** 2).sum(),
            np.full(len(low), 1.0 / len(low)),
            bounds=list(zip(low, high, strict=True)),
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1.0},
        )
        assert ((end - start) ** 2).sum() <= exact.fun + 1e-6


def test_fractions_have_the_slope_of_finite_differences() -> None:
    block = Simplex((0.0, 0.05, 0.0), (1.0, 0.5, 0.7), 1.0, None)
    u = tensor([[0.3, 0.4, 0.1], [0.9, 0.05, 0.8], [0.2, 0.9, 0.9]]).requires_grad_()
    assert torch.autograd.gradcheck(block.from_cube, [u])


def test_at_most_so_many_parts_are_above_zero() -> None:
    space = Space(mix=Fractions(["A", "B", "C", "D"], at_most=2), t=Real(0.0, 1.0))
    assert space.names == ("A", "B", "C", "D", "t")
    sample = space.sample(64, seed=0)
    space.check(sample)
    assert bool(((sample[:, :4] > 0).sum(-1) <= 2).all())
    close(sample[:, :4].sum(-1), torch.ones(64, dtype=torch.float64), atol=1e-9, rtol=0)
    pairs = {tuple((row > 0).tolist()) for row in sample[:, :4]}
    assert len(pairs) == 6  # every pair of parts
    around = space.neighbours(sample[:3])
    space.check(around)
    with pytest.raises(InputError, match=r"A, B, C, D add up to 0.8 instead of 1"):
        space.encode({"A": 0.8, "B": 0.0, "C": 0.0, "D": 0.0, "t": 0.1})
    with pytest.raises(InputError, match="at most 2 can be above 0, got 3"):
        space.encode({"A": 0.5, "B": 0.25, "C": 0.25, "D": 0.0, "t": 0.1})


def test_tied_length_scales_are_those_of_gpytorch() -> None:
    """A choice has one length scale: GPyTorch's kernel with the same number at each of its coordinates."""
    belief = believed(hyperparameters="map")
    assert isinstance(belief.kernel, Stationary)
    scale = belief.kernel.lengthscale[0]
    assert len(set(scale[:4].tolist())) == len(set(scale[4:6].tolist())) == 1
    theirs = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5, ard_num_dims=8)).double()
    theirs.base_kernel.lengthscale = scale
    theirs.outputscale = belief.kernel.outputscale[0]
    points = REACTION.to_unit(REACTION.sample(9, seed=3))
    with torch.no_grad():
        close(belief.kernel(points, points)[0], theirs(points).to_dense(), rtol=1e-9, atol=1e-9)


def test_the_posterior_of_tied_length_scales_counts_groups() -> None:
    X, Y = observed(REACTION, 12, 4)
    inputs, outcomes = REACTION.to_unit(X), (Y - Y.mean()) / Y.std(correction=0)
    tied = LogPosterior(inputs, outcomes, None, Profile.MATERN52, REACTION.scales)
    free = LogPosterior(inputs, outcomes, None, Profile.MATERN52)
    theta = tied.prior_draws(5, torch.Generator().manual_seed(0))
    assert tied.size == 4 + 3
    spelt_out = torch.cat([theta[:, list(REACTION.scales)], theta[:, 4:]], -1)
    close(tied.log_likelihood(theta), free.log_likelihood(spelt_out), rtol=1e-9, atol=1e-9)


def test_a_space_with_a_single_option_is_the_space_without_it() -> None:
    more = Space(solvent=["water"], ligand=LIGANDS, level=Levels([3]), temperature=Real(0.0, 100.0))
    less = Space(ligand=LIGANDS, temperature=Real(0.0, 100.0))
    assert more.decode(more.sample(1, 0)[0])["solvent"] == "water"
    X = less.sample(10, 2)
    assert torch.equal(X, more.sample(10, 2))
    Y = tensor([reaction(wet=False, loading=1.0, **less.decode(row)) for row in X])
    one, other = (he.propose(he.Maximize(), he.fit(X, Y, space=space), space) for space in (less, more))
    close(one.x, other.x)
    assert one.gain == pytest.approx(other.gain)


def test_numbers_to_choose_from_have_an_order_only_as_levels() -> None:
    """Between two levels the model interpolates; of an option between two others it knows nothing more."""
    values = [1.0, 2.0, 3.0]
    given = [({"x": 1.0}, 0.0), ({"x": 1.0}, 0.1), ({"x": 3.0}, 4.0), ({"x": 3.0}, 4.1)]
    spread = {}
    for kind in (Choice(values), Levels(values)):
        space = Space(x=kind)
        X = space.encode_many([params for params, _ in given])
        belief = he.fit(X, tensor([value for _, value in given]), space=space, hyperparameters="map")
        distance = (space.to_unit(space.encode({"x": 1.0})) - space.to_unit(space.encode({"x": 3.0}))).norm()
        near = (space.to_unit(space.encode({"x": 1.0})) - space.to_unit(space.encode({"x": 2.0}))).norm()
        spread[type(kind)] = float(near / distance)
        assert belief.components == 1
    assert spread == {Choice: pytest.approx(1.0), Levels: pytest.approx(0.5)}


def test_descriptors_say_which_options_are_alike() -> None:
    boiling = {"water": 100.0, "ethanol": 78.0, "methanol": 65.0, "toluene": 111.0}
    table = {name: {"boiling": point, "same": 1.0} for name, point in boiling.items()}
    solvent = Choice(list(boiling), descriptors=table)
    space = Space(solvent=solvent, t=Real(0.0, 1.0))
    assert (space.dim, space.scales) == (6, (0, 0, 0, 0, 1, 2))
    assert solvent.notes("solvent") == ("descriptor same of solvent left out: the same for all options",)
    rows = {name: space.to_unit(space.encode({"solvent": name, "t": 0.5})) for name in boiling}
    assert float((rows["water"] - rows["toluene"]).norm()) < float((rows["methanol"] - rows["toluene"]).norm())
    assert space.decode(space.encode({"solvent": "ethanol", "t": 0.5})) == {"solvent": "ethanol", "t": 0.5}
    with pytest.raises(InputError, match="descriptor boiling of water is nan"):
        Choice(list(boiling), descriptors={**table, "water": {"boiling": math.nan}})
    with pytest.raises(InputError, match="have nothing for toluene"):
        Choice(list(boiling), descriptors={name: table[name] for name in list(boiling)[:3]})


@pytest.mark.parametrize("treatment", ["map", "mixture"])
@pytest.mark.parametrize("seed", [1, nightly(2), nightly(3)])
def test_a_proposal_is_as_good_as_the_best_of_a_fine_enumeration(treatment: str, seed: int) -> None:
    """Maximize: the gain of every design of a fine grid, exactly or audited with actions on the grid."""
    belief = believed(seed=seed, hyperparameters=treatment)
    found = he.propose(he.Maximize(), belief, REACTION)
    grid = everywhere(REACTION, 61)
    listed = Pool.among(REACTION, torch.cat([grid, found.x]))
    coarse = everywhere(REACTION, 16) if treatment == "mixture" else grid
    gains = he.gain(he.Maximize(), belief, torch.cat([found.x, coarse]), listed).value
    assert float(gains[0]) >= 0.98 * float(gains.max())


QUICK = Effort(replicates=1, outcomes=12, steps=4, rounds=0, random=False)


def shares_of_the_best(decision: he.Decision, belief: Gaussian, space: Space, found: Tensor, grid: Tensor) -> Tensor:
    """Audited gains of designs (b x d), as shares of the best of them and of the most promising ones of a grid: b."""
    quick = he.gain(decision, belief, grid, space, effort=QUICK).value
    gains = he.gain(decision, belief, torch.cat([found, grid[quick.topk(8).indices]]), space).value
    return gains[: len(found)] / gains.max()


SOLVERS = (he.Auto(), he.Nested(restarts=4, screened=128), he.OneShot(restarts=32))


@pytest.mark.parametrize(
    "decision", [nightly(he.Maximize()), he.TopK(2, scaled=True), nightly(he.KGuesses(2))], ids=repr
)
def test_every_search_is_as_good_as_the_best_of_a_fine_enumeration(decision: he.Decision) -> None:
    """Also the searches whose starts are random: they have to exchange the options of designs and of actions."""
    belief = believed(seed=3, hyperparameters="map")
    found = torch.cat([he.propose(decision, belief, REACTION, solver=solver).x for solver in SOLVERS])
    shares = shares_of_the_best(decision, belief, REACTION, found, everywhere(REACTION, 21))
    assert float(shares.min()) >= 0.98, shares


def test_joint_ascent_exchanges_the_options_of_a_pair() -> None:
    """Beside a pending design, it does not fall far behind the search that screens designs first."""
    decision, belief = he.TopK(2, scaled=True), believed(seed=3, hyperparameters="map")
    pending = everywhere(REACTION, 3)[7:8]
    solvers = (he.Auto(), he.OneShot(restarts=32))
    sets = [he.propose(decision, belief, REACTION, q=2, pending=pending, solver=each).x for each in solvers]
    gains = he.gain(decision, belief, torch.stack(sets), REACTION, pending=pending)
    assert float(gains.value[1] + 3.0 * gains.std_error[1]) >= 0.9 * float(gains.value[0])


@pytest.mark.parametrize("decision", [he.TopK(2, scaled=True), he.MinMax(), he.KGuesses(2)], ids=repr)
def test_today_is_as_good_as_the_best_of_all_pairs(decision: he.Decision) -> None:
    belief = believed(hyperparameters="map")
    settled = decision.within(REACTION)
    rows = everywhere(REACTION, 11)
    mean = belief.moments(rows, Needs.MEAN).mean[0]
    # a pair of the best is among those of the best single designs, of either end, with those far apart
    few = torch.cat([mean.topk(60).indices, (-mean).topk(20).indices])
    pairs = rows[few][torch.cartesian_prod(torch.arange(80), torch.arange(80))]
    losses = [
        settled.expected_loss(belief.moments(part, settled.needs), part, torch.zeros(64, 2, dtype=torch.float64))[0]
        for part in pairs.split(1600)
    ]
    best = float(torch.cat(losses).min())
    found = he.entropy(decision, belief, REACTION).value
    assert found <= best + 1e-6 * abs(best)


def test_options_are_exchangeable() -> None:
    """Another order of the options changes the order of coordinates and nothing else."""
    renamed = {"PPh3": "d", "XPhos": "c", "dppf": "b", "none": "a"}
    other = Space(
        ligand=sorted(renamed.values()),
        wet=[True, False],
        temperature=Real(0.0, 100.0),
        loading=Levels([4.0, 1.0, 0.5]),
    )
    X, Y = observed(REACTION, 14, 1)

    def translated(row: Tensor) -> Params:
        params = REACTION.decode(row)
        return {**params, "ligand": renamed[params["ligand"]]}

    moved = other.encode_many([translated(row) for row in X])
    one = he.fit(X, Y, space=REACTION, hyperparameters="map")
    two = he.fit(moved, Y, space=other, hyperparameters="map")
    some = REACTION.sample(20, 9)
    there = other.encode_many([translated(row) for row in some])
    first, second = one.moments(some, Needs.VARIANCE), two.moments(there, Needs.VARIANCE)
    close(first.mean, second.mean, rtol=1e-6, atol=1e-6)
    close(first.variance, second.variance, rtol=1e-6, atol=1e-6)
    found = he.propose(he.Maximize(), two, other)
    same = he.propose(he.Maximize(), one, REACTION)
    back = {new: old for old, new in renamed.items()}
    row = REACTION.encode({**found.params[0], "ligand": back[found.params[0]["ligand"]]}).unsqueeze(0)
    grid = Pool.among(REACTION, torch.cat([everywhere(REACTION, 41), row, same.x]))
    gains = he.gain(he.Maximize(), one, torch.cat([row, same.x]), grid).value
    assert float(gains[0]) == pytest.approx(float(gains[1]), rel=0.02)


DECISIONS = {
    "maximize": he.Maximize(),
    "top_k": he.TopK(3, scaled=True),
    "k_guesses": he.KGuesses(2),
    "min_max": he.MinMax(),
    "sequence": he.Sequence([-1.0, 0.0, 0.5]),
    "best_observed": he.BestObserved(),
    "improve": he.Improve(0.5),
    "level_sets": he.LevelSets([0.0]),
    "estimate": he.Estimate(),
    "argmax": he.Identify("argmax"),
    "max": he.Identify("max"),
    "own": he.decision(lambda f, a: (f - 0.3).abs().sum(-1), actions=he.Points(1)),
}
SPACES = {
    "choices": REACTION,
    "mixture": Space(mix=Fractions(["A", "B", "C"], at_most=2), kind=["p", "q", "r"], n=Integer(1, 4)),
    "listed": Space(a=["x", "y", "z"], n=Integer(1, 5), level=Levels(["low", "middle", "high"])),
}


@cache
def believed_in(where: str) -> tuple[torch.Tensor, he.Gaussian]:
    """Eight designs and one belief for all decisions, with whatever was found best today under it."""
    space = SPACES[where]
    X = space.sample(8, 1)
    Y = (space.to_unit(X) * torch.linspace(-1.0, 2.0, space.dim, dtype=torch.float64)).sum(-1).sin()
    return X, he.fit(X, Y, space=space, hyperparameters="map")


@pytest.mark.covering
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("where", SPACES)
@pytest.mark.parametrize("name", DECISIONS)
def test_every_decision_proposes_what_can_be_run(name: str, where: str, q: int) -> None:
    space = SPACES[where]
    X, belief = believed_in(where)
    small = he.Auto(screened=8, outcomes=4, refined=2, steps=2, finalists=1)
    found = he.propose(DECISIONS[name], belief, space, q=q, pending=X[:1] if q == 2 else None, solver=small)
    space.check(found.x)
    assert found.x.shape == (q, space.dim)
    assert math.isfinite(found.gain)
