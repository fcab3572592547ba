"""The sentence that a verdict begins with: every decision says its answer, in the digits that are known."""

import math
import re
from dataclasses import dataclass
from typing import Any

import pytest
import torch

import hentropy as he
from hentropy.core.beliefs.base import joint_draws
from hentropy.core.decisions.headlines import (
    Quantity,
    for_each,
    in_words,
    known_digits,
    of_success,
    percent,
    probable,
    rounded,
)
from hentropy.core.decisions.limits import Limit
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Auto, Cost, Solver
from hentropy.core.solvers.base import Finalists
from hentropy.studies.records.verdict import LIMITS_HOLD, cell_text

YIELD = Quantity("yield", "%")


@pytest.mark.parametrize(
    ("mean", "sd", "text"),
    [
        (78.3456, 1.13, "78.3 ± 1.1 %"),
        (78.3456, 0.42, "78.3 ± 0.4 %"),
        (1234.5, 200.0, "1230 ± 200 %"),
        (50.13, 20.3, "50 ± 20 %"),
        (62.04, 8.52, "62 ± 9 %"),
        (78.3456, 0.4963, "78.3 ± 0.5 %"),
        (-0.0001, 0.5, "0.0 ± 0.5 %"),
        (78.3456, 0.0, "78.35 %"),
        (0.0, 0.0, "0.000 %"),
        (1000000020.345, 1.5, "1000000020.3 ± 1.5 %"),
        (1.5e-9, 2e-10, "1.50e-09 ± 2.0e-10 %"),
        (3.2e12, 1e10, "3.200e+12 ± 1.0e+10 %"),
        (8.7e11, 2.7e11, "8.7e+11 ± 2.7e+11 %"),
        (123456789.0, 1.5e6, "123500000 ± 1500000 %"),
        (1.1593672, 7e-8, "1.15936720 ± 7e-08 %"),
        (math.inf, 1.0, "inf ± 1.0 %"),
    ],
)
def test_a_number_has_the_digits_that_are_known(mean: float, sd: float, text: str) -> None:
    assert YIELD.amount(mean, sd) == text


def test_rounding_never_moves_a_number_by_more_than_half_its_error() -> None:
    generator = torch.Generator().manual_seed(0)
    for mean, size in (torch.randn(200, 2, generator=generator, dtype=torch.float64) * 4).tolist():
        sd = 10.0**size
        assert abs(float(rounded(100 * mean, known_digits(sd, 100 * mean))) - 100 * mean) <= 0.5 * sd


def test_the_table_writes_what_the_headline_writes() -> None:
    """Also of a logarithm under a mixture, whose spread is not that of one lognormal value."""
    study = he.Study(SPACE, he.Maximize("value"), outcomes={"value": he.Outcome(log=True)}, hyperparameters="mixture")
    rows = [SPACE.decode(row) for row in SPACE.sample(5, 0)]
    study.attach_many([(row, math.exp(math.sin(row["x"]) + row["y"])) for row in rows])
    verdict = study.decide()
    mean, sd = verdict.cells[0][-2:]
    assert f"value {mean} ± {sd}." in verdict.headline


def test_what_a_difference_is_worth_is_said_in_units() -> None:
    assert YIELD.difference(0.4407, 0.05) == "about 0.44 % yield"
    assert Quantity("score").difference(139.1) == "about 140 in score"
    assert Quantity("impurity", "%", log=True).difference(0.05) == "about 5.1 % of the impurity"
    halved, about = math.log(2.0), Quantity("impurity", "%", log=True)
    assert about.difference(halved, falls=True) == "about 50 % of the impurity"
    for lowest in (
        he.Minimize(),
        he.BestObserved(largest=False),
        he.KGuesses(2, largest=False),
        he.TopK(1, largest=False),
    ):
        assert lowest.saving(halved, 0.0, about) == "about 50 % of the impurity"
        assert lowest.better(halved, about) == "better by 50 % of the impurity" or isinstance(lowest, he.TopK)
    for highest in (he.Maximize(), he.BestObserved(), he.KGuesses(2)):
        assert highest.saving(halved, 0.0, about) == "about 100 % of the impurity"
        assert highest.better(halved, about) == "better by 100 % of the impurity"
    assert Quantity.chance("crystal").difference(0.023) == "about 2.3 percentage points of probability"
    assert YIELD.difference(0.05, 0.05) == "less than 0.15 % yield"  # all that is known


