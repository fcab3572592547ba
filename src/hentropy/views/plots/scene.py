"""What pictures are made of: a study in its current state, with what is known and what would be decided."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from hentropy.core.beliefs import Belief
from hentropy.core.decisions import Decision
from hentropy.core.entropy import Entropy, check_fit, entropy
from hentropy.core.failures import restricted
from hentropy.core.spaces import DesignSpace
from hentropy.studies.records import State, StoredVerdict, Trial, Verdict
from hentropy.studies.stopping import StoppingRule
from hentropy.studies.study import Study
from hentropy.views.plots.target import Explained, explained


@dataclass(frozen=True)
class Scene:
    """A study in its current state: all trials, what is known, the Bayes action (`found`), what was decided.

    `belief` is about the outcome that pictures show, `whole` about all that the decision looks at.
    """

    space: DesignSpace
    decision: Decision
    belief: Belief
    whole: Belief
    found: Entropy
    trials: tuple[Trial, ...]
    verdicts: tuple[StoredVerdict, ...]
    stop: tuple[StoppingRule, ...]
    seed: int
    study: Study
    shown: str = ""
    """The outcome that is looked at, if not the first one."""

    @property
    def action(self) -> Any:
        """The Bayes action, whose expected loss is the entropy."""
        return self.found.action

    @cached_property
    def recommended(self) -> Any:
        """What is recommended: the Bayes action, or a measured design in its place."""
        given = self.study.recommended(self.found)
        return self.found.action if given is None else given.design.action.to(self.found.action)

    @property
    def judged(self) -> Belief:
        """What the loss looks at: of a probability maybe its probit."""
        return self.decision.looked_at(self.whole)

    @cached_property
    def priced(self) -> Decision:
        """The decision, with what failures cost once some experiments have failed."""
        success = self.study.success
        if success is None:
            return self.decision
        return restricted(self.decision, self.judged, self.study.decide_on, success)[0]

    @property
    def outcome(self) -> str:
        """The outcome that pictures of values show: the first one that the decision looks at and that is measured."""
        return self.shown or self.study.fitting.measured[0]

    @property
    def title(self) -> str:
        """What the values are called that pictures show: the outcome as it is modelled, with its unit."""
        outcomes, name = self.study.outcomes, self.outcome
        if event := outcomes.quantities[name].event:
            return f"probability of {event}"
        return f"ln {name}" if outcomes.is_log(name) else outcomes.titles[name]

    def within_bounds(self, values: np.ndarray, outcome: str = "") -> np.ndarray:
        """Expected values or quantiles of an outcome as it is modelled, no further than it can be."""
        return np.clip(values, *self.study.outcomes.modelled_bounds(outcome or self.outcome))

    def about(self, outcome: str) -> "Scene":
        """The same scene, looked at for another outcome."""
        return replace(self, belief=self.whole.of(outcome).alone(), shown=outcome)

    @property
    def place(self) -> int:
        """Its place among the outcomes of the decision."""
        return self.study.decided.index(self.outcome)

    @cached_property
    def explained(self) -> Explained:
        """The experiment waited for, or the next one, with its gain: computed once for all pictures of this scene."""
        return explained(self.study, self.found, self.whole, self.trials, self.seed)

    def rows(self, trials: Sequence[Trial]) -> Tensor:
        """The designs of trials: n x d."""
        return self.study.space.encode_many([trial.params for trial in trials]) if trials else self.belief.X[:0]

    def in_state(self, *states: State) -> tuple[Trial, ...]:
        """The trials that are in one of some states."""
        return tuple(trial for trial in self.trials if trial.state in states)


def scene_of(study: Study, verdict: Verdict | None = None) -> Scene:
    """The current state of the study; a `StudyError` while nothing has been told.

    A `verdict` that the study has just reached spares the search for the best action.
    """
    whole = study.belief
    if verdict is None:
        found = entropy(
            study.decision, whole, study.space, seed=study.seed, decide_on=study.decide_on, success=study.success
        )
    else:
        decision, _ = check_fit(study.decision, whole, study.decide_on)
        bayes = verdict.raw if verdict.bayes is None else verdict.bayes
        found = Entropy(verdict.expected_loss, verdict.std_error, bayes, decision)
    verdicts = study.store.verdicts(study.log.record)
    belief = whole.of(study.fitting.measured[0]).alone()
    return Scene(
        study.space, found.decision, belief, whole, found, study.log.trials, verdicts, study.stop, study.seed, study
    )
