"""A real server in a process of its own, on a free port of this machine."""

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

PROGRAM = """
import json, sys
from hentropy.cli.serving import Server, listening
from hentropy.server.settings import Limits, Settings

told = json.loads(sys.stdin.readline())
listener = listening("127.0.0.1", 0)
port = listener.getsockname()[1]
print(port, flush=True)
Server(Settings(told["store"], port=port, limits=Limits(**told["limits"])), verbose=False).run(sockets=[listener])
"""

PATIENCE = 30.0


@dataclass(frozen=True)
class Served:
    """A server that runs: its address, and its process."""

    address: str
    process: subprocess.Popen[str]

    def end(self) -> int:
        """Ask it to end, and wait for that."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def served(store: str, **limits: float) -> Iterator[Served]:
    """Serve a store with other limits than the usual ones."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"store": store, "limits": limits}) + "\n")
            process.stdin.flush()
            server = Served(f"http://127.0.0.1:{int(process.stdout.readline())}", process)
            yield server
            if process.poll() is None:
                server.end()
        finally:
            process.kill()
