"""HEAD: what GET would answer, without the body."""

from hentropy.errors import MissingExtra

try:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError:
    raise MissingExtra("fastapi", "server") from None


class Heads:
    """Has HEAD answered by the routes for GET; once the headers are known, the client counts as gone."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a HEAD with headers alone, anything else as it is."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        begun = False

        async def until_begun() -> Message:
            return {"type": "http.disconnect"} if begun else await receive()

        async def headers_alone(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})
                begun = True  # what would go on for ever, such as news, ends here

        await self.app({**scope, "method": "GET"}, until_begun, headers_alone)
