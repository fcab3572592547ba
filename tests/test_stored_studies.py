"""A study in a store: the same object, in one process or many, by its options, its file or its name alone."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

import hentropy as he
from hentropy.errors import StorageError, StudyError
from hentropy.studies.records import State
from hentropy.studies.storage import open_store
from support.decisions import ROWS, SPACE
from support.studies import LINE, PLANE, Worst, hill, study
from support.waiting import PATIENCE


def kept(url: str, **options: Any) -> he.Study:
    return study(storage=url, **{"name": "hill", "first": 4, "seed": 5, **options})


def told(made: he.Study, count: int) -> he.Study:
    for _ in range(count):
        trial = made.ask()
        made.tell(trial, hill(**trial.params))
    return made


def test_a_stored_study_is_the_study_in_memory(store_url: str) -> None:
    """Asked and told by turns in three objects on one store: the same trials, verdicts and errors as in one."""
    plain = told(study(name="hill", first=4, seed=5), 7)
    objects = [kept(store_url) for _ in range(3)]
    for turn in range(7):
        trial = objects[turn % 3].ask()
        objects[(turn + 1) % 3].tell(trial, hill(**trial.params))
    for made in objects:
        assert made.records == plain.records
        assert made.decide() == plain.decide()
        made.close()


@pytest.mark.smoke
def test_a_loaded_study_goes_on(store_url: str) -> None:
    made = told(kept(store_url, stop=[he.Budget(9), he.GainBelow(1e-9, patience=2)], max_seconds=60.0), 5)
    loaded = he.load_study("hill", store_url)
    assert loaded.stop == made.stop
    assert loaded.asker.limits == made.asker.limits
    assert loaded.records == made.records
    assert loaded.ask() == made.records[-1]
    made.close()
    loaded.close()


def test_history_keeps_what_was_corrected(store_url: str) -> None:
    made = kept(store_url)
    trial = made.ask()
    made.tell(trial, 1.0)
    made.tell(trial, 1.0)
    with pytest.raises(StudyError, match="already has a result: value 1"):
        made.tell(trial, 2.0)
    made.tell(trial, (2.0, 0.1), note="read again", replace_value=True)
    made.tell(trial, failed="the scale was off", replace_value=True)
    history = made.store.observations(made.log.record, trial.number)
    assert [(t.state, t.value, t.std_error, t.note) for t in history] == [
        (State.COMPLETE, 1.0, None, ""),
        (State.COMPLETE, 2.0, 0.1, "read again"),
        (State.FAILED, None, None, "the scale was off"),
    ]
    made.close()


def test_the_same_value_with_another_note_is_no_other_value(store_url: str) -> None:
    made = kept(store_url)
    for words in ("", "by the new scale", "by the new scale"):
        made.tell(0 if made.records else made.ask(), 1.0, note=words)
    assert made.records[0].note == "by the new scale"
    assert [told.note for told in made.store.observations(made.log.record)] == ["", "by the new scale"]
    made.close()


def test_a_value_beyond_all_numbers_is_refused(sqlite_url: str) -> None:
    made = kept(sqlite_url)
    with pytest.raises(he.InputError, match="must be a number"):
        made.tell(made.ask(), 10**400)
    with pytest.raises(he.InputError, match="beyond double precision"):
        made.attach({"x": 10**400}, 1.0)


def test_a_worker_s_trial_is_judged_by_its_own_gain(sqlite_url: str) -> None:
    """What begins is worth its while; what is not is withdrawn, and then nothing begins any more."""
    made = told(kept(sqlite_url, stop=[he.GainBelow(1e-6)]), 5)
    trial = made.begin("me", 60.0)
    assert trial is not None
    assert (trial.gain or 0.0) >= 1e-6
    strict = kept(sqlite_url, stop=[he.GainBelow(1e6)])
    assert strict.begin("me", 60.0) is None
    assert strict.begin("me", 60.0) is None
    assert "below 1e+06" in str(strict.enough)


def test_verdicts_are_kept_once(sqlite_url: str) -> None:
    made = told(kept(sqlite_url), 5)
    for _ in range(2):
        made.decide()
    again = he.load_study("hill", sqlite_url)
    again.decide()
    assert [stored.verdict.observations for stored in again.store.verdicts(again.log.record)] == [5]
    told(again, 1)
    verdict = again.decide()
    assert [stored.verdict for stored in made.store.verdicts(made.log.record)][1:] == [verdict]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"space": PLANE}, r"space\.x\.low: -1\.0 there, 0\.0 here"),
        ({"decision": he.KGuesses(2)}, r"decision\.name: 'maximize' there, 'k_guesses' here"),
        ({"seed": 6}, "seed: 5 there, 6 here"),
        ({"first": 5}, "first: 4 there, 5 here"),
        ({"hyperparameters": "mixture"}, r"model\.hyperparameters: 'map' there, 'mixture' here"),
    ],
)
def test_another_study_of_the_same_name_is_refused(change: dict, said: str, sqlite_url: str) -> None:
    kept(sqlite_url).ask()
    with pytest.raises(StorageError, match=said):
        kept(sqlite_url, **change)


def test_the_order_of_parameters_is_part_of_a_study(sqlite_url: str) -> None:
    x, y = he.Real(0.0, 1.0), he.Real(0.0, 1.0)
    kept(sqlite_url, space=he.Space(x=x, y=y))
    with pytest.raises(StorageError, match="the order was x, y, now it is y, x"):
        kept(sqlite_url, space=he.Space(y=y, x=x))


def test_rules_and_bounds_may_change(sqlite_url: str) -> None:
    kept(sqlite_url, stop=[he.Budget(3)])
    kept(sqlite_url, stop=[he.Budget(30)], max_seconds=2.0)
    assert he.load_study("hill", sqlite_url).stop == (he.Budget(30),)


@pytest.mark.parametrize("name", ROWS)
def test_every_decision_comes_back_from_a_store(name: str, sqlite_url: str) -> None:
    made = he.Study(SPACE, ROWS[name].make(0.0), storage=sqlite_url, name=name)
    trial = made.ask()
    if "decision" in made.log.record.definition["own"]:
        with pytest.raises(StudyError, match=r"give decision=\.\.\."):
            he.load_study(name, sqlite_url)
        loaded = he.load_study(name, sqlite_url, decision=ROWS[name].make(0.0))
    else:
        loaded = he.load_study(name, sqlite_url, trusted=True)
    assert repr(loaded.decision) == repr(made.decision)
    assert loaded.records == (trial,)


def test_code_of_a_store_is_not_run_unless_trusted(sqlite_url: str) -> None:
    kept(sqlite_url, decision=Worst())
    with pytest.raises(he.InputError, match="runs code"):
        he.load_study("hill", sqlite_url)
    assert isinstance(he.load_study("hill", sqlite_url, trusted=True).decision, Worst)
    assert isinstance(he.load_study("hill", sqlite_url, decision=Worst()).decision, Worst)


def test_what_has_no_words_must_be_given_again(sqlite_url: str) -> None:
    def cost(x: torch.Tensor) -> torch.Tensor:
        return torch.ones(x.shape[:1], dtype=x.dtype)

    kept(sqlite_url, cost=cost, solver=he.Nested())
    with pytest.raises(StudyError, match=r"give solver=\.\.\., cost=\.\.\."):
        he.load_study("hill", sqlite_url)
    assert he.load_study("hill", sqlite_url, cost=cost, solver=he.Nested()).ask().number == 0


def test_a_study_that_is_not_there(sqlite_url: str) -> None:
    kept(sqlite_url)
    with pytest.raises(StudyError, match=r"no study 'hole' in .*; available: 'hill'"):
        he.load_study("hole", sqlite_url)


def test_a_pool_is_kept_with_its_rows(sqlite_url: str) -> None:
    pool = he.Pool([[0.5, 1.0], [1.5, 2.0], [2.5, 1.0]], names=["x", "y"])
    made = kept(sqlite_url, space=pool)
    loaded = he.load_study("hill", sqlite_url)
    assert loaded.space.points is not None
    assert torch.equal(loaded.space.points, pool.points)
    assert loaded.ask() == made.records[0]


def test_records_begin_a_new_study_only(sqlite_url: str) -> None:
    earlier = told(study(first=4, seed=5), 3)
    made = kept(sqlite_url, records=earlier.records)
    assert made.records == earlier.records
    with pytest.raises(StudyError, match="records are for a new one"):
        kept(sqlite_url, records=earlier.records)


def test_many_data_are_attached_together_or_not_at_all(store_url: str) -> None:
    made = kept(store_url)
    with pytest.raises(he.InputError, match="outside"):
        made.attach_many([({"x": 0.0}, 1.0), ({"x": 9.0}, 1.0)])
    assert made.records == ()
    made.attach_many([({"x": x / 10}, hill(x / 10)) for x in range(10)])
    assert he.load_study("hill", store_url).decide().observations == 10
    made.close()


def test_a_file_and_python_open_the_same_study(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'version = 1\nname = "hill"\nseed = 5\nfirst = 4\n[space.x]\ntype = "real"\nlow = -1.0\nhigh = 3.0\n'
        '[decision]\nname = "maximize"\n[model]\nhyperparameters = "map"\n[storage]\nurl = "sqlite:///lab.db"\n'
        '[objective]\ntype = "command"\ncommand = ["./measure"]\n'
    )
    from_file = he.Study.from_file(tmp_path / "study.toml")
    trial = from_file.ask()
    in_python = kept(f"sqlite:///{tmp_path / 'lab.db'}", space=LINE)
    assert in_python.records == (trial,)
    # what only the file says stays, for workers that know the store alone
    found = open_store(tmp_path / "lab.db").find("hill")
    assert found is not None
    assert found.definition["objective"]["command"] == ["./measure"]
    assert "storage" not in found.definition


@pytest.mark.parametrize("count", [1, 4])
def test_many_who_ask_at_once_stay_within_the_budget(store_url: str, count: int) -> None:
    """Each looked at the rules before it had the right to ask: 15 trials were asked where 3 were allowed."""
    kept(store_url, stop=[he.Budget(3)]).close()
    start = threading.Barrier(8)

    def ask() -> list[he.Trial]:
        made = he.load_study("hill", store_url)
        start.wait(timeout=PATIENCE)
        try:
            return made.ask_within_rules(count)
        finally:
            made.close()

    with ThreadPoolExecutor(8) as crowd:
        asked = [trial for done in [crowd.submit(ask) for _ in range(8)] for trial in done.result()]
    assert sorted(trial.number for trial in asked) == [0, 1, 2]
    made = he.load_study("hill", store_url)
    assert len(made.records) == 3
    assert made.ask_within_rules(1) == []
    assert len(made.ask_many(2)) == 2  # on purpose
    made.close()