def test_another_run_is_worth_what_the_proposal_said_until_something_is_told() -> None:
    study = told(he.Maximize())
    assert study.decide().worth == ""
    trial = study.ask()
    said = study.decide()
    assert said.worth == f"Another run is worth {Quantity().difference(trial.gain or 0.0, trial.gain_error or 0.0)}."
    assert said.heading.endswith(f"After 9 runs. {said.worth}")
    study.tell(trial, 60.0)
    assert study.decide().worth == ""


@dataclass
class Counting(Solver):
    """Counts searches."""

    searches: int = 0

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        self.searches += 1
        return Auto().search(appraisal, q, cost)


def test_at_its_end_a_study_says_what_another_run_is_worth_and_searches_for_it_once(store_url: str) -> None:
    def opened(budget: int) -> he.Study:
        return he.Study(
            SPACE,
            he.Maximize("yield"),
            outcomes={"yield": he.Outcome(unit="%")},
            hyperparameters="map",
            first=4,
            stop=[he.Budget(budget)],
            solver=count,
            storage=store_url,
            name="ends",
        )

    count = Counting()
    study = opened(5)
    for _ in range(5):
        trial = study.ask()
        study.tell(trial, trial.params["x"] - (trial.params["y"] - 2) ** 2)
    asked = count.searches
    assert study.decide(worth=False).worth == ""
    assert count.searches == asked
    said = study.decide()
    spent = ", but the budget of 5 trials is used up: stop."
    assert re.fullmatch(rf"Another run is worth (about|less than) \S+ % yield{spent}", said.worth)
    proposal = study.propose()
    assert count.searches == asked + 1
    assert said.worth == f"Another run is worth {YIELD.difference(proposal.gain, proposal.std_error)}{spent}"
    again = opened(5)
    assert again.decide().heading == study.decide().heading == said.heading
    assert [stored.verdict.worth for stored in study.store.verdicts(study.log.record)] == [said.worth]
    assert count.searches == asked + 1
    study.tell(4, 7.0, replace_value=True)
    again_said = again.decide().worth
    assert again_said != said.worth
    assert count.searches == asked + 2
    again.close()
    more = opened(6)
    assert more.decide().worth == ""
    assert more.decide(worth=True).worth == again_said.removesuffix(spent) + "."
    more.tell(more.ask(), 3.0)
    assert more.decide().worth.endswith(": stop.")
    study.close()
    more.close()


@pytest.mark.parametrize("top", [[], [0.5]])
def test_a_study_that_ends_asks_to_confirm_what_was_never_run(top: list[float]) -> None:
    own: Any = {"hyperparameters": "map", "stop": [he.Budget(1)], "noise": 0.0, "failures": "ignore"}
    study = he.Study(he.Space(x=he.Real(0, 1)), he.Maximize(), **own)
    measured = [0.0, 0.1, 0.2, 0.3, 0.7, 0.8, 0.9, 1.0, *top]
    study.attach_many([({"x": x}, 10.0 - 40.0 * (x - 0.5) ** 2) for x in measured])
    study.tell(study.ask(), failed="the oven broke")
    verdict = study.decide()
    assert ("confirm it once." in verdict.beside) is not bool(top)
    assert verdict.worth.endswith(": stop." if top else ": confirm, then stop.")
    assert study.decide().worth == verdict.worth


def test_a_study_that_stops_because_runs_are_worth_little_gives_no_other_reason() -> None:
    study = he.Study(SPACE, he.Maximize(), hyperparameters="map", first=3, stop=[he.Budget(4), he.GainBelow(1e9)])
    for _ in range(4):
        trial = study.ask()
        study.tell(trial, trial.params["x"] - (trial.params["y"] - 2) ** 2)
    assert study.stopped == "the budget of 4 trials is used up"
    assert re.fullmatch(r"Another run is worth (about|less than) \S+ in value: stop\.", study.decide().worth)


