"""The studies that a process computes for, kept so that a model is fitted once to the same values."""

from collections import OrderedDict

from hentropy.errors import Gone
from hentropy.records import StudyRecord
from hentropy.storage import Store
from hentropy.study import Study, load_study

MOST = 8
"""How many studies are kept."""


class Memory:
    """The last few studies of a store. Nothing that a study names is imported: code of others is not run here."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[str, tuple[StudyRecord, Study]] = OrderedDict()

    def study(self, name: str) -> Study:
        """The study as it stands; one that was made again or redefined is read again."""
        record = self._store.find(name)
        if record is None:
            self._kept.pop(name, None)
            raise Gone(f"there is no study {name!r} any more; it was deleted")
        if name not in self._kept or self._kept[name][0] != record:
            study = load_study(name, self._store, trusted=False)
            self._kept[name] = (self._store.find(name) or record, study)
        self._kept.move_to_end(name)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return self._kept[name][1]
