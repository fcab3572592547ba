"""Trials and verdicts as plain values, and in a few words."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hentropy.studies.outcomes import Computed, Outcomes
from hentropy.studies.records import Comparison, Entry, Observation, Trial, Verdict
from hentropy.studies.records.outcome import Outcome
from hentropy.studies.study.tables import quantile_of
from hentropy.views.text.formats import counted, iso, listed


def as_json(entry: Entry) -> dict[str, Any]:
    """A trial as plain values; predictions with the quantile of their result."""
    trial = entry.trial
    known = {name: {**one.plain(), "quantile": quantile_of(trial, name)} for name, one in trial.predictions.items()}
    return {**trial.plain(), "predictions": known, "asked_at": iso(entry.asked_at), "ended_at": iso(entry.ended_at)}


def values_to_tell(outcomes: Mapping[str, Outcome | Computed], asked: Collection[str] | None = None) -> str:
    """What is typed behind `hentropy tell FILE NUMBER`: VALUE, no|yes, or each outcome that is `asked` by its name."""
    told = {name: "|".join(one.words) or "VALUE" for name, one in outcomes.items() if isinstance(one, Outcome)}
    if len(told) < 2:
        return next(iter(told.values()), "VALUE")
    return " ".join(shlex.quote(f"{name}={value}") for name, value in told.items() if asked is None or name in asked)


def why(trial: Trial, worths: Mapping[int, str]) -> str:
    """What was expected of a trial when it was chosen, in words, by its number; or where it came from."""
    return worths.get(trial.number) or {"first": "first design", "attached": "attached"}.get(trial.origin, "")


def to_measure(trial: Trial, outcomes: Outcomes) -> str:
    """What a trial is to measure, and by which assay; nothing where every trial measures everything."""
    if not trial.measures:
        return ""
    assay = outcomes.assays.name_of(trial.measures)
    return f"{listed(trial.measures)}{f' ({assay})' if assay else ''}"


def not_asked_for(trial: Trial, outcomes: Outcomes) -> str:
    """That more was measured than was asked for, to stand behind the result; nothing if it was not."""
    more = [name for name in trial.measurements if name not in outcomes.assays.asked(trial.measures)]
    was = "was" if len(more) == 1 else "were"
    return (
        f"; {listed(more)} {was} not asked for, and {'counts' if len(more) == 1 else 'count'} as well" if more else ""
    )


def how_often(trials: Sequence[Trial], outcomes: Outcomes) -> str:
    """In how many trials each outcome was measured, in a sentence; nothing where every trial measures everything."""
    if not outcomes.assays:
        return ""
    each = [f"{name} in {sum(name in trial.measurements for trial in trials)}" for name in outcomes.measured]
    return f"Trials that measured {listed(each)}."


def history_json(entry: Entry, told: Sequence[Observation]) -> dict[str, Any]:
    """A trial and all that was ever told of it, as plain values."""
    history = [{**one.plain(), "at": iso(one.at)} for one in told]
    return {**as_json(entry), "history": history}


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain values."""
    return {
        "headline": verdict.headline,
        "worth": verdict.worth,
        "decision": verdict.decision,
        "observations": verdict.observations,
        "failed": verdict.failed,
        "expected_loss": verdict.expected_loss,
        "std_error": verdict.std_error,
        "action": verdict.action,
        "comparison": None if verdict.comparison is None else verdict.comparison.plain(),
    }


def _run(compared: Comparison | None) -> str:
    """Which trial measured a recommended design, to stand behind it."""
    if compared is None:
        return ""
    return f" (trial {', '.join(map(str, compared.trials))})" if compared.trials else " (never run)"


def in_short(verdict: Verdict) -> str:
    """What would be decided, on one line."""
    rows = verdict.action
    if not rows:
        return "nothing"
    if len(rows) == 1:
        cells = zip(verdict.columns, verdict.cells[0], strict=True)
        said = ", ".join(
            f"{name} {text}{f' {unit}' if (unit := verdict.units.get(name)) else ''}" for name, text in cells
        )
        return f"{said}{_run(verdict.comparison)}"
    # what to doubt follows in sentences of its own
    return verdict.headline.partition(". ")[0].removesuffix(".") or counted(len(rows), "row")
