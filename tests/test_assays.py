"""Assays in studies: what is asked against brute force, what trials record, and what is said of it everywhere."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Gaussian, Needs, Several
from hentropy.errors import InputError, StudyError
from hentropy.studies.study.tables import trials_table
from support.beliefs import tensor
from support.commands import done, hentropy

POOL = he.Pool([[x] for x in np.linspace(0.0, 1.0, 7).round(3)], names=["x"])
LIMIT = 1.0
PURE = he.Maximize("yield", [f"impurity <= {LIMIT}"], 0.0)
OUTCOMES = {"yield": he.Outcome(unit="%"), "impurity": he.Outcome(unit="%")}
TITRATION, FULL = he.Assay(["impurity"], cost=1.0), he.Assay(["yield", "impurity"], cost=2.0)
ASSAYS = {"titration": TITRATION, "full": FULL}
DATA = [(0.0, 1.0, 0.3), (0.333, 1.6, 0.8), (0.667, 2.1, 1.2), (1.0, 2.4, 1.5)]
"""Designs, yields, impurities."""


def study(assays: Mapping[str, he.Assay] = ASSAYS, space: Any = POOL, **options: Any) -> he.Study:
    """One that knows four designs."""
    given: dict[str, Any] = {"decision": PURE, "hyperparameters": "map", "first": 4, **options}
    made = he.Study(space, outcomes=OUTCOMES, assays=assays, **given)
    for x, y, i in DATA:
        made.attach({"x": x}, {"yield": (y, 0.2), "impurity": (i, 0.2)})
    return made


class Brute:
    """Gains of designs by products of Gauss-Hermite nodes over what is measured, all designs as actions."""

    def __init__(self, belief: Several) -> None:
        self.parts = [part for part in belief.parts if isinstance(part, Gaussian)]
        assert len(self.parts) == 2  # independent of each other
        self.prior = [part.moments(POOL.points, Needs.JOINT) for part in self.parts]

    def worth(self, y: Tensor, i: Tensor, sd: Tensor) -> Tensor:
        """The yield times the chance that impurity holds its limit, of means (N x m) and the sd of impurity (m)."""
        return y * torch.special.ndtr((LIMIT - i) / sd)

    def gain(self, observed: list[tuple[int, int]], count: int = 12) -> float:
        """That of observing pairs of a design's row and an outcome."""
        z, w = (tensor(part) for part in np.polynomial.hermite_e.hermegauss(count))
        grid = torch.cartesian_prod(*[z] * len(observed)).reshape(-1, len(observed))
        weights = torch.cartesian_prod(*[w / w.sum()] * len(observed)).reshape(-1, len(observed)).prod(-1)
        after, left = [], []
        for outcome, (part, prior) in enumerate(zip(self.parts, self.prior, strict=True)):
            rows = [row for row, which in observed if which == outcome]
            at = [k for k, (_, which) in enumerate(observed) if which == outcome]
            mean, cov = prior.mean[0], prior.covariance[0]
            noise = float(part.noise_std) ** 2
            L = torch.linalg.cholesky(cov[rows][:, rows] + noise * torch.eye(len(rows)).double())
            move = torch.linalg.solve_triangular(L, cov[rows], upper=False)
            after.append(mean + grid[:, at] @ move)
            left.append((cov - move.mT @ move).diagonal().clamp_min(1e-18).sqrt())
        now = self.worth(self.prior[0].mean, self.prior[1].mean, self.prior[1].variance[0].sqrt())[0]
        then = self.worth(after[0], after[1], left[1])
        return float(weights @ (then.amax(-1) - then[:, now.argmax()]))


def assays_with(full_cost: float) -> dict[str, he.Assay]:
    return {
        "titration": TITRATION,
        "yield": he.Assay(["yield"], cost=1.0),
        "full": he.Assay(["yield", "impurity"], cost=full_cost),
    }


