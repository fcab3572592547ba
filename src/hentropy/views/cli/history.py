"""One trial with all that was ever told of it."""

from hentropy.errors import StudyError
from hentropy.studies.records import Entry, State
from hentropy.views.cli.opening import Found
from hentropy.views.cli.printing import console, say, table
from hentropy.views.text.formats import clock, design, measured, one_line
from hentropy.views.text.sentences import holder
from hentropy.views.text.trials import why

LONGEST_NOTE = 50


def print_history(it: Found, number: int) -> None:
    """A trial and its history for a person."""
    entry = entry_of(it, number)
    trial = entry.trial
    say(f"trial {number}: {design(trial.params)}", "bold")
    say(f"state: {trial.state.value}   asked: {clock(entry.asked_at)}   gain: {why(trial) or 'unknown'}")
    if trial.state is State.RUNNING:
        say(holder(entry, it.store.now()))
    if entry.tries or entry.losses:
        say(f"failed tries: {entry.tries}   workers lost: {entry.losses}")
    told = it.store.observations(it.record, number)
    if not told:
        say("Nothing was told of it yet.")
        return
    rows = [
        [
            clock(o.at),
            o.by,
            o.state.value,
            measured(o.value, o.std_error),
            one_line(o.note.partition("\n")[0], LONGEST_NOTE),
        ]
        for o in told
    ]
    columns = ["at", "by", "state", "value", "note"]
    console().print(table(columns, rows, left=["at", "by", "state", "note"]))
    if "\n" in trial.note or len(trial.note) > LONGEST_NOTE:
        say("The whole note:", "bold")
        say(trial.note)


def entry_of(it: Found, number: int) -> Entry:
    """A trial of a study by its number."""
    entries = it.entries
    if number >= len(entries):
        known = f"0 to {len(entries) - 1}" if entries else "none yet"
        raise StudyError(f"there is no trial {number} (trials: {known})")
    return entries[number]