def test_what_is_told_during_the_search_for_the_worth_is_not_overtaken(store_url: str) -> None:
    """Another process attaches a result and decides meanwhile: the newest verdict that is stored stays its own."""

    class Interrupted(he.Auto):
        meanwhile = staticmethod(lambda: None)

        def search(self, appraisal: Any, q: int, cost: Any) -> Any:
            self.meanwhile()
            return super().search(appraisal, q, cost)

    solver = Interrupted()
    options: dict[str, Any] = {"hyperparameters": "map", "first": 3, "storage": store_url, "name": "two"}
    one = he.Study(SPACE, he.Maximize(), solver=solver, stop=[he.Budget(3)], **options)
    for x in (0.2, 0.5, 0.9):
        one.attach({"x": x, "y": 1}, x)
    other = he.Study(SPACE, he.Maximize(), solver=solver, stop=[he.Budget(3)], **options)

    def meanwhile() -> None:
        type(solver).meanwhile = staticmethod(lambda: None)
        other.attach({"x": 0.7, "y": 2}, 5.0)
        other.decide(worth=False)

    type(solver).meanwhile = staticmethod(meanwhile)
    one.decide(worth=True)
    stored = one.store.verdicts(one.log.record)
    assert [each.verdict.observations for each in stored] == [3, 4]
    one.close()
    other.close()


def test_a_study_that_cannot_go_on_says_so() -> None:
    pool = he.Pool([{"x": 1.0}, {"x": 2.0}, {"x": 3.0}])
    study = he.Study(pool, he.Maximize(), first=2, hyperparameters="map")
    study.attach_many([({"x": x}, (x, 0.0)) for x in (1.0, 2.0, 3.0)])
    assert study.decide().worth == "There is no other run to make: stop."


def test_a_search_says_what_another_run_is_worth_unless_it_was_ended_early() -> None:
    def found(**options: Any) -> he.Verdict:
        wave = he.search(lambda x, y: math.sin(x) - y, SPACE, he.Maximize(), 6, progress=False, first=4, **options)
        return wave.verdict

    assert found().worth.startswith("Another run is ")
    assert found(worth=False).worth == ""
    assert found(callback=lambda study: len(study.records) == 5).worth == ""


SAVINGS = [
    (he.Maximize(), "about 0.5 % yield"),
    (he.TopK(2), "about 0.25 % yield per recommended design"),
    (he.Improve(70.0), "a probability of 50 % to be above 70 %"),
    (he.Improve(70.0, above=False), "a probability of 50 % to be below 70 %"),
    (he.LevelSets(60.0), "about 0.5 % yield, summed over all points"),
    (he.LevelSets(60.0, relation="misclassification"), "about 0.5 more right labels"),
    (he.Estimate(), "about 0.5 of squared error in yield, summed over all points"),
    (he.Identify("max"), "about 0.5 nats of information"),
    (he.Sequence([55.0, 60.0], power=1), "about 0.25 % yield per recommended design, nearer to the targets"),
    (he.Sequence([55.0, 60.0]), "about 0.5 of the squared distance to the targets, summed over all designs"),
    (he.Target({"yield": 60.0}), "about 0.5 % yield, nearer to the target"),
    (he.Target({"yield": 60.0}, scale={"yield": 2.0}), "about 0.5 of the distance to the target, as scaled"),
    (he.Pareto(2, {"yield": "max", "cost": "min"}), "about 0.5 of hypervolume"),
    (he.decision(lambda f, a: f[..., 0], he.Points(1)), "about 0.5 of expected loss"),
]


@pytest.mark.parametrize(("decision", "words"), SAVINGS, ids=lambda part: repr(part)[:40])
def test_a_gain_is_said_in_the_words_of_the_decision(decision: he.Decision, words: str) -> None:
    assert decision.saving(0.5, 0.05, YIELD) == words


