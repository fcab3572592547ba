"""The results of recent requests by idempotency key: a client that repeats one gets them, and nothing runs twice."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from hashlib import sha256
from typing import Any, TypeVar

from cachetools import LRUCache

from hentropy.errors import InputError
from hentropy.studies.records import StudyKey
from hentropy.views.text.formats import json_text

MAX_KEYS = 1_000
"""The keys that are remembered, by this process and as long as it runs."""

T = TypeVar("T")

Key = tuple[StudyKey, str, str]
"""The study, the verb, and what the client made up."""


class Recent:
    """Results by key, of a bounded number of keys; those that were not asked for longest are forgotten first."""

    def __init__(self, most: int = MAX_KEYS) -> None:
        self._lock = threading.Lock()
        self._kept: LRUCache[Key, tuple[bytes, Future[Any]]] = LRUCache(most)

    def once(self, study: StudyKey, verb: str, key: str | None, do: Callable[[], T], content: Any = None) -> T:
        """What `do` returns, or has returned for this key; who comes while it is done waits for it.

        If it fails nothing was done, and the next one with this key tries again. Without a key it is just done. An
        `InputError` for a key that was given with other `content`, plain values: that would not be done at all.
        """
        if key is None:
            return do()
        mark = sha256(json_text(content).encode()).digest()
        with self._lock:
            before, known = self._kept.get((study, verb, key), (mark, None))
            mine: Future[T] = Future()
            if known is None:
                self._kept[study, verb, key] = mark, mine
        if before != mark:
            raise InputError(f"the key {key!r} was used for another request, so nothing was done; choose another key")
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
