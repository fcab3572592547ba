"""Pictures on a page: drawn, being made, left over from earlier data, or unavailable; each has a mark."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import urlencode

from cachetools import LRUCache

from hentropy.views.server.work import Look
from hentropy.views.text.formats import counted, iso, json_text

MAX_CACHED = 160


@dataclass(frozen=True)
class PictureText:
    """The specification of a picture as JSON, and its mark."""

    text: str
    mark: str


class PictureTexts:
    """The texts of the last pictures, so that each is written once. Safe for threads."""

    def __init__(self, most: int = MAX_CACHED) -> None:
        self._lock = Lock()
        # the picture is kept beside its text: while it is, no other one has its identity
        self._kept: LRUCache[int, tuple[Mapping[str, Any], PictureText]] = LRUCache(most)

    def of(self, picture: Mapping[str, Any]) -> PictureText:
        """The text of a picture of a look."""
        with self._lock:
            kept = self._kept.get(id(picture))
        if kept is not None:
            return kept[1]
        text = json_text(picture["specification"])
        made = PictureText(text, hashlib.sha256(text.encode()).hexdigest()[:16])
        with self._lock:
            self._kept[id(picture)] = (picture, made)
        return made


TITLES = {
    "known": "What is known",
    "decided": "Current recommendation",
    "why": "Why this experiment",
    "progress": "Progress",
    "worth": "Is another experiment worth it?",
    "loss": "Possible loss of the decision",
    "predictions": "Predictions and results",
    "trust": "Model diagnostics",
}
"""What stands in the place of a picture that is not there yet."""


@dataclass(frozen=True)
class PictureView:
    """A picture with its title and caption; `source` is where its data are, `note` how it stands."""

    name: str
    title: str
    caption: str
    source: str
    state: str
    note: str


def picture_views(look: Look | None, observations: int, working: bool, texts: PictureTexts) -> list[PictureView]:
    """The pictures of a look at a study that has so many observations by now."""
    if look is None or (look.verdict is None and not look.pictures):
        return [PictureView(name, TITLES[name], "", "", "coming", "computing") for name in TITLES if working]
    views = []
    for name in dict.fromkeys([*TITLES, *look.pictures, *look.troubles]):
        title = TITLES.get(name, name.capitalize())
        if name in look.pictures:
            views.append(_drawn(look, name, observations, texts))
        elif name in look.troubles:
            views.append(PictureView(name, title, look.troubles[name], "", "trouble", "unavailable"))
        elif not look.complete:
            views.append(PictureView(name, title, "", "", "coming", "computing"))
    return [view for view in views if view.name != "verdict"]


def _drawn(look: Look, name: str, observations: int, texts: PictureTexts) -> PictureView:
    picture = look.pictures[name]
    which = urlencode({"mark": texts.of(picture).mark, "begun": iso(look.study.created_at)})
    source = f"/studies/{look.study.id}/pictures/{name}.json?{which}"
    made_after = picture.get("observations", look.observations)
    old = made_after != observations
    note = f"computed after {counted(made_after, 'observation')}" if old else ""
    return PictureView(name, picture["title"], picture["caption"], source, "stale" if old else "drawn", note)
