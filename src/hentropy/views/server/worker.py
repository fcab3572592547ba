"""The far side of a child process: computes proposals, or verdicts and pictures, one job after the other.

    python -m hentropy.views.server.worker DESCRIPTOR

The descriptor is one end of a pipe. The first message in says where the store is, which kind of jobs come and how much
memory they may take, each other one is a job. Messages out:

    {"phase": words}                      what goes on
    {"part": name, ...}                   a part of a look
    {"done": result}                      the end of a job
    {"failed": sentence, "details": ...}  another end; the details are for the log

When nobody holds the other end any more, this process ends, also in the middle of a job.
"""

import json
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import torch
from cachetools import LRUCache

from hentropy.errors import Gone, HentropyError, StudyError
from hentropy.studies.records import StudyRecord
from hentropy.studies.storage import Store, open_store
from hentropy.studies.study import State, Study, load_study
from hentropy.studies.study.ending import NOTHING_LEFT
from hentropy.views.server.looking import TooLong, look
from hentropy.views.server.settings import limit_memory
from hentropy.views.server.work import ON_PAGES, StudyKey
from hentropy.views.text.formats import counted, json_text

MOST = 8
"""How many studies are kept."""


class Loaded:
    """The last few studies of a store. Nothing that a study names is imported: code of others is not run here."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: LRUCache[StudyKey, tuple[StudyRecord, Study]] = LRUCache(MOST)

    def study(self, key: StudyKey) -> Study:
        """The study as it stands; one that was redefined is read again. `Gone` if another has its name now."""
        record = self._store.find(key.name)
        if record is None or StudyKey.of(record) != key:
            self._kept.pop(key, None)
            raise _deleted(key)
        known, study = self._kept.get(key, (None, None))
        if study is None or known != record:
            study = load_study(key.name, self._store, trusted=False)
            if StudyKey.of(study.log.record) != key:
                raise _deleted(key)
            self._kept[key] = (self._store.find(key.name) or record, study)
        return study


def _deleted(key: StudyKey) -> Gone:
    return Gone(f"there is no study {key.name!r} any more; it was deleted")


def ask(study: Study, count: int, anyway: bool, answer: Callable[[Mapping[str, Any]], None]) -> list[int]:
    """Ask for experiments; the numbers of their trials. A `StudyError` if nothing is left to gain, unless `anyway`."""
    trials = study.records
    complete = sum(trial.state is State.COMPLETE for trial in trials)
    proposed = bool(complete) and count > study.first_left
    if proposed:
        answer({"phase": f"fitting the model to {counted(complete, 'value')}"})
        study.belief  # noqa: B018 (it is fitted and kept)
    waiting = "waiting for another who asks"
    answer({"phase": waiting})
    study.store.turn_terms = replace(study.store.turn_terms, tell=lambda said: answer({"phase": f"{waiting}: {said}"}))
    with study.store.asking(study.log.record):
        pass  # nobody asks now; should somebody be faster again, only these words are wrong
    answer({"phase": "valuing possible experiments" if proposed else "filling the space"})
    asked = study.ask_many(count) if anyway else study.ask_within_rules(count)
    if not asked:
        raise StudyError(f"no new experiment: {study.enough or NOTHING_LEFT}; ask anyway to get one nonetheless")
    return [trial.number for trial in asked]


Job = Mapping[str, Any]
Answer = Callable[[Mapping[str, Any]], None]

TOO_LARGE = "it needs more memory than the server may take for it; all trials and values are safe"


def main(descriptor: int) -> None:
    """Work until the pipe ends."""
    pipe = Connection(descriptor)
    messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, messages), daemon=True).start()
    torch.set_num_threads(1)
    opening = messages.get()
    if opening["memory"] is not None:
        limit_memory(opening["memory"])
    loaded: Loaded | None = None

    def answer(message: Mapping[str, Any]) -> None:
        pipe.send_bytes(json_text(message).encode())

    while True:
        job = messages.get()
        try:
            answer({"phase": "reading the study"})
            if loaded is None:  # a store that was away may be there now
                loaded = Loaded(open_store(opening["store"], make=False))
            study = loaded.study(StudyKey(**job["study"]))
            if opening["kind"] == "look":
                look(study, job["known"], job["seconds"], answer)
                answer({"done": None})
            else:
                answer({"done": ask(study, job["count"], job["anyway"], answer)})
        except (Gone, StudyError) as error:  # what the person who asked has to know, nothing for the log
            answer({"failed": error.worded(ON_PAGES)})
        except HentropyError as error:
            answer({"failed": error.worded(ON_PAGES), "details": traceback.format_exc()})
        except TooLong:
            took = f"it took more than {job['seconds']:g} s of computing"
            answer({"failed": f"{took}, and others wait; decide with the command line"})
        except Exception as error:
            failed = TOO_LARGE if out_of_memory(error) else "it could not be computed; the server's log says why"
            answer({"failed": failed, "details": traceback.format_exc()})


def out_of_memory(error: Exception) -> bool:
    """Whether there was no room for something: torch says so only in words."""
    return isinstance(error, MemoryError) or "allocate memory" in str(error)


def _listen(pipe: Connection, messages: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Take in what comes; at the end of the pipe, end this process: nobody wants what it computes."""
    while True:
        try:
            messages.put(json.loads(pipe.recv_bytes()))
        except (EOFError, OSError):
            os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
