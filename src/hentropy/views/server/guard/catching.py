"""The last net: whatever goes wrong in a request becomes an answer with an id, and only the log has more."""

from hentropy.errors import MissingExtra
from hentropy.views.server.problems import LOG, answer, problem_of

try:
    from starlette.requests import ClientDisconnect, HTTPConnection
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError:
    raise MissingExtra("fastapi", "server") from None


class Catching:
    """Turns errors into answers; once an answer has begun, it can only be broken off."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the app does, or with what went wrong."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def noticed(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, noticed)
        except ClientDisconnect:
            return  # nobody is there to be told
        except Exception as error:
            problem = problem_of(error)
            if begun:
                LOG.error("%s: the answer had begun, and was broken off", problem.id)
                raise
            await answer(HTTPConnection(scope), problem)(scope, receive, send)
