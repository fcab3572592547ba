"""Templates to pages."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment
from starlette.responses import HTMLResponse

from hentropy.views.server.guard.sessions import Access
from hentropy.views.server.pages.assets import address
from hentropy.views.web.templating import environment


@cache
def _templates() -> Environment:
    made = environment(Path(__file__).parent / "templates")
    made.globals["asset"] = address
    return made


def page(template: str, visitor: Access, status: int = 200, **shown: Any) -> HTMLResponse:
    """A page for somebody, whose forms carry the token of the session."""
    signed_in = visitor.how == "session"
    text = _templates().get_template(template).render(csrf=visitor.csrf_token, signed_in=signed_in, **shown)
    return HTMLResponse(text, status)
