"""`hentropy ask`: the next experiments for a person to run."""

from typing import Annotated

import typer

from hentropy.core.given import MOST_AT_ONCE
from hentropy.studies.records import State, Trial
from hentropy.studies.study import Study
from hentropy.views.cli.arguments import AsJson, StoreUrl, StudyName, whole
from hentropy.views.cli.opening import as_typed, located, opened
from hentropy.views.cli.printing import console, note, print_json, say
from hentropy.views.cli.run_progress import say_first
from hentropy.views.cli.trial_tables import asked_table
from hentropy.views.text.formats import counted
from hentropy.views.text.trials import as_json, values_to_tell


def ask(
    study: StudyName,
    count: Annotated[
        int,
        typer.Option(
            parser=whole(1, MOST_AT_ONCE), metavar="N", help="The batch size: how many experiments to run side by side."
        ),
    ] = 1,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OUTCOME",
            help="Ask for the assay that measures just this outcome (or these: give it again), or that has this name.",
        ),
    ] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Ask even if a stopping rule is met.")] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Ask for the next experiment.

    The trial stays pending until you tell its value or withdraw it; the command returns at once. Trials that were asked
    before and are still pending are listed as well; `hentropy show` lists them without asking for more.

    Where the study has assays, the gain per cost decides what to measure, unless you ask for one of them.

    Example: hentropy ask lab.toml

    Example: hentropy ask lab.toml --measures impurity
    """
    place = located(study, store)
    with opened(place, begin=True) as it:
        assay = measures[0] if measures and len(measures) == 1 else measures or None
        asked = (it.ask_many if anyway else it.ask_within_rules)(count, measures=assay)
        enough = it.log.stopped(running=True) if len(asked) < count else None
        if not asked and enough:
            regardless = "" if it.log.none_left else " Use --anyway to ask for one regardless."
            note(f"no new experiment: {enough}.{regardless}")
        elif enough:
            note(f"{len(asked)} in place of {count}: with these {enough}. Use --anyway to ask for more.")
        elif not anyway and (stopped := it.log.stopped()):
            note(f"by the stopping rules, this experiment is no longer needed: {stopped}")
        if json:
            chances = it.chances(asked)
            told = [as_json(it.log.entries[trial.number]) for trial in asked]
            print_json([one | {"chance_of_success": chances.get(one["number"])} for one in told])
        else:
            _print(it, asked, as_typed(study, store))


def _print(study: Study, asked: list[Trial], called: str) -> None:
    unit = study.costs.unit
    if asked:
        say("Run this experiment:" if len(asked) == 1 else "Run these experiments:", "bold")
        together = [trial for trial in asked if trial.gain is not None]
        worths = {trial.number: study.worth_of(trial) for trial in together} if len(together) < 2 else None
        console().print(asked_table(asked, study.outcomes, worths, study.chances(asked), unit))
        if len(together) > 1:
            who = "together they are" if len(together) == len(asked) else f"the last {len(together)} are together"
            say(f"{who[0].upper()}{who[1:]} worth {study.worth_of(*together)}.")
        for why in dict.fromkeys(trial.note for trial in asked if trial.note):
            say(f"{why[:1].upper()}{why[1:]}.")
    if any(trial.origin == "first" for trial in asked):
        say_first(study)
    new = {trial.number for trial in asked}
    waiting = [e for e in study.log.entries.values() if e.trial.state is State.RUNNING and e.trial.number not in new]
    by_hand = [entry.trial for entry in waiting if entry.lease_until is None]
    if by_hand:
        say("Still pending, asked earlier:", "bold")
        console().print(asked_table(by_hand, study.outcomes, None, study.chances(by_hand), unit))
    if len(waiting) > len(by_hand):
        say(f"{counted(len(waiting) - len(by_hand), 'more experiment')} with workers")
    if asked or by_hand:
        trial = (asked or by_hand)[0]
        first, shown = trial.number, study.outcomes.assays.asked(trial.measures)
        values = values_to_tell(study.outcomes.by_name, shown)
        say(f"Then: hentropy tell {called} {first} {values}   (or: hentropy fail {called} {first} WHY)")
