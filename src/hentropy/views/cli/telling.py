"""What is said after something was told of a trial."""

from hentropy.studies.records import State, Trial
from hentropy.studies.study import Study
from hentropy.views.cli.printing import print_json, say
from hentropy.views.text.formats import counted, measured
from hentropy.views.text.trials import as_json


def confirm(study: Study, trial: Trial, json: bool) -> None:
    """Say what is recorded now, and what is still open."""
    if json:
        print_json(as_json(study.book.entries[trial.number]))
        return
    values = sum(other.state is State.COMPLETE for other in study.records)
    waiting = [str(other.number) for other in study.records if other.state is State.RUNNING]
    say(f"{trial.number}: {_outcome(trial)}. {_standing(values, waiting)}")
    if stopped := study.stopped:
        say(f"The study has enough: {stopped}.")


def _outcome(trial: Trial) -> str:
    if trial.state is State.COMPLETE:
        return f"{measured(trial.value, trial.std_error)} is recorded"
    return trial.state.value + (f" ({trial.note})" if trial.note else "")


def _standing(values: int, waiting: list[str]) -> str:
    open_ones = f", {len(waiting)} still waiting ({', '.join(waiting)})" if waiting else ", none waiting"
    return f"{counted(values, 'value')} so far{open_ones}."
