"""What pictures are made of: a study as it stands, with what is known and what would be decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from hentropy.core.beliefs import Belief
from hentropy.core.decisions import Decision
from hentropy.core.entropy import Entropy, entropy
from hentropy.core.spaces import DesignSpace
from hentropy.studies.records import State, StoredVerdict, Trial, Verdict
from hentropy.studies.stopping import StoppingRule
from hentropy.studies.study import Study
from hentropy.views.plots.target import Explained, explained


@dataclass(frozen=True)
class Scene:
    """A study as it stands: all trials, what is known (`belief`) and would be decided (`found`), what was decided."""

    space: DesignSpace
    decision: Decision
    belief: Belief
    found: Entropy
    trials: tuple[Trial, ...]
    verdicts: tuple[StoredVerdict, ...]
    stop: tuple[StoppingRule, ...]
    seed: int
    study: Study

    @property
    def action(self) -> Any:
        """What would be decided."""
        return self.found.action

    @cached_property
    def explained(self) -> Explained:
        """The experiment waited for, or the next one, with its gain: computed once for all pictures of this scene."""
        return explained(self.study, self.found, self.belief, self.trials, self.seed)

    def rows(self, trials: Sequence[Trial]) -> Tensor:
        """The designs of trials: n x d."""
        return self.study.space.encode_many([trial.params for trial in trials]) if trials else self.belief.X[:0]

    def in_state(self, *states: State) -> tuple[Trial, ...]:
        """The trials that are in one of some states."""
        return tuple(trial for trial in self.trials if trial.state in states)


def scene_of(study: Study, verdict: Verdict | None = None) -> Scene:
    """The study as it stands now; a `StudyError` while nothing has been told.

    A `verdict` that the study has just reached spares the search for the best action.
    """
    belief = study.belief
    if verdict is None:
        found = entropy(study.decision, belief, study.decide_on, seed=study.seed)
    else:
        decision = study.decision.within(study.decide_on)
        found = Entropy(verdict.expected_loss, verdict.std_error, verdict.raw, decision)
    verdicts = study.store.verdicts(study.log.record)
    return Scene(study.space, found.decision, belief, found, study.log.trials, verdicts, study.stop, study.seed, study)
