"""Logging in: the token of the server for a session."""

import html
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hentropy.views.server.guard.rates import client_in
from hentropy.views.server.problems import Refused, sentence
from hentropy.views.server.services import Here, Visitor

router = APIRouter(include_in_schema=False)

MAX_FIELD_LENGTH = 1_000


def local(path: str) -> str:
    """A path of this server to go to after logging in; anything else, such as another site, becomes the start."""
    safe = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()
    return path if safe and len(path) <= MAX_FIELD_LENGTH else "/"


@router.get("/login")
async def login_page(here: Here, visitor: Visitor, next: str = "/") -> Response:
    """The form for the token; whoever is in already goes on."""
    if visitor.may:
        return RedirectResponse(local(next), 303)
    return HTMLResponse(login_form(local(next)))


@router.post("/login")
async def log_in(
    here: Here,
    request: Request,
    visitor: Visitor,
    token: Annotated[str, Form(max_length=MAX_FIELD_LENGTH)] = "",
    next: Annotated[str, Form(max_length=MAX_FIELD_LENGTH)] = "/",
) -> Response:
    """Begin a session, if the token is right."""
    if here.access_control.open:
        return RedirectResponse("/", 303)
    try:
        session = here.access_control.log_in(token.strip(), client_in(request.scope))
    except Refused as refused:
        if refused.status_code != 401:
            raise
        return HTMLResponse(login_form(local(next), str(refused.detail)), 401)
    return RedirectResponse(local(next), 303, {"set-cookie": here.access_control.cookie_for(session, request.scope)})


@router.post("/logout")
async def log_out(here: Here, visitor: Visitor) -> Response:
    """End the session."""
    here.access_control.log_out(visitor.session)
    return RedirectResponse("/login", 303)


def login_form(after: str, trouble: str = "") -> str:
    """The page with the form."""
    said = f'<p class="error" role="alert">{html.escape(sentence(trouble))}</p>' if trouble else ""
    return PAGE.format(after=html.escape(after), said=said)


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in - hentropy</title>
<link rel="stylesheet" href="/static/base.css">
</head>
<body>
<main class="login">
<h1>Sign in</h1>
{said}
<form method="post" action="/login">
<input type="hidden" name="next" value="{after}">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Sign in</button>
</form>
<p>Your own token, or the one that was printed or given when the server was started.</p>
</main>
</body>
</html>
"""
