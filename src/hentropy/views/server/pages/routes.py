"""All routes of the pages."""

from fastapi import FastAPI

from hentropy.views.server.pages import asking, assets, attaching, entering, reading
from hentropy.views.server.pages.prints import Prints


def add_pages(app: FastAPI) -> None:
    """Give an app its pages."""
    app.state.prints = Prints()
    for part in (assets, reading, entering, asking, attaching):
        app.include_router(part.router)
