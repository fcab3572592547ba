"""What a study recommends: the design that measured best, unless another is clearly better by the joint posterior."""

import math
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

import pytest
import torch

import hentropy as he
from hentropy.core.action_search.base import loss_now
from hentropy.core.beliefs import Moments, Needs
from hentropy.core.decisions.headlines import known
from hentropy.core.entropy import check_fit
from hentropy.core.failures import restricted
from hentropy.errors import HentropyError
from hentropy.studies.records import Comparison, Rival, Verdict
from hentropy.studies.storage import open_store
from hentropy.studies.study.recommending import CLEAR, COVERED, measured_designs, simultaneous, stated_spread
from hentropy.views.text.trials import verdict_json
from support.studies import LINE, begun, hill

BOX = he.Space(x=he.Real(0, 1))


def told(decision: he.Decision, data: list[tuple[float, Any]], space: he.Space = BOX, **options: Any) -> he.Study:
    study = he.Study(space, decision, **{"hyperparameters": "map", **options})
    study.attach_many([({"x": x}, value) for x, value in data])
    return study


def compared(verdict: Verdict) -> Comparison:
    assert verdict.comparison is not None
    return verdict.comparison


def parabola(x: float, sign: float = 1.0) -> float:
    return sign * (10.0 - 40.0 * (x - 0.5) ** 2)


AROUND = [0.0, 0.1, 0.2, 0.3, 0.7, 0.8, 0.9, 1.0]
"""Designs that leave the top of the parabola out, and tell where it is."""


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_clear_advantage_recommends_a_design_that_was_never_run(sign: float) -> None:
    decision = he.Maximize() if sign > 0 else he.Minimize()
    verdict = told(decision, [(x, (parabola(x, sign), 0.001)) for x in AROUND]).decide()
    one = compared(verdict)
    assert verdict.action[0]["x"] == pytest.approx(0.5, abs=0.02)
    assert one.trials == ()
    assert one.alternative is None
    assert verdict.bayes is None
    assert one.best is not None
    assert one.best.trials in ((3,), (4,))  # 0.3 or 0.7, which measured the same
    assert one.best.values["value"] == pytest.approx(sign * 8.4)
    assert one.best.chance >= CLEAR
    assert one.best.advantage == pytest.approx(1.6, abs=0.3)
    assert one.sentence.startswith(f"Never run; best run so far: trial {one.best.trials[0]} with {sign * 8.4:g}")
    assert one.sentence.endswith("confirm it once.")


@pytest.mark.parametrize("seed", range(4))
def test_without_one_the_best_measured_design_is_recommended(seed: int) -> None:
    rows = LINE.sample(4, seed=seed)
    study = told(he.Maximize(), [(float(x), hill(float(x))) for x in rows], LINE)
    verdict, belief = study.decide(), study.belief
    found = he.entropy(he.Maximize(), belief, LINE)
    values = {trial.number: trial.measurements["value"].value for trial in study.records}
    best = max(values, key=lambda number: values[number])
    at = torch.cat([found.action, rows[best : best + 1]])
    f = belief.sample(at, 100_000, seed=1)
    chance = float((f[:, 0] > f[:, 1]).double().mean())
    one = compared(verdict)
    assert verdict.expected_loss == pytest.approx(found.value)  # the entropy is that of the Bayes action
    if chance >= CLEAR:
        assert one.trials == ()
        return
    assert one.trials == (best,)
    assert one.values == {"value": pytest.approx(values[best])}
    assert verdict.action[0]["x"] == pytest.approx(float(rows[best]))
    assert one.best is None
    assert one.alternative is not None
    assert one.alternative.row["x"] == pytest.approx(float(found.action))
    # a hundred thousand draws: five standard errors
    assert 1.0 - one.alternative.chance == pytest.approx(chance, abs=5 * math.sqrt(0.25 / 1e5))
    assert one.alternative.advantage == pytest.approx(
        float((f[:, 1] - f[:, 0]).mean()), abs=5 * float((f[:, 1] - f[:, 0]).std()) / 1e5**0.5
    )
    assert verdict.forgone == pytest.approx(-one.alternative.advantage)
    assert verdict.bayes is not None
    assert torch.equal(verdict.bayes, found.action)
    assert verdict.alternative.startswith("Never run, perhaps better: x ")


