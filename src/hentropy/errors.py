"""The errors of hentropy: one tree, so that `except HentropyError` catches them all.

    HentropyError
    ├── InputError       a value, shape or option that cannot be used (also a ValueError)
    ├── DecisionError    a decision whose loss, points or actions misbehave
    ├── ModelError       a belief that cannot be made, such as one of an unsupported model
    │   └── NumericalError  rounding or extreme values stop a computation: a matrix is not positive definite
    ├── StudyError       an ask, tell or decide that does not fit the state of the study
    │   └── NoSuchTrial  a trial that the study does not have
    ├── StorageError     a store that cannot be opened, read or written
    │   ├── NoStore      a database without a store, where one was to be read
    │   ├── ReadOnly     a store that this program may not write
    │   ├── Gone         a study or trial that is no longer in its store
    │   ├── Outdated     what was to be written stands on trials that are no longer the newest
    │   └── Overtaken    the right to ask was lost to somebody else before the trials were written
    ├── ExecutionError   workers that cannot be reached, or that are asked for more after the end
    └── MissingExtra     an optional part that is not installed (also an ImportError)

Every message says what happened with the values, the likeliest cause, and what to change; where a page of the
documentation helps, the error names it.
"""

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from importlib.util import find_spec
from typing import Any


class DocPage(Enum):
    """A page of the documentation, or a section of one, by a name that stays when files move: a place below docs/."""

    START = "start"
    WHICH_DECISION = "which"
    STUDIES = "studies"
    INSTALL = "studies#install"
    STORES = "studies/storage"
    OUTCOMES = "studies/outcomes"
    ASSAYS = "studies/outcomes#assays"
    STUDY_FILE = "reference/study-file"
    DESIGNS = "designs"
    CANDIDATES = "designs#tables-of-candidates"
    DECISIONS = "decisions"
    LIMITS = "decisions#limits-on-outcomes"
    OWN_DECISION = "own-decisions"
    MODELS = "models"
    ADAPTERS = "adapters"
    PAGE = "page"
    API = "api"
    GUIDES = "howto/index"
    CONSTRAINTS = "howto/constraints"
    COSTS = "howto/costs"
    CSV = "howto/csv"
    FAILURES = "howto/failures"
    POSTGRESQL = "howto/postgresql"
    BACKUP = "howto/backup"

    @property
    def label(self) -> str:
        """The name for people."""
        return self.name.lower().replace("_", "-")

    @property
    def file(self) -> str:
        """Where it stands in the source of this project."""
        path, mark, section = self.value.partition("#")
        return f"docs/{path}.md{mark}{section}"

    @property
    def html(self) -> str:
        """Where the documentation site has it."""
        path, mark, section = self.value.partition("#")
        return f"{path}.html{mark}{section}"

    @property
    def seen(self) -> str:
        """Where to read on, as a terminal says it."""
        return f"see docs: {self.label} ({self.file})"


class Advice(Enum):
    """What to do next, as a value on an error, in the words of Python; other surfaces have words of their own."""

    CORRECT = "pass replace_value=True to correct it"
    TELL_FAILED = "if the experiment failed, tell it with failed='why'"
    GIVE_NUMBER = "it must be a number or (value, standard error)"
    NAME_OUTCOMES = 'tell values by name, such as {"yield": 80.1}'
    ASK_AND_TELL = "ask a design, run it, tell its value"
    TRUST = "load it only where you trust it"
    RUN_AGAIN = "Fix the objective function, then rerun: all measurements are kept."
    MAP_COLUMN = "say which column it is"
    ATTACH = "other data are attached, not imported"
    OWN_BACKUP = "once there is a backup, pass backup=False"
    ATTACH_AGAIN = "if they are measurements of their own, attach them with again=True"


EXPLAINED = {
    Advice.TELL_FAILED: DocPage.FAILURES,
    Advice.NAME_OUTCOMES: DocPage.OUTCOMES,
    Advice.TRUST: DocPage.OWN_DECISION,
    Advice.RUN_AGAIN: DocPage.FAILURES,
    Advice.MAP_COLUMN: DocPage.CSV,
    Advice.OWN_BACKUP: DocPage.BACKUP,
    Advice.ATTACH: DocPage.CSV,
    Advice.ATTACH_AGAIN: DocPage.CSV,
}
"""Pages that say more about advice."""