def test_several_values_are_a_range_with_the_worst_error() -> None:
    assert YIELD.among([78.2, 79.4, 78.9], [0.5, 1.2, 0.3]) == "yield 78.2 to 79.4 % (± 1.2)"
    assert YIELD.among([78.2, 78.2], [0.0, 0.0]) == "yield 78.20 %"


def test_shares_are_never_rounded_to_certainty() -> None:
    shares = [0.0, 0.001, 0.5, 0.97, 0.9999, 1.0]
    assert [percent(s) for s in shares] == ["0 %", "less than 1 %", "50 %", "97 %", "more than 99 %", "100 %"]
    # a probability is 0 or 1 only by rounding
    assert [probable(s) for s in shares] == [*["less than 1 %"] * 2, "50 %", "97 %", *["more than 99 %"] * 2]
    assert probable(-0.0) == "less than 1 %"
    assert of_success([1.0], 0.5) == "A run there succeeds with more than 99 % probability."
    assert cell_text({LIMITS_HOLD: 1.0}, LIMITS_HOLD) == "more than 99 %"
    assert [in_words(1, "design"), in_words(3, "guess", "guesses"), in_words(25, "design")] == [
        "One design",
        "Three guesses",
        "25 designs",
    ]


SPACE = he.Space(x=he.Real(0, 10), y=he.Real(0, 5))

DECISIONS = {
    "The best design: value ": he.Maximize(),
    "The design with the lowest value: ": he.Minimize(),
    "The best measured design: ": he.BestObserved(),
    "The measured design with the lowest value: ": he.BestObserved(largest=False),
    "The last design: value above 65 with ": he.Improve(65.0),
    "Three designs, each different: value ": he.TopK(3, weight=30.0),
    "Two designs: value ": he.TopK(2, weight=0.0),
    "Two guesses; the best of them is expected to reach a value of ": he.KGuesses(2),
    "The value runs from ": he.MinMax(),
    "Two designs with value near 55, 60: off by ": he.Sequence([55.0, 60.0]),
    "The value is above 60 at ": he.LevelSets(60.0, at=SPACE.sample(40, 1)),
    "40 points: value ": he.Estimate(at=SPACE.sample(40, 1)),
    "One point: value ": he.Estimate(at=[[1.0, 2.0]]),
    "The value is highest with ": he.Identify("argmax", candidates=16),
    "The highest value is ": he.Identify("max", candidates=16),
    "2 points: value ": he.Identify([[1.0, 2.0], [3.0, 4.0]]),
}


def told(decision: he.Decision, log: bool = False) -> he.Study:
    """A study that knows nine values between 40 and 70."""
    study = he.Study(SPACE, decision, outcomes={"value": he.Outcome(log=log)}, hyperparameters="map")
    rows = SPACE.sample(9, 0)
    study.attach_many([(SPACE.decode(row), 60 + 10 * math.sin(row[0]) - float(row[1] - 2) ** 2) for row in rows])
    return study


@pytest.mark.parametrize("begins", DECISIONS)
def test_every_decision_says_its_answer(begins: str) -> None:
    verdict = told(DECISIONS[begins]).decide()
    assert verdict.headline.startswith(begins)
    assert verdict.headline.endswith(".")
    assert verdict.heading == f"{verdict.headline} {verdict.beside} After 9 runs.".replace("  ", " ")
    assert bool(verdict.beside) == DECISIONS[begins].recommends_one
    assert " ".join(str(verdict).split()).startswith(verdict.heading)
    assert verdict.heading in verdict._repr_html_()


@pytest.mark.parametrize("begins", DECISIONS)
def test_values_that_are_believed_as_logarithms_are_said_in_their_units(begins: str) -> None:
    verdict = told(DECISIONS[begins], log=True).decide()
    assert verdict.headline.startswith(begins)
    said = [float(number) for number in re.findall(r"\d+\.?\d*", verdict.headline.removeprefix(begins))]
    if not any(word in verdict.headline for word in ("above", "near", "probability at")):
        assert 35.0 < said[0] < 80.0
    values = [row[name] for row in verdict.action for name in ("estimate", "max", "mean") if name in row]
    assert all(35.0 < value < 90.0 for value in values)  # quantiles of the maximum, too