LUCKY = [(0.05, (0.1, 0.1)), (0.15, (-0.2, 0.1)), (0.3, (3.0, 0.1)), (0.3, (3.1, 0.1)), (0.45, (0.3, 0.1))]
LUCKY += [(0.6, (-0.1, 0.1)), (0.85, (0.2, 0.1)), (0.95, (6.0, 10.0))]
"""The last design measured most, with an error that says that it means nothing."""


def test_a_lucky_measurement_gives_way_to_a_design_that_is_clearly_better() -> None:
    one = compared(told(he.BestObserved(), LUCKY).decide())
    ruled = compared(told(he.Maximize(among="measured"), LUCKY).decide())
    assert ruled.sentence == one.sentence
    assert one.trials == (2, 3)
    assert one.values == {"value": pytest.approx(3.05)}
    assert one.best is not None
    assert (one.best.trials, dict(one.best.values)) == ((7,), {"value": 6.0})
    assert one.best.chance > CLEAR
    assert one.sentence.startswith("Measured in trials 2 and 3: 3.05. Trial 7 measured 6, but ")
    assert compared(told(he.Maximize(), LUCKY).decide()).best is not None


def test_of_two_measured_designs_the_one_that_measured_more_stands_unless_the_other_is_clearly_better() -> None:
    shelf = he.Pool([{"x": x} for x in (0.0, 0.5, 1.0)])
    study = he.Study(shelf, he.Maximize(), hyperparameters="map")
    study.attach_many([({"x": 0.0}, (0.0, 0.1)), ({"x": 0.5}, (2.0, 0.1)), ({"x": 1.0}, (2.2, 2.0))])
    verdict = study.decide()
    one = compared(verdict)
    assert one.trials == (2,)
    assert one.alternative is not None
    assert one.alternative.trials == (1,)
    assert 0.5 < 1.0 - one.alternative.chance < CLEAR
    assert "Trial 1 with 2 should be better by " in one.sentence
    assert one.sentence.endswith("probability: no clear advantage.")
    assert verdict.alternative.startswith("Measured, perhaps better: x 0.5")


def test_what_was_measured_without_noise_is_known_as_measured() -> None:
    """On a function over decades, what rounding adds to a belief is as large as the small values."""
    data = [(x, math.exp(12.0 * abs(x - 0.52))) for x in (0.0, 0.1, 0.25, 0.4, 0.5, 0.75, 1.0)]
    best = math.exp(12.0 * 0.02)
    verdict = told(he.Minimize(among="measured"), data, noise=0).decide()
    assert compared(verdict).trials == (4,)
    assert verdict.action[0] == {"x": 0.5, "mean": pytest.approx(best), "sd": 0.0}
    assert verdict.headline == f"The measured design with the lowest value: {best:.5g}."
    assert compared(verdict).sentence == "Measured in trial 4."
    never = compared(told(he.Maximize(), [(x, parabola(x)) for x in AROUND], noise=0).decide())
    assert never.best is not None
    assert (never.best.row["mean"], never.best.row["sd"]) == (pytest.approx(8.4), 0.0)
    assert f"best run so far: trial {never.best.trials[0]} with 8.4. The recommended design should be" in never.sentence
    noisy = told(he.Minimize(among="measured"), data, noise=0.1).decide()
    assert noisy.action[0]["sd"] > 0.0


