"""The pages of all studies and of one, as their templates need it: from what is recorded and what was computed."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from hentropy.core.spaces import Pool
from hentropy.studies.definition import verdict_units_of
from hentropy.studies.definition.parts import Manual
from hentropy.studies.records import Entry, State
from hentropy.studies.records.outcome import ERROR_COLUMN
from hentropy.views.server.pages.forms import Form, OutcomeField, outcome_fields
from hentropy.views.server.pages.own_form import DesignField, design_fields
from hentropy.views.server.pages.picture_view import PictureTexts, PictureView, picture_views
from hentropy.views.server.pages.rendering import Moment, moment
from hentropy.views.server.pages.trial_view import WORDS, Pending, TableQuery, TrialTablePage, pending, trial_table
from hentropy.views.server.pages.verdict_view import VerdictView, verdict_view
from hentropy.views.server.problems import sentence
from hentropy.views.server.snapshot import Snapshot
from hentropy.views.server.study_list import ListedStudy
from hentropy.views.server.work import Job, Look
from hentropy.views.text.formats import clock, counted, iso, listed, titled
from hentropy.views.text.sentences import (
    assay_sentences,
    conditions_sentences,
    cost_sentences,
    counts,
    decide_on_sentences,
    decided_sentence,
    first_sentence,
    gain_in_words,
    noise_sentences,
    notes_of,
    objective_sentence,
    stop_sentence,
    values_text,
    worth_of,
    worths_of,
)
from hentropy.views.text.trials import how_often, in_short, verdict_json


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


def study_row(study: ListedStudy) -> StudyRow:
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


def _standing(study: ListedStudy) -> tuple[str, str]:
    if study.counts["running"]:
        return f"{counted(study.counts['running'], 'experiment')} pending", "open"
    if study.stopped:
        return f"Finished: {study.stopped}", "ended"
    return "Ready for the next experiment" if study.trials else "Not started", "idle"


PICTURING = "computing pictures"
"""How the phases begin in which the verdict is there already."""


NO_PICTURES = "Pictures are unavailable here for this study."


@dataclass(frozen=True)
class JobView:
    """Work in the background: what it is, what goes on in it, for how many seconds."""

    id: str
    state: str
    title: str
    words: str
    since: int
    alive: bool


@dataclass(frozen=True)
class Forms:
    """The forms of the page, with what was typed into them."""

    told: dict[int, Form] = field(default_factory=dict)
    ask: Form = field(default_factory=lambda: Form({"count": "1"}))
    own: Form = field(default_factory=Form)
    attach: Form = field(default_factory=Form)


@dataclass(frozen=True)
class StudyView:
    """All that the page of a study shows."""

    id: int
    begun: str
    name: str
    decision: str
    computable: str
    verdict: VerdictView | None
    no_verdict: str
    computing: str
    looking: str
    not_renewed: str
    can_look: bool
    worth: str
    predictions: tuple[str, ...]
    """How good the last predictions were."""
    pending: tuple[Pending, ...]
    no_pending: str
    jobs: tuple[JobView, ...]
    jobs_say: str
    ask: Form
    assays: tuple[str, ...]
    """What can be asked for, where the study has assays."""
    ask_key: str
    """The idempotency key of the form that asks: each page has its own, so one form that is sent twice is known."""
    enough: str
    picturing: str
    pictures: tuple[PictureView, ...]
    no_pictures: str
    counts: str
    trials: TrialTablePage
    cost_title: str
    """The label of costs where results come with them, else nothing."""
    plate: str
    own: Form
    own_fields: tuple[DesignField, ...]
    outcome_fields: tuple[OutcomeField, ...]
    attach: Form
    columns: str
    rules: tuple[str, ...]
    sentences: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    made: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Seen:
    """What is known of a study at this moment: recorded, computed, and being computed."""

    snapshot: Snapshot
    look: Look | None
    jobs: Sequence[Job]
    place: str

    @property
    def observations(self) -> int:
        """How many values there are."""
        return sum(entry.trial.state is State.COMPLETE for entry in self.snapshot.entries)

    @property
    def looking(self) -> Job | None:
        """The look that is under way."""
        return next((job for job in self.jobs if job.kind == "look" and not job.ended), None)

    @property
    def failed(self) -> str | None:
        """Why the last look failed, unless there is a newer one."""
        looks = [job for job in self.jobs if job.kind == "look"]
        return looks[-1].error if looks and looks[-1].state == "failed" else None


def study_view(seen: Seen, texts: PictureTexts, how: TableQuery, forms: Forms, now: float) -> StudyView:
    """The page of a study; `now` by the clock of its store."""
    case, looking = seen.snapshot, seen.looking
    record, description = case.record, case.description
    running = [entry for entry in case.entries if entry.trial.state is State.RUNNING]
    pictures = picture_views(seen.look, seen.observations, looking is not None, texts)
    verdict = _verdict(seen)
    jobs = _jobs(seen.jobs)
    return StudyView(
        id=record.id,
        begun=iso(record.created_at) or "",
        name=record.name,
        decision=f"{decided_sentence(description)}.",
        computable=sentence(case.computable) if case.computable else "",
        verdict=verdict,
        no_verdict=_no_verdict(seen),
        computing=_computing(looking),
        looking=looking.id if looking else "",
        not_renewed=_not_renewed(seen) if verdict else "",
        can_look=bool(verdict is None or verdict.behind)
        and seen.observations > 0
        and not looking
        and not case.computable,
        worth=_worth(case, verdict),
        predictions=tuple(case.predictions),
        pending=tuple(pending(entry, case, now, forms.told.get(entry.trial.number, Form())) for entry in running),
        no_pending=_no_pending(case),
        jobs=jobs,
        jobs_say=_jobs_say(seen.jobs),
        ask=forms.ask,
        assays=tuple(case.outcomes.assays),
        ask_key=secrets.token_hex(8),
        enough=sentence(case.enough) if case.enough else "",
        picturing=looking.phase if looking and looking.phase.startswith(PICTURING) else "",
        pictures=tuple(pictures),
        no_pictures=NO_PICTURES if case.computable else "Pictures come with the first verdict.",
        counts=_standing_of(case),
        trials=trial_table(
            case.entries,
            case.columns,
            case.outcomes,
            how,
            case.cost_unit,
            partial(worths_of, description=case.description),
        ),
        cost_title=titled("Cost", case.cost_unit) if case.tells_cost else "",
        plate=_plate(case),
        own=forms.own,
        own_fields=design_fields(case.space),
        outcome_fields=tuple(outcome_fields(case.outcomes).values()),
        attach=forms.attach,
        columns=_file_columns(case),
        rules=(
            *conditions_sentences(case.space),
            *decide_on_sentences(description),
            *noise_sentences(description),
            *assay_sentences(description),
            *cost_sentences(description),
        ),
        sentences=_sentences(case),
        parameters=tuple((name, values_text(parameter)) for name, parameter in case.space.parameters.items()),
        made=_made(seen),
    )


def _standing_of(case: Snapshot) -> str:
    """How many trials there are, what they measured, and what was spent, on one line."""
    often, spent = how_often(case.trials, case.outcomes)[:-1], case.spent[:-1]
    return "; ".join(filter(None, (_counts(case.entries), often, spent[:1].lower() + spent[1:])))


def _verdict(seen: Seen) -> VerdictView | None:
    case, look = seen.snapshot, seen.look
    units, in_words = verdict_units_of(case.description), partial(gain_in_words, case.description)
    if look is not None and look.verdict is not None:
        return verdict_view(look.verdict, look.earlier, case.space, seen.observations, units, in_words)
    if not case.verdicts:
        return None
    *earlier, last = [verdict_json(stored.verdict) for stored in case.verdicts]
    return verdict_view(last, earlier[-1] if earlier else None, case.space, seen.observations, units, in_words)


def _no_verdict(seen: Seen) -> str:
    if not seen.observations:
        return "No results yet, so there is no verdict. Ask for an experiment, run it, and enter its value."
    if seen.failed is not None:
        return f"There is no verdict: {seen.failed}."
    return "There is no verdict yet." if seen.looking is None else "The first verdict is being computed."


def _not_renewed(seen: Seen) -> str:
    return "" if seen.failed is None else f"The verdict could not be updated: {seen.failed}."


def _computing(looking: Job | None) -> str:
    if looking is None or looking.phase.startswith(PICTURING):
        return ""
    return "will be updated" if looking.state == "waiting" else looking.phase


def _worth(case: Snapshot, verdict: VerdictView | None) -> str:
    """Whether another experiment is worth it; what it is worth only where the verdict does not say it."""
    spent = f" {case.spent}" if case.spent else ""
    if case.stopped:
        return f"Finished: {case.stopped}.{spent}"
    if case.enough:
        return f"Running trials will reach the limit: {case.enough}.{spent}"
    gains = [entry.trial for entry in case.entries if entry.trial.gain is not None]
    rule = stop_sentence(case.description)
    if not gains:
        known = "Whether another experiment is worth it will be known after the first designs."
        return " ".join(part for part in (case.to_come, known, rule) if part) + spent
    if verdict is not None and verdict.says_worth:
        return f"{rule}{spent}"
    last = gains[-1]
    worth = f"The last proposed experiment (trial {last.number}) was worth {worth_of(last, case.description)}."
    return f"Is another experiment worth it? {worth} {rule}{spent}"


def _no_pending(case: Snapshot) -> str:
    if case.stopped:
        return f"No experiments pending: {case.stopped}."
    if not isinstance(case.description.objective, Manual):
        return "No experiments running."
    return "No experiments pending. Ask for the next one."


def _plate(case: Snapshot) -> str:
    """What experiments that are asked for together share."""
    shared = case.space.same_in_batch
    return f"All experiments of a batch have the same {listed(shared)}." if shared else ""


def _file_columns(case: Snapshot) -> str:
    """The columns of a file of earlier data; a design of a list is known by its id."""
    space = case.space
    design = [space.id] if isinstance(space, Pool) and space.id is not None else [field.name for field in space.fields]
    values = case.outcomes.measured
    errors = [ERROR_COLUMN.format(name) for name in values if not case.outcomes.words(name)]
    also = f", and {listed(errors)} for standard errors if there are any" if errors else ""
    failed = "Where experiments failed, a column status says so (failed), and a column note why"
    return f"{', '.join([*design, *values])}{also}. {failed}"


def _jobs(jobs: Sequence[Job]) -> tuple[JobView, ...]:
    asked = [job for job in jobs if job.kind == "ask"]
    shown = [job for job in asked if not job.ended or (job is asked[-1] and job.state in ("failed", "cancelled"))]
    return tuple(_job(job) for job in shown)


def _job(job: Job) -> JobView:
    what = counted(job.count, "experiment")
    titles = {"failed": f"No {what} could be asked", "cancelled": "Cancelled"}
    words = {"failed": job.error or "", "cancelled": f"asking for {what}"}.get(job.state, job.phase)
    since = round(max(0.0, time.time() - (job.began_at or job.created_at)))
    return JobView(job.id, job.state, titles.get(job.state, f"Asking for {what}"), words, since, not job.ended)


def _jobs_say(jobs: Sequence[Job]) -> str:
    """What a screen reader says of the work."""
    asked = [job for job in jobs if job.kind == "ask"]
    if not asked:
        return ""
    last = asked[-1]
    if last.state == "done":
        return f"{counted(len(last.result or ()), 'new experiment')} pending."
    view = _job(last)
    return f"{view.title}: {last.error}" if last.state == "failed" else f"{view.title}."


def _counts(entries: Sequence[Entry]) -> str:
    by_state = {state: count for state, count in counts(entries).items() if count}
    return ", ".join(f"{count} {WORDS[State(state)]}" for state, count in by_state.items()) or "none yet"


def _sentences(case: Snapshot) -> tuple[str, ...]:
    description = case.description
    by_hand = isinstance(description.objective, Manual)
    who = "You run the experiments and enter their results." if by_hand else objective_sentence(description)
    course = first_sentence(case.first, description, case.trials)
    notes = (sentence(note) for note in (*notes_of(description, case.first, case.trials), *case.notes))
    return (*notes, course, who, stop_sentence(description))


def _made(seen: Seen) -> tuple[tuple[str, str], ...]:
    record, description = seen.snapshot.record, seen.snapshot.description
    return (
        ("Begun", clock(record.created_at)),
        ("With", ", ".join(f"{name} {version}" for name, version in record.versions.items())),
        ("Seed", str(description.seed)),
        ("Store", seen.place),
    )
