"""The near side of a child process that computes: it is handed jobs and speaks in messages of JSON.

The store's URL, which may hold a password, goes through the pipe: arguments and environment can be read by others.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import Pipe
from typing import Any

from hentropy.views.server.work import Kind

NICE = 10
"""How much the process that looks gives way to others, from its start on."""


class Child:
    """A process of its own, which ends when this one does, and can be killed at any moment.

    `start` says where the store is and how much memory the process may take.
    """

    def __init__(self, start: Mapping[str, Any], kind: Kind) -> None:
        self._pipe, far = Pipe()
        # modules of the current folder are not to be imported: -P; interrupts of the terminal are not its business
        command = [sys.executable, "-P", "-m", "hentropy.views.server.worker", str(far.fileno())]
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=(far.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
        except BaseException:
            self._pipe.close()
            raise
        finally:
            far.close()
        self.pid = self._process.pid
        if kind == "look":
            os.setpriority(os.PRIO_PROCESS, self.pid, max(NICE, os.getpriority(os.PRIO_PROCESS, 0)))
        self._opening: Mapping[str, Any] | None = {**start, "kind": kind}

    @property
    def alive(self) -> bool:
        """Whether the process is still there."""
        return self._process.poll() is None

    def send(self, message: Mapping[str, Any]) -> None:
        """Hand it a job; an `OSError` if it is gone."""
        if self._opening is not None:
            opening, self._opening = self._opening, None
            self._pipe.send_bytes(json.dumps(opening).encode())
        self._pipe.send_bytes(json.dumps(message).encode())

    def receive(self) -> dict[str, Any]:
        """Its next message, waited for; an `EOFError` or `OSError` if it is gone."""
        message: dict[str, Any] = json.loads(self._pipe.recv_bytes())
        return message

    def kill(self) -> None:
        """End the process, from any thread; who waits for its messages is released."""
        self._process.kill()

    def end(self) -> int:
        """End it and let go of the pipe; the exit code, negative for a signal."""
        self.kill()
        code = self._process.wait()
        self._pipe.close()
        return code