def test_a_headline_says_what_the_belief_says() -> None:
    study = told(he.Maximize())
    verdict = study.decide()
    mean, sd = verdict.action[0]["mean"], verdict.action[0]["sd"]
    assert verdict.headline == f"The best design: {Quantity().of(mean, sd)}."


def test_level_sets_say_the_share_and_put_the_answer_first() -> None:
    points = SPACE.sample(40, 1)
    study = told(he.LevelSets(60.0, at=points))
    verdict = study.decide()
    above = sum(row["level"] for row in verdict.action) / len(points)
    assert f"above 60 at {percent(above)} of 40 points" in verdict.headline
    assert verdict.columns[0] == "level"


@pytest.mark.parametrize(
    ("x", "differ"),
    [
        ((1.0, 5.0, 9.0), ", each different"),
        ((1.0, 1.41, 9.0), ", each different"),
        ((1.0, 1.39, 9.0), ", of which 1 and 2 hardly differ"),
        ((1.0, 9.0, 9.0), ", of which 2 and 3 hardly differ"),
        ((1.0, 1.3, 1.6), ", some of which hardly differ"),
        ((1.0, 1.1, 1.2), " that hardly differ"),
    ],
)
@pytest.mark.parametrize("largest", [True, False])
def test_designs_are_called_different_only_where_they_are(x: tuple[float, ...], differ: str, largest: bool) -> None:
    """From a tenth of the cap on: 0.4."""
    decision = he.TopK(3, weight=1.0, cap=4.0, largest=largest).within(SPACE)
    a = torch.tensor([[value, 2.0] for value in x], dtype=torch.float64)
    said = decision.answer(a, told(decision).belief, 0.0, {})
    assert said.startswith(f"Three designs{differ}: value ")


def test_how_far_designs_can_be_apart_bounds_the_cap() -> None:
    """The diagonal of the space is 15; designs spread over it come near to that, and without options stay below."""
    for cap in (None, 1000.0):
        assert 9.0 < he.TopK(2, cap=cap).within(SPACE)._widest() <= 15.0
    assert he.TopK(2, cap=2.0).within(SPACE)._widest() == 2.0
    mixed = he.Space(x=he.Real(0, 1000), kind=["a", "b"])
    assert 1.0 < he.TopK(2, scaled=True).within(mixed)._widest() <= 2.0


