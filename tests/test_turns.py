"""The right to ask: real processes that are stopped, killed, or slow, and what the others see of it."""

import os
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.verbs import kept, kill, note_down, started

import hentropy as he
from hentropy.core.gain import Appraisal
from hentropy.core.solvers import Auto, Cost, Solver
from hentropy.core.solvers.base import Finalists
from hentropy.errors import HentropyError, StorageError
from hentropy.studies.storage import Turn, TurnTerms, open_store
from support.crashing import truth
from support.waiting import PATIENCE, until

QUICK = TurnTerms(lease=1.0, notice=0.2)


class Held(Solver):
    """A search that takes until a file is there, if it has a folder for it."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        if self._folder is not None:
            note_down(self._folder / "searching", str(os.getpid()))
            until((self._folder / "go on").exists)
        return Auto().search(appraisal, q, cost)


def ask(url: str, held_in: Path | None, report: Path, terms: TurnTerms = QUICK) -> None:
    """Ask once, and report what came of it."""
    study = kept(url, first=3, solver=Held(held_in))
    study.store.turn_terms = replace(terms, tell=lambda said: note_down(report.with_suffix(".told"), said))
    try:
        said = f"asked {study.ask().number}"
    except HentropyError as error:
        said = f"{type(error).__name__}: {error}"
    note_down(report, said)
    study.close()


@pytest.fixture
def measured(store_url: str) -> he.Study:
    """A study whose next design is a proposal."""
    study = kept(store_url, first=3, solver=Held(None))
    for _ in range(3):
        trial = study.ask()
        study.tell(trial, truth(**trial.params))
    return study


def test_a_stopped_asker_loses_its_turn_and_can_write_no_more(
    store_url: str, measured: he.Study, tmp_path: Path
) -> None:
    slow = started(ask, store_url, tmp_path, tmp_path / "slow")
    until((tmp_path / "searching").exists)
    assert slow.pid is not None
    os.kill(slow.pid, signal.SIGSTOP)
    quick = started(ask, store_url, None, tmp_path / "quick")
    quick.join(timeout=PATIENCE)
    assert (tmp_path / "quick").read_text() == "asked 3\n"
    assert f"process {slow.pid} on" in (tmp_path / "quick.told").read_text()
    (tmp_path / "go on").touch()
    os.kill(slow.pid, signal.SIGCONT)
    slow.join(timeout=PATIENCE)
    said = (tmp_path / "slow").read_text()
    assert said.startswith("Overtaken: the right to ask was lost")
    assert "Nothing was asked: ask again" in said
    assert [trial.number for trial in measured.records] == [0, 1, 2, 3]
    measured.close()


def fork_within_a_turn(url: str, report: Path) -> None:
    """A process that is forked while this one has the turn, and leaves as Python does."""
    study = kept(url)
    with suppress(SystemExit), study.store.asking(study.log.record) as turn:
        child = os.fork()
        if child == 0:
            sys.exit()
        os.waitpid(child, 0)
        note_down(report, f"{study.store.turn(study.log.record).holder is not None} {turn.number}")
    if child == 0:
        os._exit(0)
    note_down(report, str(study.store.turn(study.log.record).holder))
    study.close()


def test_a_forked_process_leaves_the_turn_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    kept(url).close()
    started(fork_within_a_turn, url, tmp_path / "report").join(timeout=PATIENCE)
    assert (tmp_path / "report").read_text() == "True 1\nNone\n"


def test_a_slow_asker_keeps_its_turn(store_url: str, measured: he.Study, tmp_path: Path) -> None:
    """It renews it: another one waits, is told for whom, and gives up in the end; nobody is overtaken."""
    slow = started(ask, store_url, tmp_path, tmp_path / "slow")
    until((tmp_path / "searching").exists)
    terms = TurnTerms(lease=PATIENCE / 10, notice=0.2, patience=1.0)
    ask(store_url, None, tmp_path / "hasty", terms)
    assert f"StorageError: process {slow.pid} on" in (tmp_path / "hasty").read_text()
    assert "still has it after 1 s: if that process hangs, end it" in (tmp_path / "hasty").read_text()
    renewed = measured.store.turn(measured.log.record)
    until(lambda: measured.store.turn(measured.log.record).renewals > renewed.renewals)
    (tmp_path / "go on").touch()
    slow.join(timeout=PATIENCE)
    assert (tmp_path / "slow").read_text() == "asked 3\n"
    assert measured.store.turn(measured.log.record).holder is None
    measured.close()


def test_the_turn_of_a_killed_asker_is_free_at_once_on_the_same_machine(
    store_url: str, measured: he.Study, tmp_path: Path
) -> None:
    slow = started(ask, store_url, tmp_path, tmp_path / "slow")
    until((tmp_path / "searching").exists)
    kill(slow)
    ask(store_url, None, tmp_path / "next", TurnTerms(lease=100 * PATIENCE, patience=PATIENCE))
    assert (tmp_path / "next").read_text() == "asked 3\n"
    measured.close()


def test_a_turn_from_elsewhere_is_over_after_silence(store_url: str) -> None:
    """A machine that is gone, whatever its clock or ours said when."""
    store = open_store(store_url)
    store.turn_terms = QUICK
    study = store.create("s", {}, {})
    for since in (0.0, 1e11):
        store.change_turn(study, lambda old, now, at=since: Turn(old.number + 1, "far|elsewhere|7|1|a", at))  # type: ignore[misc]
        store.turn_terms = replace(QUICK, lease=1000.0, patience=0.2)
        with pytest.raises(StorageError, match="process 7 on far has held the right"), store.asking(study):
            pass
        store.turn_terms = QUICK
        with store.asking(study) as turn:
            assert turn.number == store.turn(study).number
    store.close()


def test_turns_come_in_the_order_of_waiting(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hentropy.studies.storage.turns.ABSENCE", 10 * PATIENCE)  # nobody is late here, only slow
    store = open_store(store_url)
    study = store.create("s", {}, {})
    came: list[int] = []

    def wait(place: int) -> None:
        with store.asking(study):
            came.append(place)

    threads = [threading.Thread(target=wait, args=(place,)) for place in range(5)]
    with store.asking(study):
        for thread in threads:
            drawn = store.turn(study).drawn
            thread.start()
            until(lambda before=drawn: store.turn(study).drawn > before)  # type: ignore[misc]
    for thread in threads:
        thread.join(timeout=PATIENCE)
    assert came == [0, 1, 2, 3, 4]
    store.close()


def test_one_who_has_drawn_a_number_and_went_is_passed_over(store_url: str) -> None:
    store = open_store(store_url)
    study = store.create("s", {}, {})
    store.change_turn(study, lambda old, now: Turn(number=7, drawn=9))
    with store.asking(study) as turn:
        assert turn.number == 10
    with store.asking(study) as turn:
        assert turn.number == 11
    store.close()
