"""`hentropy withdraw`: an experiment will not be run after all."""

from typing import Annotated

import typer

from hentropy.views.cli.arguments import AsJson, StoreUrl, StudyName, TrialNumber
from hentropy.views.cli.opening import located, opened
from hentropy.views.cli.telling import confirm
from hentropy.views.cli.wording import in_commands


def withdraw(
    study: StudyName,
    number: TrialNumber,
    why: Annotated[str, typer.Argument(metavar="WHY", help="Why it is not run.", show_default=False)] = "",
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Take back an experiment that will not be run.

    It is no longer waited for, and counts for nothing.

    Example: hentropy withdraw lab.toml 7 "no material left"
    """
    with in_commands(), opened(located(study, store)) as it:
        confirm(it, it.withdraw(number, note=why), json)
