"""The people of a server: their names, rights and tokens, in a file that holds only hashes of the tokens."""

import fcntl
import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from hentropy.errors import InputError, StorageError
from hentropy.studies.files import PRIVATE, beside

MAX_NAME_LENGTH = 100


class Right(IntEnum):
    """What somebody may do; each right includes those before it."""

    READ = 0
    RUN = 1
    DEFINE = 2
    ADMINISTER = 3

    @property
    def word(self) -> str:
        """As it is written in the file and on the command line."""
        return self.name.lower()

    @property
    def sentence(self) -> str:
        """What it allows."""
        return ALLOWS[self]


ALLOWS = {
    Right.READ: "read studies",
    Right.RUN: "run experiments: ask, enter and correct results, attach data",
    Right.DEFINE: "change definitions: create studies",
    Right.ADMINISTER: "administer: delete studies",
}


@dataclass(frozen=True)
class Person:
    """Somebody; without a token, only a proxy can say that it is this person."""

    name: str
    right: Right
    token_hash: str | None


def new_token() -> str:
    """A token that nobody guesses: 256 random bits, so that a plain hash of it is enough."""
    return secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    """The hash of a token, which is what is kept and compared."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def same(given: str, right: str) -> bool:
    """Whether two hashes are equal; how long it takes does not tell where they differ."""
    return hmac.compare_digest(given.encode(), right.encode())


class People:
    """The people in a file, which is read again whenever it has changed. Safe for threads."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._mark: tuple[int, ...] = ()
        self._known: dict[str, Person] = {}

    def all(self) -> tuple[Person, ...]:
        """Everybody, by name; nobody if there is no file."""
        with self._lock:
            try:
                found = self.file.stat()
            except FileNotFoundError:
                self._mark, self._known = (), {}
                return ()
            except OSError as error:
                raise StorageError(f"the file of people {self.file} cannot be read: {error.strerror}") from None
            mark = (found.st_ino, found.st_mtime_ns, found.st_size)
            if mark != self._mark:
                self._known = {person.name: person for person in _read(self.file)}
                self._mark = mark
            return tuple(self._known[name] for name in sorted(self._known))

    def named(self, name: str) -> Person | None:
        """The person with this name."""
        return next((person for person in self.all() if person.name == name), None)

    def with_token(self, token: str) -> Person | None:
        """Whose token it is; all hashes are compared, whichever it is."""
        given = hashed(token)
        found = [one for one in self.all() if one.token_hash is not None and same(given, one.token_hash)]
        return found[0] if found else None

    def add(self, name: str, right: Right, with_token: bool = True) -> str | None:
        """A new person; the token, which nobody can see again."""
        check_name(name)
        token = new_token() if with_token else None
        with self._alone():
            if self.named(name) is not None:
                raise InputError(f"{name} is in {self.file} already; remove {name} first: the token changes with it")
            self._write([*self.all(), Person(name, right, None if token is None else hashed(token))])
        return token

    def remove(self, name: str) -> None:
        """Revoke the access of a person, at once."""
        with self._alone():
            left = [person for person in self.all() if person.name != name]
            if len(left) == len(self.all()):
                known = ", ".join(person.name for person in left) or "nobody"
                raise InputError(f"there is no {name} in {self.file}; there: {known}")
            self._write(left)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the file for a change; a program with an older list would restore a person who was removed."""
        folder = self.file.absolute().parent
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder} for {self.file.name}; make it first")
        handle = os.open(folder, os.O_RDONLY)  # the file itself is replaced, so a lock on it would not last
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _write(self, people: Sequence[Person]) -> None:
        """Replace the file atomically; only its owner can read it."""
        rows = [{"name": one.name, "rights": one.right.word, "token_sha256": one.token_hash} for one in people]
        text = json.dumps({"version": 1, "people": rows}, ensure_ascii=False, indent=1) + "\n"
        with beside(self.file, PRIVATE) as made:
            with made.open("w", encoding="utf-8") as new:
                new.write(text)
                new.flush()
                os.fsync(new.fileno())  # else a loss of power may leave an empty file, and nobody gets in
            made.replace(self.file)


def check_name(name: str) -> None:
    """Refuse a name that the history could not show."""
    if not name or name != name.strip() or not name.isprintable() or len(name) > MAX_NAME_LENGTH:
        raise InputError(
            f"the name is {name!r}; it must have 1 to {MAX_NAME_LENGTH} letters that can be printed, without spaces"
            " around"
        )


def _read(file: Path) -> list[Person]:
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))["people"]
        people = [Person(row["name"], Right[row["rights"].upper()], row["token_sha256"]) for row in rows]
        for person in people:
            check_name(person.name)
            if person.token_hash is not None and len(bytes.fromhex(person.token_hash)) != hashlib.sha256().digest_size:
                raise ValueError(f"the hash of {person.name}")
    except OSError as error:
        raise StorageError(f"the file of people {file} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, InputError) as error:
        raise StorageError(
            f"the file of people {file} is damaged ({type(error).__name__}: {error}), so nobody of it gets in; write it"
            " with `hentropy people`"
        ) from None
    return people
