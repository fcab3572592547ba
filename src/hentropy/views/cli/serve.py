"""`hentropy serve`: the page and the JSON API of a store."""

from pathlib import Path
from typing import Annotated

import typer

from hentropy.studies.definition.building import DATABASE
from hentropy.views.cli.arguments import StoreUrl, whole
from hentropy.views.server.guard.people import new_token as make_token
from hentropy.views.server.settings import JOB_SECONDS, PORT, ServerLimits, Settings, usual_memory


def serve(
    store: StoreUrl = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Any but this machine's own needs a token or people.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(parser=whole(0, 65535), metavar="N", help="The port; 0 takes one that is free.")
    ] = PORT,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="HENTROPY_TOKEN",
            metavar="TOKEN",
            help="The token that people and programs must give; in the environment, other users cannot see it."
            " Default: a new one, which is printed.",
            show_default=False,
        ),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Let everybody in who has an account on this machine.")
    ] = False,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="People with their rights and tokens: see hentropy people.", show_default=False
        ),
    ] = None,
    person_header: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The header in which the trusted proxy names the person, such as X-Forwarded-User.",
            show_default=False,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name by which browsers call this server. Can be repeated."),
    ] = None,
    https: Annotated[bool, typer.Option("--https", help="A proxy in front serves https: cookies require it.")] = False,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="A proxy whose X-Forwarded-For and --person-header are trusted. Can be repeated.",
        ),
    ] = None,
    job_seconds: Annotated[
        int,
        typer.Option(
            parser=whole(1), metavar="N", help="The time that one proposal, or one verdict with its pictures, may take."
        ),
    ] = int(JOB_SECONDS),
    job_memory: Annotated[
        int | None,
        typer.Option(
            parser=whole(1),
            metavar="GIB",
            help="The memory for each process that computes; else half of the machine's, at most 4 GiB.",
            show_default=False,
        ),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only show: nothing in the store is changed, and no store is made.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every request.")] = False,
    json_lines: Annotated[
        bool, typer.Option("--json-lines", help="Log one JSON object per line, every request included.")
    ] = False,
) -> None:
    """Show the studies of a store as a page: what to run next, what is known, what would be decided.

    Values are entered there, too; programs use the JSON API under /api. The link that is printed holds a token: others
    with an account on this machine do not get in without it. Without --store, the store is hentropy.db in this folder.
    It runs until Ctrl-C.

    Example: hentropy serve --store sqlite:///lab.db
    """
    # the server takes long to import: other commands do without it
    from hentropy.views.cli.server_process import run_server  # noqa: PLC0415

    if token is not None and no_token:
        raise typer.BadParameter("a token is given, here or in HENTROPY_TOKEN", param_hint="--no-token")
    made = make_token() if token is None and people is None and not no_token else None
    # what is wrong with the settings is said before anything is made or opened
    settings = Settings(
        store or f"sqlite:///{DATABASE}",
        host,
        port,
        token or made,
        tuple(allow_host or ()),
        https,
        tuple(trusted_proxy or ()),
        people,
        person_header,
        ServerLimits(job_seconds=job_seconds, job_bytes=usual_memory() if job_memory is None else job_memory * 2**30),
        read_only=read_only,
    )
    run_server(settings, show_token=made is not None, verbose=verbose, json_lines=json_lines)
