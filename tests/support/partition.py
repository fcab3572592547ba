"""A network that can be cut: what goes to a server goes through here, until nothing is forwarded any more."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator


class Network:
    """A relay on the loopback address to a port of this machine; while it is cut, bytes wait, as do connections."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._whole = threading.Event()
        self._whole.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def cut(self) -> None:
        """Forward nothing from now on."""
        self._whole.clear()

    def mend(self, broken: bool = False) -> None:
        """Forward again, also what was sent meanwhile; or let all connections be broken."""
        if broken:
            for end in self._ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._whole.set()

    def close(self) -> None:
        """End all connections, and take no more."""
        self.mend()
        for end in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self._listener, *self._ends):
            end.close()

    def _start(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._ends.append(near)
                far = socket.create_connection(("127.0.0.1", self._target))
                self._ends.append(far)
                self._start(self._forward, near, far)
                self._start(self._forward, far, near)

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(65_536):
                self._whole.wait()
                target.sendall(chunk)
        self._whole.wait()
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def network(port: int) -> Iterator[Network]:
    """A network to a port, whole at first."""
    made = Network(port)
    try:
        yield made
    finally:
        made.close()
