"""From what a person calls a study, a file or a name in a store, to the study."""

import os
import re
import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hentropy.errors import InputError, NoStore, StudyError
from hentropy.studies.definition.building import DATABASE
from hentropy.studies.definition.parts import Manual
from hentropy.studies.definition.reading import ENDINGS
from hentropy.studies.files import special_kind
from hentropy.studies.storage import Store, open_store
from hentropy.studies.study import Study
from hentropy.studies.study.stored import StoredStudy, no_study
from hentropy.studies.study.study import resumed, study_of
from hentropy.studies.study.words import LocatedDescription
from hentropy.views.cli.arguments import study_files
from hentropy.views.cli.printing import note


@dataclass(frozen=True)
class Place:
    """Where a study is: its name, the URL of its store, and its file with the words in it if it was named by one."""

    name: str
    url: str
    file: Path | None = None
    words: LocatedDescription | None = None


def located(which: str, url: str | None) -> Place:
    """Where the study is that a person calls `which`."""
    path = Path(which)
    if path.is_file():
        words = LocatedDescription.read(path)
        return Place(words.description.name, url or words.place, path, words)
    if url is not None and path.suffix.lower() not in ENDINGS:
        return Place(which, url)
    raise InputError(f"there is no file {which}{_hint(path, url)}")


def _hint(path: Path, url: str | None) -> str:
    if path.exists():
        inside = " in it" if path.is_dir() else ""
        return f", but a {special_kind(path)} with that name; name the study file{inside}"
    folder = path.parent
    files = study_files(folder) if folder.is_dir() else []
    there = "this folder" if folder == Path() else str(folder)
    has = _which(files, there)
    if url is not None:
        return f"; {has}"
    named = f"to name a study by its name in a store, add --store, such as --store sqlite:///{DATABASE}"
    return f"; {has}. `hentropy init` writes one; {named}"


def _which(files: list[str], there: str) -> str:
    if len(files) == 1:
        return f"the study file in {there} is {files[0]}"
    return f"the study files in {there} are {', '.join(files)}" if files else f"{there} has no study files"


@contextmanager
def found(place: Place) -> Iterator[StoredStudy]:
    """The study as its store knows it; an error if it is not there.

    No store is made, no study begun.
    """
    with closing(_store(place)) as store:
        yield _found(place, store)


def _found(place: Place, store: Store, folder: Path | None = None) -> StoredStudy:
    stored = StoredStudy.find(store, place.name, place.words, folder)
    if stored is None:
        raise StudyError(f"{no_study(place.name, store, shown(store.place))}{_begin(place)}")
    return stored


def store_at(url: str, none: str) -> Store:
    """The store that is there already; a `StudyError` with the sentence `none` if there is none."""
    try:
        if is_there(url):
            return open_store(url, make=False)
    except NoStore:
        pass
    raise StudyError(none)


def _store(place: Place) -> Store:
    none = f"{place.name!r} has not started: there is no store {shown(place.url)} yet{_begin(place)}"
    return store_at(place.url, none)


def _begin(place: Place) -> str:
    if place.file is None or place.words is None:
        return ""
    manual = isinstance(place.words.description.objective, Manual)
    return f". `hentropy {'ask' if manual else 'run'} {place.file}` begins it"


@contextmanager
def opened(place: Place, *, begin: bool = False, trusted: bool = False, folder: Path | None = None) -> Iterator[Study]:
    """The study itself. One that has not begun is begun if its file is known and `begin` says so.

    A study named by its file may run code that the file names. One named by its name does so only if `trusted`, with
    modules from `folder`.
    """
    stored = None if place.words is not None and begin else _found(place, _store(place), folder)
    if place.words is not None:
        study = study_of(place.words, stored or place.url)
    else:
        assert stored is not None
        study = resumed(stored, trusted=trusted)
    study.store.turn_terms = replace(study.store.turn_terms, tell=note)
    with closing(study):
        yield study


def words_of(place: Place, folder: Path | None = None) -> LocatedDescription:
    """The words of the file, or else of the store's record."""
    if place.words is not None:
        return place.words
    with closing(_store(place)) as store:
        return _found(place, store, folder).words


def is_there(url: str) -> bool:
    """Whether a store can be there: whether its file is, if it is one."""
    path = file_of(url)
    return path is None or path.exists()


def shown(where: str) -> str:
    """A store for a person: its file as seen from here if it is in this folder; no users, no passwords."""
    path = file_of(where)
    if path is None:
        scheme, _, host = _parts(where)
        return f"{scheme}{host}"
    near = os.path.relpath(path)
    return str(path) if near.startswith("..") else near


def as_typed(which: str, url: str | None) -> str:
    """How a study was called on the command line, to be typed once more; without a password."""
    if url is None:
        return shlex.quote(which)
    scheme, user, host = _parts(url)
    store = url if file_of(url) is not None else f"{scheme}{user}{host}"
    return f"{shlex.quote(which)} --store {shlex.quote(store)}"


def _parts(url: str) -> tuple[str, str, str]:
    """The scheme of a URL, the user, and the rest without password and options; all that is doubtful is left out."""
    scheme, slashes, rest = url.partition("://")
    if not slashes:
        return f"{url.partition(':')[0]}:", "", "..."
    before, _, after = rest.partition("?")
    user, at, host = before.rpartition("@")
    if not at and "@" in after:  # a password with a question mark, or an option with an @
        return f"{scheme}://", "", "..."
    return f"{scheme}://", f"{user.partition(':')[0]}{at}", host


def file_of(url: str) -> Path | None:
    """The file of a store that is one."""
    scheme, slashes, rest = url.partition("://")
    if not slashes:
        return None if re.match(r"(sqlite|postgres\w*):", url, re.IGNORECASE) else Path(url)
    return Path(rest.removeprefix("/").partition("?")[0]) if scheme.lower().startswith("sqlite") else None
