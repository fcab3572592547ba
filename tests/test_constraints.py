"""Conditions on designs: what is sampled, searched, proposed and decided satisfies them; contradictions are named."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.spaces import Choice, Fractions, Integer, Levels, Pool, Real, Space
from hentropy.errors import InputError
from support.beliefs import tensor
from support.tiers import nightly
from test_mixed_spaces import DECISIONS, everywhere, shares_of_the_best

BOILING = {"THF": 66.0, "water": 100.0, "toluene": 111.0}


def in_a_disc(columns: Mapping[str, Any]) -> Tensor:
    inside: Tensor = (columns["a"] - 0.5) ** 2 + (columns["b"] - 0.5) ** 2 <= 0.09
    return inside


SPACES = {
    "half-space": Space(a=Real(0.0, 1.0), b=Real(0.0, 2.0), where=["a + b <= 1"]),
    "solvents": Space(
        solvent=list(BOILING),
        base=["K2CO3", "Et3N"],
        t=Real(20.0, 150.0),
        where=["t <= boiling[solvent] - 5", "solvent != 'water' or base == 'K2CO3'"],
        tables={"boiling": BOILING},
    ),
    "descriptors": Space(
        solvent=Choice(list(BOILING), descriptors={"boiling": list(BOILING.values())}),
        t=Real(20.0, 150.0),
        where=["t < boiling[solvent]"],
    ),
    "equality": Space(a=Real(0.0, 1.0), b=Real(0.0, 1.0), c=["x", "y"], where=["a + 2 * b == 1"]),
    "disc": Space(a=Real(0.0, 1.0), b=Real(0.0, 1.0), where=["(a - 0.5)**2 + (b - 0.5)**2 <= 0.09"]),
    "function": Space(a=Real(0.0, 1.0), b=Real(0.0, 1.0), where=[in_a_disc]),
    "rare": Space(a=Real(0.0, 1.0), b=Real(0.0, 1.0), where=["abs(a - b) <= 0.002", "a + b >= 1"]),
    "steps": Space(
        n=Integer(1, 30),
        m=Integer(1, 30),
        t=Real(0.0, 1.0, step=0.05),
        x=Real(0.0, 1.0),
        where=["n * t <= 5", "n >= 2 * m"],
    ),
    "parts": Space(
        mix=Fractions(["A", "B", "C"]),
        t=Real(1.0, 100.0, log=True),
        where=["A >= 2 * B", "A + C <= 0.9 or t < 10"],
    ),
    "levels": Space(size=Levels(["s", "m", "l"]), x=Real(0.0, 1.0), where=["size >= 'm' or x <= 0.2"]),
}


@pytest.mark.parametrize("name", SPACES)
def test_whatever_a_search_does_can_be_run(name: str) -> None:
    space = SPACES[name]
    sample = space.sample(130, seed=4)
    assert sample.shape == (130, space.dim)
    assert torch.equal(sample[:40], space.sample(40, seed=4))
    generator = torch.Generator().manual_seed(0)
    anywhere = space.free_filling(torch.rand(300, space.cube, generator=generator, dtype=torch.float64))
    near = space.project(anywhere)
    around = space.neighbours(sample[:20])
    for designs in (sample, near, around):
        space.check(designs)
        assert bool(space.holds(designs).all())
    feasible = space.holds(anywhere)
    torch.testing.assert_close(near[feasible], anywhere[feasible])
    assert not bool(feasible.all())
    for row in sample[:5]:
        assert torch.equal(space.encode(space.decode(row)), row)


@pytest.mark.parametrize("name", ["half-space", "solvents", "parts"])
def test_linear_conditions_hold_along_a_descent(name: str) -> None:
    space = SPACES[name]
    start = space.to_cube(space.sample(40, seed=1))
    generator = torch.Generator().manual_seed(1)
    moved = (start + 0.05 * torch.randn(start.shape, generator=generator, dtype=torch.float64)).clamp(0.0, 1.0)
    if name == "half-space":
        u = tensor([[0.8, 0.9], [0.1, 0.2], [1.0, 0.3]]).requires_grad_()
        assert torch.autograd.gradcheck(space.from_cube, [u])
    assert float(space.holds(space.from_cube(moved)).double().mean()) >= 0.9


def test_the_nearest_design_of_a_half_space() -> None:
    """In the unit cube a + 2 b <= 1 (b has twice the range): the foot of the perpendicular."""
    found = SPACES["half-space"].project(tensor([[0.6, 1.0]]))
    foot = tensor([0.6, 0.5]) - 0.6 / 5.0 * tensor([1.0, 2.0])
    torch.testing.assert_close(found[0], foot * tensor([1.0, 2.0]), atol=1e-6, rtol=0)


def test_samples_fill_what_conditions_leave() -> None:
    """Half of the triangle a + b <= 1 has a <= 1 - sqrt(1/2)."""
    sample = SPACES["half-space"].sample(512, seed=0)
    assert float((sample[:, 0] <= 1.0 - math.sqrt(0.5)).double().mean()) == pytest.approx(0.5, abs=0.05)
    walked = SPACES["rare"].sample(512, seed=0)
    assert float((walked[:, 0] <= 0.75).double().mean()) == pytest.approx(0.5, abs=0.12)


def test_a_contradiction_names_the_conditions_that_clash() -> None:
    with pytest.raises(InputError) as said:
        Space(a=Real(0.0, 1.0), b=Real(0.0, 1.0), where=["a + b <= 1", "a <= 0.99", "a >= 0.8", "b >= 0.5"])
    assert str(said.value) == (
        'no design satisfies "a + b <= 1", "a >= 0.8" and "b >= 0.5" together; without any one of them, designs exist'
    )
    with pytest.raises(InputError, match='no design satisfies the condition "a > 2"'):
        Space(a=Real(0.0, 1.0), where=["a > 2"])


def test_a_condition_that_excludes_nothing_is_found() -> None:
    space = Space(a=Real(0.0, 1.0), b=Real(0.0, 1.0), where=["a + b <= 2", "a <= 0.9999", "a + b >= 0.1"])
    assert space.idle_conditions() == ["a + b <= 2"]


@pytest.mark.parametrize(
    ("where", "tables", "message"),
    [
        (["a + c <= 1"], {}, "c"),
        ("a <= 1", {}, "where must be a list of conditions"),
        ([3], {}, "a condition must be a text"),
        (["a <= boiling[kind]"], {}, "boiling"),
        (["a <= boiling[kind]"], {"boiling": {"x": 1.0}}, "y"),
        (["a <= boiling[kind]"], {"boiling": {"x": 1.0, "y": "hot"}}, "table boiling has 'hot' for y"),
        (["kind == 'z'"], {}, "z"),
        (["a + 1"], {}, "condition"),
        ([lambda columns: columns["nothing"] > 0], {}, "the condition .* raised KeyError"),
    ],
)
def test_mistakes_are_named(where: Any, tables: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Space(a=Real(0.0, 1.0), kind=["x", "y"], where=where, tables=tables)


@pytest.mark.parametrize("keys", [(1.0, 2.0), ("1", "2"), ("1.0", "2.0")], ids=["numbers", "as typed", "in full"])
def test_tables_find_options_that_are_numbers_by_their_texts(keys: tuple[Any, Any]) -> None:
    table = dict(zip(keys, [0.25, 0.75], strict=True))
    space = Space(level=Levels([1.0, 2.0]), x=Real(0.0, 1.0), where=["x <= most[level]"], tables={"most": table})
    assert space.all_tables == {"most": {1.0: 0.25, 2.0: 0.75}}


def believed(space: Space) -> he.Gaussian:
    X = space.sample(10, seed=2)
    Y = (space.to_unit(X) * torch.linspace(-2.0, 3.0, space.dim, dtype=torch.float64)).sum(-1).sin()
    return he.fit(X, Y, space=space, hyperparameters="map")


@cache
def believed_in(where: str) -> he.Gaussian:
    """One belief for all decisions, with whatever was found best today under it."""
    return believed(SPACES[where])


@pytest.mark.covering
@pytest.mark.parametrize(("where", "q"), [("solvents", 1), ("solvents", 3), ("disc", 1), ("steps", 1), ("parts", 2)])
@pytest.mark.parametrize("name", ["maximize", "top_k", "k_guesses", "best_observed", "estimate"])
def test_proposals_and_decisions_satisfy_the_conditions(name: str, where: str, q: int) -> None:
    space, decision = SPACES[where], DECISIONS[name]
    small = he.Auto(screened=8, outcomes=4, refined=2, steps=2, finalists=1)
    found = he.propose(decision, believed_in(where), space, q=q, solver=small)
    space.check(found.x)
    assert bool(space.holds(found.x).all())
    if decision.actions.of_designs:
        assert bool(space.holds(torch.as_tensor(found.action)).all())


def test_a_proposal_is_as_good_as_the_best_feasible_design() -> None:
    space = SPACES["solvents"]
    belief = believed(space)
    found = he.propose(he.Maximize(), belief, space)
    every = Space(**space.parameters)
    grid = everywhere(every, 131)
    grid = grid[space.holds(grid)]
    both = torch.cat([found.x, grid])
    gains = he.gain(he.Maximize(), belief, both, Pool.among(space, both)).value
    assert float(gains[0]) >= 0.98 * float(gains.max())
    today = he.entropy(he.Maximize(), belief, space)
    assert today.value <= -float(belief.moments(grid, he.Needs.MEAN).mean.max()) + 1e-6


@pytest.mark.parametrize("decision", [he.TopK(2, scaled=True), nightly(he.KGuesses(2))], ids=repr)
def test_several_designs_are_as_good_as_the_best_feasible_ones(decision: he.Decision) -> None:
    space = SPACES["solvents"]
    belief = believed(space)
    grid = everywhere(Space(**space.parameters), 53)
    found = he.propose(decision, belief, space).x
    assert float(shares_of_the_best(decision, belief, space, found, grid[space.holds(grid)])) >= 0.98


def test_some_values_can_be_held() -> None:
    space = SPACES["solvents"]
    held = space.fixed(solvent="THF", base="Et3N")
    assert (held.dim, held.cube) == (space.dim, 1)
    sample = held.sample(30, seed=0)
    assert {(held.decode(row)["solvent"], held.decode(row)["base"]) for row in sample} == {("THF", "Et3N")}
    assert float(sample[:, -1].max()) <= 61.0
    found = he.propose(he.Maximize(), believed(space), held)
    assert found.params[0]["solvent"] == "THF"
    with pytest.raises(InputError, match="no design satisfies the condition \"solvent != 'water'"):
        space.fixed(solvent="water", base="Et3N")
    with pytest.raises(InputError, match="did you mean solvent"):
        space.fixed(solvents="water")
    with pytest.raises(InputError, match="the options are THF, water, toluene"):
        space.fixed(solvent="beer")
