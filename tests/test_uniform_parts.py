"""Fractions fill what adds up evenly: against rejection sampling, closed forms, and the bounds themselves.

Samples here are independent, and so are those of the oracle. A comparison fails beyond 4.8 standard errors, which one
right one in 600,000 does: with about 130 of them, fewer than 3 in 10,000 seeds fail.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.spaces.uniform_parts import UniformParts

pytestmark = pytest.mark.smoke

ERRORS = 4.8
COUNT = 20_000

MIXTURES: list[tuple[str, dict[str, Any]]] = [
    ("abcd", {"high": 0.3}),
    ("abc", {"high": 0.5}),
    ("abc", {}),
    ("abcd", {"low": [0.1, 0.0, 0.2, 0.0], "high": [0.3, 0.4, 0.5, 0.6]}),
    ("abcde", {"high": 0.4, "total": 1.0}),
    ("abcde", {"high": 40.0, "low": {"b": 10.0}, "total": 100.0}),
    ("abcdefgh", {"high": [0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.1, 1.0]}),
    ("abcde", {"at_most": 2}),
    ("abcdef", {"high": 0.4, "at_most": 3}),
    ("abcde", {"high": [0.2, 0.5, 0.7, 1.0, 1.0], "at_most": 2}),
]


def by_rejection(f: he.Fractions, seed: int) -> Tensor:
    """Amounts uniform on those that add up: uniform ones above `low` without upper bounds, if they hold these."""
    generator = torch.Generator().manual_seed(seed)
    low, high = torch.tensor([list(f.low), list(f.high)], dtype=torch.float64)
    m, found = len(low), low.new_empty(0, len(low))
    while len(found) < COUNT:
        shares = -torch.rand(100_000, m, generator=generator, dtype=torch.float64).log()
        if f.at_most is not None:
            order = torch.rand(100_000, m, generator=generator).argsort(-1)
            shares = torch.where(order < f.at_most, shares, 0.0)
        amounts = low + (f.total - low.sum()) * shares / shares.sum(-1, keepdim=True)
        found = torch.cat([found, amounts[(amounts <= high).all(-1)]])
    return found[:COUNT]


def filled(f: he.Fractions, seed: int, count: int = COUNT) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    block = f.coordinates()
    return block.filling(torch.rand(count, block.size, generator=generator, dtype=torch.float64))


def differ_by(a: Tensor, b: Tensor) -> Tensor:
    """The difference of two means (n x k and n x k) in standard errors: k."""
    spread = ((a.var(0) + b.var(0)) / COUNT).sqrt()
    return (a.mean(0) - b.mean(0)).abs() / spread.clamp_min(1e-12)


@pytest.mark.parametrize(("names", "given"), MIXTURES, ids=str)
def test_amounts_have_the_moments_of_rejection_sampling(names: str, given: dict[str, Any]) -> None:
    f = he.Fractions(list(names), **given)
    ours, oracle = filled(f, 1), by_rejection(f, 2)
    low, high = torch.tensor([list(f.low), list(f.high)], dtype=torch.float64)
    assert (ours.sum(-1) - f.total).abs().max() < 1e-12 * f.total
    assert (ours >= low).all()
    assert (ours <= high).all()
    assert ((ours > 0.0).sum(-1) <= (f.at_most or len(names))).all()
    for moment in (
        lambda x: x,
        lambda x: x.square(),
        lambda x: x.sort(-1).values,
        lambda x: (x[:, :1] * x[:, 1:]).sum(-1, keepdim=True),
    ):
        assert differ_by(moment(ours), moment(oracle)).max() < ERRORS


def test_amounts_are_not_at_bounds_unless_they_have_to_be() -> None:
    for names, given in MIXTURES:
        f = he.Fractions(list(names), **given)
        x = filled(f, 3)
        low, high = torch.tensor([list(f.low), list(f.high)], dtype=torch.float64).clamp_max(f.total)
        at_bound = (x - low < 1e-12) | (high - x < 1e-12)
        if f.at_most is not None:  # parts that are left out are at theirs
            at_bound &= x > 0.0
        # the share within 1e-12 of a bound is below 1e-10 for each: 200,000 designs have one for 1 in 50,000 seeds
        assert int(at_bound.any(-1).sum()) == 0, given


def test_the_larger_of_two_shares_is_uniform_from_a_half_to_one() -> None:
    x = he.Space(m=he.Fractions(list("abcde"), at_most=2)).sample(4096, 0)
    larger = x.max(-1).values
    assert float(larger.median()) == pytest.approx(0.75, abs=0.01)
    for share in (0.1, 0.25, 0.9):
        assert float(larger.quantile(share)) == pytest.approx(0.5 + 0.5 * share, abs=0.01)
    # each of the ten pairs is as frequent: Sobol points are more even than independent ones
    pairs = (x > 0.0).double() @ (2.0 ** torch.arange(5)).double()
    counts = pairs.unique(return_counts=True)[1]
    assert len(counts) == 10
    assert (counts - 409.6).abs().max() < 60


def test_designs_of_a_space_fill_more_evenly_than_independent_ones() -> None:
    """The mean of 256 amounts: independent ones would be off by its standard error, low-discrepancy ones by less."""
    f = he.Fractions(list("abcd"), high=0.4)
    exact = 0.25
    sobol = [float((he.Space(m=f).sample(256, seed).mean(0) - exact).square().sum()) for seed in range(8)]
    independent = float(filled(f, 4).var(0).sum()) / 256
    assert sum(sobol) / 8 < 0.1 * independent


def test_cutting_a_square_off_gives_its_volume() -> None:
    """With w = (a, b, 1), what is left of the triangle: 1/2 - (1 - a)^2 / 2 - (1 - b)^2 / 2, by tables alone."""
    a, b = 0.7, 0.8
    parts = UniformParts((a, b, 1.0), 1.0, 3)
    assert parts.has_volume
    assert float(parts._volumes[0, 3].V[-1]) / 2 == pytest.approx(0.5 - (1 - a) ** 2 / 2 - (1 - b) ** 2 / 2, abs=1e-6)
    # pairs of four parts: six faces of length one, less what a part that holds at most a cuts off, three times
    pairs = UniformParts((a, 1.0, 1.0, 1.0), 1.0, 2)
    assert float(pairs._volumes[0, 2].V[-1]) == pytest.approx(3 + 3 * a, abs=1e-6)


@pytest.mark.parametrize(
    ("names", "given"),
    [
        ("abc", {"high": [0.2, 0.3, 0.5]}),
        ("abc", {"low": [0.2, 0.3, 0.5]}),
        ("abcd", {"high": [0.25, 0.25, 0.25, 0.2500000001]}),
        ("abcd", {"high": 0.5, "at_most": 2}),
        ("abc", {"high": [0.0, 0.0, 1.0], "at_most": 1}),
    ],
    ids=str,
)
def test_one_design_alone_is_found(names: str, given: dict[str, Any]) -> None:
    f = he.Fractions(list(names), **given)
    x = filled(f, 0)
    assert torch.isfinite(x).all()
    assert (x.sum(-1) - 1.0).abs().max() < 1e-9
    assert (x <= torch.tensor(f.high, dtype=torch.float64) + 1e-12).all()
    assert ((x > 0.0).sum(-1) <= (f.at_most or len(names))).all()


def test_parts_that_cannot_vary_leave_the_others_uniform() -> None:
    f = he.Fractions(list("abc"), low=[0.4, 0.0, 0.0], high=[0.4, 1.0, 1.0])
    x = filled(f, 5)
    assert torch.allclose(x[:, 0], torch.tensor(0.4).double())
    assert float(x[:, 1].mean()) == pytest.approx(0.3, abs=ERRORS * 0.6 / math.sqrt(12 * COUNT))


def test_many_parts_are_shared_out() -> None:
    names = [f"p{number}" for number in range(60)]
    for given in ({}, {"high": 0.03}, {"at_most": 5}, {"at_most": 5, "high": 0.4}):
        f = he.Fractions(names, **given)
        x = filled(f, 6, 500)
        assert (x.sum(-1) - 1.0).abs().max() < 1e-9, given
        assert (x <= torch.tensor(f.high, dtype=torch.float64) + 1e-12).all(), given
        used = f.at_most or 60
        assert ((x > 0.0).sum(-1) == used).all(), given
        # every part has the same mean, so have the first ten and the last ten
        gap = x[:, :10].sum(-1) - x[:, -10:].sum(-1)
        assert float(gap.mean().abs()) < ERRORS * float(gap.std()) / math.sqrt(500), given


def test_the_same_seed_gives_the_same_designs() -> None:
    space = he.Space(m=he.Fractions(list("abcd"), high=0.3), t=he.Real(0, 1))
    assert torch.equal(space.sample(16, 7), space.sample(32, 7)[:16])
    assert not torch.equal(space.sample(16, 7), space.sample(16, 8))


def test_walks_in_a_thin_slice_are_uniform_too() -> None:
    """Where conditions leave a thousandth, designs come from random walks.

    With a + b = s <= w, the density of s is proportional to s (1 - s), and a is half of s on average. Of 2048 designs
    from walks, the mean has a standard error of about 1.5e-4: four of them are the tolerance, as 1 in 10,000 seeds has.
    """
    w = 0.02
    space = he.Space(m=he.Fractions(list("abcd")), where=[f"a + b <= {w}"])
    x = space.sample(2048, 0)
    assert space.holds(x).all()
    half = 0.5 * (w**3 / 3 - w**4 / 4) / (w**2 / 2 - w**3 / 3)
    assert x[:, :2].mean(0).tolist() == pytest.approx([half, half], abs=6e-4)
    assert float((x < 1e-9).any(-1).double().mean()) < 0.01
    assert float(x[:, 2].std()) == pytest.approx(0.98 / math.sqrt(12), abs=0.02)


def test_walks_with_few_parts_change_the_parts_that_are_used() -> None:
    """Three of five parts, in a slice that favours the first: against parts without conditions, weighted.

    Means of 2048 designs from walks have a standard error of about 0.01: five of them are the tolerance.
    """
    space = he.Space(m=he.Fractions(list("abcde"), at_most=3), t=he.Real(0, 1), where=["t <= 0.005 + 0.01 * a"])
    x = space.sample(2048, 0)
    parts = filled(he.Fractions(list("abcde"), at_most=3), 1)
    weight = 0.005 + 0.01 * parts[:, :1]  # how much of t they leave
    amounts, used = ((weight * each).mean(0) / weight.mean() for each in (parts, (parts > 0.0).double()))
    assert (x[:, :5].mean(0) - amounts).abs().max() < 0.05
    assert ((x[:, :5] > 0.0).double().mean(0) - used).abs().max() < 0.06
    assert ((x[:, :5] > 0.0).sum(-1) == 3).all()
