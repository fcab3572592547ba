"""All routes of the pages."""

from hentropy.errors import MissingExtra
from hentropy.views.server.pages import asking, assets, attaching, entering, reading
from hentropy.views.server.pages.prints import Prints

try:
    from fastapi import FastAPI
except ImportError:
    raise MissingExtra("fastapi", "server") from None


def add_pages(app: FastAPI) -> None:
    """Give an app its pages."""
    app.state.prints = Prints()
    for part in (assets, reading, entering, asking, attaching):
        app.include_router(part.router)
