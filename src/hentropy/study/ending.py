"""When a study has enough: its rules, applied to its trials."""

from collections.abc import Iterable, Sequence

from hentropy.records import State, Trial
from hentropy.stopping import Standing, StoppingRule


def reason_to_stop(
    rules: Iterable[StoppingRule], trials: Sequence[Trial], seconds: float, *, running: bool = False
) -> str | None:
    """What the first rule says that says stop; with `running`, trials that run count as if they had ended."""
    ended = {State.COMPLETE, State.FAILED} | ({State.RUNNING} if running else set())
    count = sum(trial.state in ended and trial.origin != "attached" for trial in trials)
    gains = tuple(trial.gain for trial in trials if trial.gain is not None)
    standing = Standing(count, seconds, gains)
    return next((reason for rule in rules if (reason := rule.reason(standing))), None)
