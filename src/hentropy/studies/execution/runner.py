"""`run`: ask, evaluate and tell until the study says stop; the same for one process, many workers, or many machines.

A new experiment is proposed as soon as a worker is free, knowing those that run. Where several workers would wait for
proposals for a notable share of their time, some are made ahead. Trials that lost workers left behind come first.
Whoever runs a study may stop at any moment and be started again; several may run it at once.
"""

import logging
import math
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from hentropy.core.clock import Clock
from hentropy.errors import ExecutionError, Gone, HentropyError, ReadOnly, StorageError
from hentropy.studies.execution.executor import Evaluation, Executor
from hentropy.studies.execution.leases import LeaseObserver, Taken, Terms, finish, give_back, renew
from hentropy.studies.records import State, Trial
from hentropy.studies.storage.turns import every, new_owner
from hentropy.studies.study import Study
from hentropy.studies.study.failures import Failures, has_measured

PATIENCE = 600.0
"""Seconds for which a run waits for a store that does not answer."""

HOLDING = 86_400.0
"""Seconds for which it waits while it holds an outcome that is not recorded yet: experiments are expensive."""

WAITING = 0.02
"""Proposals are made ahead if one takes more than this share of an experiment."""

POLL = 1.0
"""Seconds after which a runner with nothing to do looks again what the others have done."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunListener:
    """Who wants to know what happens: of trials that begin, of those that end, of trouble with the store.

    Trouble is also a result that came late, as somebody else has the trial by now, or that could not be recorded.
    """

    began: Callable[[Trial], None] = lambda trial: None
    ended: Callable[[Trial, Evaluation], None] = lambda trial, outcome: None
    trouble: Callable[[HentropyError], None] = log.warning


def run(study: Study, executor: Executor, terms: Terms | None = None, watch: RunListener | None = None) -> str:
    """Run a study to its end and say why it ended. The executor is closed; trials in hand are given back."""
    study.outcomes.assays.check_by_hand("an objective")
    return _Run(study, executor, terms or Terms(), watch or RunListener()).to_the_end()


class MeanDuration:
    """The mean of the last few durations; zero before the first."""

    def __init__(self, count: int = 8) -> None:
        self._last: deque[float] = deque(maxlen=count)

    def add(self, seconds: float) -> None:
        """One more."""
        self._last.append(seconds)

    @property
    def mean(self) -> float:
        """In seconds."""
        return sum(self._last) / len(self._last) if self._last else 0.0


class _Run:
    def __init__(self, study: Study, executor: Executor, terms: Terms, watch: RunListener) -> None:
        self.study = study
        self.executor = executor
        self.terms = terms
        self.watch = watch
        self.owner = new_owner()
        self.lookout = LeaseObserver(terms)
        self.in_hand: set[int] = set()
        self.held: dict[int, Evaluation] = {}
        """Outcomes that are not recorded yet."""
        self.proposing, self.evaluating = MeanDuration(), MeanDuration()
        self.failures = Failures()
        self.away: Clock | None = None
        """Since when the store has not answered."""
        self.said: set[str] = set()

    def to_the_end(self) -> str:
        with every(self.terms.lease / 3, self._renew):
            try:
                while not self._is_over():
                    self._gather()
            finally:
                try:
                    self._record_last()
                finally:
                    try:
                        self.executor.close()
                    finally:
                        self._give_back()
        return self.study.enough or "nothing is left to do"

    def _renew(self) -> None:
        for number in tuple(self.in_hand):
            renew(self.study.store, self.study.log.record, number, self.owner, self.terms.lease)

    def _give_back(self) -> None:
        """Let others have what is unfinished, at once; if the store does not answer, they get it when leases end."""
        with suppress(StorageError):
            self.study.log.sync()
            mine = [n for n, entry in self.study.log.entries.items() if entry.owner == self.owner]
            for number in mine:
                give_back(self.study, number, self.owner)

    def _is_over(self) -> bool:
        """Begin what can be begun; over is a run with nothing in hand, nothing to begin, and nobody else at work.

        A store that does not answer is waited for, while experiments that run go on.
        """
        try:
            self._begin()
            over = not self.in_hand and bool(self.study.enough) and not self._others_work()
        except (Gone, ReadOnly):
            raise
        except StorageError as error:
            self._endure(error)
            return False
        if not self.held:
            self._answers()
        return over

    def _endure(self, error: StorageError) -> None:
        """Continue for some time while the store does not answer; report each error once."""
        self.away = self.away or Clock()
        if self.away.spent > (HOLDING if self.held else PATIENCE):
            raise error
        if str(error) not in self.said:
            self.said.add(str(error))
            self.watch.trouble(error)

    def _answers(self) -> None:
        self.away = None
        self.said.clear()

    def _others_work(self) -> bool:
        entries = self.study.log.entries.values()
        return any(entry.trial.state is State.RUNNING and entry.lease_until is not None for entry in entries)

    def _begin(self) -> None:
        """Give every free worker a trial, as far as there are any to begin."""
        while len(self.in_hand) < self._places():
            self.study.log.sync()
            trial = self._mine() or self.lookout.claim(self.study, self.owner, self.in_hand) or self._asked()
            if trial is None:
                return
            self.in_hand.add(trial.number)
            self.failures.began(trial)
            self.executor.submit(trial.number, trial.params)
            self.watch.began(trial)

    def _places(self) -> int:
        """How many trials may be in hand: one for each worker, and a few ahead where workers would wait for long.

        A trial made ahead does not know the outcome that frees its worker. One worker alone never has any, so that its
        proposals know all there is.
        """
        workers = self.executor.workers
        waits = self.proposing.mean > WAITING * self.evaluating.mean > 0.0
        return workers + (math.ceil(workers / 4) if workers > 1 and waits else 0)

    def _mine(self) -> Trial | None:
        """A trial that became ours just when the store went away, so that nobody began it."""
        entries = self.study.log.entries.values()
        mine = (entry.trial for entry in entries if entry.owner == self.owner and entry.trial.state is State.RUNNING)
        return next((trial for trial in mine if trial.number not in self.in_hand), None)

    def _asked(self) -> Trial | None:
        """A new trial, unless the study has enough."""
        start = time.monotonic()
        trial = self.study.begin(self.owner, self.terms.lease)
        if trial is not None:
            self.proposing.add(time.monotonic() - start)
        return trial

    def _gather(self) -> None:
        """Wait until something has ended, and record it; where nothing runs, wait for what others do."""
        if self.executor.pending:
            self.held.update(self.executor.wait(POLL))
        else:
            time.sleep(POLL)
        for number, outcome in tuple(self.held.items()):
            try:
                finished = self._recorded(number, outcome)
            except (Gone, ReadOnly):
                raise
            except StorageError as error:
                held = f"{error}; the outcome of trial {number} is held, and recorded once the store answers"
                self._endure(StorageError(held))
                return
            self._answers()
            self.evaluating.add(outcome.seconds)
            if finished.number == number:
                self.watch.ended(finished, outcome)
                self.failures.ended(finished, has_measured(self.study.log.trials))

    def _recorded(self, number: int, outcome: Evaluation) -> Trial:
        """The trial that has an outcome of this worker now, which no longer has to be held."""
        finished = finish(self.study, number, self.owner, outcome, self.terms)
        del self.held[number]
        self.in_hand.discard(number)
        if finished.late:
            self.watch.trouble(Taken(finished.late))
        return finished.trial

    def _record_last(self) -> None:
        """Record what has ended when the run does, by an interrupt or an error; say what cannot be recorded."""
        with suppress(ExecutionError):  # a cluster that is gone
            self.held.update(self.executor.wait(0))
        try:
            for number, outcome in tuple(self.held.items()):
                with suppress(StorageError):
                    self._recorded(number, outcome)
        finally:
            for number, outcome in self.held.items():
                lost = f"the outcome of trial {number} is not recorded, tell it by hand: {outcome}"
                self.watch.trouble(StorageError(lost))
