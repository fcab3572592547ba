"""Pictures as the text that a browser gets, each with a mark by which a page knows a new one."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from hentropy.views.text.formats import json_text

MOST = 160


@dataclass(frozen=True)
class Print:
    """The specification of a picture as JSON, and its mark."""

    text: str
    mark: str


class Prints:
    """The texts of the last pictures, so that each is written once. Safe for threads."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = Lock()
        # the picture is kept beside its text: while it is, no other one has its identity
        self._kept: OrderedDict[int, tuple[Mapping[str, Any], Print]] = OrderedDict()

    def of(self, picture: Mapping[str, Any]) -> Print:
        """The text of a picture of a look."""
        with self._lock:
            kept = self._kept.get(id(picture))
        if kept is not None:
            return kept[1]
        text = json_text(picture["specification"])
        made = Print(text, hashlib.sha256(text.encode()).hexdigest()[:16])
        with self._lock:
            self._kept[id(picture)] = (picture, made)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made
