"""A process in a session of its own, spoken to in lines; it and all it has started can be ended at any moment.

Nothing here waits without end for a pipe: something that the process has started may hold it open for ever.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence

from hentropy.studies.execution.executor import TAIL

SLICE = 0.1
"""Seconds after which to look whether the process is still there, whatever its pipes say."""
GRACE = 1.0
"""Seconds in which what an ended process had written is read to its end."""
CHUNK = 65_536
KEPT = 4 * TAIL
"""Bytes of standard error that are kept: a character takes up to four."""


class UnheardError(EOFError):
    """The process ended before it took up the question: nothing has begun."""


class Piped:
    """A running process; one line in, an empty line when it is taken up, one line out.

    What the process writes to standard error meanwhile is its log.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            arguments, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._pipes = (stdin, stdout, stderr)
        self._in, self._out, self._err = stdin.fileno(), stdout.fileno(), stderr.fileno()
        for descriptor in (self._in, self._out, self._err):
            os.set_blocking(descriptor, False)
        self._log = bytearray()

    @property
    def pid(self) -> int:
        """The number of the process, which is also that of its group."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.poll() is None

    @property
    def log(self) -> str:
        """The end of what was written to standard error since the last question."""
        return self._log.decode(errors="replace")[-TAIL:]

    def ask(self, line: bytes, deadline: float | None) -> bytes:
        """The answer to a line; a `TimeoutError` past the deadline, an `EOFError` if the process ends first.

        It is an `UnheardError` if the process ended before it took up the line.
        """
        del self._log[:]
        question, answer = memoryview(line), bytearray()
        gone: float | None = None
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_WRITE)
            selector.register(self._out, selectors.EVENT_READ)
            selector.register(self._err, selectors.EVENT_READ)
            while answer.count(b"\n") < 2:
                now = time.monotonic()
                if deadline is not None and now >= deadline:
                    raise TimeoutError
                if gone is None and not self.alive:
                    gone = now
                left = SLICE if deadline is None else min(SLICE, deadline - now)
                ready = [key.fd for key, _ in selector.select(left if gone is None else 0)]
                if gone is not None and (not ready or now > gone + GRACE):
                    raise EOFError if answer else UnheardError
                if self._in in ready:
                    question = question[self._write(question) :]
                    if not question:
                        selector.unregister(self._in)
                if self._out in ready:
                    chunk = self._read(self._out)
                    answer += chunk
                    if not chunk:
                        selector.unregister(self._out)
                if self._err in ready and not self._hear():
                    selector.unregister(self._err)
        self._drain()
        return bytes(answer).strip()

    def kill(self) -> None:
        """End the process and all that belongs to its group, from any thread."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # all are gone, or only not yet waited for
            os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> int:
        """End it, read the rest of its log, and close the pipes; the exit code, negative for a signal."""
        self.kill()
        code = self._process.wait()
        self._drain()
        for pipe in self._pipes:
            pipe.close()
        return code

    def _drain(self) -> None:
        """Read what is in the log's pipe already, but not for ever."""
        until = time.monotonic() + GRACE
        with contextlib.suppress(BlockingIOError):
            while self._hear() and time.monotonic() < until:
                pass

    def _hear(self) -> bool:
        """Read from the log; False at its end."""
        chunk = os.read(self._err, CHUNK)
        self._log += chunk
        del self._log[:-KEPT]
        return bool(chunk)

    def _read(self, descriptor: int) -> bytes:
        try:
            return os.read(descriptor, CHUNK)
        except OSError:
            return b""

    def _write(self, data: memoryview) -> int:
        """How much of it is dealt with: all of it, if nobody reads any more."""
        try:
            return os.write(self._in, data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)
