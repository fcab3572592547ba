"""The record of predictions: predictive distributions, their quantiles, the factor on spreads, and studies that use it.

Oracles: exact mixture distributions, numerical integrals over the factor, dense covariance matrices, the chi-square
distribution.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Belief, Gaussian, Needs, Several, Transformed
from hentropy.core.beliefs.inducing import summarised
from hentropy.core.beliefs.kernels import Kernel, Some, times
from hentropy.core.models.families import LeftOut, families_of
from hentropy.core.predictions import (
    EVIDENCE,
    EVIDENCE_OF_FAMILY,
    GROSS,
    PSEUDO_COUNT,
    WINDOW,
    family_weights,
    log_evidence,
    predict,
    spread_factor,
    weigh_families,
)
from hentropy.errors import InputError
from hentropy.studies.outcomes import Calibrated
from hentropy.studies.records import Judged, Prediction, PredictionRecord, State, Trial, judged
from hentropy.studies.records.prediction import FAMILY_SHARES, SHARES, family_record
from hentropy.studies.study.rules import record_sentences
from hentropy.views.plots.marks import Dots, Panel, Role
from hentropy.views.plots.pictures import picture
from hentropy.views.plots.predictions import record_info
from hentropy.views.plots.scene import scene_of
from hentropy.views.report import report_html
from hentropy.views.text.trial_files import csv_text, exported_in, json_lines
from support.beliefs import NAMES, composed, correlated, dense, designs, gaussian, kernel, transformed, truth
from support.studies import LINE, hill, measured, study

pytestmark = pytest.mark.numerics

POINTS = torch.cat([designs(4, seed=5), gaussian().X[:2]])
FACTOR = 1.7


def close(actual: Tensor, expected: Tensor, tol: float = 1e-9) -> None:
    torch.testing.assert_close(actual, expected, rtol=tol, atol=tol)


KERNELS: dict[str, Callable[[], Kernel]] = {"stationary": lambda: kernel(3), "composed": lambda: composed(3, 2)}


@pytest.mark.parametrize("own", KERNELS)
def test_a_widened_belief_is_the_one_of_wider_kernel_and_noise(own: str) -> None:
    belief = gaussian(3, covariance=KERNELS[own]())
    wide = belief.widened(FACTOR)
    before, after = (one.moments(POINTS, Needs.JOINT) for one in (belief, wide))
    close(after.mean, before.mean)
    close(after.covariance, FACTOR**2 * before.covariance)
    close(wide.future_noise, FACTOR**2 * belief.future_noise)
    mean, cov = dense(wide, POINTS)  # factorises kernel and noise of the wide one anew
    close(after.mean, mean, 1e-7)
    close(after.covariance, cov, 1e-7)
    x, y = designs(2, seed=9), truth(designs(2, seed=9)) + 0.3
    later = wide.condition(x, y).moments(POINTS, Needs.JOINT).covariance
    close(later, FACTOR**2 * belief.condition(x, y).moments(POINTS, Needs.JOINT).covariance)


@pytest.mark.parametrize("own", KERNELS)
def test_noise_that_is_known_stays(own: str) -> None:
    belief = gaussian(3, covariance=KERNELS[own]())
    wide = belief.widened(FACTOR, noise=False)
    close(wide.noise, belief.noise)
    close(wide.future_noise, belief.future_noise)
    wider = times(belief.kernel, FACTOR**2)
    assert wider is not None
    mean, cov = dense(replace(belief, kernel=wider), POINTS)
    found = wide.moments(POINTS, Needs.JOINT)
    close(found.mean, mean, 1e-7)
    close(found.covariance, cov, 1e-7)
    if own == "stationary":  # far from all data, where the noise of these has no say
        far = designs(1, seed=5) + 1e3
        close(wide.moments(far, Needs.VARIANCE).variance, FACTOR**2 * belief.moments(far, Needs.VARIANCE).variance)


def test_without_noise_what_was_measured_stays_known() -> None:
    belief = gaussian(1, noise=0.0, future_noise=0.0)
    wide = belief.widened(3.0, noise=False).moments(belief.X, Needs.VARIANCE)
    close(wide.mean[0], belief.observed, 1e-6)
    assert float(wide.variance.max()) < 1e-6


def test_many_data_are_widened_as_a_few_are() -> None:
    part, X = gaussian(3), designs(12, seed=4)
    belief = summarised(part, X, truth(X), part.noise[:, :1].expand(3, 12))
    scaled = part.widened(FACTOR)
    anew = summarised(scaled, X, truth(X), scaled.noise[:, :1].expand(3, 12))
    wide = belief.widened(FACTOR)
    for needs in (Needs.MEAN, Needs.JOINT):
        found, expected = (one.moments(POINTS, needs) for one in (wide, anew))
        close(found.mean, expected.mean, 1e-6)
    close(found.covariance, expected.covariance, 1e-6)
    close(wide.white_noise, belief.white_noise)


def test_a_kernel_of_others_is_left_alone() -> None:
    belief = gaussian(covariance=Some(kernel(3), (0,)))
    assert belief.widened(2.0) is belief


def test_a_transformed_belief_is_widened_before_its_transform() -> None:
    belief = transformed()
    wide = belief.widened(FACTOR)
    close(wide.latent.moments(POINTS, Needs.JOINT).mean, belief.latent.moments(POINTS, Needs.JOINT).mean)
    assert bool((wide.moments(POINTS, Needs.VARIANCE).variance > belief.moments(POINTS, Needs.VARIANCE).variance).all())


def below(belief: Belief, points: Tensor, values: Tensor) -> Tensor:
    """The probability that observations at points (m) are below values (S x m), component by component: S x m."""
    latent = belief.latent if isinstance(belief, Transformed) else belief
    assert isinstance(latent, Gaussian)
    mean, cov = dense(latent, points)
    sd = (cov.diagonal(dim1=-2, dim2=-1) + latent.noise_variance.unsqueeze(-1)).sqrt()
    seen = belief.behind(values)[0] if isinstance(belief, Transformed) else values.expand(len(mean), *values.shape)
    return torch.einsum("h,hsm->sm", latent.weights, torch.special.ndtr((seen - mean[:, None]) / sd[:, None]))


@pytest.mark.parametrize("belief", [gaussian(1), gaussian(3), transformed()], ids=["one", "mixture", "transformed"])
def test_quantiles_are_those_of_the_whole_mixture_with_noise(belief: Gaussian | Transformed) -> None:
    found = predict(belief, "value", POINTS, SHARES)
    shares = torch.tensor(SHARES, dtype=torch.float64)[:, None].expand(-1, len(POINTS))
    close(below(belief, POINTS, found.quantiles), shares, 1e-6)
    # mean and variance by integrals over a fine table of quantiles, whose tails are a thousandth of a thousandth
    fine = ((torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000).tolist()
    values = predict(belief, "value", POINTS, fine).quantiles
    close(found.mean, values.mean(0), 1e-3)
    close(found.sd, values.std(0, correction=0), 5e-3)


def test_predictions_of_logarithms_are_in_the_units_of_the_outcome() -> None:
    belief = gaussian(3)
    found = predict(replace(belief, logs=frozenset(["value"])), "value", POINTS, SHARES)
    plain = predict(belief, "value", POINTS, SHARES)
    close(found.quantiles, plain.quantiles.exp())
    fine = ((torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000).tolist()
    values = predict(belief, "value", POINTS, fine).quantiles.exp()
    close(found.mean, values.mean(0), 1e-2)
    assert bool((found.sd > 0.0).all())


def test_a_correlated_outcome_is_predicted_by_its_own_process() -> None:
    both = correlated(2)
    belief = Several((both,))
    for name in NAMES:
        own = both.process_of(name)
        assert belief.process_of(name).outcomes == (name,)
        mean, variance = own.moments(POINTS, Needs.VARIANCE).total()
        noise = own.frame.scale**2 * (own.weights * own.future_noise).sum()
        found = predict(belief, name, POINTS, SHARES)
        close(found.mean, mean)
        close(found.sd, (variance + noise).sqrt())


def of(belief: Gaussian | Transformed, point: int = 0) -> Prediction:
    [*each] = Calibrated(belief).predictions(POINTS, ["value"])
    return each[point]["value"]


def test_a_normal_prediction_has_exact_scores() -> None:
    one = of(gaussian(1))
    for z in (-6.0, -2.0, -0.3, 0.0, 1.1, 3.9, 8.0):
        value = one.mean + z * one.sd
        assert one.error(value) == pytest.approx(z, abs=1e-9)
        assert one.score(value) == pytest.approx(z, abs=1e-6)
        assert one.quantile(value) == pytest.approx(NormalDist().cdf(z), abs=1e-7)


@pytest.mark.parametrize("belief", [gaussian(3), transformed()], ids=["mixture", "transformed"])
def test_the_quantile_of_a_result_is_its_probability(belief: Gaussian | Transformed) -> None:
    for point in range(4):
        one = of(belief, point)
        values = torch.linspace(one.quantiles[0] - one.sd, one.quantiles[-1] + one.sd, 200, dtype=torch.float64)
        exact = below(belief, POINTS[point : point + 1], values[:, None])[:, 0]
        found = torch.tensor([one.quantile(float(value)) for value in values], dtype=torch.float64)
        torch.testing.assert_close(found, exact, rtol=0.0, atol=2e-3)


def test_scores_of_logarithms_are_normal() -> None:
    belief = replace(gaussian(1), logs=frozenset(["value"]))
    one, plain = of(belief), of(gaussian(1))
    assert one.log
    assert one.score(math.exp(plain.mean + 2.0 * plain.sd)) == pytest.approx(2.0, abs=1e-6)
    assert one.quantile(0.0) == 0.0


@pytest.mark.parametrize("sd", [0.3, 3.0])
def test_of_logarithmic_outcomes_errors_are_those_of_logarithms(sd: float) -> None:
    """A log-normal prediction: its mean and standard deviation are those of its upper tail, not of its results."""
    normal = NormalDist(2.0, sd)
    mean = math.exp(2.0 + 0.5 * sd**2)
    quantiles = tuple(math.exp(normal.inv_cdf(share)) for share in SHARES)
    one = Prediction(mean, mean * math.sqrt(math.expm1(sd**2)), quantiles, log=True)
    for z in (-2.5, -0.3, 0.0, 1.2):
        assert one.error(math.exp(2.0 + sd * z)) == pytest.approx(z, abs=1e-9)
    assert one.centre == pytest.approx(math.exp(2.0))
    ends = NormalDist(one.centre, one.spread)
    assert ends.inv_cdf(0.95) - ends.inv_cdf(0.05) == pytest.approx(one.interval[1] - one.interval[0])
    assert replace(one, log=False).centre == mean


def test_what_was_known_exactly_is_not_judged() -> None:
    known = Prediction(3.0, 0.0, (3.0,) * len(SHARES))
    trial = Trial(0, {"x": 1.0}, State.COMPLETE, measured(3.1), predictions={"value": known})
    assert judged([trial], "value") == []
    points = Prediction(3.0, 1.0, (2.0,) * 13 + (4.0,) * 14)  # two functions, without noise
    assert points.quantile(2.0) < 0.5 < points.quantile(4.0)
    assert points.score(1.0) < points.score(5.0)


def test_predictions_survive_json() -> None:
    one = of(transformed())
    assert Prediction.of(json.loads(json.dumps(one.plain()))) == one


def integrated(errors: Tensor) -> float:
    """The evidence by brute force: the likelihood averaged over the prior of c^2, against that of c = 1."""
    square = torch.logspace(-4, 4, 400_001, dtype=torch.float64)
    half = torch.tensor(0.5 * PSEUDO_COUNT, dtype=torch.float64)
    prior = torch.distributions.InverseGamma(half, half).log_prob(square)
    n, total = len(errors), float(errors.square().sum())
    ratio = -0.5 * n * square.log() - 0.5 * total / square + 0.5 * total
    return float(torch.trapezoid((prior + ratio).exp(), square))


def test_the_evidence_is_the_integral_over_the_factor() -> None:
    for n, scale in ((5, 1.0), (12, 2.4), (20, 0.6)):
        errors = scale * torch.randn(n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
        found = math.exp(log_evidence(n, float(errors.square().sum())))
        assert found == pytest.approx(integrated(errors), rel=1e-4)


def chance_of_alarm(n: int) -> float:
    """How probable it is that n standard normal errors have another factor than 1, by the chi-square distribution.

    The evidence is least where the sum of squares S is n, and grows on both sides; errors beyond `GROSS` count for
    less, which makes alarms rarer.
    """

    def chance(side: float) -> float:
        near, far = float(n), side
        for _ in range(200):
            middle = 0.5 * (near + far)
            near, far = (middle, far) if log_evidence(n, middle) < math.log(EVIDENCE) else (near, middle)
        if log_evidence(n, far) < math.log(EVIDENCE):
            return 0.0
        below = float(torch.special.gammainc(*torch.tensor([0.5 * n, 0.5 * far], dtype=torch.float64)))
        return below if side < n else 1.0 - below

    return chance(0.0) + chance(100.0 * n + 100.0)


def test_a_calibrated_record_has_no_effect() -> None:
    assert spread_factor([]) == 1.0
    assert all(chance_of_alarm(n) <= 0.055 for n in range(1, WINDOW + 1))
    draws = torch.randn(400, WINDOW, generator=torch.Generator().manual_seed(0), dtype=torch.float64).tolist()
    found = [spread_factor(row) for row in draws]
    # 0.037 by the chi-square distribution: more than 34 of 400 in one of 100,000 cases
    assert sum(one != 1.0 for one in found) <= 34
    assert all(0.5 < one < 2.0 for one in found)


@pytest.mark.parametrize("n", [10, 20])
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.4])
def test_the_factor_is_that_of_the_errors(n: int, scale: float) -> None:
    places = [NormalDist().inv_cdf((i + 0.5) / n) for i in range(n)]
    found = spread_factor([scale * z for z in places])
    assert 0.6 * scale < found < 2.0 * scale
    assert (found == 1.0) == (scale == 1.0)


def test_one_gross_error_widens_nothing_and_old_ones_are_forgotten() -> None:
    good = [0.5, -1.0, 0.2, 1.4, 1.1, -0.7, 0.3, 0.9, -1.6, 0.1]
    assert spread_factor([*good[:3], 40.0, *good[3:]]) == 1.0
    assert spread_factor([30.0] * 10) <= GROSS
    assert spread_factor([3.0] * 20 + good * 2) == 1.0
    assert spread_factor([0.5] * WINDOW + [3.0] * 12) > 1.0


HERE = he.Space(x=he.Real(0.0, 1.0), y=he.Real(0.0, 1.0))
ROWS = HERE.sample(24, seed=4)
WAVES = torch.sin(6.0 * ROWS[:, 0]) + ROWS[:, 1].square()
SKEWED = (2.0 * WAVES).exp()


@pytest.mark.parametrize("values", [WAVES, SKEWED], ids=["plain", "skewed"])
def test_a_prediction_keeps_what_each_family_says(values: Tensor) -> None:
    belief = he.fit(ROWS, values, space=HERE, noise=0.05)
    assert isinstance(belief, Transformed) == (values is SKEWED)
    x = HERE.sample(1, seed=77)
    [said] = Calibrated(belief).predictions(x, ["value"])
    one, kinds = said["value"], families_of(belief)
    assert set(one.families) == set(kinds)
    assert len(set(kinds)) > 1
    normal = belief.latent if isinstance(belief, Transformed) else belief
    moments = normal.moments(x, Needs.VARIANCE)
    sd = (moments.variance + normal.noise_variance.unsqueeze(-1)).sqrt()[:, 0]
    for value in (one.median, *one.interval):
        at = torch.tensor(value, dtype=torch.float64)
        each = LeftOut(at, normal.weights, moments.mean[:, 0], sd, belief if isinstance(belief, Transformed) else None)
        density = each.log_density.exp()
        whole = float(normal.weights @ density)
        found = one.family_records(value)
        for name in set(kinds):
            own = torch.tensor([kind == name for kind in kinds]).to(normal.weights) * normal.weights
            # slopes between quantiles stand for those of the distributions
            assert found[name] == pytest.approx(math.log(float(own @ density / own.sum()) / whole), abs=0.5)


def test_a_normal_family_has_exact_densities() -> None:
    normal = NormalDist(3.0, 2.0)
    whole = tuple(normal.inv_cdf(share) for share in SHARES)
    narrow = NormalDist(3.5, 0.5)
    one = Prediction(3.0, 2.0, whole, families={"narrow": tuple(narrow.inv_cdf(share) for share in FAMILY_SHARES)})
    for value in (2.0, 3.4, 9.0):
        exact = math.log(narrow.pdf(value)) - math.log(normal.pdf(value)) if abs(value - 3.5) < 5 else None
        if exact is not None:
            assert one.family_records(value)["narrow"] == pytest.approx(exact, abs=1e-6)
    results = [Judged(0, one, 3.4), Judged(1, one, 2.0), Judged(2, replace(one, families={}), 3.0)]
    each = [one.family_records(value)["narrow"] for value in (3.4, 2.0)]
    assert family_record(results) == {"narrow": pytest.approx(sum(each))}
    logs = replace(one, log=True, quantiles=tuple(map(math.exp, whole)))
    logs = replace(logs, families={"narrow": tuple(math.exp(own) for own in one.families["narrow"])})
    assert logs.family_records(math.exp(3.4))["narrow"] == pytest.approx(each[0])
    assert logs.family_records(-1.0) == {}


def test_families_lose_weight_as_by_the_rule_of_bayes_beyond_a_margin() -> None:
    families = ["a", "a", "b", "c"]
    weights = torch.tensor([0.1, 0.3, 0.4, 0.2], dtype=torch.float64)
    record = {"a": 1.5, "b": -6.0, "elsewhere": 9.0}  # nothing is known of c
    odds = torch.tensor([1.0, 1.0, EVIDENCE_OF_FAMILY * math.exp(-7.5), 1.0], dtype=torch.float64)
    expected = weights * odds
    close(family_weights(record, weights, families), expected / expected.sum(), 1e-12)
    # no difference that one in twenty records shows has an effect
    close(family_weights({"a": 1.0, "b": -1.9, "c": 0.0}, weights, families), weights, 1e-12)


@pytest.mark.slow
def test_a_study_weighs_families_by_its_record() -> None:
    """Waves, of which the family with terms says more than the one without."""
    made = he.Study(HERE, he.Maximize(), seed=1)
    waves = [float(torch.sin(9.0 * row[0]) + torch.cos(8.0 * row[1])) for row in HERE.sample(24, seed=4)]
    for row, value in zip(HERE.sample(24, seed=4), waves, strict=True):
        made.attach(HERE.decode(row), value)
    plain = made.belief
    assert isinstance(plain, Gaussian)
    for _ in range(3):
        trial = made.ask()
        made.tell(trial, math.sin(9.0 * trial.params["x"]) + math.cos(8.0 * trial.params["y"]))
    record = family_record(judged(made.records, "value"))
    assert len(record) == 2
    assert max(record.values()) - min(record.values()) > math.log(EVIDENCE_OF_FAMILY)
    weighed = made.belief
    forgetful = he.Study(HERE, he.Maximize(), seed=1, records=[replace(one, predictions={}) for one in made.records])
    before = forgetful.belief
    assert isinstance(weighed, Gaussian)
    assert isinstance(before, Gaussian)
    kinds = families_of(before)
    close(weighed.weights, family_weights(record, before.weights, kinds), 1e-9)
    worst = min(record, key=lambda name: record[name])
    lost = [kind == worst for kind in kinds]
    assert float(weighed.weights[lost].sum()) < 0.5 * float(before.weights[lost].sum())
    one = he.fit(ROWS, WAVES, space=HERE, hyperparameters="map")
    assert weigh_families(one, record) is one


def told(made: he.Study, count: int, shift: float = 0.0) -> list[Trial]:
    """Ask and tell; values at designs that the model chose are off by so many of their stated errors, in turn."""
    for _ in range(count):
        trial = made.ask()
        one = trial.predictions.get("value")
        sign = 1.0 if trial.number % 2 else -1.0
        made.tell(trial, hill(**trial.params) if one is None else one.mean + sign * shift * one.sd)
    return list(made.records)


def test_proposals_keep_what_was_predicted_and_first_designs_do_not() -> None:
    made = study(first=4, seed=1)
    made.attach({"x": 0.0}, hill(0.0))
    trials = told(made, 4, shift=1.5)
    assert [bool(trial.predictions) for trial in trials] == [False] * 4 + [True]
    expected = made.belief.of("value")
    asked = made.ask()
    assert asked.predictions == Calibrated(expected).predictions(LINE.encode(asked.params)[None], ["value"])[0]
    [first] = judged(made.records, "value")
    assert first.number == 4
    assert first.error == pytest.approx(-1.5)
    assert first.quantile == pytest.approx(NormalDist().cdf(-1.5))


def test_each_design_of_a_batch_has_its_own_predictions() -> None:
    made = study(first=4, seed=1)
    told(made, 4)
    asked = made.ask_many(2)
    each = Calibrated(made.belief).predictions(LINE.encode_many([trial.params for trial in asked]), ["value"])
    assert [trial.predictions for trial in asked] == each
    assert each[0] != each[1]


def test_a_bad_record_widens_what_is_believed_and_the_record_stays_comparable() -> None:
    made = study(first=4, seed=1)
    trials = told(made, 10, shift=2.5)
    factor = spread_factor([one.plain_error for one in judged(trials, "value")])
    assert factor > 1.5
    asked = made.ask()
    assert asked.predictions["value"].widened == factor
    anew = study(first=4, seed=1, records=[replace(trial, predictions={}) for trial in trials])
    at = LINE.sample(9, 3)
    wide, plain = (one.belief.moments(at, Needs.VARIANCE) for one in (made, anew))
    close(wide.mean, plain.mean, 1e-7)
    close(wide.variance, factor**2 * plain.variance, 1e-7)
    # a result at the same place has the same error, whether or not the record had widened its prediction
    one = asked.predictions["value"]
    result = Trial(0, {}, State.COMPLETE, measured(one.mean + 2.0 * one.sd), predictions={"value": one})
    assert judged([result], "value")[0].plain_error == pytest.approx(2.0 * factor)


def test_a_stated_error_is_not_widened() -> None:
    records = [
        replace(trial, measurements=measured(trial.value or 0.0, 0.1)) for trial in told(study(first=4), 10, 2.5)
    ]
    wide = study(first=4, records=records).belief
    plain = study(first=4, records=[replace(trial, predictions={}) for trial in records]).belief
    assert wide.noise_std == pytest.approx(plain.noise_std) == pytest.approx(0.1)
    at = LINE.sample(9, 3)
    assert bool((wide.moments(at, Needs.VARIANCE).variance > plain.moments(at, Needs.VARIANCE).variance).all())


@pytest.mark.slow
def test_a_study_resumes_with_its_record(tmp_path: Path) -> None:
    url = tmp_path / "lab.db"
    made = study(first=4, seed=1, storage=url)
    told(made, 9, shift=2.5)
    again = study(first=4, seed=1, storage=url)
    assert again.records == made.records
    rebuilt = study(first=4, seed=1, records=made.records)
    assert again.ask() == rebuilt.ask()
    made.close()
    again.close()


def test_a_record_in_numbers() -> None:
    one = of(gaussian(1))
    values = [one.mean + z * one.sd for z in (0.0, 1.0, -2.0)]
    trials = [
        Trial(i, {"x": 0.0}, State.COMPLETE, measured(value), predictions={"value": one})
        for i, value in enumerate(values)
    ]
    found = PredictionRecord.of(judged(trials, "value"))
    assert (found.count, found.inside) == (3, 2)
    assert one.interval == pytest.approx([one.mean + z * one.sd for z in (-1.6448536, 1.6448536)])
    assert found.error == pytest.approx(math.sqrt(5.0 / 3.0))


@pytest.mark.slow
def test_files_keep_the_record(tmp_path: Path) -> None:
    """What is exported continues as if it had never been exported; people find the prediction beside the result."""
    made = study(first=4, seed=1)
    told(made, 9, shift=2.5)
    made.ask()
    entries = tuple(made.log.entries.values())
    for text in (csv_text(entries, made.outcomes), json_lines(entries)):
        found = [one.trial for one in exported_in(text, "lab", made.outcomes)]
        assert found == list(made.records)
    table = csv_text(entries, made.outcomes).splitlines()
    columns = table[0].split(",")
    assert columns[-4:] == ["value_predicted", "value_predicted_sd", "value_quantile", "predictions"]
    assert table[1].endswith(",,,,"), "a first design was not predicted"
    one = made.records[4].predictions["value"]
    shown = dict(zip(columns[:-1], table[5].split(","), strict=False))
    assert float(shown["value_predicted"]) == one.mean
    assert float(shown["value_quantile"]) == pytest.approx(NormalDist().cdf(-2.5), abs=1e-6)
    frame = made.trials
    assert frame["value_predicted_sd"][4] == one.sd
    assert math.isnan(frame["value_quantile"][9]), "no result yet"
    assert "predictions" not in csv_text(entries[:4], made.outcomes).splitlines()[0]


BAD = {
    "no table": "[1]",
    "too few quantiles": '{"value": {"mean": 1.0, "sd": 1.0, "quantiles": [1.0]}}',
    "no numbers": json.dumps({"value": {"mean": "x", "sd": 1.0, "quantiles": [1.0] * len(SHARES)}}),
    "falling quantiles": json.dumps({"value": {"mean": 1.0, "sd": 1.0, "quantiles": list(range(len(SHARES)))[::-1]}}),
    "no spread": json.dumps({"value": {"mean": 1.0, "sd": -1.0, "quantiles": [1.0] * len(SHARES)}}),
    "not JSON": "{",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_prediction_that_is_none_is_refused(text: str) -> None:
    outcomes = study().outcomes
    line = f'number,x,state,value,predictions\n0,1.0,complete,2.0,"{text.replace(chr(34), 2 * chr(34))}"\n'
    with pytest.raises(InputError, match="prediction"):
        exported_in(line, "lab.csv", outcomes)


@pytest.mark.slow
def test_sentences_say_how_good_predictions_were() -> None:
    made = study(first=4, seed=1)
    told(made, 6, shift=1.7)
    assert record_sentences(made.records, made.outcomes) == [], "two say nothing"
    told(made, 1, shift=1.7)
    [said] = record_sentences(made.records, made.outcomes)
    assert said == (
        "The last 3 predictions were off by 1.7 of their stated errors (1.0 is ideal); 0 of 3 results were inside the"
        " 90 % interval."
    )
    told(made, 8, shift=2.6)
    [said] = record_sentences(made.records, made.outcomes)
    assert said.startswith("The last 10 predictions")
    assert re.search(r"Stated errors are [1-3]\.\d times as large for this reason\.$", said)


@pytest.mark.slow
def test_pictures_and_reports_show_the_record() -> None:
    made = study(first=4, seed=1)
    for x in (0.0, 2.0):
        made.attach({"x": x}, hill(x))
    told(made, 2)
    empty = picture(made, "predictions")
    assert len(empty.rows[0]) == 1
    assert "cannot be judged" in empty.caption
    told(made, 4, shift=1.8)
    scene = scene_of(made)
    info = record_info(scene)
    found = judged(made.records, "value")
    assert info.numbers == tuple(one.number for one in found)
    assert info.observed.tolist() == [one.value for one in found]
    assert info.low.tolist() == [one.prediction.interval[0] for one in found]
    assert info.inside.tolist() == [False] * len(found)
    drawn = picture(scene, "predictions")
    time, against = drawn.rows[0]
    assert isinstance(time, Panel)
    assert isinstance(against, Panel)
    roles = [mark.role for mark in time.marks if isinstance(mark, Dots)]
    assert roles == [Role.ATTACHED, Role.FIRST, Role.MEAN, Role.FAILED]
    assert record_sentences(made.records, made.outcomes)[0] in drawn.caption
    html = report_html(made)
    assert "predictions were off by" in html


def test_pictures_of_logarithms_are_logarithms() -> None:
    made = study(first=4, seed=1, outcomes={"speed": he.Outcome(log=True)}, decision=he.Maximize(outcome="speed"))
    for _ in range(5):
        trial = made.ask()
        made.tell(trial, math.exp(hill(**trial.params)))
    info = record_info(scene_of(made))
    [found] = judged(made.records, "speed")
    assert info.observed.tolist() == pytest.approx([math.log(found.value)])
    assert info.expected.tolist() == pytest.approx([math.log(found.prediction.median)])


@pytest.mark.slow
def test_doubted_values_are_named_by_their_trials() -> None:
    square = he.Space(x=he.Real(0.0, 1.0), y=he.Real(0.0, 1.0))
    made = he.Study(square, he.Maximize(), first=4)
    rows = square.sample(30, seed=4)
    values = 3.0 + torch.sin(4.0 * rows[:, 0]) + rows[:, 1].square()
    values[7] += 6.0 * values.std()
    # a trial that failed comes first: numbers of trials are not those of rows
    made.attach(square.decode(rows[0]), failed="no power")
    for row, value in zip(rows, values.tolist(), strict=True):
        made.attach(square.decode(row), value)
    named = {one.number: one for one in made.doubts}
    assert named[8].value == pytest.approx(float(values[7]))
    assert named[8].chance > 0.5
    said = made.decide().beside
    assert f"8 ({float(values[7]):.4g}, {100 * named[8].chance:.0f} %)" in said
    assert "tell" in said
    assert "state the noise of the outcome" in said
    assert said[said.index("Trial") :] in picture(made, "trust").caption
    sure = he.Study(square, he.Maximize(), first=4)
    for row, value in zip(rows, values.tolist(), strict=True):
        sure.attach(square.decode(row), (value, 0.1))
    assert sure.doubts == ()
    assert "gross" not in sure.decide().heading
