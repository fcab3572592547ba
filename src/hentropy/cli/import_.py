"""`hentropy import`: trials from a file that `hentropy export` wrote."""

from pathlib import Path
from typing import Annotated

from hentropy.cli.arguments import StoreUrl, StudyName
from hentropy.cli.opening import located, opened, shown
from hentropy.cli.printing import counted, say
from hentropy.cli.trial_reading import trials_in
from hentropy.cli.wording import in_commands
from hentropy.errors import MissingExtra, Outdated, StudyError
from hentropy.records import State

try:
    import typer
except ImportError:
    raise MissingExtra("typer", "cli") from None


def import_(
    study: StudyName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What was exported: CSV or JSON lines.")],
    store: StoreUrl = None,
) -> None:
    """Put exported trials into a study that has none yet.

    Numbers, states, values and notes come back. Times are those of the import. Other data, without numbers and states,
    are added by `hentropy attach`.

    Example: hentropy import lab.toml lab.csv
    """
    with in_commands(), opened(located(study, store), begin=True) as it:
        has = f"{it.name!r} in {shown(it.store.place)} has trials already; import into a study that has none"
        if it.records:
            raise StudyError(has)
        trials = trials_in(file, it.space)
        try:
            it.book.add(trials)
        except Outdated:
            raise StudyError(has) from None
    running = sum(trial.state is State.RUNNING for trial in trials)
    waiting = f"; {running} of them wait for their values (hentropy ask lists them)" if running else ""
    say(f"{counted(len(trials), 'trial')} imported{waiting}")
