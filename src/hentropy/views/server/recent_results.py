"""The results of recent requests by idempotency key: a client that repeats one gets them, and nothing runs twice."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from cachetools import LRUCache

from hentropy.studies.records import StudyKey

MAX_KEYS = 1_000
"""The keys that are remembered, by this process and as long as it runs."""

T = TypeVar("T")

Key = tuple[StudyKey, str, str]
"""The study, the verb, and what the client made up."""


class Recent:
    """Results by key, of a bounded number of keys; those that were not asked for longest are forgotten first."""

    def __init__(self, most: int = MAX_KEYS) -> None:
        self._lock = threading.Lock()
        self._kept: LRUCache[Key, Future[Any]] = LRUCache(most)

    def once(self, study: StudyKey, verb: str, key: str | None, do: Callable[[], T]) -> T:
        """What `do` returns, or has returned for this key; who comes while it is done waits for it.

        If it fails nothing was done, and the next one with this key tries again. Without a key it is just done.
        """
        if key is None:
            return do()
        with self._lock:
            known = self._kept.get((study, verb, key))
            mine: Future[T] = Future()
            if known is None:
                self._kept[study, verb, key] = mine
        if known is not None:
            found: T = known.result()
            return found
        try:
            mine.set_result(do())
        except BaseException as error:
            with self._lock:
                self._kept.pop((study, verb, key), None)
            mine.set_exception(error)
            raise
        return mine.result()
