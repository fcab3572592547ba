"""`hentropy tell`: what an experiment measured."""

import re
from typing import Annotated

import typer

from hentropy.errors import InputError
from hentropy.views.cli.arguments import AsJson, StoreUrl, StudyName, TrialNumber
from hentropy.views.cli.opening import located, opened
from hentropy.views.cli.telling import confirm
from hentropy.views.cli.wording import in_commands

VALUE = "the value"


def tell(
    study: StudyName,
    number: TrialNumber,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="What was measured; it may be negative.", show_default=False)
    ],
    std_error: Annotated[
        str | None, typer.Option("--std-error", metavar="S", help="The standard error of the value.")
    ] = None,
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="A remark that is kept with it.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Correct what was told before; that is kept too.")] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> None:
    """Tell the value of an experiment.

    To tell the same value twice is harmless; another value is taken only with --replace.

    Example: hentropy tell lab.toml 7 -0.83 --std-error 0.05
    """
    measured = _number(VALUE, value)
    given = measured if std_error is None else (measured, _number("the standard error", std_error))
    with in_commands(), opened(located(study, store)) as it:
        confirm(it, it.tell(number, given, note=note, replace_value=replace), json)


def _number(what: str, text: str) -> float:
    """A number from the command line; one that is not finite is left to the study to refuse."""
    try:
        return float(text)
    except ValueError:
        if re.fullmatch(r"[+-]?\d*,\d+", text.strip()):
            raise InputError(
                f"{what} is {text!r}, with a decimal comma; write {text.strip().replace(',', '.')}"
            ) from None
        fail = ". If the experiment did not work, use `hentropy fail`" if what == VALUE else ""
        raise InputError(f"{what} is {text!r}, which is not a number; write it like 0.83 or -1.2e-3{fail}") from None
