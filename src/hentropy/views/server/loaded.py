"""The studies that a process computes for, kept so that a model is fitted once to the same values."""

from collections import OrderedDict

from hentropy.errors import Gone
from hentropy.studies.records import StudyRecord
from hentropy.studies.storage import Store
from hentropy.studies.study import Study, load_study
from hentropy.views.server.work import StudyKey

MOST = 8
"""How many studies are kept."""


class Loaded:
    """The last few studies of a store. Nothing that a study names is imported: code of others is not run here."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[StudyKey, tuple[StudyRecord, Study]] = OrderedDict()

    def study(self, key: StudyKey) -> Study:
        """The study as it stands; one that was redefined is read again. `Gone` if another has its name now."""
        record = self._store.find(key.name)
        if record is None or StudyKey.of(record) != key:
            self._kept.pop(key, None)
            raise _deleted(key)
        if key not in self._kept or self._kept[key][0] != record:
            study = load_study(key.name, self._store, trusted=False)
            if StudyKey.of(study.book.study) != key:
                raise _deleted(key)
            self._kept[key] = (self._store.find(key.name) or record, study)
        self._kept.move_to_end(key)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return self._kept[key][1]


def _deleted(key: StudyKey) -> Gone:
    return Gone(f"there is no study {key.name!r} any more; it was deleted")
