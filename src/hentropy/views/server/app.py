"""`make_app`: a server for one store, made of its settings; nothing is shared between two of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import anyio.to_thread
from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

from hentropy._version import __version__
from hentropy.errors import HentropyError
from hentropy.studies.storage import open_store
from hentropy.views.server import events, health, login
from hentropy.views.server.api import data, studies, work
from hentropy.views.server.guard.answers import ErrorMiddleware, Headers, HeadRequests
from hentropy.views.server.guard.bodies import BodyLimit, UnreadBodies
from hentropy.views.server.guard.door import AccessControl, AuthMiddleware
from hentropy.views.server.guard.hosts import TrustedHosts
from hentropy.views.server.guard.proxies import Proxies
from hentropy.views.server.guard.rates import RateLimit
from hentropy.views.server.jobs import JobService
from hentropy.views.server.metrics import Metrics, Requests
from hentropy.views.server.pages import posting, reading, rendering
from hentropy.views.server.pages.picture_view import PictureTexts
from hentropy.views.server.problems import answer, problem_of
from hentropy.views.server.services import Services
from hentropy.views.server.settings import Settings
from hentropy.views.server.study_service import StudyService
from hentropy.views.server.watcher import Watcher


def add_pages(app: FastAPI) -> None:
    """Give an app its pages."""
    app.state.picture_texts = PictureTexts()
    for part in (rendering, reading, posting):
        app.include_router(part.router)


def routers() -> tuple[APIRouter, ...]:
    """All routes, under /api."""
    return (studies.router, studies.trials_router, data.router, work.router)


PACKED = 1_000
"""Bytes of an answer from which on it is worth packing."""

LEVEL = 4
"""How hard it is tried: beyond this it takes much longer and saves little."""

ABOUT = """The verbs of the command line over the network. A study is named by its id, which `GET /api/studies?name=...`
finds. Errors are `{"error": {"id", "kind", "sentence"}}`."""


def make_app(settings: Settings) -> FastAPI:
    """The app; the store is opened when it starts and closed when it ends."""
    access_control, limits, metrics = AccessControl(settings), settings.limits, Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.limits.threads
        with (
            closing(open_store(settings.store, read_only=settings.read_only)) as store,
            closing(
                JobService(
                    settings.store,
                    waiting=limits.jobs,
                    look_seconds=limits.look_seconds,
                    seconds=limits.job_seconds,
                    memory=limits.job_bytes,
                    read_only=settings.read_only,
                )
            ) as job_service,
        ):
            study_service = StudyService(store, settings.limits.upload_rows)
            job_service.subscribe(metrics.hear)
            watcher = Watcher(store, job_service, listeners=limits.listeners, each=limits.listeners_each)
            app.state.services = Services(settings, store, study_service, job_service, watcher, access_control, metrics)
            try:
                yield
            finally:
                await watcher.close()

    app = FastAPI(
        title="hentropy",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load their scripts from elsewhere
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,  # these become the names of methods of clients
    )
    add_pages(app)
    for router in (login.router, health.router, events.router):
        app.include_router(router)
    # the door sees to the token; this is for the description
    token = (
        [] if access_control.open else [Depends(HTTPBearer(auto_error=False, description="The token of the server."))]
    )
    for router in routers():
        app.include_router(router, dependencies=token)
    for kind in (HentropyError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _answered)
    # the last one added is the first one that a request meets
    app.add_middleware(HeadRequests)
    app.add_middleware(GZipMiddleware, minimum_size=PACKED, compresslevel=LEVEL)
    app.add_middleware(BodyLimit, limits=limits)
    app.add_middleware(AuthMiddleware, access_control=access_control)
    app.add_middleware(RateLimit, limits=limits)
    app.add_middleware(TrustedHosts, settings=settings)
    app.add_middleware(ErrorMiddleware)
    app.add_middleware(UnreadBodies, limits=limits)
    app.add_middleware(Headers)
    app.add_middleware(Requests, metrics=metrics)
    if settings.proxies:
        app.add_middleware(Proxies, settings=settings)
    return app


async def _answered(request: Request, error: Exception) -> Response:
    return answer(request, problem_of(error))
