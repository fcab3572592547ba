"""What can be run, what may be decided, what it costs: other fidelities, shelves, plates, prices, first designs."""

import itertools
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Gaussian, Needs
from hentropy.core.beliefs.kernels import Composed, Stationary
from hentropy.core.solvers import NetOfCost
from hentropy.core.spaces import Choice, Levels, Pool, Real, Space
from hentropy.errors import DecisionError, InputError
from hentropy.studies.study.rules import spent_sentence
from support.beliefs import LOW, WIDTH, designs, gaussian
from support.tiers import nightly

FIDELITIES = Space(x=Real(0.0, 1.0), y=Real(0.0, 1.0), fidelity=Levels([0.2, 1.0]))
REAL = FIDELITIES.fixed(fidelity=1.0)


def simulated(rows: Tensor) -> Tensor:
    x, y, fidelity = rows.unbind(-1)
    return (6.0 * x).sin() * y + 0.3 * (1.0 - fidelity) * (5.0 * x).cos()


def believed(hyperparameters: str = "map") -> Gaussian:
    X = FIDELITIES.spread(10, 0)
    treatment: Any = hyperparameters
    return he.fit(X, simulated(X), space=FIDELITIES, hyperparameters=treatment)


def cost(x: Tensor) -> Tensor:
    return torch.where(x[..., 2] < 1.0, 1.0, 20.0).sum(-1)


def test_a_gain_is_about_what_may_be_decided() -> None:
    """Against conditioning on drawn outcomes, the best mean at fidelity 1 searched on a list."""
    belief = believed()
    listed = Pool.among(REAL, REAL.sample(60, 3))
    x = FIDELITIES.sample(3, 7)
    found = he.gain(he.Maximize(), belief, x, FIDELITIES, decide_on=listed)
    assert found.exact
    best = belief.moments(listed.points, Needs.MEAN).mean[0].max()
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(1000, generator=generator, dtype=torch.float64)
    for row, gain in zip(x, found.value, strict=True):
        moments = belief.moments(row.unsqueeze(0), Needs.VARIANCE)
        spread = (moments.variance[0, 0] + belief.noise_std**2).sqrt()
        rises = []
        for y in moments.mean[0, 0] + spread * torch.cat([z[:150], -z[:150]]):
            after = belief.condition(row.unsqueeze(0), y.unsqueeze(0))
            rises.append(after.moments(listed.points, Needs.MEAN).mean[0].max() - best)
        drawn = torch.stack(rises)
        assert float(drawn.mean()) == pytest.approx(float(gain), abs=4.0 * float(drawn.std()) / 300**0.5)


@pytest.mark.covering
@pytest.mark.parametrize("hyperparameters", ["map", "mixture"])
@pytest.mark.parametrize(
    "decision", [he.Maximize(), he.TopK(2, scaled=True), he.KGuesses(2), he.Identify("argmax")], ids=repr
)
def test_the_decision_is_about_the_real_thing_and_cheap_designs_are_run(
    decision: he.Decision, hyperparameters: str
) -> None:
    belief = believed(hyperparameters)
    found = he.propose(decision, belief, FIDELITIES, cost=cost, decide_on=REAL)
    dear = he.propose(decision, belief, FIDELITIES, decide_on=REAL)
    assert found.params[0]["fidelity"] == 0.2  # a twentieth of the cost
    assert dear.gain >= found.gain - 4.0 * (dear.std_error + found.std_error)
    if decision.actions.of_designs:
        assert bool((torch.as_tensor(found.action)[:, 2] == 1.0).all())


def test_what_was_observed_counts_where_it_may_be_decided_on() -> None:
    belief = believed()
    found = he.propose(he.BestObserved(), belief, FIDELITIES, decide_on=REAL)
    assert float(found.action[0, 2]) == 1.0
    assert found.params[0]["fidelity"] == 1.0  # another fidelity observes nothing that could be decided on
    cheap = Space(**FIDELITIES.parameters).fixed(fidelity=0.2)
    X = cheap.sample(6, 0)
    only = he.fit(X, simulated(X), space=FIDELITIES, hyperparameters="map")
    with pytest.raises(DecisionError, match="no design that may be decided on has been observed"):
        he.propose(he.BestObserved(), only, FIDELITIES, decide_on=REAL)


