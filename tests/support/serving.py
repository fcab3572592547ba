"""A server in a thread of this process, on a port of its own; and small studies to serve."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
from fastapi import FastAPI

from hentropy.views.cli.server_process import Server, listening
from hentropy.views.server.services import Services
from hentropy.views.server.settings import Settings
from support.waiting import PATIENCE

TOKEN = "a-token-for-tests-only"
SMALL: dict[str, Any] = {
    "version": 1,
    "name": "lab",
    "first": 2,
    "space": {"x": {"type": "real", "low": -1.0, "high": 3.0}},
    "decision": {"name": "best_observed"},
    "model": {"hyperparameters": "map"},
}
"""A definition of a study that is cheap to compute."""

LONGER: dict[str, Any] = {"decision": {"name": "maximize"}}
"""Of one that takes long enough to be disturbed in it."""


@dataclass(frozen=True)
class Served:
    """A server that runs, and a client without cookies and headers of its own."""

    url: str
    app: FastAPI
    http: httpx.Client
    end: Callable[[], None]
    """Ask it to end, and wait for that."""

    @property
    def services(self) -> Services:
        """What its routes work with."""
        found = self.app.state.services
        assert isinstance(found, Services)
        return found

    def create(self, **parts: Any) -> int:
        """The id of a new study."""
        return self.services.study_service.create({**SMALL, **parts}).id


def emptied(server: Served) -> None:
    """Cancel all work and delete all studies of a server that several tests share."""
    for job in server.services.job_service.jobs():
        server.services.job_service.cancel(job.id)
    for record in server.services.store.studies():
        server.services.store.delete(record)


@contextmanager
def served(settings: Settings) -> Iterator[Served]:
    """A server with these settings, but a free port."""
    listener = listening("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = Server(replace(settings, port=port))
    app = server.config.app
    assert isinstance(app, FastAPI)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{port}"

    def end() -> None:
        server.should_exit = True
        thread.join(PATIENCE)

    try:
        with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False, verify=False) as http:
            http.get("/static/nothing")  # the listener waits, so this returns once the server has started
            yield Served(url, app, http, end)
    finally:
        end()
        listener.close()