def test_an_own_decision_has_a_headline_too() -> None:
    def regret(f: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return (f[..., 0] - 60.0).abs()

    verdict = told(he.decision(regret, he.Points(1))).decide()
    assert verdict.headline.startswith("One design: value ")


def test_limits_and_several_outcomes_are_said() -> None:
    outcomes = {"yield": he.Outcome(unit="%"), "impurity": he.Outcome(unit="%")}
    rows = [SPACE.decode(row) for row in SPACE.sample(9, 0)]
    data = [(p, {"yield": 60 + p["x"] - (p["y"] - 2) ** 2, "impurity": 0.5 * p["x"]}) for p in rows]

    def headline(decision: he.Decision) -> str:
        study = he.Study(SPACE, decision, outcomes=outcomes, hyperparameters="map")
        study.attach_many(data)
        return study.decide().headline

    limited = headline(he.Maximize("yield", subject_to=["impurity <= 3"]))
    assert limited.startswith("The best design: yield ")
    assert re.search(r" %, impurity <= 3 % with (more than )?\d+ % probability\.$", limited)
    own = headline(he.Maximize("yield", subject_to=["50 <= yield <= 90"]))
    assert re.search(r", 50 % <= yield <= 90 % with (more than )?\d+ % probability\.$", own)
    assert Limit.parse("crystal > 0.8").in_words(Quantity.chance("crystal")) == "probability of crystal >= 80 %"
    front = headline(he.Pareto(2, {"yield": "max", "impurity": "min"}))
    ranges = r"yield \S+( to \S+)? %( \(± \S+\))?, impurity \S+( to \S+)? %( \(± \S+\))?"
    assert re.fullmatch(rf"A front of two designs: {ranges}\.", front)
    aims = headline(he.Target({"yield": (61.0, 64.0), "impurity": "<= 2"}))
    chance = r"met with (more than )?\d+ % probability"
    met = rf"yield \S+ ± \S+ % \(target 61 to 64 %, {chance}\), impurity \S+ ± \S+ % \(target at most 2 %, {chance}\)"
    assert re.fullmatch(rf"The design nearest to the targets: {met}\.", aims)
    assert headline(he.Target({"yield": 62.0})).endswith(" % (target 62 %).")
    guesses = headline(he.KGuesses(3, outcome="yield", subject_to=["impurity <= 3", "yield <= 66"]))
    said = r"(with|at each of them with (at least|more than)) (more than )?\d+ % probability"
    assert re.search(rf", impurity <= 3 %, yield <= 66 % {said}\.", guesses)


def test_the_chance_to_meet_a_target_is_that_of_the_belief() -> None:
    """Against draws, of a value that is believed as its logarithm under a mixture."""
    study = he.Study(SPACE, he.Target({"value": (50.0, 55.0)}), outcomes={"value": he.Outcome(log=True)})
    rows = SPACE.sample(9, 0)
    study.attach_many([(SPACE.decode(row), 60 + 10 * math.sin(row[0]) - float(row[1] - 2) ** 2) for row in rows])
    verdict = study.decide()
    said = re.search(r"\(target 50 to 55, met with (\d+) % probability\)", verdict.headline)
    assert said is not None
    moments = study.belief.moments(verdict.raw, he.Needs.JOINT)
    draws = joint_draws(moments, 100_000, torch.Generator().manual_seed(1)).exp()
    assert float(((draws > 50) & (draws < 55)).double().mean()) == pytest.approx(int(said[1]) / 100, abs=0.012)


@pytest.mark.parametrize("largest", [True, False])
def test_the_best_guess_has_the_error_of_the_best(largest: bool) -> None:
    """By brute force; the error of the guess that is known best would be much less."""
    study = told(he.KGuesses(3, largest=largest))
    verdict = study.decide()
    said = re.search(r"a value of \S+ ± (\S+)\.", verdict.headline)
    assert said is not None
    draws = joint_draws(study.belief.moments(verdict.raw, he.Needs.JOINT), 100_000, torch.Generator().manual_seed(1))
    best = draws.amax(-1) if largest else draws.amin(-1)
    assert float(best.std()) == pytest.approx(float(said[1]), rel=0.13)  # two digits, or one


@pytest.mark.parametrize(
    ("decision", "column", "descending"),
    [
        (he.TopK(4, weight=30.0), "mean", True),
        (he.KGuesses(3, largest=False), "mean", False),
        (he.Pareto(4, {"value": "min", "price": "min"}), "value", False),
    ],
)
def test_the_best_of_several_designs_is_the_first(decision: he.Decision, column: str, descending: bool) -> None:
    outcomes: dict[str, Any] = {"value": he.Outcome()}
    if isinstance(decision, he.Pareto):
        outcomes["price"] = he.Computed("price", "20 - x - y", unit="€")
    study = he.Study(SPACE, decision, outcomes=outcomes, hyperparameters="map")
    rows = SPACE.sample(9, 0)
    study.attach_many([(SPACE.decode(row), 60 + 10 * math.sin(row[0]) - float(row[1] - 2) ** 2) for row in rows])
    verdict = study.decide()
    values = [row[column] for row in verdict.action]
    assert values == sorted(values, reverse=descending)
    assert study.belief.of("value").means(verdict.raw).mean[0].tolist() == pytest.approx(values)
    assert "price sd" not in verdict.columns
    assert isinstance(decision, he.Pareto) == ("price (€)" in verdict.titles)


def test_an_estimate_has_its_error_beside_it() -> None:
    study = he.Study(
        SPACE, he.Estimate(at=SPACE.sample(3, 1)), outcomes={"value": he.Outcome(unit="g")}, hyperparameters="map"
    )
    study.attach_many([({"x": x, "y": y}, x - y) for x, y in ((1.0, 1.0), (5.0, 2.0), (9.0, 4.0))])
    verdict = study.decide()
    assert verdict.titles[:2] == ("estimate (g)", "estimate sd (g)")
    mean, var = study.belief.moments(SPACE.sample(3, 1), he.Needs.VARIANCE).total()
    assert [row["estimate"] for row in verdict.action] == pytest.approx(mean.tolist())
    assert [row["estimate sd"] for row in verdict.action] == pytest.approx(var.sqrt().tolist())


def test_the_least_of_several_probabilities_in_words() -> None:
    assert for_each(0.934) == "at each of them with at least 93 %"
    assert for_each(0.999) == "at each of them with more than 99 %"
    assert for_each(0.001) == "at the least likely of them with less than 1 %"
    assert for_each(0.0) == "at the least likely of them with less than 1 %"
    assert of_success([0.999, 0.998], 0.5) == "A run succeeds at each of them with more than 99 % probability."


@pytest.mark.parametrize(("limit", "chance"), [(3.0, "100 %"), (2.5, "0 %"), (3.5, "100 %")])
def test_what_is_computed_meets_a_target_or_does_not(limit: float, chance: str) -> None:
    """Also exactly at the limit, where the best design often is."""
    decision = he.Target({"cost": f"<= {limit}"})
    exact = he.Moments(torch.ones(1, dtype=torch.float64), *torch.tensor([[[3.0]], [[0.0]]], dtype=torch.float64))
    said = decision.headline_of_several([exact], [Quantity("cost", "EUR")])
    assert said.endswith(f"cost 3.000 EUR (target at most {limit:g} EUR, met with {chance} probability).")


@pytest.mark.parametrize(
    "decision",
    [he.TopK(2, outcome="v", subject_to=["price <= 1"]), he.KGuesses(2, outcome="v", subject_to=["price <= 1"])],
    ids=repr,
)
def test_designs_that_hold_the_limits_come_first(decision: he.Decision) -> None:
    """A design beyond them is not the best, and where one holds them it is not said that none is known."""
    space = he.Space(x=he.Real(0.0, 1.0), z=he.Real(0.0, 1.0))
    outcomes: dict[str, Any] = {"v": he.Outcome(), "price": he.Computed("price", "2 * x + z")}
    study = he.Study(space, decision, outcomes=outcomes, hyperparameters="map")
    study.attach_many([(space.decode(row), {"v": float(row.sum())}) for row in space.sample(8, 0)])
    action = torch.tensor([[0.9, 0.9], [0.1, 0.1], [0.3, 0.2]], dtype=torch.float64)
    settled = study.decision
    assert settled is not None
    assert settled.in_order(action, study.belief)[0].tolist() == [0.3, 0.2]
    quantities = {name: Quantity(name) for name in ("v", "price")}
    said = settled.answer(action[:2], study.belief, -1.0, quantities)
    assert "price <= 1 at the least likely of them with less than 1 % probability." in said
    assert "No design is known" not in said


@pytest.mark.parametrize("name", ["estimate", "estimate sd"])
def test_a_parameter_called_estimate_is_not_taken_for_one(name: str) -> None:
    space = he.Space(**{name: he.Real(0.0, 1.0)}, z=he.Real(0.0, 1.0))
    study = he.Study(space, he.Estimate(at=[[0.25, 0.5]]), outcomes={"v": he.Outcome(unit="g")}, hyperparameters="map")
    study.attach_many([(space.decode(row), {"v": 7.0 + float(row.sum())}) for row in space.sample(8, 0)])
    verdict = study.decide()
    [row] = verdict.action
    assert list(row) == ["estimate of f", "estimate of f sd", name, "z"]
    assert row[name] == 0.25
    assert row["estimate of f"] == pytest.approx(7.75, abs=0.2)
    assert "estimate of f (g)" in verdict.titles
