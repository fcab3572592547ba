"""The command `hentropy` and what all its commands share: how errors are told and how the process ends."""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from hentropy._version import __version__
from hentropy.errors import DocPage, HentropyError
from hentropy.lazy import once_imported, torch
from hentropy.views.cli.commands import LazyCommand, ListedCommand
from hentropy.views.cli.printing import IN_COMMANDS, console, note, printable

CLI = "hentropy.views.cli"

COMMANDS = {
    "init": ListedCommand(f"{CLI}.init", "init"),
    "check": ListedCommand(f"{CLI}.check", "check"),
    "run": ListedCommand(f"{CLI}.run", "run"),
    "ask": ListedCommand(f"{CLI}.ask", "ask"),
    # a value such as -0.83 is not taken for an option
    "tell": ListedCommand(f"{CLI}.tell", "tell", settings={"ignore_unknown_options": True}),
    "fail": ListedCommand(f"{CLI}.tell", "fail"),
    "withdraw": ListedCommand(f"{CLI}.tell", "withdraw"),
    "attach": ListedCommand(f"{CLI}.data", "attach"),
    "decide": ListedCommand(f"{CLI}.show", "decide"),
    "show": ListedCommand(f"{CLI}.show", "show"),
    "plot": ListedCommand(f"{CLI}.plot", "plot"),
    "report": ListedCommand(f"{CLI}.plot", "report"),
    "list": ListedCommand(f"{CLI}.studies", "list_"),
    "export": ListedCommand(f"{CLI}.data", "export"),
    "import": ListedCommand(f"{CLI}.data", "import_"),
    "backup": ListedCommand(f"{CLI}.backup", "backup"),
    "upgrade": ListedCommand(f"{CLI}.backup", "upgrade"),
    "worker": ListedCommand(f"{CLI}.run", "worker"),
    "serve": ListedCommand(f"{CLI}.serve", "serve"),
    "people": ListedCommand(f"{CLI}.people", "people"),
    "mcp": ListedCommand("hentropy.adapters.mcp_command", "mcp"),
    "delete": ListedCommand(f"{CLI}.studies", "delete"),
    "schema": ListedCommand(f"{CLI}.check", "schema"),
    "doctor": ListedCommand(f"{CLI}.doctor", "doctor"),
}


def _one_thread() -> None:
    """Small matrices gain nothing from threads, and lose much where experiments use the other cores.

    And with one thread, every machine adds up in the same order.
    """
    torch.set_num_threads(1)


class CommandGroup(TyperGroup):
    """All commands, in the order in which people need them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = {name: LazyCommand(name, command) for name, command in COMMANDS.items()}


LISTED = (
    DocPage.START,
    DocPage.WHICH_DECISION,
    DocPage.STUDIES,
    DocPage.DESIGNS,
    DocPage.DECISIONS,
    DocPage.GUIDES,
    DocPage.PAGE,
    DocPage.ADAPTERS,
)
"""The pages to begin with; errors name others, in the same way."""

PAGES = f"Documentation, by name: {', '.join(f'{page.label} ({page.file})' for page in LISTED)}."

app = typer.Typer(
    name="hentropy",
    cls=CommandGroup,
    help="Decision-driven experiments: state the decision, and each next experiment is the one that improves it most.",
    epilog=PAGES,
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
    """State the decision; each next experiment is the one that improves it most."""
    if "OMP_NUM_THREADS" not in os.environ:
        once_imported(_one_thread)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: 0 if all went well, 1 on an error that is told, 2 on wrong usage, 130 on Ctrl-C."""
    try:
        app(args=arguments)
    except HentropyError as error:
        _end(error.worded(IN_COMMANDS), error.page)
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
        return "not enough memory; solver.max_memory bounds the memory of a proposal"
    where = traceback.extract_tb(error.__traceback__)[-1]
    what = "".join(traceback.format_exception_only(error)).strip()
    return f"{what} ({where.filename}, line {where.lineno}); {TRACEBACK}=1 in the environment shows the traceback"


def _end(why: str, page: DocPage | None = None) -> None:
    """Tell an error, and the page of the documentation that helps, and end."""
    said = Text.assemble(("error:", "bold red"), f" {printable(why)}")
    console(stderr=True).print(said, soft_wrap=True)
    if page is not None:
        note(page.seen)
    sys.exit(1)
