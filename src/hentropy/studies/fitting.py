"""How a study fits its model to the outcomes that its decision looks at."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hentropy.core.beliefs import Belief, Graded
from hentropy.core.beliefs.known import Known
from hentropy.core.beliefs.several import Part, Several
from hentropy.core.models import fit_outcomes
from hentropy.core.models.own import Model, ModelData, believed
from hentropy.errors import Advice, InputError, StudyError
from hentropy.lazy import Tensor
from hentropy.studies.outcomes import Computed, Outcomes
from hentropy.studies.records import Trial


@dataclass(frozen=True)
class Fitting:
    """How a study fits its model: to which outcomes, with which treatment of the hyperparameters and seed.

    `names` are the outcomes that are decided on. `also` are others that may tell of them, once they were measured.
    """

    outcomes: Outcomes
    names: tuple[str, ...]
    hyperparameters: Any
    seed: int
    also: tuple[str, ...] = ()
    model: Model | None = None
    device: Any = None

    def __post_init__(self) -> None:
        if self.model is None:
            return
        if not callable(self.model):
            raise InputError(f"the model is {self.model!r}; it must be a function from he.ModelData to a belief")
        if len(self.names) > 1:
            raise InputError(f"a model of your own is about one outcome; the decision looks at {', '.join(self.names)}")
        if self.outcomes.words(self.names[0]) or self.outcomes.is_log(self.names[0]):
            raise InputError(
                f"a model of your own is given numbers as they are told; let {self.names[0]} be an Outcome without"
                " log, kind or grades, and transform its values in the model"
            )
        if self.hyperparameters != "auto":
            raise InputError("hyperparameters are those of the model that a study fits itself; leave them out")

    @property
    def measured(self) -> tuple[str, ...]:
        """The outcomes that are decided on and measured; the others are computed."""
        return tuple(name for name in self.names if name in self.outcomes.measured)

    def told(self, trials: Sequence[Trial]) -> tuple[Trial, ...]:
        """The trials in which something was measured that the model is of."""
        names = (*self.measured, *self.also)
        return tuple(trial for trial in trials if any(name in trial.measurements for name in names))

    def is_known(self, trials: Sequence[Trial]) -> bool:
        """Whether each of them was measured at least once."""
        return all(any(name in trial.measurements for trial in trials) for name in self.measured)

    def belief(
        self, trials: Sequence[Trial], row_of: Callable[[Trial], Tensor], earlier: Belief | None = None
    ) -> Belief:
        """The belief about the outcomes: of one its own, of several one beside the other.

        `earlier`, the belief after the first of these trials, spares some of the work and changes nothing.
        """
        missing = [name for name in self.measured if not any(name in trial.measurements for trial in trials)]
        if missing:
            what = "nothing has been told yet" if len(self.names) == 1 else f"{missing[0]} was never measured"
            raise StudyError(f"{what}, so nothing is known", Advice.ASK_AND_TELL, between=": ")
        also = tuple(name for name in self.also if any(name in trial.measurements for trial in trials))
        names = (*self.measured, *also)
        observed = self.outcomes.observed(names, trials, row_of)
        if self.model is not None:
            data = ModelData(observed.X, observed.Y[:, 0], self.outcomes.space, observed.noise(0), self.seed)
            return believed(self.model, data, self.measured[0])
        fitted = fit_outcomes(
            observed.X,
            observed.Y,
            names,
            noise={name: observed.noise(i) for i, name in enumerate(names)},
            grades={name: grades for name in names if (grades := self.outcomes.grades(name))},
            space=self.outcomes.space,
            hyperparameters=self.hyperparameters,
            seed=self.seed,
            earlier=earlier,
            device=self.device,
        )
        own = fitted.parts if isinstance(fitted, Several) else (fitted,)
        parts = tuple(self._with_logs(part) for part in own) + tuple(
            Known(fitted.X[:0], partial(one.at, self.outcomes.space), (name,))
            for name in self.names
            if isinstance(one := self.outcomes.by_name[name], Computed)
        )
        every = (*self.names, *also)
        return parts[0] if len(every) == 1 else Several(parts, every)

    def _with_logs(self, part: Part) -> Part:
        """Values come as they are modelled: here is said which of them are logarithms."""
        logs = frozenset(name for name in part.outcomes if self.outcomes.is_log(name))
        return part if isinstance(part, Known | Graded) else replace(part, logs=logs)
