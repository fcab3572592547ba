"""Test functions: values by hand."""

import math

import pytest
import torch

import hentropy as he
from hentropy.problems import alpine


def test_alpine_is_its_formula() -> None:
    problem = alpine(2)
    by_hand = 0.05 * sum(abs(2 * x * math.sin(2 * x) + 0.2 * x) for x in (1.0, 4.0))
    assert problem.at(x1=1.0, x2=4.0) == pytest.approx(by_hand, rel=1e-14)
    assert float(problem(torch.tensor([1.0, 4.0], dtype=torch.float64))) == pytest.approx(by_hand, rel=1e-14)


def test_alpine_takes_batches() -> None:
    problem = alpine(3)
    x = problem.space.sample(6, 0)
    assert problem(x.reshape(2, 3, 3)).tolist() == problem(x).reshape(2, 3).tolist()
    assert problem.space.names == ("x1", "x2", "x3")
    assert problem.space.bounds.tolist() == [[0.0] * 3, [5.0] * 3]


def test_alpine_needs_a_parameter() -> None:
    with pytest.raises(he.InputError, match="got d = 0"):
        alpine(0)
