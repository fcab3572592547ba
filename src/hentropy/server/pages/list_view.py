"""The studies of a store, each in a few words."""

from dataclasses import dataclass

from hentropy.plain.formats import counted
from hentropy.plain.sentences import decided_sentence
from hentropy.plain.standing import counts, last_activity
from hentropy.plain.verdicts import in_short
from hentropy.server.cases import Case
from hentropy.server.pages.moments import Moment, moment


@dataclass(frozen=True)
class StudyRow:
    """A study in the list; `kind` is how its standing is coloured."""

    id: int
    name: str
    decision: str
    counts: str
    standing: str
    kind: str
    last: Moment
    verdict: str


def study_row(case: Case) -> StudyRow:
    """A study for the list."""
    states = counts(case.entries)
    said = [f"{states['complete']} done"]
    said += [f"{states[state]} {state}" for state in ("failed", "withdrawn") if states[state]]
    standing, kind = _standing(case, states["running"])
    last = case.verdicts[-1].verdict if case.verdicts else None
    return StudyRow(
        case.record.id,
        case.record.name,
        f"{decided_sentence(case.description)}.",
        ", ".join(said),
        standing,
        kind,
        moment(last_activity(case.entries, case.record.created_at)),
        f"{in_short(last)} ({last.stands_on})" if last else "",
    )


def _standing(case: Case, running: int) -> tuple[str, str]:
    if running:
        return f"{counted(running, 'experiment')} to do", "open"
    if case.stopped:
        return f"Enough: {case.stopped}", "ended"
    return "Ready for the next experiment" if case.entries else "Not begun yet", "idle"
