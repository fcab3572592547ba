"""`hentropy show` and `decide`: where a study stands, one trial with its history, and what would be decided now."""

from typing import Annotated, Any

import typer

from hentropy.core.decisions.headlines import known
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Entry, State
from hentropy.studies.study.rules import record_sentences
from hentropy.studies.study.stored import StoredStudy
from hentropy.studies.study.tables import quantile_of
from hentropy.views.cli.arguments import AsJson, StoreUrl, StudyName, trial_number, whole
from hentropy.views.cli.opening import as_typed, found, located, opened, shown
from hentropy.views.cli.printing import console, note, print_json, say, table
from hentropy.views.cli.run_progress import say_first, say_spent
from hentropy.views.cli.store_check import file_differs
from hentropy.views.cli.trial_tables import print_verdict, trials_table
from hentropy.views.text.formats import ago, clock, counted, design, iso, number, one_line, result, units_of
from hentropy.views.text.sentences import counts, decision_sentence, holder, noise_sentences, spent, to_come, worths_of
from hentropy.views.text.trials import as_json, history_json, how_often, to_measure, verdict_json, why

MAX_NOTE_LENGTH = 50


def print_history(it: StoredStudy, number: int) -> None:
    """A trial and its history for a person."""
    entry = it.log.find(number)
    trial = entry.trial
    say(f"trial {number}: {design(trial.params, units=units_of(it.log.space))}", "bold")
    if trial.measures:
        say(f"to measure: {to_measure(trial, it.log.outcomes)}")
    gain = why(trial, worths_of([trial], it.words.description))
    say(f"state: {trial.state.value}   asked: {clock(entry.asked_at)}   gain: {gain or 'unknown'}")
    if trial.state is State.RUNNING:
        say(holder(entry, it.store.now()))
    if entry.tries or entry.losses:
        say(f"failed tries: {entry.tries}   workers lost: {entry.losses}")
    for name, one in trial.predictions.items():
        centre, low, high = map(it.log.outcomes.quantities[name].within, (one.centre, *one.interval))
        came = quantile_of(trial, name)
        behind = "" if came is None else f"; the result is at its {100.0 * came:.1f} % quantile"
        what = "predicted" if len(it.log.outcomes.measured) == 1 else f"{name} predicted"
        say(
            f"{what}: {known(centre, one.spread)} ± {known(one.spread, one.spread)} (90 %:"
            f" {known(low, one.spread)} to {known(high, one.spread)}){behind}"
        )
    told = it.store.observations(it.record, number)
    if not told:
        say("No results yet.")
        return
    rows = [
        [
            clock(o.at),
            o.by,
            o.state.value,
            *(result(o.measurements.get(name), words=it.log.outcomes.words(name)) for name in it.log.outcomes.measured),
            one_line(o.note.partition("\n")[0], MAX_NOTE_LENGTH),
        ]
        for o in told
    ]
    values = [it.log.outcomes.titles[name] for name in it.log.outcomes.measured]
    columns = ["at", "by", "state", *values, "note"]
    console().print(table(columns, rows, left=["at", "by", "state", "note"]))
    if "\n" in trial.note or len(trial.note) > MAX_NOTE_LENGTH:
        say("The whole note:", "bold")
        say(trial.note)


LONGEST_DESIGN = 50


