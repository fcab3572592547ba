"""Made-up steps of a run."""

from hentropy.bench.experiments import Step


def step_with(number: int, score: float = 0.5) -> Step:
    query = None if number == 0 else {"x1": 0.1 * number, "x2": 0.5}
    value, gain = (None, None) if number == 0 else (1.0 + number, 0.1)
    return Step(number, query, value, score, 1.0 - score, -1.0, gain, None, 0.01, None if number == 0 else 0.1)
