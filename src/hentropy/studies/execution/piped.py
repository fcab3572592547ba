"""A process in a session of its own, spoken to in lines; it and all it has started can be ended at any moment.

Those who evaluate experiments use it, and the server for what it computes. Nothing here waits without end for a pipe:
something that the process has started may hold it open for ever.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

from hentropy.studies.execution.executor import TAIL

SLICE = 0.1
"""Seconds after which to look whether the process is still there, whatever its pipes say."""
STOPPED = 2.0
"""Seconds between two such looks after which this process must have been stopped."""
GRACE = 1.0
"""Seconds in which what an ended process had written is read to its end."""
CHUNK = 65_536
KEPT = 4 * TAIL
"""Bytes of standard error that are kept: a character takes up to four."""


class Piped:
    """A running process that takes lines and says lines.

    What it writes to standard error is its `log`, or goes where that of this process goes if the log is not `kept`.
    """

    def __init__(
        self, arguments: Sequence[str], *, kept: bool = True, environment: Mapping[str, str] | None = None
    ) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            arguments,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe if kept else None,
            bufsize=0,
            start_new_session=True,  # interrupts of the terminal are not its business
            env=environment,
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        self._pipes = [one for one in (stdin, stdout, stderr) if one is not None]
        self._in, self._out = stdin.fileno(), stdout.fileno()
        self._err = None if stderr is None else stderr.fileno()
        for one in self._pipes:
            os.set_blocking(one.fileno(), False)
        self._to_say = memoryview(b"")
        self._heard = bytearray()
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
        """The end of what was written to standard error since the last line was sent."""
        return self._log.decode(errors="replace")[-TAIL:]

    def send(self, line: bytes) -> None:
        """Have a line written as soon as the process reads, which is while something is received."""
        del self._log[:]
        self._to_say = memoryview(bytes(self._to_say) + line + b"\n")

    def receive(self, deadline: float | None = None) -> bytes:
        """The next line; a `TimeoutError` past the deadline, an `EOFError` if the process ends first.

        Time in which this process was stopped, and the other one probably with it, does not count.
        """
        gone: float | None = None
        seen = time.monotonic()
        with selectors.DefaultSelector() as selector:
            for pipe in self._pipes:
                if pipe.fileno() != self._in:
                    selector.register(pipe, selectors.EVENT_READ)
            if self._to_say:
                selector.register(self._in, selectors.EVENT_WRITE)
            while b"\n" not in self._heard:
                now = time.monotonic()
                if deadline is not None and now - seen > STOPPED:
                    deadline += now - seen
                seen = now
                if gone is None and not self.alive:
                    gone = now
                left = SLICE if deadline is None else min(SLICE, max(0.0, deadline - now))
                ready = [key.fd for key, _ in selector.select(left if gone is None else 0)]
                if gone is not None and (not ready or now > gone + GRACE):
                    raise EOFError
                if self._in in ready:
                    self._to_say = self._to_say[self._write(self._to_say) :]
                    if not self._to_say:
                        selector.unregister(self._in)
                if self._out in ready:
                    chunk = self._read(self._out)
                    self._heard += chunk
                    if not chunk:
                        selector.unregister(self._out)
                if self._err in ready and not self._hear():
                    selector.unregister(self._err)
                # only now: an answer that was there in time counts, also if this process was stopped meanwhile
                if deadline is not None and now >= deadline and b"\n" not in self._heard:
                    raise TimeoutError
        self._drain()
        line, _, rest = self._heard.partition(b"\n")
        self._heard = rest
        return bytes(line)

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
        chunk = b"" if self._err is None else os.read(self._err, CHUNK)
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
