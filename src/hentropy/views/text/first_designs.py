"""The first designs in words: how many there are and why, and how many are still to come."""

from collections.abc import Sequence

from hentropy.core.spaces import usual_first
from hentropy.studies.records import State, Trial
from hentropy.studies.study.asking import first_left
from hentropy.studies.study.book import in_state
from hentropy.views.text.formats import counted


def why_so_many(first: int, parameters: int) -> str:
    """Why there are so many first designs."""
    return f"the default for {counted(parameters, 'parameter')}" if first == usual_first(parameters) else "as given"


def to_come(first: int, parameters: int, trials: Sequence[Trial]) -> str:
    """How many first designs are still to come and why, in one sentence; nothing once they are all out."""
    left = first_left(first, trials)
    if left == 0:
        return ""
    why = why_so_many(first, parameters)
    begun = in_state(trials, State.RUNNING, State.COMPLETE)
    if not begun:
        return f"The first {counted(first, 'design')} fill the space ({why})."
    earlier = sum(trial.origin == "attached" for trial in begun)
    asked = len(begun) - earlier
    parts = [counted(earlier, "earlier measurement")] * bool(earlier) + [f"{asked} asked"] * bool(asked)
    are, count = "is" if left == 1 else "are", "counts" if len(begun) == 1 else "count"
    return (
        f"{counted(left, 'first design')} {are} still to come: {first} in all ({why}), {' and '.join(parts)} {count}."
    )