def test_a_shelf_is_run_and_anything_decided() -> None:
    space = Space(a=["x", "y", "z"], t=Real(0.0, 1.0))
    shelf = Pool.among(space, space.sample(12, 4))
    X = shelf.points[:6]
    belief = he.fit(X, (3.0 * X).sin().sum(-1), space=space, hyperparameters="map")
    found = he.propose(he.Maximize(), belief, shelf, decide_on=space)
    shelf.check(found.x)
    grid = space.encode_many([{"a": a, "t": i / 200} for a in "xyz" for i in range(201)])
    best = float(belief.moments(grid, Needs.MEAN).mean.max())
    assert found.entropy <= -best + 1e-4
    gains = he.gain(he.Maximize(), belief, shelf.points, shelf, decide_on=Pool.among(space, grid)).value
    position = int((shelf.points == found.x).all(-1).nonzero()[0])
    assert float(gains[position]) >= 0.95 * float(gains.max())


def test_other_parameters_cannot_be_decided_on() -> None:
    with pytest.raises(InputError, match="decide_on has the parameters x, the space has x, y, fidelity"):
        he.propose(he.Maximize(), believed(), FIDELITIES, decide_on=Space(x=Real(0.0, 1.0)))


def test_a_price_makes_the_dear_design_worth_its_while_or_not() -> None:
    belief = believed()
    free = he.propose(he.Maximize(), belief, FIDELITIES, decide_on=REAL, cost=NetOfCost(cost, price=1e-9))
    dear = he.propose(he.Maximize(), belief, FIDELITIES, decide_on=REAL, cost=NetOfCost(cost, price=1.0))
    assert (free.params[0]["fidelity"], dear.params[0]["fidelity"]) == (1.0, 0.2)


def test_plates_are_as_good_as_the_best_of_all() -> None:
    space = Space(a=list("uvwxyz"), level=Levels([1.0, 2.0, 4.0]), same_in_batch=["level"])
    assert space.points is not None
    X = space.spread(7, 1)
    slopes = torch.linspace(-2.0, 3.0, space.dim, dtype=torch.float64)
    belief = he.fit(X, (space.to_unit(X) @ slopes).sin(), space=space)
    found = he.propose(he.Maximize(), belief, space, q=2)
    assert len({params["level"] for params in found.params}) == 1
    pairs = [
        torch.stack([one, other])
        for one, other in itertools.combinations(space.points, 2)
        if torch.equal(one[space.places["level"]], other[space.places["level"]])
    ]
    gains = he.gain(he.Maximize(), belief, torch.stack([found.x, *pairs]), space)
    slack = 3.0 * float(gains.std_error.max())
    assert float(gains.value[0]) >= 0.97 * float(gains.value.max()) - slack


@pytest.mark.parametrize("decision", [nightly(he.Maximize()), he.TopK(3, scaled=True)], ids=repr)
def test_a_plate_has_one_temperature(decision: he.Decision) -> None:
    space = Space(
        kind=["p", "q", "r"],
        temperature=Real(20.0, 90.0),
        time=Real(1.0, 9.0),
        where=["temperature * time <= 400", "kind != 'p' or temperature <= 60"],
        same_in_batch=["temperature"],
    )
    X = space.spread(9, 2)
    belief = he.fit(X, space.to_unit(X).sum(-1).sin(), space=space, hyperparameters="map")
    found = he.propose(decision, belief, space, q=4)
    assert len({params["temperature"] for params in found.params}) == 1
    assert len({params["time"] for params in found.params}) > 1
    assert bool(space.holds(found.x).all())


