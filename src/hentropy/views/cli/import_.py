"""`hentropy import`: trials from a file that `hentropy export` wrote."""

from pathlib import Path
from typing import Annotated

import typer

from hentropy.errors import Outdated, StudyError
from hentropy.studies.definition import space_of
from hentropy.studies.records import State
from hentropy.views.cli.arguments import StoreUrl, StudyName
from hentropy.views.cli.opening import located, opened, shown, words_of
from hentropy.views.cli.printing import say
from hentropy.views.cli.text_files import read_text
from hentropy.views.cli.wording import in_commands
from hentropy.views.text.formats import counted
from hentropy.views.text.trial_files import exported_in


def import_(
    study: StudyName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What was exported: CSV or JSON lines.")],
    store: StoreUrl = None,
) -> None:
    """Put exported trials into a study that has none yet.

    Numbers, states, values, notes and times come back; the history of each begins with the import. Other data, without
    numbers and states, are added by `hentropy attach`.

    Example: hentropy import lab.toml lab.csv
    """
    place = located(study, store)
    # before the study is begun: a file that cannot be used leaves nothing behind
    imported = exported_in(read_text(file), str(file), space_of(words_of(place).description))
    with in_commands(), opened(place, begin=True) as it:
        has = f"{it.name!r} in {shown(it.store.place)} has trials already; import into a study that has none"
        if it.records:
            raise StudyError(has)
        now = it.store.now()
        try:
            it.store.add(it.book.study, [one.entry(now) for one in imported], it.book.by)
        except Outdated:
            raise StudyError(has) from None
    running = sum(one.trial.state is State.RUNNING for one in imported)
    wait = "waits for its value" if running == 1 else "wait for their values"
    waiting = f"; {running} of them {wait} (hentropy show lists what waits)" if running else ""
    say(f"{counted(len(imported), 'trial')} imported{waiting}")
