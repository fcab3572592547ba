"""`hentropy fail`: an experiment did not work."""

from typing import Annotated

import typer

from hentropy.views.cli.arguments import AsJson, StoreUrl, StudyName, TrialNumber
from hentropy.views.cli.opening import located, opened
from hentropy.views.cli.telling import confirm
from hentropy.views.cli.wording import in_commands


def fail(
    study: StudyName,
    number: TrialNumber,
    why: Annotated[str, typer.Argument(metavar="WHY", help="What went wrong.", show_default=False)] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Correct what was told before; that is kept too.")] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Tell that an experiment was run and failed.

    It is not asked again, and its neighbours become less likely. An experiment that will not be run at all is withdrawn
    instead.

    Example: hentropy fail lab.toml 7 "the sample broke"
    """
    with in_commands(), opened(located(study, store)) as it:
        confirm(it, it.tell(number, failed=why or "no reason given", replace_value=replace), json)
