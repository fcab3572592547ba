"""How often to look at a verdict while a study runs."""

import time

from hentropy.errors import HentropyError
from hentropy.studies.records import Verdict
from hentropy.studies.study import Study

SHARE = 0.1
"""The most of the time that goes into decisions which are only looked at, while workers wait."""


class Glances:
    """Verdicts to look at while a study runs; `rarely` skips those for which there is no time."""

    def __init__(self, study: Study, rarely: bool) -> None:
        self._study = study
        self._rarely = rarely
        self._next = 0.0

    def verdict(self) -> Verdict | None:
        """What would be decided now, if there is time and there are values."""
        began = time.monotonic()
        if self._rarely and began < self._next:
            return None
        try:
            return self._study.decide()
        except HentropyError:  # nothing can be decided yet; a line of progress is no place to end a run
            return None
        finally:
            ended = time.monotonic()
            self._next = ended + (ended - began) / SHARE
