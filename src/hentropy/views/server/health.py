"""For those who look after a server: whether it is alive, whether it can work, and its metrics."""

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from hentropy.errors import HentropyError
from hentropy.views.server.metrics import TYPE
from hentropy.views.server.problems import LOG
from hentropy.views.server.services import Here

router = APIRouter(include_in_schema=False)


@router.get("/health")
async def health() -> Response:
    """The process answers. No token is needed, and nothing is said of studies."""
    return PlainTextResponse("ok\n")


@router.get("/ready")
def ready(here: Here) -> Response:
    """The store answers too; 503 if not. The log says why."""
    try:
        here.store.revisions()
    except HentropyError as error:
        LOG.warning("not ready: %s", error)
        return PlainTextResponse("the store does not answer; the server's log says why\n", 503)
    return PlainTextResponse("ready\n")


@router.get("/metrics")
def metrics(here: Here) -> Response:
    """Counts for Prometheus; this needs a token, as everything that says something of studies."""
    text = here.metrics.text(
        here.study_service.studies(), here.job_service.jobs(), here.watcher.listeners, here.store.now()
    )
    return Response(text, media_type=TYPE)