class HentropyError(Exception):
    """The base class of all errors that hentropy raises on purpose: what happened and, if known, what to do next.

    `page` is the page of the documentation that helps, if there is one. Each interface words it in its own way; in a
    traceback it is a note below the message.
    """

    study: Any = None
    """The study of a search that ended with this error: nothing that was told is lost."""

    usual_page: DocPage | None = None
    """The page that helps with all errors of a kind."""

    def __init__(
        self, what: str = "", advice: Advice | None = None, between: str = "; ", page: DocPage | None = None
    ) -> None:
        self.what, self.advice, self.between = what, advice, between
        self.page: DocPage | None = None
        super().__init__(self.worded({}))
        self.lead_to(page or (EXPLAINED.get(advice) if advice else None) or self.usual_page)

    def lead_to(self, page: DocPage | None) -> None:
        """Name a page of the documentation, unless one is already named."""
        if self.page is None and page is not None:
            self.page = page
            self.add_note(page.seen)

    def worded(self, words: Mapping[Advice, str]) -> str:
        """The error with its advice worded for an interface; for Python by default."""
        return (
            self.what if self.advice is None else self.what + self.between + words.get(self.advice, self.advice.value)
        )


class InputError(HentropyError, ValueError):
    """A value, shape or option that cannot be used."""


class DecisionError(HentropyError):
    """The loss, points or actions of a decision are invalid."""

    usual_page = DocPage.OWN_DECISION


class ModelError(HentropyError):
    """A belief that cannot be made from this model or these data."""

    usual_page = DocPage.MODELS


class NumericalError(ModelError):
    """Numbers that cannot be computed with: by these data alone, so that with more of them it may work again."""


class StudyError(HentropyError):
    """A call that does not fit the state of the study."""


class NoSuchTrial(StudyError):  # noqa: N818 (it reads better where it is caught)
    """A trial that the study does not have."""


class StorageError(HentropyError):
    """A store that cannot be opened, read or written."""


class NoStore(StorageError):  # noqa: N818 (it reads better where it is caught)
    """A database without a store, where one was to be read."""

    usual_page = DocPage.STORES


class ReadOnly(StorageError):  # noqa: N818 (it reads better where it is caught)
    """A store that this program may not write, or of a format that it cannot write: waiting does not help."""

    usual_page = DocPage.STORES


class Gone(StorageError):  # noqa: N818 (it reads better where it is caught)
    """A study or trial that is not, or no longer, in the store: waiting does not help."""


class Outdated(StorageError):  # noqa: N818 (it reads better where it is caught)
    """What was to be written stands on trials that are no longer the newest: somebody else was faster."""


class Overtaken(StorageError):  # noqa: N818 (it reads better where it is caught)
    """The right to ask was lost to somebody else before the trials were written."""


class ExecutionError(HentropyError):
    """Workers that cannot be reached, or that are asked for more after the end."""


class MissingExtra(HentropyError, ImportError):  # noqa: N818 (it reads better where it is caught)
    """An optional part of hentropy that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        what = f"this needs {package}, which is not installed: pip install 'hentropy[{extra}]' brings it"
        super().__init__(what, page=DocPage.ADAPTERS if extra in ADAPTERS else DocPage.INSTALL)


ADAPTERS = ("ax", "baybe", "gest-api", "mcp", "optuna", "slurm")
"""The extras that the page on adapters explains."""


@contextmanager
def explained_in(page: DocPage) -> Iterator[None]:
    """Errors from within lead to a page of the documentation, unless they name another; also as a decorator."""
    try:
        yield
    except HentropyError as error:
        error.lead_to(page)
        raise


def last_line(error: BaseException) -> str:
    """The last line of what Python says of an exception, notes aside."""
    told = traceback.TracebackException.from_exception(error)
    told.__notes__ = None
    return list(told.format_exception_only())[-1].strip()


def require(module: str, extra: str, package: str | None = None) -> None:
    """A `MissingExtra` unless a module can be imported: asked by a package that needs an extra, as it begins."""
    if find_spec(module) is None:
        raise MissingExtra(package or module, extra)
