"""The command `hentropy` and what all its commands share: how errors are told and how the process ends."""

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated

import torch
import typer
from rich.text import Text

from hentropy._version import __version__
from hentropy.errors import HentropyError
from hentropy.views.cli.ask import ask
from hentropy.views.cli.backup import backup
from hentropy.views.cli.check import check, schema
from hentropy.views.cli.data import attach, export, import_
from hentropy.views.cli.init import init
from hentropy.views.cli.plot import plot, report
from hentropy.views.cli.printing import IN_COMMANDS, console, printable
from hentropy.views.cli.reproduce import reproduce
from hentropy.views.cli.run import run, worker
from hentropy.views.cli.serve import serve
from hentropy.views.cli.show import decide, show
from hentropy.views.cli.studies import delete, list_
from hentropy.views.cli.tell import fail, tell, withdraw

app = typer.Typer(
    name="hentropy",
    help="Decision-driven experiments: state the decision, and each next experiment is the one that makes it better.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hentropy {__version__}")
        raise typer.Exit


@app.callback()
def hentropy(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Say what will be decided; each next experiment is the one that makes that decision better."""


COMMANDS: dict[str, Callable[..., None]] = {
    "init": init,
    "check": check,
    "run": run,
    "ask": ask,
    "tell": tell,
    "fail": fail,
    "withdraw": withdraw,
    "attach": attach,
    "decide": decide,
    "show": show,
    "plot": plot,
    "report": report,
    "list": list_,
    "export": export,
    "import": import_,
    "backup": backup,
    "worker": worker,
    "serve": serve,
    "delete": delete,
    "schema": schema,
    "reproduce": reproduce,
}

# a value such as -0.83 is not taken for an option
SETTINGS = {"tell": {"ignore_unknown_options": True}}


def _help(command: Callable[..., None]) -> str:
    """The docstring of a command with each paragraph on one line: the terminal breaks lines where it has to."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for name, command in COMMANDS.items():
    app.command(name=name, help=_help(command), context_settings=SETTINGS.get(name))(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: 0 if all went well, 1 on an error that is told, 2 on wrong usage, 130 on Ctrl-C."""
    if "OMP_NUM_THREADS" not in os.environ:
        # small matrices gain nothing from threads, and lose much where experiments use the other cores; and with one
        # thread, every machine adds up in the same order
        torch.set_num_threads(1)
    try:
        app(args=arguments)
    except HentropyError as error:
        _end(error.worded(IN_COMMANDS))
    except OSError as error:
        _end(f"{error.strerror or error}: {error.filename}" if error.filename else str(error))
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        _end(_unexpected(error))


TRACEBACK = "HENTROPY_TRACEBACK"
"""If this variable is set, an error that nobody foresaw is shown with its traceback."""


def _unexpected(error: Exception) -> str:
    """An error that nobody foresaw: of hentropy, or of code that the study names; where it was raised tells which."""
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; solver.max_memory bounds what a proposal takes"
    where = traceback.extract_tb(error.__traceback__)[-1]
    what = "".join(traceback.format_exception_only(error)).strip()
    return f"{what} ({where.filename}, line {where.lineno}); {TRACEBACK}=1 in the environment shows the traceback"


def _end(why: str) -> None:
    """Tell an error and end."""
    said = Text.assemble(("error:", "bold red"), f" {printable(why)}")
    console(stderr=True).print(said, soft_wrap=True)
    sys.exit(1)
