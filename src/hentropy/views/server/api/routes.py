"""The routes of the API, and what they share."""

from hentropy.errors import MissingExtra
from hentropy.views.server.api import data, studies, trials, work

try:
    from fastapi import APIRouter
except ImportError:
    raise MissingExtra("fastapi", "server") from None


def routers() -> tuple[APIRouter, ...]:
    """All routes, under /api."""
    return (studies.router, trials.router, data.router, work.router)
