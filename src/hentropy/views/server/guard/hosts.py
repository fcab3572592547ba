"""The names under which a server may be called: a foreign name that leads here (DNS rebinding) is refused."""

import ipaddress
import socket

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hentropy.views.server.problems import Refused
from hentropy.views.server.settings import Settings, is_loopback

ANY = "*"


class TrustedHosts:
    """Refuses requests whose Host is not a name of this server.

    On loopback these are the loopback's. Elsewhere also addresses in numbers, which no foreign name server can give,
    and the name of the machine. More are allowed by the settings.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        machine = socket.gethostname().lower()
        wide = not is_loopback(settings.host)
        self._numbers = wide
        own = {settings.host.lower(), "localhost", *((machine, f"{machine}.local") if wide else ())}
        self._names = own | {name.lower() for name in settings.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in those who call the server by its name."""
        if scope["type"] == "http":
            given = Headers(scope=scope).getlist("host")
            if len(given) != 1 or not self.allows(given[0]):
                raise Refused(
                    400,
                    "the server was called by a name that is not its own; start it with --allow-host NAME if the name"
                    " is right",
                )
        await self.app(scope, receive, send)

    def allows(self, host: str) -> bool:
        """Whether the value of a Host header names this server."""
        name = name_in(host)
        if name is None:
            return False
        return ANY in self._names or name in self._names or self._is_own_number(name)

    def _is_own_number(self, name: str) -> bool:
        try:
            return ipaddress.ip_address(name).is_loopback or self._numbers
        except ValueError:
            return False


def name_in(host: str) -> str | None:
    """The name in `name:port`, `[::1]:port` or a bare name; None if it is none of these."""
    if host.startswith("["):
        inside, bracket, port = host[1:].partition("]")
        return inside.lower() if bracket and (not port or (port[0] == ":" and port[1:].isdecimal())) else None
    name, colon, port = host.partition(":")
    if not name or (colon and not port.isdecimal()):
        return None
    return name.lower().removesuffix(".")