@pytest.mark.parametrize("full_cost", [1.05, 3.0])
def test_the_design_and_the_assay_have_the_greatest_gain_per_cost(full_cost: float) -> None:
    """At 5 % for the draws of the search."""
    assays = assays_with(full_cost)
    begun = study(assays)
    assert isinstance(begun.belief, Several)
    brute, names = Brute(begun.belief), list(OUTCOMES)
    worth = {
        (row, name): brute.gain([(row, names.index(n)) for n in one.measures]) / one.cost
        for name, one in assays.items()
        for row in range(len(POOL.points))
    }
    asked = begun.ask()
    name = begun.outcomes.assays.name_of(asked.measures)
    row = int((POOL.points[:, 0] - asked.params["x"]).abs().argmin())
    assert worth[row, name] >= 0.95 * max(worth.values()), (row, name, worth)
    expected = worth[row, name] * assays[name].cost
    assert asked.gain == pytest.approx(expected, rel=0.05, abs=6 * (asked.gain_error or 0.0))
    assert asked.expected_cost == assays[name].cost
    other = "yield" if name != "yield" else "titration"
    assert begun.ask(measures=other).measures == tuple(assays[other].measures)


@pytest.mark.parametrize("awaited", [("impurity",), ("yield",), ("yield", "impurity")])
def test_a_trial_that_runs_counts_by_what_it_measures(awaited: tuple[str, ...]) -> None:
    begun, names, at = study(assays_with(2.0)), list(OUTCOMES), 3
    begun.log.add([he.Trial(len(DATA), POOL.decode(POOL.points[at]), measures=awaited)])
    assert isinstance(begun.belief, Several)
    brute, waiting = Brute(begun.belief), [(at, names.index(name)) for name in awaited]
    before = brute.gain(waiting, 10)
    for one in (TITRATION, FULL):
        belief, pending = begun.asker._observing(begun.records, tuple(one.measures))
        found = he.gain(PURE, belief, POOL.points[[2, 4]], POOL, pending=pending)
        gains = [brute.gain([*waiting, *((row, names.index(n)) for n in one.measures)], 10) for row in (2, 4)]
        expected = tensor(gains) - before
        slack = 6 * found.std_error + 0.05 * max(gains)
        assert bool(((found.value - expected).abs() <= slack).all()), (found, expected)


def test_first_designs_measure_everything_and_costs_count() -> None:
    made = he.Study(
        he.Space(x=he.Real(0.0, 1.0)),
        PURE,
        outcomes=OUTCOMES,
        assays={"titration": TITRATION, "yield": he.Assay(["yield"], cost=3.0)},
        cost="1 + x",
        first=3,
        stop=[he.Budget(cost=10.0)],
        hyperparameters="map",
    )
    first, other = made.ask_many(2)
    assert first.measures == other.measures == ("yield", "impurity")
    # no assay measures both, so it takes the two of them
    assert first.expected_cost == pytest.approx(1.0 + first.params["x"] + 4.0)
    alone = made.ask(measures=["impurity"])
    assert (alone.origin, alone.measures) == ("first", ("impurity",))
    assert alone.expected_cost == pytest.approx(1.0 + alone.params["x"] + 1.0)
    for trial in (first, other):
        made.tell(trial, {"yield": 1.0, "impurity": 0.5})
    assert made.spent == pytest.approx((first.expected_cost or 0.0) + (other.expected_cost or 0.0))
    assert made.stopped is not None or made.spent < 10.0


def test_outcomes_may_be_told_that_were_not_asked_for_and_later() -> None:
    begun = study()
    trial = begun.ask(measures="titration")
    assert begun.tell(trial, {"impurity": 0.9}).measurements == {"impurity": he.Measurement(0.9)}
    assert set(begun.tell(trial, {"yield": 1.5}).measurements) == {"yield", "impurity"}
    assert begun.records[-1].measures == ("impurity",)
    assert set(begun.trials.iloc[-1]["measures"]) == {"impurity"}
    assert "measures" not in trials_table([he.Trial(0, {"x": 1.0})], ["x"], {"value": ()})


