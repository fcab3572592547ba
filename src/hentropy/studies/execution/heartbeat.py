"""A thread that renews the leases of the trials in hand, so that a long experiment is not taken for a lost one."""

import threading
from collections.abc import Callable, Collection
from types import TracebackType

from hentropy.errors import StorageError
from hentropy.studies.execution.leases import renew
from hentropy.studies.records import StudyRecord
from hentropy.studies.storage import Store


class Heartbeat:
    """Renews, three times a lease, what `in_hand` says is being worked on; as a context manager it stops at the end."""

    def __init__(
        self, store: Store, study: StudyRecord, owner: str, lease: float, in_hand: Callable[[], Collection[int]]
    ) -> None:
        self._store = store
        self._study = study
        self._owner = owner
        self._lease = lease
        self._in_hand = in_hand
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="hentropy heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=5.0)

    def _beat(self) -> None:
        while not self._stop.wait(self._lease / 3):
            for number in tuple(self._in_hand()):
                try:
                    renew(self._store, self._study, number, self._owner, self._lease)
                except StorageError:  # also one that says that all is gone: the runner will be told the same
                    # a store that does not answer now may do so the next time; if not, the lease ends, as it should
                    break
