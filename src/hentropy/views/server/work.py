"""What is computed in the background: jobs, and what a look at a study has brought to light."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hentropy.errors import Advice
from hentropy.studies.records import StudyKey
from hentropy.views.text.formats import iso

ON_PAGES = {
    Advice.CORRECT: "open that trial to correct it",
    Advice.TELL_FAILED: "if the experiment failed, mark it as failed",
    Advice.GIVE_NUMBER: "it must be a number",
    Advice.NAME_OUTCOMES: "give measurements by outcome",
    Advice.ASK_AND_TELL: "ask for an experiment, run it, and enter its value",
    Advice.TRUST: "ask and decide with the command line",
    Advice.OWN_BACKUP: "once there is a backup, upgrade without making one",
    Advice.ATTACH_AGAIN: "if they are measurements of their own, add them even if the same are there already",
}
"""What an error advises, where nobody is told to call a function or to type an option."""

Kind = Literal["ask", "look", "inquire"]
JobState = Literal["waiting", "running", "done", "failed", "cancelled"]

ENDED: frozenset[JobState] = frozenset({"done", "failed", "cancelled"})
"""The states from which a job does not go on."""


@dataclass(frozen=True)
class Job:
    """One piece of work in the background, as it stands. Times are seconds since 1970 by this machine's clock.

    `count` experiments are asked, for the assay `measures` if one is named; the `result` of asking are the numbers of
    the new trials. `phase` says in words what goes on, `error` why it failed. A job of looking that is not `soon` waits
    until the process has rested; it sees the trials of `revision` or newer ones. One of asking that is not `anyway`
    asks nothing if nothing is left to gain. One of inquiring has a `question`, and the plain values of its answer as
    its result.
    """

    id: str
    study: StudyKey
    kind: Kind
    state: JobState
    phase: str
    created_at: float
    began_at: float | None = None
    ended_at: float | None = None
    count: int = 1
    result: list[int] | dict[str, Any] | None = None
    error: str | None = None
    soon: bool = True
    anyway: bool = True
    measures: str | None = None
    revision: int = 0
    question: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether it is over, in whatever way."""
        return self.state in ENDED


@dataclass(frozen=True)
class Look:
    """What was last seen of a study: the verdict, the one before it, and the pictures.

    It comes in parts, the verdict first; until the look is `complete`, pictures of the look before stand in for those
    to come: each says after how many `observations` it was made. `troubles` says why a part is missing, by its name.
    `mark` is the same for the same data.
    """

    study: StudyKey
    mark: str
    observations: int
    revision: int
    verdict: Mapping[str, Any] | None = None
    earlier: Mapping[str, Any] | None = None
    pictures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    troubles: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False


@dataclass(frozen=True)
class Part:
    """News of a look: `name` is "verdict", that of a picture, or "end"; `look` is all that is there by now."""

    name: str
    look: Look


def job_json(job: Job) -> dict[str, Any]:
    """A job as plain values, for programs and for pages."""
    return {
        "id": job.id,
        "kind": job.kind,
        "state": job.state,
        "phase": job.phase,
        "created_at": iso(job.created_at),
        "began_at": iso(job.began_at),
        "ended_at": iso(job.ended_at),
        "count": job.count,
        "error": job.error,
    }
