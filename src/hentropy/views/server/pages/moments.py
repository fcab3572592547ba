"""Times on a page."""

from dataclasses import dataclass

from hentropy.views.text.formats import clock, iso


@dataclass(frozen=True)
class Moment:
    """A time for a machine, and by the clock of the server for a person."""

    iso: str
    clock: str


def moment(seconds: float) -> Moment:
    """A time in seconds since 1970."""
    return Moment(iso(seconds) or "", clock(seconds))
