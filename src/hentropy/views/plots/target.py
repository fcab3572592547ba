"""The experiment that pictures speak of: the one waited for or the next one, valued carefully by what is known today.

A gain compares what would be decided after an outcome with today's best action. If a better action of today is met
while designs are valued, it takes the place of the old one first, or every design would seem to gain the difference.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from hentropy.core.beliefs import Belief
from hentropy.core.decisions.headlines import known
from hentropy.core.entropy import Entropy
from hentropy.core.gain import Appraisal, Effort
from hentropy.core.solvers import Proposal, observing
from hentropy.core.solvers.propose import AUDIT_SEED
from hentropy.core.spaces import DesignSpace
from hentropy.errors import StudyError
from hentropy.studies.outcomes import Calibrated
from hentropy.studies.records import State, Trial
from hentropy.studies.study import Study
from hentropy.studies.study.rules import in_words_of, stands
from hentropy.views.plots.fields import can_run, in_words, seen, varied, varying
from hentropy.views.plots.marks import IN_WORDS

ROUGH = Effort(replicates=2, outcomes=8, steps=8)
CAREFUL = Effort(replicates=8, outcomes=32, steps=12)
SEARCH_ROUNDS = 3
DESIGNS_AROUND = 12


@dataclass(frozen=True)
class NextExperiment:
    """The experiment that is explained: its design (d), its number if it was asked, its gain today with its error.

    `fields` (F) are the places of the design along axes. `weighed` is what counted besides the gain when it was chosen,
    in words, or nothing. While `left` of the `first` designs that fill the space are still to be asked, an experiment
    without a number is not the next one, but the one that is best by gain.
    """

    design: np.ndarray
    fields: np.ndarray
    words: str
    number: int | None
    gain: float
    error: float
    exact: bool
    weighed: str
    left: int
    first: int
    ended: bool = False
    """Whether the study has ended, so that nothing is asked next."""
    worth: str = field(default="", metadata=IN_WORDS)
    """The gain in the words of the decision: about 0.4 % yield."""

    @property
    def is_next(self) -> bool:
        """Whether it would be asked next, and was not asked yet."""
        return self.number is None and self.left == 0 and not self.ended


@dataclass(frozen=True)
class Explained:
    """The target, None where nothing is left to ask, and what values other designs as it was valued.

    `actions` (m x event) are best after some outcome of some design; none where actions are not searched.
    """

    target: NextExperiment | None
    appraisal: Appraisal
    actions: Tensor | None


def explained(study: Study, found: Entropy, belief: Belief, trials: Sequence[Trial], seed: int) -> Explained:
    """The newest proposed experiment that is waited for, or the next one; gains add to the others waited for.

    `found` is what would be decided today.
    """
    space, log = study.space, study.log.entries
    running = [trial for trial in trials if trial.state is State.RUNNING]
    proposal: Proposal | None = None
    asked = next((trial for trial in reversed(running) if trial.origin == "proposed"), None)
    others = [trial for trial in running if trial is not asked]
    pending = torch.stack([space.encode(trial.params) for trial in others]) if others else None
    row: Tensor | None
    measures: tuple[str, ...]
    if asked is not None:
        row, measures = space.encode(asked.params), asked.measures
    else:
        proposal = _next(study, belief)
        row, measures = (None, ()) if proposal is None else (proposal.x[0], proposal.measures)
    view, assays = belief, study.outcomes.assays
    if assays:
        each = [assays.asked(trial.measures) for trial in others]
        view, pending = observing(found.decision, belief, measures or assays.everything, pending, each)
    prepared = Appraisal.prepare(
        found.decision, view, space, pending=pending, seed=seed, decide_on=study.decide_on, success=study.success
    )
    appraisal = _improved(prepared, found.action)
    appraisal = appraisal if proposal is None else _improved(appraisal, proposal.action)
    appraisal, actions = with_best_today(appraisal, row)
    if row is None:
        return Explained(None, appraisal, actions)
    x = row.to(belief.X).view(1, 1, -1)
    audit = appraisal.audit(x, seed + AUDIT_SEED, None if appraisal.applicable(1) else CAREFUL)
    if audit.least is not None and actions is not None:
        actions = torch.cat([audit.least.actions.flatten(0, 1), actions])
    gain, states = appraisal.expected(audit.gain, x, audit.search), [trial.state for trial in trials]
    value, error, exact = float(gain.value), float(gain.std_error), gain.exact
    # what was said when it was asked, or would be said if it were asked now, is said here too
    if proposal is not None:
        value, error, exact = proposal.gain, proposal.std_error, proposal.exact
    elif asked is not None and asked.gain is not None and stands(log.values(), log[asked.number]):
        value, error, exact = asked.gain, asked.gain_error or 0.0, not asked.gain_error
    weighed = {"costs": study.costs.are_known, "failures": State.FAILED in states and study.success is None}
    target = NextExperiment(
        design=row.cpu().numpy(),
        fields=seen(space, row),
        words=in_words(space, row),
        number=None if asked is None else asked.number,
        gain=value,
        error=error,
        exact=exact,
        weighed=" and ".join(word for word, counts in weighed.items() if counts),
        left=max(0, study.first - states.count(State.RUNNING) - states.count(State.COMPLETE)),
        first=study.first,
        ended=asked is None and study.log.stopped() is not None,
        worth=in_words_of(study.decision, study.outcomes.about(study.decided), max(0.0, value), error),
    )
    return Explained(target, replace(appraisal, search=audit.search), actions)


def gain_words(target: NextExperiment) -> str:
    """The gain in the words of the decision; with its error, which is one of the computation and said to be."""
    if target.exact or target.error <= 1e-9 * abs(target.gain):  # a sum over grades has none
        return target.worth
    amount, error = known(target.gain, target.error), known(target.error, target.error)
    return f"{target.worth} ({amount} ± {error} of expected loss: the error of the computation, by random draws)"


def filling_words(target: NextExperiment) -> str:
    """That the next experiments are chosen to fill the space."""
    left = "is" if target.left == 1 else "are"
    return f"The next ones fill the space ({target.left} of {target.first} first designs {left} left)"


def _improved(appraisal: Appraisal, action: object) -> Appraisal:
    """With an action as today's if it is better than the one known."""
    if not isinstance(action, Tensor) or appraisal.applicable(1) is not None:
        return appraisal
    return replace(appraisal, search=appraisal.search.improved_by(action.to(appraisal.belief.X)[None, None]))


