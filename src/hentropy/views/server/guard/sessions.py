"""Sessions of people who have given the token: on the server, bounded in number and time."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from hentropy.views.server.guard.tokens import new_token

Clock = Callable[[], float]


class Sessions:
    """Who is logged in. Only hashes of the ids are kept; the oldest session makes room for a new one."""

    def __init__(self, most: int, seconds: float, clock: Clock = time.monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._clock = clock
        self._ends: OrderedDict[bytes, float] = OrderedDict()
        self._lock = Lock()

    def begin(self) -> str:
        """The id of a new session."""
        session = new_token()
        with self._lock:
            while len(self._ends) >= self._most:
                self._ends.popitem(last=False)
            self._ends[_hash(session)] = self._clock() + self._seconds
        return session

    def is_open(self, session: str) -> bool:
        """Whether a session was begun, has not ended and is not too old."""
        key = _hash(session)
        with self._lock:
            ends = self._ends.get(key)
            if ends is not None and ends <= self._clock():
                del self._ends[key]
                return False
            return ends is not None

    def end(self, session: str) -> None:
        """Log out."""
        with self._lock:
            self._ends.pop(_hash(session), None)

    def __len__(self) -> int:
        return len(self._ends)


def _hash(session: str) -> bytes:
    return hashlib.sha256(session.encode()).digest()
