"""`hentropy people`: who may use a server, and what each person may do there."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hentropy.errors import InputError
from hentropy.views.cli.arguments import AsJson
from hentropy.views.cli.printing import console, print_json, say, table
from hentropy.views.server.guard.people import People, Right


class Verb(StrEnum):
    """What is done with the list."""

    LIST = "list"
    ADD = "add"
    REMOVE = "remove"


class Rights(StrEnum):
    """What somebody may do; each includes those before it."""

    READ = "read"
    RUN = "run"
    DEFINE = "define"
    ADMINISTER = "administer"


PEOPLE = Path("people.json")


def people(
    verb: Annotated[Verb, typer.Argument(metavar="VERB", help="list, add or remove.")] = Verb.LIST,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The person.", show_default=False)] = None,
    file: Annotated[Path, typer.Option(metavar="FILE", help="The file, for --people of hentropy serve.")] = PEOPLE,
    rights: Annotated[
        Rights,
        typer.Option(
            help="read: see everything. run: also ask, enter and correct results. define: also create studies."
            " administer: also delete them."
        ),
    ] = Rights.RUN,
    without_token: Annotated[
        bool, typer.Option("--without-token", help="Make no token: a proxy says who it is (--person-header).")
    ] = False,
    json: AsJson = False,
) -> None:
    """List, add or remove the people of a server, with their rights.

    Each person has a token, which is shown once; the file has only its hash. A server that runs heeds changes at once:
    who is removed is out. To give other rights or a new token, remove the person and add them again.

    Example: hentropy people add operator --rights run
    """
    known = People(file)
    if verb is Verb.LIST:
        _list(known, json)
        return
    if name is None:
        raise typer.BadParameter(f"who? hentropy people {verb} NAME", param_hint="NAME")
    if verb is Verb.REMOVE:
        known.remove(name)
        say(f"{name} is removed from {file}.")
        return
    right = Right[rights.upper()]
    token = known.add(name, right, not without_token)
    if json:
        print_json({"name": name, "rights": right.word, "token": token})
        return
    say(f"{name} may {right.sentence}; written to {file}.")
    say(f"Token (shown only once): {token}" if token else "No token: a trusted proxy says who it is.")


def _list(known: People, json: bool) -> None:
    if not known.file.is_file():
        raise InputError(f"there is no file {known.file} of people; hentropy people add NAME makes it")
    rows = [(one.name, one.right.word, one.token_hash is not None) for one in known.all()]
    if json:
        print_json([{"name": name, "rights": rights, "has_token": has} for name, rights, has in rows])
        return
    lines = [[name, rights, "yes" if has else "no"] for name, rights, has in rows]
    console().print(table(["name", "rights", "token"], lines, left=["name", "rights", "token"]))