SPREAD = {
    "choices": Space(a=list("pqrstu"), b=["x", "y", "z"], n=Levels(["s", "m", "l", "xl"]), t=Real(0.0, 1.0)),
    "conditions": Space(
        a=list("pqrstu"), b=["x", "y", "z"], t=Real(0.0, 1.0), where=["a != 'p' or b == 'z'", "t < 0.3 or b != 'x'"]
    ),
    "descriptors": Space(a=Choice(list("pqr"), descriptors={"size": [1.0, 2.0, 5.0]}), t=Real(0.0, 1.0)),
}


@pytest.mark.parametrize("name", SPREAD)
def test_first_designs_have_every_option_before_one_twice(name: str) -> None:
    space = SPREAD[name]
    for seed in range(3):
        rows = space.spread(18, seed)
        assert torch.equal(rows[:5], space.spread(5, seed))
        assert bool(space.holds(rows).all())
        designs = [space.decode(row) for row in rows]
        for field in space.fields:
            if field.options:
                m = len(field.options)
                seen = Counter(design[field.name] for design in designs[: m * (18 // m)])
                # a condition may exclude the combination whose turn it is
                assert max(seen.values()) - min(seen.values()) <= (0 if name != "conditions" else 2)


def test_first_rows_of_a_table_have_every_option() -> None:
    rows = [[a, b, float(i)] for i, (a, b) in enumerate(itertools.product("pqrs", "xy"))] * 5
    pool = Pool(rows, ["a", "b", "n"])
    designs = [pool.decode(row) for row in pool.spread(8, 3)]
    assert Counter(design["a"] for design in designs) == dict.fromkeys("pqrs", 2)
    assert Counter(design["b"] for design in designs) == dict.fromkeys("xy", 4)


def run(study: he.Study, times: int) -> list[he.Trial]:
    done = []
    for _ in range(times):
        trial = study.ask()
        done.append(study.tell(trial, float(simulated(study.space.encode(trial.params)))))
    return done


def test_a_study_runs_what_is_cheap_and_decides_about_the_real_thing(sqlite_url: str) -> None:
    study = he.Study(
        FIDELITIES,
        he.Maximize(),
        decide_on={"fidelity": 1.0},
        cost="1 if fidelity < 1 else 20",
        stop=[he.Budget(cost=100.0, unit="hours")],
        first=6,
        hyperparameters="map",
    )
    while not study.stopped:
        run(study, 1)
    assert study.stopped == "the budget of 100 hours is spent"
    assert {trial.expected_cost for trial in study.records} == {1.0, 20.0}
    assert study.spent == sum(trial.expected_cost or 0.0 for trial in study.records)
    verdict = study.decide()
    assert verdict.action[0]["fidelity"] == 1.0
    proposed = [trial.params["fidelity"] for trial in study.records if trial.origin == "proposed"]
    assert proposed.count(0.2) > proposed.count(1.0)


@pytest.mark.parametrize("kind", ["space", "pool"])
def test_a_fidelity_is_modelled_by_one_kernel_unless_families_are_wanted(kind: str, sqlite_url: str) -> None:
    """How well a family predicts cheap experiments says little about the real thing."""
    space: Any = Space(x=Real(0.0, 1.0), fidelity=Levels([0.2, 1.0]))
    if kind == "pool":
        space = Pool([[x / 10, level] for x in range(11) for level in (0.2, 1.0)], names=["x", "fidelity"])

    def kernel(study: he.Study) -> type:
        for i in range(8):
            study.attach({"x": i / 10, "fidelity": (0.2, 1.0)[i % 2]}, float(i % 3))
        assert isinstance(study.belief, Gaussian)
        return type(study.belief.kernel)

    at_one: dict[str, Any] = {"decide_on": {"fidelity": 1.0}}
    assert kernel(he.Study(space, he.Maximize(), first=2, **at_one)) is Stationary
    assert kernel(he.Study(space, he.Maximize(), first=2)) is Composed
    assert kernel(he.Study(space, he.Maximize(), first=2, hyperparameters="families", **at_one)) is Composed
    stored = he.Study(space, he.Maximize(), first=2, storage=sqlite_url, **at_one)
    stored.close()
    again = he.load_study("study", sqlite_url)
    assert kernel(again) is Stationary
    again.close()


def test_costs_that_are_told_are_learned() -> None:
    space = Space(x=Real(0.0, 1.0), kind=["quick", "slow"])
    study = he.Study(space, he.Maximize(), cost="told", first=6)

    def value(x: float, kind: str) -> float:
        return -((x - 0.4) ** 2) + (0.001 if kind == "slow" else 0.0)

    for _ in range(6):
        trial = study.ask()
        study.tell(trial, value(**trial.params), cost=30.0 if trial.params["kind"] == "slow" else 1.0)
    trial = study.ask()
    assert trial.expected_cost == pytest.approx(1.0, rel=0.2)
    assert trial.params["kind"] == "quick"
    told = study.tell(trial, value(**trial.params), cost=1.5)
    assert (told.cost, told.expected_cost) == (1.5, trial.expected_cost)
    with pytest.raises(InputError, match="the cost told is -1"):
        study.tell(study.ask(), 1.0, cost=-1)


def test_a_shelf_with_ids_and_prices() -> None:
    space = Space(a=["x", "y", "z"], t=Real(0.0, 1.0))
    rows = [[f"s{i}", a, 0.1 * i, 1.0 + (a == "z") * 50.0] for i, a in enumerate("xyzxyzxyz")]
    shelf = Pool(rows, ["name", "a", "t", "price"], id="name", ignore=["price"])
    study = he.Study(shelf, he.Maximize(), decide_on=space, cost="price", first=4)
    for _ in range(5):
        trial = study.ask()
        assert trial.params["name"] in {row[0] for row in rows}
        assert trial.expected_cost == trial.params["price"]
        study.tell(trial, trial.params["t"] + (trial.params["a"] == "y"))
    assert set(study.decide().action[0]) >= {"a", "t"}


def test_a_batch_of_first_designs_shares_what_it_must() -> None:
    space = Space(
        kind=["p", "q", "r"], temperature=Real(20.0, 90.0), time=Real(1.0, 9.0), same_in_batch=["temperature"]
    )
    study = he.Study(space, he.Maximize(), first=7)  # the second plate has more than are left
    for _ in range(3):
        plate = study.ask_many(4)
        assert len(plate) == 4
        assert len({trial.params["temperature"] for trial in plate}) == 1
        for trial in plate:
            study.tell(trial, trial.params["time"] - 0.01 * (trial.params["temperature"] - 50.0) ** 2)
    temperatures = {trial.params["temperature"] for trial in study.records}
    assert len(temperatures) == 3


def test_an_experiment_must_save_more_than_it_costs() -> None:
    study = he.Study(FIDELITIES, he.Maximize(), cost=2.0, price=0.5, stop=[he.GainBelowCost(price=0.5)], first=4)
    while not study.stopped:
        run(study, 1)
    assert study.stopped.endswith("and costs 1")


FILE = """\
version = 1
name = "two fidelities"
first = 5

[space.x]
type = "real"
low = 0
high = 1

[space.fidelity]
type = "levels"
values = [0.2, 1.0]

[decide_on.values]
fidelity = 1.0

[decision]
name = "maximize"

[cost]
of = "1 if fidelity < 1 else 20"
unit = "hours"
price = 0.001

[stop]
spend = 60
worth_its_cost = true
"""


def test_files_and_stores_know_settings(tmp_path: Path, sqlite_url: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(FILE)
    study = he.Study.from_file(file, storage=sqlite_url)
    assert study.stop == (he.Budget(cost=60.0, unit="hours"), he.GainBelowCost(price=0.001))
    assert (study.costs.stated, study.costs.price) == ("1 if fidelity < 1 else 20", 0.001)
    trial = study.ask()
    study.tell(trial, 1.0, cost=3.0)
    study.close()
    again = he.load_study("two fidelities", sqlite_url)
    assert again.records[0].spent == 3.0
    assert again.decide().action[0]["fidelity"] == 1.0
    made = he.Study(
        again.space,
        he.Maximize(),
        decide_on={"fidelity": 1.0},
        cost="1 if fidelity < 1 else 20",
        price=0.001,
        stop=[he.Budget(cost=60.0, unit="hours"), he.GainBelowCost(price=0.001)],
        first=5,
        name="two fidelities",
        storage=sqlite_url,
    )
    assert made.records == again.records
    made.close()
    again.close()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fidelity = 1.0", "fidelity = 0.7", "decide_on: parameter fidelity is 0.7; the options are 0.2, 1"),
        ("fidelity < 1 else", "fidelty < 1 else", "cost.of: .*fidelity"),
        (
            'of = "1 if fidelity < 1 else 20"',
            'of = "x - 0.5"',
            "cost.of: the cost of the design x 0.[0-9]{1,5}, .* above 0",
        ),
        ("[cost]\n", "[prices]\n", "prices"),
    ],
)
def test_mistakes_in_settings_are_named(old: str, new: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(FILE.replace(old, new))
    with pytest.raises(InputError, match=message):
        he.Study.from_file(file)


def test_shelves_are_kept_in_stores(sqlite_url: str) -> None:
    space = Space(a=["x", "y", "z"], t=Real(0.0, 1.0), where=["t <= 0.9"])
    shelf = Pool([["s1", "x", 0.1], ["s2", "y", 0.5], ["s3", "z", 0.7]], ["name", "a", "t"], id="name")
    study = he.Study(shelf, he.Maximize(), decide_on=space, storage=sqlite_url, name="shelf")
    study.attach({"name": "s2"}, 1.0)
    study.attach({"name": "s3"}, 2.0)
    study.close()
    again = he.load_study("shelf", sqlite_url)
    assert [trial.params["name"] for trial in again.records] == ["s2", "s3"]
    assert repr(again.decide_on) == repr(space)
    assert again.ask().params["name"] == "s1"
    again.close()


def test_plates_from_a_table_share_a_column() -> None:
    """Also when some rows are measured already, and only the others are left to choose from."""
    rows = [[kind, float(t), float(n)] for kind in "pqr" for t in (20, 50, 80) for n in range(3)]
    pool = Pool(rows, ["kind", "temperature", "n"], same_in_batch=["temperature"])
    study = he.Study(pool, he.Maximize(), first=3, hyperparameters="map")
    for _ in range(3):
        plate = study.ask_many(3)
        assert len({trial.params["temperature"] for trial in plate}) == 1
        for trial in plate:
            study.tell(trial, trial.params["n"] - abs(trial.params["temperature"] - 50.0) / 30.0)
    assert {trial.origin for trial in study.records[3:]} == {"proposed"}


def test_a_pool_with_fixed_values_keeps_its_ids() -> None:
    """What is decided on a part of a table is named as on the whole of it."""
    rows = [["s1", "THF", 1.0, 20.0], ["s2", "water", 2.0, 30.0], ["s3", "THF", 3.0, 40.0]]
    pool = Pool(rows, ["sample", "solvent", "x", "price"], id="sample", ignore=["price"])
    part = pool.fixed(solvent="THF")
    assert [part.decode(row)["sample"] for row in part.points] == ["s1", "s3"]
    assert part.decode(part.encode({"sample": "s3"})) == {"sample": "s3", "solvent": "THF", "x": 3.0, "price": 40.0}
    with pytest.raises(InputError, match="no design has sample 's2'"):
        part.encode({"sample": "s2"})
    study = he.Study(pool, he.Maximize(), decide_on={"solvent": "THF"}, hyperparameters="map")
    study.attach_many([({"sample": f"s{i}"}, float(i)) for i in (1, 2, 3)])
    assert study.decide().action[0]["sample"] == "s3"


@pytest.mark.parametrize("first", [1, 6])
def test_a_plate_never_has_a_row_twice(first: int) -> None:
    """Of groups of 3, 2 and 1 rows, plates of 3 come from the first; then smaller ones, with a note that says so."""
    rows = [["a", 20.0], ["b", 50.0], ["c", 50.0], ["d", 80.0], ["e", 80.0], ["f", 80.0]]
    pool = Pool([[*row, float(i)] for i, row in enumerate(rows)], ["id", "t", "n"], id="id", same_in_batch=["t"])
    study = he.Study(pool, he.Maximize(), first=first, hyperparameters="map")
    plates = []
    for _ in range(3):
        plate = study.ask_many(3)
        plates.append(sorted(trial.params["id"] for trial in plate))
        for trial in plate:
            study.tell(trial, trial.params["n"])
            assert trial.note.endswith("fewer than 3: no more designs left have one t") == (len(plate) < 3)
    assert plates == [["d", "e", "f"], ["b", "c"], ["a"]]


def test_a_told_cost_can_be_corrected_away() -> None:
    """A correction without a cost keeps it; "unknown" deletes it, and the history has what was told."""
    study = he.Study(Space(x=Real(0.0, 1.0)), he.Maximize(), cost="told")
    trial = study.ask()
    study.tell(trial, 1.0, cost=5.0)
    assert study.tell(trial, 2.0, replace_value=True).cost == 5.0
    assert study.tell(trial, 2.0, replace_value=True, cost="unknown").cost is None
    assert study.spent == 0.0
    assert [told.cost for told in study.store.observations(study.log.record, trial.number)] == [5.0, 5.0, None]
    with pytest.raises(InputError, match="above 0"):
        study.tell(trial, 2.0, replace_value=True, cost=0.0)


def test_a_plate_leaves_something_free() -> None:
    with pytest.raises(he.InputError, match="would all be the same"):
        he.Space(flour=["a", "b"], temperature=he.Real(1, 2), same_in_batch=["flour", "temperature"])
    with pytest.raises(he.InputError, match=r"write \['temperature'\]"):
        he.Space(flour=["a", "b"], temperature=he.Real(1, 2), same_in_batch="temperature")


@pytest.mark.parametrize("stop", ["", "[stop]\ntrials = 9\n", "[stop]\ntrials = 9\nspend = 60\n"])
def test_the_unit_of_costs_is_kept_whatever_the_stopping_rules(tmp_path: Path, stop: str) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(
        'version = 1\nname = "lab"\n[space.x]\ntype = "real"\nlow = 0\nhigh = 1\n[decision]\nname = "maximize"\n'
        f'[cost]\nof = 2.0\nunit = "hours"\n{stop}'
    )
    study = he.Study.from_file(file)
    study.tell(study.ask(), 1.0)
    assert study.log.record.definition["cost"]["unit"] == "hours"
    again = he.load_study("lab", f"sqlite:///{tmp_path}/hentropy.db")
    assert re.fullmatch(r"Spent 2( of \d+)? hours\.", spent_sentence(again.stop, again.records, again.costs.unit))
    assert spent_sentence(again.stop, again.records, "hours") in again._repr_html_()
    study.close()
    again.close()


def test_data_that_violate_a_condition_are_no_actions() -> None:
    """The same region as a condition and as bounds: data outside of it teach, and cannot be decided for."""
    low, high = LOW.tolist(), (LOW + WIDTH).tolist()
    middle = 0.5 * (low[1] + high[1])
    held = Space(x=Real(low[0], high[0]), y=Real(low[1], high[1]), where=[f"y >= {middle}"])
    box = Space(x=Real(low[0], high[0]), y=Real(middle, high[1]))
    belief, x = gaussian(3), designs(3, seed=9)[[0, 2]].unsqueeze(1)
    assert float(belief.moments(belief.X, Needs.VARIANCE).total()[0].max()) > -float(entropy_on(belief, box)) + 0.3
    one, other = (he.gain(he.Maximize(), belief, x, space) for space in (held, box))
    assert entropy_on(belief, held) == pytest.approx(entropy_on(belief, box), abs=1e-3)
    assert one.value == pytest.approx(other.value, abs=1e-3 + 4.0 * float((one.std_error + other.std_error).max()))


def entropy_on(belief: he.Belief, space: Space) -> float:
    return float(he.entropy(he.Maximize(), belief, space).value)
