"""`StudyService`: the verbs of the command line on a store, on both databases; no code of a study is ever run."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import hentropy as he
from hentropy.errors import Gone, InputError, NoSuchTrial, StudyError
from hentropy.studies.records import State, Verdict
from hentropy.studies.storage import Store, open_store
from hentropy.views.server.study_service import EarlierExperiment, StudyService
from support.serving import SMALL
from support.studies import Worst

CSV = "x,value,value_se\n0.5,1.25,0.1\n1,2,\n"


def study_service(url: str, **parts: Any) -> tuple[StudyService, int]:
    made = StudyService(open_store(url))
    return made, made.create({**SMALL, **parts}).id


def test_a_study_by_the_service_is_the_study_of_the_library(store_url: str) -> None:
    it, study = study_service(store_url, seed=5)
    same = he.load_study("lab", store_url)
    assert (same.seed, same.first, same.decision) == (5, 2, same.decision)
    trials = same.ask_many(3)
    assert [entry.trial for entry in it.snapshot(study).entries] == trials
    it.log(study).tell(0, (1.5, 0.25), note="first")
    it.log(study).fail(1, "broke")
    it.log(study).withdraw(2, "no time")
    told = same.records
    assert (told[0].value, told[0].std_error, told[0].note) == (1.5, 0.25, "first")
    assert [trial.state for trial in told] == [State.COMPLETE, State.FAILED, State.WITHDRAWN]
    same.tell(0, 1.75, replace_value=True)
    assert it.log(study).find(0).trial.value == 1.75
    _, history = it.history(study, 0)
    assert [one.value for one in history] == [1.5, 1.75]
    same.close()


def test_values_are_corrected_only_on_purpose(sqlite_url: str) -> None:
    it, study = study_service(sqlite_url)
    it.attach(study, [EarlierExperiment({"x": 1.0}, 2.0)])
    with pytest.raises(StudyError, match="already has a result: value 2"):
        it.log(study).tell(0, 3.0)
    assert it.log(study).tell(0, 3.0, replace_value=True).trial.value == 3.0
    with pytest.raises(InputError, match="told is inf"):
        it.log(study).tell(0, float("inf"), replace_value=True)
    with pytest.raises(NoSuchTrial, match=r"no trial 5 in this study \(trials: only 0\)"):
        it.log(study).tell(5, 1.0)
    with pytest.raises(Gone, match="no study 99"):
        it.log(99).tell(0, 1.0)
    with pytest.raises(StudyError, match="only a running one"):
        it.log(study).withdraw(0)


def test_no_study_has_a_zero_in_its_name(store_url: str) -> None:
    it, _ = study_service(store_url)
    assert it.named("la\x00b") == ()


def test_earlier_data(store_url: str) -> None:
    it, study = study_service(store_url)
    attached = it.attach_csv(study, CSV)
    assert [(e.trial.value, e.trial.std_error, e.trial.origin) for e in attached.entries] == [
        (1.25, 0.1, "attached"),
        (2.0, None, "attached"),
    ]
    with pytest.raises(InputError, match="2 are in the study already"):
        it.attach_csv(study, CSV)
    it.attach_csv(study, CSV, again=True)
    bad = "Temp;yield;x2\n1;7;0\n9;2;0\none;2;0\n"
    with pytest.raises(InputError, match="2 rows of the file cannot be used") as told:
        it.attach_csv(study, bad, columns={"x": "Temp", "value": "yield"})
    assert "line 3" in str(told.value)
    assert "line 4" in str(told.value)
    assert len(it.snapshot(study).entries) == 4
    kept = it.attach_csv(study, bad, columns={"x": "Temp", "value": "yield"}, skip_bad=True)
    assert (len(kept.entries), len(kept.bad), kept.unused) == (1, 2, ("x2",))
    with pytest.raises(InputError, match="row 1: "):
        it.attach(study, [EarlierExperiment({"x": 1.0}, 5.0), EarlierExperiment({"y": 1.0}, 5.0)])
    assert len(it.snapshot(study).entries) == 5


def test_exports_come_back(sqlite_url: str) -> None:
    it, study = study_service(sqlite_url)
    it.attach_csv(study, CSV)
    it.log(study).tell(0, 9.0, note="=1+1", replace_value=True)
    csv, lines = "".join(it.csv(study)), "".join(it.json_lines(study))
    assert csv.count("\n") == 3
    assert ",'=1+1," in csv
    for number, text in enumerate((csv, lines)):
        copy = it.create({**SMALL, "name": f"copy {number}"}).id
        it.import_trials(copy, text)
        assert [e.trial for e in it.snapshot(copy).entries] == [e.trial for e in it.snapshot(study).entries]
        with pytest.raises(StudyError, match="has trials already"):
            it.import_trials(copy, text)


def test_long_exports_are_whole(sqlite_url: str) -> None:
    it, study = study_service(sqlite_url)
    it.attach(study, [EarlierExperiment({"x": number / 1_000}, number) for number in range(1_203)])
    pieces = list(it.csv(study))
    assert len(pieces) == 4
    lines = "".join(pieces).splitlines()
    assert len(lines) == 1_204
    assert [line.partition(",")[0] for line in lines] == ["number", *map(str, range(1_203))]
    assert "".join(it.json_lines(study)).count("\n") == 1_203


REFUSED: dict[str, dict[str, Any]] = {
    "decision.python": {"decision": {"python": "evil_decision:Evil"}},
    "decision.own": {"decision": {"own": "Evil()"}, "own": ["decision"]},
    "objective": {"objective": {"type": "python", "function": "evil_decision:run"}},
    "objective: a server": {"objective": {"type": "command", "command": ["touch", "evil"]}},
    "pool.file": {"space": None, "pool": {"file": "/etc/passwd"}},
    "storage": {"storage": {"url": "sqlite:///elsewhere.db"}},
}


@pytest.mark.parametrize("part", REFUSED)
def test_what_would_run_or_read_something_is_not_made(
    part: str, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_decision.py").write_text(f"open({str(tmp_path / 'evil')!r}, 'w')\nclass Evil: pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    it = StudyService(open_store(sqlite_url))
    words = {key: value for key, value in {**SMALL, **REFUSED[part]}.items() if value is not None}
    with pytest.raises(InputError, match=part):
        it.create(words)
    assert it.studies() == ()
    assert "evil_decision" not in sys.modules
    assert not (tmp_path / "evil").exists()


def test_a_study_with_code_of_its_own_is_shown_but_not_computed(sqlite_url: str) -> None:
    study = he.Study(he.Space(x=he.Real(0, 1)), Worst(), storage=sqlite_url, name="own")
    study.ask()
    made_here = he.Study(
        he.Space(x=he.Real(0, 1)), he.Maximize(), storage=sqlite_url, name="dear", cost=lambda x: x[..., 0].sum(-1)
    )
    it = StudyService(open_store(sqlite_url))
    own, dear = it.studies()
    case = it.snapshot(own.record.id)
    assert case.computable is not None
    assert "support.studies:Worst" in case.computable
    it.log(own.record.id).tell(0, 2.0)
    assert study.records[0].value == 2.0
    assert "parts that have no stored form (cost)" in str(it.snapshot(dear.record.id).computable)
    assert made_here.name == "dear"


def test_names_are_taken_once_and_deleting_needs_the_name(sqlite_url: str) -> None:
    it, study = study_service(sqlite_url, name="a/b <c> ü")
    with pytest.raises(StudyError, match="already a study"):
        it.create({**SMALL, "name": "a/b <c> ü"})
    with pytest.raises(StudyError, match="nothing was deleted"):
        it.delete(study, "another")
    assert [each.record.id for each in it.named("a/b <c> ü")] == [study]
    it.delete(study, "a/b <c> ü")
    assert it.studies() == it.named("a/b <c> ü") == ()
    with pytest.raises(Gone):
        it.snapshot(study)


def test_one_made_anew_has_none_of_the_old_trials(sqlite_url: str) -> None:
    it, study = study_service(sqlite_url)
    it.attach_csv(study, CSV)
    it.delete(study, "lab")
    assert it.create(SMALL).id == study
    assert it.snapshot(study).entries == ()


def test_when_it_has_enough(sqlite_url: str) -> None:
    it, study = study_service(sqlite_url, stop={"trials": 1})
    he.load_study("lab", sqlite_url).ask()
    case = it.snapshot(study)
    assert case.stopped is None
    assert case.enough is not None
    it.log(study).tell(0, 1.0)
    assert it.snapshot(study).stopped == case.enough
    pool = {"space": None, "pool": {"names": ["x"], "rows": [[0.0], [1.0]]}, "name": "pool"}
    few = it.create({key: value for key, value in {**SMALL, **pool}.items() if value is not None}).id
    it.attach(few, [EarlierExperiment({"x": 0.0}, (1.0, 0.0)), EarlierExperiment({"x": 1.0}, (2.0, 0.0))])
    assert "every design of the pool" in str(it.snapshot(few).stopped)


def test_a_summary_counts(sqlite_url: str) -> None:
    it, study = study_service(sqlite_url)
    it.attach_csv(study, CSV)
    [summary] = it.studies()
    assert (summary.record.id, summary.decision, summary.trials) == (study, "best_observed", 2)
    assert summary.counts == {"running": 0, "complete": 2, "failed": 0, "withdrawn": 0}


def test_a_list_reads_only_what_has_changed(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    it, first = study_service(sqlite_url)
    for number in range(69):
        it.create({**SMALL, "name": f"lab {number}"})
    it.attach_csv(first, CSV)
    read: list[str] = []

    def counted(name: str, real: Callable[..., Any], *given: Any) -> Any:
        read.append(name)
        return real(*given)

    for name in ("studies", "revisions", "latest_verdicts", "news", "verdicts", "find"):
        monkeypatch.setattr(it.store, name, partial(counted, name, getattr(it.store, name)))
    before = it.studies()
    assert read.count("news") == 70
    read.clear()
    assert it.studies() == before
    assert sorted(read) == ["latest_verdicts", "revisions", "studies"]
    it.log(first).tell(0, 7.0, replace_value=True)
    he.load_study("lab 3", sqlite_url).ask()
    read.clear()
    after = it.studies()
    assert read.count("news") == 2
    changed = [new.record.name for new, old in zip(after, before, strict=True) if new != old]
    assert changed == ["lab", "lab 3"]
    it.delete(first, "lab")
    assert [each.record.name for each in it.studies()] == [f"lab {number}" for number in range(69)]


def test_a_list_has_the_last_verdict_of_each(store_url: str) -> None:
    it, study = study_service(store_url)
    another = it.create({**SMALL, "name": "another"}).id
    for loss in (3.0, 2.0):
        it.store.keep(it.record(study), Verdict([{"x": 1.0}], loss, 0.1, "Maximize()", 4, raw=None))
    found = {each.record.id: each.verdict for each in it.studies()}
    assert found[another] is None
    assert found[study] == it.store.verdicts(it.record(study))[-1] == it.named("lab")[0].verdict
    # what a database asks at once is what one finds study by study
    assert it.store.revisions() == Store.revisions(it.store)
    assert it.store.latest_verdicts() == Store.latest_verdicts(it.store)
