"""The server as a process: its address, its log, its end."""

import errno
import logging
import os
import signal
import socket
import sys
import threading
from contextlib import closing
from dataclasses import replace
from types import FrameType
from urllib.parse import urlsplit

import typer
import uvicorn
from starlette.types import ASGIApp

from hentropy.errors import InputError, ReadOnly
from hentropy.studies.storage import open_store
from hentropy.views.cli.opening import is_there, shown
from hentropy.views.cli.printing import say
from hentropy.views.cli.run_progress import Terminated, stopped_by_signals
from hentropy.views.server.app import make_app
from hentropy.views.server.guard.bodies import timed_heads
from hentropy.views.server.services import Services
from hentropy.views.server.settings import Settings, is_loopback
from hentropy.views.text.log_lines import JsonLines, event_line

GRACE = 5
"""Seconds that requests have to end when the server ends."""

LAST = 5
"""Seconds after these until the process ends, whatever its threads still do."""

BACKLOG = 1_024
"""Connections that may wait to be taken."""

EVERYWHERE = ("0.0.0.0", "::")


def run_server(settings: Settings, show_token: bool, verbose: bool, json_lines: bool = False) -> None:
    """Serve a store until a signal ends it: SIGTERM is how a service ends well, Ctrl-C is an interruption.

    The log goes to standard error: a line for each request if it is `verbose` or of `json_lines`.
    """
    with closing(listening(settings.host, settings.port)) as listener:
        new = not is_there(settings.store)
        with closing(open_store(settings.store, read_only=settings.read_only)) as store:
            if store.read_only and not settings.read_only:
                raise ReadOnly(f"{store.read_only}; `hentropy serve --read-only` shows it as it is")
        settings = replace(settings, port=int(listener.getsockname()[1]))
        _log(verbose, json_lines)
        server = Server(settings)
        if json_lines:
            typer.echo(event_line("serving", store=shown(settings.store), **_links(settings, show_token)))
        else:
            _announce(settings, new, show_token)
        try:
            with stopped_by_signals():
                server.run(sockets=[listener])
        except KeyboardInterrupt as interruption:
            typer.echo(event_line("stopped")) if json_lines else say("stopped")
            raise typer.Exit(_code(isinstance(interruption, Terminated))) from None


def _log(verbose: bool, json_lines: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if json_lines else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler], level="INFO" if verbose or json_lines else "WARNING")


def _links(settings: Settings, show_token: bool) -> dict[str, str]:
    """Where the server is, and the link that opens it."""
    url = address(settings)
    return {"url": url, **({"link": f"{url}?token={settings.token}"} if show_token else {})}


def _announce(settings: Settings, new: bool, show_token: bool) -> None:
    links = _links(settings, show_token)
    say(f"Serving {shown(settings.store)} at {links['url']}", "bold")
    if new:
        say("The store has no studies yet; the page has a form for a new one.")
    if show_token:
        say(f"Open {links['link']}")
        say("This link holds the token of this start of the server, which programs send too.")
    elif settings.token is not None:
        say("People log in with the token that you gave; programs send it as a bearer token.")
    if settings.people is not None:
        say(f"The people of {settings.people} log in with their own tokens.")
    if settings.person_header is not None and any(is_loopback(proxy) for proxy in settings.proxies):
        say(
            f"Note: every account on this machine can send {settings.person_header} from the proxy's address, and be"
            " anybody. Run the proxy, or this server, where nobody else has an account."
        )
    say("Press Ctrl-C to stop.")


def _code(terminated: bool) -> int:
    return 0 if terminated else 128 + signal.SIGINT


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens, or a plain sentence why there is none."""
    try:
        [(family, kind, protocol, _, place), *_] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise InputError(f"--host is {host!r}, which is no address of this machine; give one such as 0.0.0.0") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise InputError(_why(error, host, port)) from None
    return listener


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use, perhaps by another server; give another with --port, or 0 for any"
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights than you have; give one above 1023 with --port"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"--host is {host!r}, which is no address of this machine; give one such as 0.0.0.0"
    return f"{host}, port {port}: {error.strerror}"


def address(settings: Settings) -> str:
    """Where a browser finds the server."""
    host = socket.gethostname() if settings.host in EVERYWHERE else settings.host
    name = f"[{host}]" if ":" in host else host
    return urlsplit(f"{'https' if settings.secure else 'http'}://{name}:{settings.port}/").geturl()


def configured(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """How an app is served."""
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        http=timed_heads(settings.limits.head_seconds),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,  # the app logs requests itself, without their queries
        server_header=False,
        proxy_headers=False,  # the app sees to these itself, for it needs the address of the proxy too
        limit_concurrency=settings.limits.connections + 1,  # from so many on, requests are refused
        timeout_graceful_shutdown=GRACE,
    )


class Server(uvicorn.Server):
    """Serves one store; when it ends, open pages are let go first, for they would never leave by themselves."""

    def __init__(self, settings: Settings) -> None:
        self._app = make_app(settings)
        super().__init__(configured(self._app, settings))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let the open pages go, then end."""
        services = self._app.state.services
        assert isinstance(services, Services)
        await services.watcher.close()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end. Threads cannot be stopped, and would keep the process: it does not wait for them for ever."""
        if not self.should_exit:
            last = threading.Timer(GRACE + LAST, _end_now, [_code(sig == signal.SIGTERM)])
            last.daemon = True  # it keeps nothing itself
            last.start()
        super().handle_exit(sig, frame)


def _end_now(code: int) -> None:
    logging.getLogger("hentropy.views.server").error("some requests were still running and were aborted")
    sys.stdout.flush()
    os._exit(code)
