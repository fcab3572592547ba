"""The far side of a child process: computes proposals, or verdicts and pictures, one job after the other.

    python -m hentropy.server.worker DESCRIPTOR

The descriptor is one end of a pipe. The first message in says where the store is and which kind of jobs come, each
other one is a job. Messages out:

    {"phase": words}                      what goes on
    {"part": name, ...}                   a part of a look
    {"done": result}                      the end of a job
    {"failed": sentence, "details": ...}  another end; the details are for the log

When nobody holds the other end any more, this process ends, also in the middle of a job.
"""

import json
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

import torch

from hentropy.errors import Gone, HentropyError
from hentropy.plain.formats import json_text
from hentropy.server.asking import ask
from hentropy.server.looking import look
from hentropy.server.memory import Memory
from hentropy.storage import open_store

Job = Mapping[str, Any]
Answer = Callable[[Mapping[str, Any]], None]


def main(descriptor: int) -> None:
    """Work until the pipe ends."""
    pipe = Connection(descriptor)
    messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, messages), daemon=True).start()
    torch.set_num_threads(1)
    opening = messages.get()
    memory: Memory | None = None

    def answer(message: Mapping[str, Any]) -> None:
        pipe.send_bytes(json_text(message).encode())

    while True:
        job = messages.get()
        try:
            answer({"phase": "reading the study"})
            if memory is None:  # a store that was away may be there now
                memory = Memory(open_store(opening["store"], make=False))
            study = memory.study(job["study"])
            if opening["kind"] == "look":
                look(study, job["known"], answer)
                answer({"done": None})
            else:
                answer({"done": ask(study, job["count"], answer)})
        except Gone as error:
            answer({"failed": str(error)})
        except HentropyError as error:
            answer({"failed": str(error), "details": traceback.format_exc()})
        except Exception:
            answer({"failed": "it could not be computed; the server's log says why", "details": traceback.format_exc()})


def _listen(pipe: Connection, messages: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Take in what comes; at the end of the pipe, end this process: nobody wants what it computes."""
    while True:
        try:
            messages.put(json.loads(pipe.recv_bytes()))
        except (EOFError, OSError):
            os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
