"""Which right a request needs: one table for the page and the API."""

import re

from hentropy.views.server.guard.people import Right

SAFE = ("GET", "HEAD", "OPTIONS")
"""The methods that change nothing."""

CHANGES: tuple[tuple[str, str, Right], ...] = (
    ("POST", r"/api/check", Right.READ),
    ("POST", r"/logout", Right.READ),
    ("POST", r"/api/studies", Right.DEFINE),
    ("POST", r"/new", Right.DEFINE),
    ("DELETE", r"/api/studies/[^/]+", Right.ADMINISTER),
    ("POST", r"/api/studies/[^/]+/(ask|decide|attach|attach\.csv|import)", Right.RUN),
    ("POST", r"/api/studies/[^/]+/trials/[^/]+/(tell|fail|withdraw)", Right.RUN),
    ("DELETE", r"/api/jobs/[^/]+", Right.RUN),
    ("POST", r"/studies/[^/]+/(ask|look|own|attach)", Right.RUN),
    ("POST", r"/studies/[^/]+/trials/[^/]+", Right.RUN),
    ("POST", r"/studies/[^/]+/jobs/[^/]+/cancel", Right.RUN),
)


def needed(method: str, path: str) -> Right:
    """The right to make a request; what is not in the table and may change something needs the highest."""
    if method in SAFE:
        return Right.READ
    found = (right for verb, pattern, right in CHANGES if verb == method and re.fullmatch(pattern, path))
    return next(found, Right.ADMINISTER)
