"""Whether a study file goes with what its store has under the same name.

No study is changed and no store is made.
"""

from contextlib import closing

from hentropy.errors import NoStore
from hentropy.studies.definition.decisions import OwnClass
from hentropy.studies.storage import open_store
from hentropy.studies.study import Study
from hentropy.studies.study.keeping import differences
from hentropy.studies.study.stored import StoredStudy
from hentropy.studies.study.words import LocatedDescription, in_words
from hentropy.views.cli.opening import file_of, shown
from hentropy.views.text.formats import counted

LATER = ("stop", "solver", "objective", "outcomes")
"""What may be changed at any time; of outcomes, their noise and its tails."""


def no_folder(url: str) -> list[str]:
    """What is wrong with the place of a store that is still to be made."""
    path = file_of(url)
    if path is None or path.parent.is_dir():
        return []
    return [f"storage.url: there is no folder {path.parent} for {path.name}; make it first"]


def kept_in(url: str, words: LocatedDescription) -> StoredStudy | None:
    """The study of a file in its store, which is closed by then; None if it is not there."""
    try:
        with closing(open_store(url, make=False)) as store:
            return StoredStudy.find(store, words.description.name, words)
    except NoStore:
        return None


def is_another(url: str, stored: StoredStudy, words: LocatedDescription, study: Study) -> list[str]:
    """What is wrong if a store has another study under the name of a file's one, which `study` is in memory."""
    if stored.words is words:
        return []
    there = stored.words.description.model_dump(mode="json")
    differ = differences(there, in_words({**study.options, "first": words.description.first or stored.log.first}))
    if not differ:
        return []
    return [
        f"{shown(url)} has another study {stored.record.name!r}, with {counted(len(stored.entries), 'trial')}, which"
        f" differs in {', '.join(differ)}; give this one another name, or restore its earlier definition"
    ]


def file_differs(stored: StoredStudy, words: LocatedDescription) -> str:
    """What a study file says otherwise than the store, without running code that it names; nothing if they agree."""
    if stored.words is words:
        return ""
    there, here = (each.description.model_dump(mode="json") for each in (stored.words, words))
    if here["first"] is None:
        here["first"] = there["first"]
    if isinstance(words.description.decision, OwnClass):  # only the class itself knows its defaults
        here["decision"] = there["decision"]
    if fixed := differences(there, here):
        return (
            f"differs from the stored study in {', '.join(fixed)}; run, ask and decide refuse this file until its study"
            " has another name, or its earlier definition is restored"
        )
    later = [part for part in LATER if there[part] != here[part]]
    return f"has changed in {', '.join(later)}; the next run, ask or worker takes that over" if later else ""
