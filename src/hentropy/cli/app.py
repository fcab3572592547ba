"""The command `hentropy` and what all its commands share: how errors are told and how the process ends."""

import sys
from typing import Annotated

from rich.console import Console

from hentropy._version import __version__
from hentropy.cli.reproduce import reproduce
from hentropy.errors import HentropyError, MissingExtra

try:
    import typer
except ImportError:
    raise MissingExtra("typer", "cli") from None

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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Say what will be decided; each next experiment is the one that makes that decision better."""


app.command()(reproduce)


def main() -> None:
    """Run the command line: 0 if all went well, 1 on an error that is told, 2 on wrong usage."""
    try:
        app()
    except HentropyError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {_plain(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(1)
    except OSError as error:
        what = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        Console(stderr=True).print(f"[bold red]error:[/] {_plain(what)}", highlight=False, soft_wrap=True)
        sys.exit(1)


def _plain(text: str) -> str:
    """Text in which nothing is taken for markup."""
    return text.replace("[", r"\[")
