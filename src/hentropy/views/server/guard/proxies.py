"""What a proxy says of its clients: believed only from the addresses that the settings name."""

from ipaddress import ip_address
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from hentropy.views.server.settings import Settings

PERSON = "hentropy.person"


class Proxies:
    """Takes the client's address, https, and the name of the person from a trusted proxy; from others, nothing."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self._header = settings.person_header
        self._proxies = frozenset(map(ip_address, settings.proxies))
        asgi: Any = app  # uvicorn and starlette type the same calls in two ways
        self._trusting: Any = ProxyHeadersMiddleware(asgi, trusted_hosts=list(settings.proxies))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, with what its proxy says."""
        if scope["type"] != "http" or not self._is_proxy(scope):
            await self.app(scope, receive, send)
            return
        if self._header is not None:
            scope[PERSON] = tuple(
                value.encode("latin-1").decode("utf-8", "replace")
                for value in Headers(scope=scope).getlist(self._header)
            )
        await self._trusting(scope, receive, send)

    def _is_proxy(self, scope: Scope) -> bool:
        """By the address itself: others in the same network of version 6 are not trusted."""
        client = scope.get("client")
        try:
            address = ip_address(client[0].partition("%")[0] if client else "")
        except ValueError:
            return False
        return (getattr(address, "ipv4_mapped", None) or address) in self._proxies


def people_in(scope: Scope) -> tuple[str, ...]:
    """Who makes a request, as its trusted proxy says: nobody, one name, or several if a client sent the header too."""
    found = scope.get(PERSON, ())
    assert isinstance(found, tuple)
    return found
