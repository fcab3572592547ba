"""What a proxy says of its clients: believed only from the addresses that the settings name."""

from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from hentropy.views.server.guard.rates import client_in
from hentropy.views.server.settings import Settings

PERSON = "hentropy.person"


class Proxies:
    """Takes the client's address, https, and the name of the person from a trusted proxy; from others, nothing."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self._header = settings.person_header
        self._proxies = frozenset(settings.proxies)
        asgi: Any = app  # uvicorn and starlette type the same calls in two ways
        self._trusting: Any = ProxyHeadersMiddleware(asgi, trusted_hosts=list(settings.proxies))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, with what its proxy says."""
        if scope["type"] != "http" or client_in(scope) not in self._proxies:
            await self.app(scope, receive, send)
            return
        if self._header is not None:
            scope[PERSON] = tuple(
                value.encode("latin-1").decode("utf-8", "replace")
                for value in Headers(scope=scope).getlist(self._header)
            )
        await self._trusting(scope, receive, send)


def people_in(scope: Scope) -> tuple[str, ...]:
    """Who makes a request, as its trusted proxy says: nobody, one name, or several if a client sent the header too."""
    found = scope.get(PERSON, ())
    assert isinstance(found, tuple)
    return found
