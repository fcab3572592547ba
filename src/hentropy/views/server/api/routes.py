"""The routes of the API, and what they share."""

from fastapi import APIRouter

from hentropy.views.server.api import data, studies, trials, work


def routers() -> tuple[APIRouter, ...]:
    """All routes, under /api."""
    return (studies.router, trials.router, data.router, work.router)