def test_a_design_stays_open_while_one_of_its_outcomes_is_missing() -> None:
    pool = he.Pool([[0.0], [1.0]], names=["x"])
    made = he.Study(pool, PURE, outcomes=OUTCOMES, assays=ASSAYS, first=2, hyperparameters="map")
    for trial, impurity in zip(made.ask_many(2, measures=["impurity"]), (0.2, 0.4), strict=True):
        made.tell(trial, {"impurity": (impurity, 0.0)})
    assert made.stopped is None
    later = made.ask()
    assert later.measures == ("yield", "impurity")  # yield is not known at all yet
    made.tell(later, {"yield": (1.0, 0.0), "impurity": (0.3, 0.0)})
    other = made.ask()
    assert other.params != later.params
    made.tell(other, {"yield": (2.0, 0.0), "impurity": (0.3, 0.0)})
    assert made.stopped is not None
    assert "measured without noise" in made.stopped


def test_a_study_goes_on_from_its_records_and_its_store(tmp_path: Path) -> None:
    whole = study(storage=f"sqlite:///{tmp_path / 'lab.db'}", name="lab")
    whole.tell(whole.ask(measures="titration"), {"impurity": (0.9, 0.2)})
    waits = whole.ask()
    replayed = he.Study(
        POOL, PURE, outcomes=OUTCOMES, assays=ASSAYS, first=4, hyperparameters="map", records=whole.records
    )
    stored = he.load_study("lab", f"sqlite:///{tmp_path / 'lab.db'}")
    assert stored.records == replayed.records == whole.records
    assert stored.records[-1].measures == waits.measures
    assert stored.outcomes.assays == ASSAYS
    expected = replayed.ask()
    assert stored.ask() == expected
    with pytest.raises(he.HentropyError, match=r"assays\.full\.cost: 2\.0 there, 7\.0 here"):
        study({**ASSAYS, "full": he.Assay(["yield", "impurity"], cost=7.0)}, storage=whole.store, name="lab")


def test_an_outcome_that_is_not_decided_on_may_tell_of_one_that_is() -> None:
    """Impurity follows yield exactly, so that a titration gains about as much, for a tenth of the cost."""
    assays = {"titration": TITRATION, "full": he.Assay(["yield", "impurity"], cost=10.0)}
    made = he.Study(
        POOL, he.Maximize("yield"), outcomes=OUTCOMES, assays=assays, first=4, hyperparameters="map", price=None
    )
    for x in (0.0, 0.167, 0.333, 0.5, 0.667, 0.833):
        y = float(np.sin(9.0 * x)) + 2.0 * x
        made.attach({"x": x}, {"yield": y, "impurity": 3.0 - y})
    belief = made.belief
    assert belief.outcomes == ("yield",)
    assert belief.notes == ("yield and impurity are modelled together: correlation -1.0",)
    assert made.ask().measures == ("impurity",)
    verdict = made.decide()
    assert set(verdict.action[0]) >= {"x", "mean", "sd"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"assays": {"a": he.Assay(["impurty"])}}, "measures 'impurty'; measured are yield, impurity; did you mean"),
        ({"assays": {"a": TITRATION}}, "the decision is about yield, which no assay measures"),
        ({"assays": {"a": FULL, "b": he.Assay(["impurity", "yield"])}}, "a and b measure the same"),
        ({"assays": {"a": he.Assay(["yield", "yield"])}}, "one of them twice"),
        ({"assays": ["impurity"]}, "assays must be a table"),
        ({"assays": ASSAYS, "cost": "told"}, 'costs that are "told" do not go with assays'),
    ],
)
def test_assays_that_cannot_be_used_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        he.Study(POOL, PURE, outcomes=OUTCOMES, **options)


def test_what_does_not_go_together_is_said() -> None:
    with pytest.raises(InputError, match=r"no assay measures just yield; the assays are titration \(impurity\); full"):
        study().ask(measures=["yield"])
    with pytest.raises(InputError, match="the study has no assays"):
        he.Study(POOL, PURE, outcomes=OUTCOMES).ask(measures=["yield"])
    with pytest.raises(StudyError, match="not told which assay to run; ask and tell"):
        he.search(lambda x: {"yield": x}, POOL, PURE, 3, outcomes=OUTCOMES, assays=ASSAYS, progress=False)


