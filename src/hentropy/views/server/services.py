"""`Services`: what the routes of a server work with, made when it starts; routes get it as an argument."""

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from hentropy.studies.storage import Store
from hentropy.views.server.desk import Desk
from hentropy.views.server.guard.door import Doorman
from hentropy.views.server.guard.sessions import Access, access_of
from hentropy.views.server.jobs import Workshop
from hentropy.views.server.live import Watcher
from hentropy.views.server.recent import Recent
from hentropy.views.server.settings import Settings


@dataclass(frozen=True)
class Services:
    """The store and what stands on it: the desk for what is recorded, the workshop for what is computed,
    the watcher for open pages, the doorman for who comes in, and what was done lately for those who ask twice.
    """

    settings: Settings
    store: Store
    desk: Desk
    workshop: Workshop
    watcher: Watcher
    doorman: Doorman
    recent: Recent = field(default_factory=Recent)


async def services_of(connection: HTTPConnection) -> Services:
    """The services of the app that answers this request."""
    found = connection.app.state.services
    assert isinstance(found, Services)
    return found


Here = Annotated[Services, Depends(services_of)]
"""An argument of a route: the services."""


async def who(connection: HTTPConnection) -> Access:
    """Who asks: see `Access`."""
    return access_of(connection.scope)


Visitor = Annotated[Access, Depends(who)]
"""An argument of a route: who asks, with the token for the forms of a page."""
