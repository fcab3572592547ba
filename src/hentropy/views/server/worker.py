"""The far side of a child process: proposals, verdicts and pictures, or answers to questions, one job after another.

    python -m hentropy.views.server.worker

Each message is a line of JSON. The first one in says where the store is, which kind of jobs come and how much memory
they may take, each other one is a job. Messages out:

    {"phase": words}                      what goes on
    {"part": name, ...}                   a part of a look
    {"done": result}                      the end of a job
    {"failed": sentence, "details": ...}  another end; the details are for the log

The pipes are those of `call.line_pipes`: when nobody holds the other end any more, this process ends.
"""

import contextlib
import ctypes
import gc
import json
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from cachetools import LRUCache

from hentropy.errors import Gone, HentropyError, StudyError
from hentropy.studies.execution.call import line_pipes
from hentropy.studies.records import StudyKey
from hentropy.studies.storage import Store, open_store
from hentropy.studies.study import State, Study
from hentropy.studies.study.rules import NOTHING_LEFT
from hentropy.studies.study.stored import StoredStudy
from hentropy.studies.study.study import resumed
from hentropy.views.server import inquiries
from hentropy.views.server.looking import TooLong, look
from hentropy.views.server.settings import limit_memory
from hentropy.views.server.work import ON_PAGES, Kind
from hentropy.views.text.formats import counted, json_text

MAX_STUDIES = 8
"""How many studies are kept."""


class Loaded:
    """The last few studies of a store. Nothing that a study names is imported: code of others is not run here."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: LRUCache[StudyKey, Study] = LRUCache(MAX_STUDIES)

    def study(self, key: StudyKey) -> Study:
        """The study as it stands; one that was redefined is read again. `Gone` if another has its name now."""
        record = self._store.find(key.name)
        if record is None or record.key != key:
            self._kept.pop(key, None)
            raise Gone(f"there is no study {key.name!r} any more; it was deleted")
        if key not in self._kept or self._kept[key].log.record != record:
            self._kept[key] = resumed(StoredStudy.of(self._store, record))
        return self._kept[key]

    def forget_others(self, key: StudyKey) -> bool:
        """Make room for one study; False if there was no other."""
        others = [kept for kept in self._kept if kept != key]
        for other in others:
            del self._kept[other]
        return bool(others)


def ask(
    study: Study, count: int, anyway: bool, measures: str | None, answer: Callable[[Mapping[str, Any]], None]
) -> list[int]:
    """Ask for experiments; the numbers of their trials. A `StudyError` if nothing is left to gain, unless `anyway`."""
    trials = study.records
    complete = sum(trial.state is State.COMPLETE for trial in trials)
    proposed = bool(complete) and count > study.first_left
    if proposed:
        answer({"phase": f"fitting the model to {counted(complete, 'value')}"})
        study.belief  # noqa: B018 (it is fitted and kept)
    answer({"phase": "waiting for another process that is choosing experiments"})
    study.store.turn_terms = replace(study.store.turn_terms, tell=lambda said: answer({"phase": said}))
    with study.store.asking(study.log.record):
        pass  # nobody asks now; should somebody be faster again, only these words are wrong
    answer({"phase": "evaluating candidate experiments" if proposed else "filling the space"})
    asked = (study.ask_many if anyway else study.ask_within_rules)(count, measures=measures)
    if not asked:
        raise StudyError(f"no new experiment: {study.enough or NOTHING_LEFT}; ask anyway to get one regardless")
    return [trial.number for trial in asked]


Answer = Callable[[Mapping[str, Any]], None]


def main() -> None:
    """Work until the pipe ends."""
    messages, answers = line_pipes()
    torch.set_num_threads(1)
    opening = json.loads(messages.get())
    limit_memory(opening["memory"])
    loaded: Loaded | None = None

    def answer(message: Mapping[str, Any]) -> None:
        answers.write(json_text(message).encode() + b"\n")
        answers.flush()

    while True:
        job = json.loads(messages.get())
        try:
            answer({"phase": "reading the study"})
            if loaded is None:  # a store that was away may be there now, or there was no room for a study
                give_back_memory()
                loaded = Loaded(open_store(opening["store"], make=False, read_only=opening["read_only"]))
            key = StudyKey(**job["study"])
            try:
                result = do(loaded, key, opening["kind"], job, answer)
            except Exception as error:
                if not out_of_memory(error) or not loaded.forget_others(key):
                    raise
                result = do(loaded, key, opening["kind"], job, answer)
            answer({"done": result})
        except (Gone, StudyError) as error:  # what the person who asked has to know, nothing for the log
            answer({"failed": error.worded(ON_PAGES)})
        except HentropyError as error:
            answer({"failed": error.worded(ON_PAGES), "details": traceback.format_exc()})
        except TooLong:
            took = f"it took more than {job['seconds']:g} s of computing"
            answer({"failed": f"{took}, and others wait; decide with the command line"})
        except Exception as error:
            failed = "it could not be computed; see the server's log"
            if out_of_memory(error):
                failed = too_large(opening["memory"])
                loaded = None  # what it left behind goes with it
            answer({"failed": failed, "details": traceback.format_exc()})


def do(
    loaded: Loaded, key: StudyKey, kind: Kind, job: Mapping[str, Any], answer: Answer
) -> list[int] | dict[str, Any] | None:
    """Do a job: the numbers of the trials that were asked, or an answer; a look says what it sees itself."""
    study = loaded.study(key)
    if kind == "ask":
        return ask(study, job["count"], job["anyway"], job["measures"], answer)
    if kind == "inquire":
        answer({"phase": "computing"})
        return inquiries.answer(StoredStudy.of(study.store, study.log.record), study.records, job["question"])
    look(study, job["known"], job["seconds"], answer)
    return None


def too_large(most: int) -> str:
    """What to say of a job that needed more memory than it may have."""
    return (
        f"it needs more memory than the {most / 2**30:.2g} GiB that this server gives to one job (--job-memory); all"
        " trials and values are safe"
    )


def give_back_memory() -> None:
    """Have what was freed given back to the system, where its C library can: it counts against the bound."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


NO_ROOM = ("allocate memory", "can't start new thread")
"""What torch and Python say in words where there is no room, the latter for the stack of a thread."""


def out_of_memory(error: BaseException) -> bool:
    """Whether there was no room for something: some say so only in words, and so do those who explain their errors."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, MemoryError) or any(words in str(found) for words in NO_ROOM):
            return True
        found = found.__cause__ or found.__context__
    return False


if __name__ == "__main__":
    main()
