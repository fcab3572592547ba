"""The near side of a child process: asks it for outcomes, and ends it when it takes too long."""

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hentropy.studies.execution.executor import Evaluation, Evaluator, failure
from hentropy.studies.execution.piped import Piped
from hentropy.studies.execution.reading import ending

SCRIPT = Path(__file__).with_name("call.py")
OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals that come from elsewhere: who ends by one of these is not to blame. A crash has other signals."""

Reader = Callable[[dict[str, Any], str], Evaluation]


class Child(Evaluator):
    """Evaluates in a process of its own, which is started when it is first needed, and again when it is gone.

    `arguments` are those of `call.py`, and `read` makes an outcome of its answer and the log. One that is not `lasting`
    gets a new process for each evaluation, so that nothing that was started in one outlives it.
    """

    def __init__(self, arguments: tuple[str, ...], read: Reader, timeout: float | None, lasting: bool) -> None:
        self._arguments = arguments
        self._read = read
        self._timeout = timeout
        self._lasting = lasting
        self._turn = threading.Lock()  # held through an evaluation
        self._state = threading.Lock()  # held only for moments, for the two below
        self._process: Piped | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The number of the process that is there now."""
        with self._state:
            return self._process.pid if self._process else None

    def evaluate(self, params: Mapping[str, Any]) -> Evaluation:
        """The outcome of one experiment; a process that disappears makes it lost, one that is too slow failed."""
        began = time.monotonic()
        with self._turn:
            outcome = self._evaluate(params, began)
        return replace(outcome, seconds=time.monotonic() - began)

    def close(self) -> None:
        """End the process and all it has started; later evaluations are lost."""
        with self._state:
            self._closed = True
            if self._process is not None:
                self._process.kill()
        with self._turn:
            self._end()

    def _evaluate(self, params: Mapping[str, Any], began: float) -> Evaluation:
        try:
            question = json.dumps(dict(params), allow_nan=False, default=_plain).encode()
        except (TypeError, ValueError) as error:
            return failure(f"the parameters {dict(params)!r} cannot be written as JSON: {error}")
        idle = self._process is not None
        try:
            process = self._started()
        except OSError as error:
            return failure(f"a worker process could not be started: {error}", lost=True)
        if process is None:
            return _stopped()
        deadline, taken_up = None if self._timeout is None else began + self._timeout, False
        try:
            process.send(question)
            process.receive(deadline)
            taken_up = True
            answer = json.loads(process.receive(deadline))
        except TimeoutError:
            self._end()
            return replace(failure(f"did not end within {self._timeout:g} s"), log=process.log)
        except EOFError:
            if idle and not taken_up:  # it went while it had nothing to do: nothing is lost
                self._end()
                return self._evaluate(params, began)
            return replace(self._gone(self._end()), log=process.log)
        except BaseException:  # an interrupt: nothing may go on behind our back
            self._end()
            raise
        if not self._lasting:
            self._end()
        return replace(self._read(answer, process.log), log=process.log)

    def _started(self) -> Piped | None:
        """The process; None if this evaluator is closed."""
        with self._state:
            if self._closed:
                return None
            if self._process is None:
                self._process = Piped([sys.executable, "-u", str(SCRIPT), *self._arguments])
            return self._process

    def _end(self) -> int:
        with self._state:
            process, self._process = self._process, None
        return process.end() if process else 0

    def _gone(self, code: int) -> Evaluation:
        if self._closed:
            return _stopped()
        why = f"the worker process ended ({ending(code)}) in the middle of the evaluation"
        if -code in OUTSIDE:
            return failure(f"{why}; somebody ended it, or it was out of memory", lost=True)
        return failure(f"{why}; the experiment itself crashed or ended it")


def _stopped() -> Evaluation:
    return failure("the evaluation was stopped before it ended", lost=True)


def _plain(value: Any) -> Any:
    """Numbers of numpy as JSON has them."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is of {type(value).__name__}")