@pytest.mark.parametrize("noise", [1e-3, 0.0])
def test_a_measured_design_is_known_at_least_as_well_as_it_was_measured(noise: float) -> None:
    """Behind a transform for one outlier of a million, a belief is off by thousands where values are about 1."""
    rows = 10.0 * torch.rand(15, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = rows[:, 0].sin() + 0.1 * rows[:, 1]
    values[3] = 1e6
    study = he.Study(he.Space(x=he.Real(0, 10), y=he.Real(0, 10)), he.Minimize(), noise=noise, first=1)
    study.attach_many(({"x": x, "y": y}, v) for (x, y), v in zip(rows.tolist(), values.tolist(), strict=True))
    verdict, least = study.decide(), int(values.argmin())
    believed = study.belief.moments(rows[[least]], Needs.VARIANCE).total()[0]
    assert abs(float(believed) - float(values[least])) > 10.0
    assert compared(verdict).trials == (least,)
    assert verdict.action[0]["mean"] == pytest.approx(float(values[least]))
    assert verdict.action[0]["sd"] == pytest.approx(noise)
    assert compared(verdict).alternative is None
    said = f"{values[least]:.4f} ± {noise:.4f}" if noise else f"{values[least]:.5g}"
    assert verdict.headline == f"The design with the lowest value: {said}."


def test_the_error_of_a_measured_design_is_that_of_the_mean_of_its_replicates() -> None:
    study = told(he.Maximize(), [(0.1, 1.0), (0.5, 3.0), (0.5, (3.1, 0.4)), (0.9, 0.5), (0.9, 2.5)], noise=0.3)
    designs = measured_designs(study.records, study.log.row, study.log.places, study.outcomes, study.decided)
    errors = {design.trials: design.errors for design in designs}
    assert errors == {
        (0,): {"value": 0.3},
        (1, 2): {"value": pytest.approx(0.25)},
        (3, 4): {"value": pytest.approx(0.3 / math.sqrt(2.0))},
    }
    contradicted = told(he.Maximize(), [(0.1, 1.0), (0.5, 3.0), (0.5, 6.0)], noise=0.3)
    [_, design] = measured_designs(
        contradicted.records, contradicted.log.row, contradicted.log.places, contradicted.outcomes, contradicted.decided
    )
    assert design.errors == {}


@pytest.mark.parametrize("options", [{"outcomes": {"value": he.Outcome(noise=0.1, tails="heavy")}}, {"noise": None}])
def test_a_result_that_may_be_wrong_bounds_nothing(options: dict[str, Any]) -> None:
    study = told(he.Maximize(), [(x, parabola(x)) for x in AROUND], **options)
    assert compared(study.decide()).best is not None
    [*designs] = measured_designs(study.records, study.log.row, study.log.places, study.outcomes, study.decided)
    assert [design.errors for design in designs] == [{}] * len(AROUND)


def test_repeated_runs_that_differ_are_not_exact() -> None:
    verdict = told(he.Maximize(), [(0.1, 1.0), (0.5, 3.0), (0.5, 3.4), (0.9, 0.5)], noise=0).decide()
    assert compared(verdict).trials == (1, 2)
    assert verdict.action[0]["sd"] > 0.0
    assert verdict.notes[-1].startswith("Repeated experiments differ in value by about 0.28, but its noise is stated")
    assert verdict.notes[-1] in str(verdict).replace("\n", " ")


def test_with_limits_what_was_measured_without_noise_is_known_of_each_outcome() -> None:
    outcomes = {"yield": he.Outcome(unit="%"), "impurity": he.Outcome(unit="%", noise=0)}
    decision = he.Maximize("yield", ["impurity <= 3"])
    study = he.Study(BOX, decision, outcomes=outcomes, hyperparameters="map", decide_on=he.Space(x=he.Real(0, 0.6)))
    for x in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        study.attach({"x": x}, {"yield": 50.0 + 40.0 * x, "impurity": 1.0 + 4.0 * x**2})
    verdict = study.decide()
    assert compared(verdict).trials == (3,)
    assert verdict.action[0]["impurity"] == 1.0 + 4.0 * 0.6**2
    assert verdict.action[0]["impurity sd"] == 0.0
    assert verdict.action[0]["yield sd"] > 0.0
    assert "Measured in trial 3: yield 74 %, impurity 2.44 %." in compared(verdict).sentence


def test_an_advantage_is_no_more_than_the_bounds_leave() -> None:
    data = [(x, (parabola(x), 0.001)) for x in AROUND]
    free, bounded = (
        compared(told(he.Maximize(), data, outcomes={"value": one}).decide())
        for one in (he.Outcome(), he.Outcome(high=9.0))
    )
    assert free.best is not None
    assert bounded.best is not None
    assert free.best.advantage > 1.0
    assert bounded.best.advantage == pytest.approx(0.6, abs=0.01)  # 8.4 was measured
    assert "better by 0.6 on average" in bounded.sentence


def test_nobody_is_told_of_a_tie() -> None:
    verdict = told(he.Maximize(), [(0.5, 3.0)]).decide()
    alike = replace(compared(verdict), alternative=rival(-0.09, 1.0))
    assert alike.alternative_text({}) == ""
    assert replace(alike, alternative=rival(-0.11, 1.0)).alternative_text({}) == "Never run, perhaps better: x 0.2"
    one = compared(verdict).alternative
    assert one is not None  # for programs it is there
    assert one.perhaps_better == ("A design that was never run" in verdict.heading) == bool(verdict.alternative)


def rival(advantage: float, spread: float) -> Rival:
    return Rival({"x": 0.2}, (), {}, advantage, spread, 0.5)


def test_the_verdict_says_that_values_span_decades() -> None:
    verdict = told(he.Minimize(), [(x, math.exp(12.0 * x)) for x in (*AROUND, 0.5)]).decide()
    assert any("a study with log = true for value models its logarithm" in note for note in verdict.notes)


def test_measured_designs_outside_of_the_decision_do_not_count() -> None:
    study = told(he.Maximize(), [(x, parabola(x)) for x in AROUND], decide_on=he.Space(x=he.Real(0, 0.25)))
    one = compared(study.decide())
    assert one.best is None or max(one.best.trials) <= 2
    assert max(one.trials, default=0) <= 2
    nowhere = told(he.Maximize(), [(0.7, 1.0), (0.8, 2.0)], decide_on=he.Space(x=he.Real(0, 0.25)))
    assert nowhere.decide().comparison is None


FOLLOWING: list[he.Decision] = [
    he.BestObserved(),
    he.Maximize(among="measured"),
    he.Minimize(among="measured"),
    he.BestObserved(outcome="value", subject_to=["value <= 9"]),
]


@pytest.mark.parametrize("decision", FOLLOWING)
def test_measured_designs_are_decided_on_only_where_the_decision_may_lie(decision: he.Decision) -> None:
    low, high = he.Space(x=he.Real(0, 0.25)), he.Space(x=he.Real(0.75, 1))
    for part in (low, high):
        study = told(decision, [(x, parabola(x)) for x in AROUND], decide_on=part)
        assert bool(part.contains(study.decide().raw).all())
    with pytest.raises(HentropyError, match="no design that may be decided on has been observed yet"):
        told(decision, [(0.7, 1.0), (0.8, 2.0)], decide_on=low).decide()


def test_only_decisions_for_one_design_by_one_number_compare() -> None:
    for decision in (he.TopK(2), he.KGuesses(2), he.LevelSets(1.0, at=LINE.sample(4, 0)), he.Improve(1.0)):
        assert begun(LINE, decision, count=5).decide().comparison is None


def test_limits_count_in_the_comparison() -> None:
    outcomes = {"yield": he.Outcome(unit="%"), "impurity": he.Outcome(unit="%")}
    study = he.Study(BOX, he.Maximize("yield", ["impurity <= 3"]), outcomes=outcomes, hyperparameters="map")
    for x in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        study.attach({"x": x}, {"yield": 50.0 + 40.0 * x, "impurity": 1.0 + 4.0 * x**2})
    verdict = study.decide()
    one = compared(verdict)
    measured = one.best.trials if one.best is not None else one.trials
    assert measured == (3,)  # 74 % with an impurity of 2.44 %; 82 % would have 3.56 %
    assert "yield 74 %, impurity 2.44 %" in one.sentence


def test_a_target_compares_by_distance() -> None:
    verdict = told(he.Target({"value": 9.0}), [(x, (parabola(x), 0.001)) for x in AROUND]).decide()
    one = compared(verdict)
    assert one.best is not None
    assert one.best.values["value"] == pytest.approx(8.4)
    assert 0.4 < one.best.advantage <= 0.6  # it comes nearer to 9, and may miss it
    assert "should be nearer to the target by 0." in one.sentence


def test_grades_are_compared_without_values() -> None:
    study = he.Study(BOX, he.Maximize(), outcomes={"crystal": he.Outcome(kind="yes/no")}, hyperparameters="map")
    for x in (0.1, 0.3, 0.5, 0.7, 0.9):
        study.attach({"x": x}, "yes" if x > 0.6 else "no")
    one = compared(study.decide())
    assert one.values == {}
    assert one.trials or one.best is not None


def test_logarithms_compare_by_ratios() -> None:
    outcomes = {"impurity": he.Outcome(log=True, unit="%")}
    data = [(x, (math.exp(parabola(x, -1.0) / 5), 0.001)) for x in AROUND]
    one = compared(told(he.Minimize(), data, outcomes=outcomes).decide())
    assert one.best is not None
    assert f"better by {-100 * math.expm1(-one.best.advantage):.2g} % of the impurity on average" in one.sentence


def test_a_measured_design_that_would_probably_fail_is_not_recommended() -> None:
    study = he.Study(BOX, he.Maximize(), hyperparameters="map", at_least=0.6)
    for x in (0.05, 0.15, 0.25, 0.35):
        study.attach({"x": x}, x)
    for x in (0.42, 0.48, 0.52, 0.6, 0.7, 0.8, 0.9):
        study.attach({"x": x}, failed="it broke")
    study.attach({"x": 0.5}, 5.0)
    assert study.success is not None
    chance = float(study.success.chance(torch.tensor([[0.5]], dtype=torch.float64)))
    assert chance < 0.6  # among those that failed
    verdict = study.decide()
    one = compared(verdict)
    assert 11 not in one.trials
    assert one.best is None or 11 not in one.best.trials
    # what a failure costs is part of the expected loss, of the recommended design as of any other
    priced, _ = restricted(study.decision, study.belief, BOX, study.success)
    own = float(loss_now(priced, study.belief, verdict.raw, torch.zeros(1, 1, dtype=torch.float64)))
    assert verdict.expected_loss + verdict.forgone == pytest.approx(own)


@pytest.mark.covering
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("treatment", ["map", "mixture"])
def test_among_measured_designs_is_best_observed(largest: bool, treatment: Literal["map", "mixture"]) -> None:
    X = LINE.sample(7, seed=2)
    belief = he.fit(X, torch.tensor([hill(float(x)) for x in X]), space=LINE, hyperparameters=treatment)
    one = he.Maximize(among="measured") if largest else he.Minimize(among="measured")
    other, x = he.BestObserved(largest), LINE.sample(5, seed=9)
    assert he.entropy(one, belief, LINE).value == he.entropy(other, belief, LINE).value
    assert torch.equal(he.entropy(one, belief, LINE).action, he.entropy(other, belief, LINE).action)
    assert torch.allclose(he.gain(one, belief, x, LINE).value, he.gain(other, belief, x, LINE).value)
    assert repr(one) == f"{type(one).__name__}(among='measured')"


def test_among_is_one_word_in_a_study_file(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    written = 'version = 1\nname = "lab"\ndecision = {name = "minimize", among = "measured"}\n'
    file.write_text(f'{written}[space.x]\ntype = "real"\nlow = 0\nhigh = 1\n')
    study = he.Study.from_file(file)
    assert repr(study.decision) == "Minimize(among='measured')"
    assert repr(he.load_study("lab", f"sqlite:///{tmp_path}/hentropy.db").decision) == repr(study.decision)
    study.attach_many([({"x": x}, parabola(x)) for x in AROUND])
    assert study.decide().headline.startswith("The measured design with the lowest value: ")
    assert compared(study.decide()).trials in ((0,), (7,))
    file.write_text(file.read_text().replace('"measured"', '"tested"'))
    with pytest.raises(he.InputError, match="among"):
        he.Study.from_file(file)


def test_among_knows_one_word() -> None:
    with pytest.raises(he.InputError, match="among is 'tested'; it can be \"measured\""):
        he.Maximize(among="tested")  # type: ignore[arg-type]


def test_a_limit_on_the_value_itself_counts_among_measured_designs() -> None:
    decision = he.Maximize("value", ["value <= 9"], among="measured")
    belief = he.fit(torch.tensor([[x] for x in AROUND] + [[0.5]]), torch.tensor([parabola(x) for x in (*AROUND, 0.5)]))
    settled, own = check_fit(decision, belief, BOX)
    at = own.X.unsqueeze(-2)
    moments = own.moments(at, settled.needs)
    losses = moments.expect(settled.expected_loss(moments, at, torch.zeros(1, 1)))
    assert he.entropy(decision, belief, BOX).value == pytest.approx(float(losses.min()))


def test_a_store_keeps_the_comparison(store_url: str) -> None:
    study = told(he.Maximize(), LUCKY, storage=store_url, name="lucky")
    said = compared(study.decide())
    stored = open_store(store_url).verdicts(study.log.record)[-1].verdict
    assert Comparison.of(said.plain()) == stored.comparison == said
    assert stored.heading == study.decide().heading
    again = he.load_study("lucky", store_url)
    again.decide()
    assert len(again.store.verdicts(again.log.record)) == 1  # nothing is new


def test_a_verdict_of_an_earlier_version_gets_its_comparison(store_url: str) -> None:
    study = told(he.Maximize(), LUCKY, storage=store_url, name="old")
    now = study.decide()
    store, record = open_store(store_url), study.log.record
    before = Verdict(now.action, now.expected_loss, now.std_error, now.decision, 8, raw=None, headline=now.headline)
    store.keep(record, before)
    assert store.verdicts(record)[-1].verdict.comparison is None
    assert verdict_json(before)["comparison"] is None
    assert before.heading == f"{now.headline} After 8 runs."
    he.load_study("old", store_url).decide()
    assert [one.verdict.comparison for one in store.verdicts(record)] == [now.comparison]


@pytest.mark.parametrize("count", [1, 2, 10, 40])
def test_simultaneous_intervals_hold_at_once(count: int) -> None:
    """By brute force: how often the largest of n standard normal errors stays within the wider interval."""
    wide = simultaneous(count) * NormalDist().inv_cdf(0.5 + 0.5 * COVERED)
    draws = torch.randn(40_000, count, generator=torch.Generator().manual_seed(count), dtype=torch.float64)
    held = float((draws.abs().amax(-1) <= wide).double().mean())
    assert held == pytest.approx(COVERED, abs=5 * (0.09 / 40_000) ** 0.5)
    assert simultaneous(1) == pytest.approx(1.0)


def test_the_stated_spread_is_that_of_all_components_around_the_mean() -> None:
    weights = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    mean = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
    own = Moments(weights, mean, torch.tensor([[0.0], [0.5], [0.1]], dtype=torch.float64))
    middle = 0.2 * 1.0 + 0.3 * 2.0 + 0.5 * 4.0
    between = 0.2 * (1.0 - middle) ** 2 + 0.3 * (2.0 - middle) ** 2 + 0.5 * (4.0 - middle) ** 2
    within = 0.3 * 0.5 + 0.5 * 0.1
    wide = simultaneous(7) ** 2
    assert stated_spread(own, own, 7) == pytest.approx(((wide * within + between) / (within + between)) ** 0.5)
    assert stated_spread(own, own, 1) == pytest.approx(1.0)
    # one model, judged by three: the same draws of these around its own mean
    one = Moments(weights[:1] / 0.2, mean[:1], torch.tensor([[0.04]], dtype=torch.float64))
    around = 0.3 * (1.0 + wide * 0.5) + 0.5 * (9.0 + wide * 0.1)
    assert stated_spread(one, own, 7) == pytest.approx((around / 0.04) ** 0.5)
    sure = Moments(weights[:1] / 0.2, torch.full_like(mean[:1], middle), torch.tensor([[1e-3]], dtype=torch.float64))
    assert stated_spread(own, sure, 7) == 1.0, "never narrower"
    known = replace(one, var=torch.zeros(1, 1, dtype=torch.float64))
    assert stated_spread(known, known, 7) == 1.0


NOISY = [(0.05, 1.1), (0.2, 2.6), (0.35, 4.4), (0.5, 3.6), (0.6, 5.2), (0.7, 3.1), (0.85, 2.9), (0.95, 0.6)]


@pytest.mark.parametrize("treatment", ["auto", "map", "mixture"])
def test_a_value_is_stated_with_the_spread_of_a_choice_where_noise_is_learned(treatment: str) -> None:
    study = told(he.Maximize(), NOISY, hyperparameters=treatment)
    verdict, belief = study.decide(), study.belief
    [row] = verdict.action
    own = belief.moments(verdict.raw, Needs.VARIANCE)
    stating = own
    if treatment == "map":
        X, Y = belief.X, torch.tensor([value for _, value in NOISY], dtype=torch.float64)
        stating = he.fit(X, Y, space=BOX, hyperparameters="families").moments(verdict.raw, Needs.VARIANCE)
    [mean], [var] = own.total()
    factor = stated_spread(own, stating, len(NOISY))
    assert factor > 1.1
    assert row["mean"] == pytest.approx(float(mean))
    assert row["sd"] == pytest.approx(factor * float(var) ** 0.5)
    assert f"± {known(row['sd'], row['sd'])}" in verdict.headline
    stated = told(he.Maximize(), [(x, (value, 0.5)) for x, value in NOISY], hyperparameters=treatment)
    verdict, belief = stated.decide(), stated.belief
    [var] = belief.moments(verdict.raw, Needs.VARIANCE).total()[1]
    assert verdict.action[0]["sd"] == pytest.approx(float(var) ** 0.5)
