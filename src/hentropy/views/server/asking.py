"""Asking, with words about what goes on."""

from collections.abc import Callable, Mapping
from typing import Any

from hentropy.errors import StudyError
from hentropy.studies.study import State, Study
from hentropy.studies.study.ending import NOTHING_LEFT
from hentropy.views.text.formats import counted


def ask(study: Study, count: int, anyway: bool, answer: Callable[[Mapping[str, Any]], None]) -> list[int]:
    """Ask for experiments; the numbers of their trials. A `StudyError` if nothing is left to gain, unless `anyway`."""
    trials = study.records
    complete = sum(trial.state is State.COMPLETE for trial in trials)
    proposed = bool(complete) and count > study.first_left
    if proposed:
        answer({"phase": f"fitting the model to {counted(complete, 'value')}"})
        study.belief  # noqa: B018 (it is fitted and kept)
    answer({"phase": "waiting for another who asks"})
    with study.store.asking(study.book.study):
        pass  # nobody asks now; should somebody be faster again, only these words are wrong
    answer({"phase": "valuing possible experiments" if proposed else "filling the space"})
    asked = study.ask_many(count) if anyway else study.ask_if_worth(count)
    if not asked:
        raise StudyError(f"{NOTHING_LEFT}; ask anyway to get one nonetheless")
    return [trial.number for trial in asked]