def test_failures_and_what_is_decided_on_go_with_assays() -> None:
    grid = [[x, fidelity] for x in (0.0, 0.333, 0.667, 0.9, 1.0) for fidelity in (0.5, 1.0)]
    space, final = (he.Pool(rows, names=["x", "fidelity"]) for rows in (grid, [row for row in grid if row[1] == 1.0]))
    made = he.Study(space, PURE, outcomes=OUTCOMES, assays=ASSAYS, first=4, hyperparameters="map", decide_on=final)
    for x, y, i in DATA:
        made.attach({"x": x, "fidelity": 1.0 if x > 0.5 else 0.5}, {"yield": (y, 0.2), "impurity": (i, 0.2)})
    made.attach({"x": 0.9, "fidelity": 0.5}, he.Failed("clogged"))
    assert made.success is not None
    asked = made.ask()
    assert asked.measures in (("impurity",), ("yield", "impurity"))
    assert asked.gain is not None
    assert made.decide().action[0]["fidelity"] == 1.0


FILE = """\
version = 1
name = "reaction"
first = 2
[space.x]
type = "real"
low = 0.0
high = 1.0
[outcomes.yield]
unit = "%"
[outcomes.impurity]
unit = "%"
[assays.titration]
measures = ["impurity"]
cost = 1
[assays.full]
measures = ["yield", "impurity"]
cost = 5
[decision]
name = "maximize"
outcome = "yield"
subject_to = ["impurity <= 3"]
[cost]
unit = "h"
[stop]
spend = 60
[model]
hyperparameters = "map"
"""


def test_the_command_line_says_what_to_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lab.toml").write_text(FILE)
    said = done("check", "lab.toml")
    runs = "An experiment runs one assay: titration (impurity) for 1 h or full (yield and impurity) for 5 h;"
    assert f"{runs} the gain per cost decides which." in said
    assert "The first designs measure yield and impurity, for 5 h." in said
    asked = done("ask", "lab.toml")
    assert "yield and impurity (full)" in asked
    asked = done("ask", "lab.toml", "--measures", "impurity")
    assert "impurity (titration)" in asked
    assert "hentropy tell lab.toml 1 impurity=VALUE " in asked
    told = done("tell", "lab.toml", "1", "yield=70", "impurity=2")
    assert "are recorded; yield was not asked for, and counts as well." in told
    assert "impurity 2 % is recorded; yield may be told later." in done("tell", "lab.toml", "0", "impurity=2")
    assert "expected cost (h)" in asked
    done("tell", "lab.toml", "0", "impurity=2", "--cost", "3.25")
    shown = done("show", "lab.toml")
    assert "3.25" in shown
    assert shown.count("cost") == 2  # the expected, and the actual one
    assert "Trials that measured yield in 1 and impurity in 2." in shown
    assert "to measure: impurity (titration)" in done("show", "lab.toml", "--number", "1")
    assert [trial["measures"] for trial in json.loads(done("show", "lab.toml", "--json"))["trials"]] == [
        ["yield", "impurity"],
        ["impurity"],
    ]
    wrong = hentropy("ask", "lab.toml", "--measures", "yield")
    assert "no assay measures just yield" in wrong.err
    for format in ("csv", "jsonl"):
        done("export", "lab.toml", "--out", f"trials.{format}")
        Path(f"{format}.toml").write_text(FILE.replace('"reaction"', f'"{format}"'))
        done("import", f"{format}.toml", f"trials.{format}")
        assert he.Study.from_file(f"{format}.toml").records == he.Study.from_file("lab.toml").records


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('measures = ["impurity"]', 'measures = ["impurty"]', "assays: the assay titration measures 'impurty'"),
        ("cost = 1\n", "cost = 0\n", "assays.titration.cost"),
        ('unit = "h"', 'of = "told"', 'costs that are "told" do not go with assays'),
        ("[model]", '[objective]\ntype = "command"\ncommand = ["true"]\n[model]', "not told which assay to run"),
    ],
)
def test_mistakes_in_a_file_are_named(old: str, new: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(FILE.replace(old, new))
    assert said in hentropy("check", str(tmp_path / "lab.toml")).err