def show(
    study: StudyName,
    trials: Annotated[
        int, typer.Option(parser=whole(0), metavar="N", help="How many of the last trials to list.")
    ] = 10,
    everything: Annotated[bool, typer.Option("--all", help="List all trials.")] = False,
    one: Annotated[
        int | None,
        typer.Option("--number", parser=trial_number, metavar="NUMBER", help="Show one trial with its history."),
    ] = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Show a study: what it is, its trials, who works on them, and the last decision.

    Nothing is computed: `hentropy decide` does that.

    Example: hentropy show lab.toml --trials 5
    """
    place = located(study, store)
    with found(place) as it:
        if one is not None:
            _print_one(it, one, json)
            return
        entries = it.entries
        last = entries if everything else entries[len(entries) - min(trials, len(entries)) :]
        if json:
            print_json(_plain(it, entries, last))
        else:
            _print(it, as_typed(study, store), entries, last)
            if place.words is not None and (differ := file_differs(it, place.words)):
                note(f"{study} {differ}")


def _print_one(it: StoredStudy, one: int, json: bool) -> None:
    if json:
        print_json(history_json(it.log.find(one), it.store.observations(it.record, one)))
    else:
        print_history(it, one)


def _print(it: StoredStudy, called: str, entries: tuple[Entry, ...], last: tuple[Entry, ...]) -> None:
    description = it.words.description
    say(f"{description.name}, in {shown(it.store.place)}", "bold")
    say(decision_sentence(description))
    for line in noise_sentences(description):
        say(line)
    say(f"Begun {clock(it.record.created_at)} with {', '.join(f'{k} {v}' for k, v in it.record.versions.items())}.")
    say(f"{counted(len(entries), 'trial')}{_by_state(entries)}.{_range(entries, it.log.outcomes)}")
    if often := how_often(it.log.trials, it.log.outcomes):
        say(often)
    for said in record_sentences(it.log.trials, it.log.outcomes):
        say(said)
    if costs := spent(description, it.log.trials):
        say(costs)
    if to_be := to_come(it.log.first, len(it.log.space.fields), it.log.trials):
        say(to_be)
    for line in it.log.notes:
        say(f"Note: {line}.", "yellow")
    if why := it.log.stopped():
        say(f"The study is finished: {why}.")
    for entry in entries:
        if entry.trial.state is State.RUNNING:
            where = one_line(design(entry.trial.params, units=units_of(it.log.space)), LONGEST_DESIGN)
            what = to_measure(entry.trial, it.log.outcomes)
            measure = f"measure {what}; " if what else ""
            say(f"  {entry.trial.number} ({where}): {measure}{holder(entry, it.store.now())}")
    if last:
        say("All trials:" if len(last) == len(entries) else f"The last {len(last)}:", "bold")
        trials = [entry.trial for entry in last]
        unit = "" if description.cost is None else description.cost.unit
        console().print(trials_table(trials, it.log.outcomes, worths_of(trials, description), unit))
    verdicts = it.store.verdicts(it.record)
    if verdicts:
        say(f"Last decided {ago(verdicts[-1].at)}:", "bold")
        print_verdict(verdicts[-1].verdict, called, description)


def _by_state(entries: tuple[Entry, ...]) -> str:
    said = ", ".join(f"{count} {state}" for state, count in counts(entries).items() if count)
    return f": {said}" if said else ""


def _range(entries: tuple[Entry, ...], outcomes: Outcomes) -> str:
    """The lowest and the highest value measured of each outcome, and where."""
    said = []
    for name in outcomes.measured:
        told = {entry.trial.number: entry.trial.measurements.get(name) for entry in entries}
        values = {number: one.value for number, one in told.items() if one is not None}
        if not values:
            continue
        if words := outcomes.words(name):
            counts_of = [(word, sum(value == place for value in values.values())) for place, word in enumerate(words)]
            said.append(f" {name[0].upper()}{name[1:]}: {', '.join(f'{count} {word}' for word, count in counts_of)}.")
            continue
        low, high = min(values, key=lambda n: values[n]), max(values, key=lambda n: values[n])
        unit = f" {outcomes.units[name]}" if name in outcomes.units else ""
        if len(values) == 1:
            said.append(f" One {name}: {number(values[low])}{unit} (trial {low}).")
            continue
        what = "Values" if name == "value" else f"{name[0].upper()}{name[1:]}"
        said.append(f" {what} from {number(values[low])} (trial {low}) to {number(values[high])}{unit} (trial {high}).")
    return "".join(said)


def _plain(it: StoredStudy, entries: tuple[Entry, ...], last: tuple[Entry, ...]) -> dict[str, Any]:
    verdicts = it.store.verdicts(it.record)
    now = it.store.now()
    running = [entry for entry in entries if entry.trial.state is State.RUNNING]
    return {
        "name": it.record.name,
        "store": shown(it.store.place),
        "created_at": iso(it.record.created_at),
        "versions": dict(it.record.versions),
        "definition": dict(it.record.definition),
        "counts": counts(entries),
        "first_left": it.log.first_left,
        "enough": it.log.stopped(),
        "running": [{"number": entry.trial.number, "who": holder(entry, now)} for entry in running],
        "trials": [as_json(entry) for entry in last],
        "predictions": record_sentences(it.log.trials, it.log.outcomes),
        "verdict": {"at": iso(verdicts[-1].at), **verdict_json(verdicts[-1].verdict)} if verdicts else None,
    }


def decide(
    study: StudyName,
    details: Annotated[
        bool, typer.Option("--details", help="Also print the decision as stated and its expected loss.")
    ] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Decide by all results so far; experiments may continue afterwards.

    Example: hentropy decide lab.toml --json
    """
    place = located(study, store)
    with opened(place) as it:
        verdict = it.decide()
        if it.store.read_only:
            note(f"The verdict is not recorded: {it.store.read_only}")
        if json:
            print_json(verdict_json(verdict))
        else:
            print_verdict(verdict, as_typed(study, store), it.description, details)
            say_spent(it)
            if why := it.log.stopped():
                say(f"The study is finished: {why}.")
            say_first(it)