def _next(study: Study, belief: Belief) -> Proposal | None:
    """The design that would be asked by its gain, searched as `ask` does; None where nothing is left to ask."""
    try:
        # other outcomes that tell of those decided on are not in pictures
        if study.fitting.also:
            return replace(study.asker, calibrated=lambda: Calibrated(belief)).propose(1)
        return study.propose()
    except StudyError:  # every row of a pool failed, or was measured without noise
        return None


def with_best_today(appraisal: Appraisal, row: Tensor | None) -> tuple[Appraisal, Tensor | None]:
    """The appraisal with the best action of today that some designs lead to, and the best actions after outcomes.

    The designs are the row (d), others that differ from it in one parameter, and designs that fill the space. They are
    valued again while that finds a better action of today.
    """
    if appraisal.applicable(1) is not None:
        return appraisal, None
    x = _designs_around(appraisal.space, row, appraisal.seed).to(appraisal.belief.X).unsqueeze(-2)
    size = min(len(x), appraisal.rows(ROUGH.replicates * ROUGH.outcomes, 1))
    actions: list[Tensor] = []
    for round_ in range(SEARCH_ROUNDS):
        before = appraisal.search
        for part in x.split(size):
            audit = appraisal.audit(part, appraisal.seed + AUDIT_SEED + 17 + round_, ROUGH)
            appraisal = replace(appraisal, search=audit.search)
            if audit.least is not None and audit.least.actions is not audit.least.loss:
                actions.append(audit.least.actions.flatten(0, 1))
        if appraisal.search is before:
            break
    return appraisal, torch.cat(actions) if actions else None


def _designs_around(space: DesignSpace, row: Tensor | None, seed: int) -> Tensor:
    """Designs that fill the space and, around a row (d), designs that differ from it in one field: m x d."""
    filling = space.sample(DESIGNS_AROUND, seed + 5)
    fields = varying(space)
    if row is None or space.points is not None or not fields:
        return filling
    count = max(DESIGNS_AROUND, 2 * len(fields))
    values = torch.from_numpy(seen(space, space.sample(count, seed + 6)))
    own = [fields[place % len(fields)] for place in range(count)]
    others = torch.cat([varied(space, row.cpu()[None], {i: values[k : k + 1, i]}) for k, i in enumerate(own)])
    return torch.cat([row.unsqueeze(0), others[can_run(space, others)].to(row), filling.to(row)])
