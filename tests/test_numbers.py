"""Numbers as text."""

import math

import numpy as np
import pytest

from hentropy.studies.records import Verdict
from hentropy.studies.records.numbers import short, span

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (9.78270001, None, "9.7827"),
        (0.0735049, None, "0.073505"),
        (12345, None, "12345"),
        (12345.0, None, "12345"),
        (1e9, None, "1000000000"),
        (2400003.72, None, "2400003.7"),
        (1.0e-17, None, "1e-17"),
        (1.23456e15, None, "1.2346e+15"),
        (-0.0, None, "0"),
        (math.inf, None, "inf"),
        (np.float64(0.5), None, "0.5"),
        (10**20, None, "1" + 20 * "0"),
        (1e9 + 20.3456, 20.0, "1000000020.3"),
        (3097818528.8, 1674314.0, "3097818529"),
        (-59.380123, 0.0004, "-59.380123"),
        (-59.45951, 3.0, "-59.46"),
        (5.0001, 0.0, "5.0001"),
        (5.0001, math.nan, "5.0001"),
    ],
)
def test_a_number_is_short_and_keeps_what_its_spread_calls_for(value: float, spread: float | None, text: str) -> None:
    assert short(value, spread) == text


def test_numbers_that_lie_apart_are_told_apart() -> None:
    values = [1e9, 1e9 + 0.37, 1e9 + 1.21]
    texts = [short(value, span(values)) for value in values]
    assert len(set(texts)) == 3
    for text, value in zip(texts, values, strict=True):
        assert float(text) == pytest.approx(value, abs=0.005)


def test_a_span_needs_two_finite_numbers() -> None:
    assert span([3.0]) is None
    assert span([3.0, math.inf]) is None
    assert span([3.0, 1.0, 2.0]) == 2.0


def test_a_verdict_keeps_what_its_spread_calls_for() -> None:
    rows = [{"f": 2400003.7, "n": 12345, "mean": 1e9 + 20.345, "sd": 1.5}]
    rows.append({"f": 2400008.2, "n": 7, "mean": 1e9 + 21.25, "sd": 2.5})
    verdict = Verdict(rows, -1e9 - 41.6, 0.02, "TopK(2)", 5, None)
    assert verdict.cells[0] == ["2400003.7", "12345", "1000000020.3", "1.5"]
    assert verdict.loss == "expected loss -1000000041.6 ± 0.02 (Monte Carlo)"
    assert "1000000020.3" in str(verdict)
    assert "2400008.2" in verdict._repr_html_()
