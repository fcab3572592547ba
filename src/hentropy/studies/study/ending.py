"""When a study has enough: its rules, applied to its trials."""

from collections.abc import Iterable, Sequence

from hentropy.studies.records import Entry, State, Trial
from hentropy.studies.stopping import Standing, StoppingRule

NOTHING_LEFT = "no experiment is expected to improve the decision any more"


def reason_to_stop(
    rules: Iterable[StoppingRule], trials: Sequence[Trial], seconds: float, *, running: bool = False
) -> str | None:
    """What the first rule says that says stop; with `running`, trials that run count as if they had ended."""
    ended = {State.COMPLETE, State.FAILED} | ({State.RUNNING} if running else set())
    count = sum(trial.state in ended and trial.origin != "attached" for trial in trials)
    gains = tuple(trial.gain for trial in trials if trial.gain is not None)
    standing = Standing(count, seconds, gains)
    return next((reason for rule in rules if (reason := rule.reason(standing))), None)


def is_exhausted(entries: Iterable[Entry]) -> bool:
    """Whether the last proposal found nothing left to gain, and nothing was told since that could change that.

    Such a proposal has a gain of exactly zero. If it was run all the same, the one before it must have found nothing
    either: then its value has been looked at, and has changed nothing.
    """
    entries = tuple(entries)
    proposed = [entry for entry in entries if entry.trial.gain is not None]
    if not proposed or proposed[-1].trial.gain != 0:
        return False
    last = proposed[-1]
    if any(_is_news(entry, last) for entry in entries):
        return False
    if last.trial.state is not State.COMPLETE:
        return True
    before = [entry for entry in proposed if entry.asked_at < last.asked_at]
    return bool(before) and before[-1].trial.gain == 0


def _is_news(entry: Entry, last: Entry) -> bool:
    """Whether a value came in, or was corrected, after the last proposal; not those from which nothing was expected."""
    if entry.trial.state is not State.COMPLETE or entry.trial.gain == 0:
        return False
    told = entry.asked_at if entry.ended_at is None else entry.ended_at
    return entry.trial.number > last.trial.number or told > last.asked_at
