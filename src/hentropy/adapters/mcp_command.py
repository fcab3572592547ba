"""`hentropy mcp`: the studies of a store as tools for agents."""

from contextlib import closing
from typing import Annotated

import typer

from hentropy.errors import ReadOnly
from hentropy.studies.definition.building import DATABASE
from hentropy.views.cli.arguments import StoreUrl
from hentropy.views.cli.opening import shown, store_at


def mcp(
    store: StoreUrl = None,
    write: Annotated[
        bool, typer.Option("--write", help="Let agents ask, tell, attach and withdraw. Default: only read.")
    ] = False,
) -> None:
    """Serve the studies of a store to agents by the Model Context Protocol, over standard input and output.

    Agents see what would be decided, at what expected loss, whether one more experiment is worth its price, and why.
    They never create studies and never run code of one. Without --store, the store is hentropy.db in this folder.

    Example: hentropy mcp --store sqlite:////home/me/lab.db --write
    """
    # what it needs takes long to import: other commands do without it
    from hentropy.adapters.mcp import make_server  # noqa: PLC0415

    url = store or f"sqlite:///{DATABASE}"
    with closing(store_at(url, f"there is no store {shown(url)}; name one with --store URL")) as there:
        if write and there.read_only:
            raise ReadOnly(there.read_only)
        make_server(there, write).run("stdio")
