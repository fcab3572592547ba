"""The latest looks, of a bounded number of studies."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hentropy.views.server.work import Look, StudyKey

MOST = 20
"""Of how many studies looks are kept; a look is up to some megabytes."""


class Shelf:
    """Looks by study; the one that was not wanted for the longest time goes first. Not safe for threads by itself."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._looks: OrderedDict[StudyKey, Look] = OrderedDict()

    def latest(self, study: StudyKey) -> Look | None:
        """What was last seen of a study."""
        if study in self._looks:
            self._looks.move_to_end(study)
        return self._looks.get(study)

    def begin(self, study: StudyKey, seen: Mapping[str, Any]) -> Look:
        """A new look, of which all but the pictures is there; those of the look before stand in for them."""
        before = self._looks.get(study)
        kept = before is not None and seen["verdict"] is not None
        look = Look(study, **seen, pictures=before.pictures if before is not None and kept else {})
        self._put(look)
        return look

    def add(self, study: StudyKey, name: str, picture: Mapping[str, Any] | None, trouble: str | None) -> Look:
        """The look with one more picture, or with why it could not be made."""
        look = self._looks[study]
        others = {key: value for key, value in look.pictures.items() if key != name}
        if picture is not None:
            look = replace(look, pictures={**others, name: picture})
        else:
            look = replace(look, pictures=others, troubles={**look.troubles, name: trouble or ""})
        self._put(look)
        return look

    def finish(self, study: StudyKey, order: list[str]) -> Look | None:
        """The look with only the pictures that belong to it, in their order."""
        look = self._looks.get(study)
        if look is None:
            return None
        pictures = {name: look.pictures[name] for name in order if name in look.pictures}
        look = replace(look, pictures=pictures, complete=True)
        self._put(look)
        return look

    def forget(self, study: StudyKey) -> None:
        """The study is gone."""
        self._looks.pop(study, None)

    def _put(self, look: Look) -> None:
        self._looks[look.study] = look
        self._looks.move_to_end(look.study)
        while len(self._looks) > self._most:
            self._looks.popitem(last=False)
