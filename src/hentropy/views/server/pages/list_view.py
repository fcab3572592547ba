"""The studies of a store, each in a few words."""

from dataclasses import dataclass

from hentropy.views.server.pages.moments import Moment, moment
from hentropy.views.server.standings import Standing
from hentropy.views.text.formats import counted
from hentropy.views.text.trials import in_short


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


def study_row(study: Standing) -> StudyRow:
    """A study for the list."""
    states = study.counts
    said = [f"{states['complete']} done"]
    said += [f"{states[state]} {state}" for state in ("failed", "withdrawn") if states[state]]
    standing, kind = _standing(study)
    last = study.verdict.verdict if study.verdict else None
    return StudyRow(
        study.record.id,
        study.record.name,
        f"{study.decided}.",
        ", ".join(said),
        standing,
        kind,
        moment(study.last_activity),
        f"{in_short(last)} ({last.stands_on})" if last else "",
    )


def _standing(study: Standing) -> tuple[str, str]:
    if study.counts["running"]:
        return f"{counted(study.counts['running'], 'experiment')} to do", "open"
    if study.stopped:
        return f"Enough: {study.stopped}", "ended"
    return "Ready for the next experiment" if study.trials else "Not begun yet", "idle"
