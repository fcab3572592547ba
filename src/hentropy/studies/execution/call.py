"""The far side of a child process: calls a function, or runs a command, for each line of JSON that comes in.

    call.py function FOLDER MODULE:FUNCTION
    call.py command FOLDER PROGRAM ARGUMENT...

It is started by its path and imports of hentropy only the loader of modules, so that it starts at once. Each line in
holds the parameters and is answered by two lines: an empty one at once, which says that the evaluation has begun, and
then one JSON object:

    {"measured": {name: [v, s]}}     numbers by outcome that the function returned, with standard errors or null;
                                     a single number has the name ""
    {"returned": text}               something else that it returned
    {"code": n, "printed": text}     how the command ended, and the end of what it printed
    {"failed": why}                  an exception, a module that cannot be imported, a program that cannot be started

The pipes of these lines are its own. What the function reads is empty, and what it prints goes to standard error.
When nobody holds the other end any more, this process ends, with all processes it has started; also one whose function
keeps the interpreter to itself, so that no thread of it runs: a process beside it watches, too.
"""

import contextlib
import json
import operator
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import IO, Any

if __name__ == "__main__":  # in place of the folder of this file, that of the hentropy to which it belongs
    sys.path[0] = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))

from hentropy.loading import import_in, modules_of

if __name__ == "__main__":  # what a function imports is looked for where it is anywhere else
    del sys.path[0]

PRINTED = 65_536
"""How many bytes of what a command prints are kept: the last line is what counts."""
CLIP = 2_000
"""The most characters of a reason."""
GRACE = 1.0
"""Seconds to wait for the end of the output when a program has ended and something that it started holds the pipe."""

Answer = dict[str, Any]


def load(function: str, folder: str | os.PathLike[str]) -> Callable[..., Any]:
    """The function named `module:function`; imports the module, within `modules_of(folder)`."""
    module, _, name = function.partition(":")
    found = operator.attrgetter(name)(import_in(module, folder))
    if not callable(found):
        raise TypeError(f"it is {clipped(found)}, which cannot be called")
    return found


def said(error: BaseException) -> str:
    """An exception in one line: its type and what it says."""
    try:
        text = str(error)
    except Exception:
        text = "(what it says cannot be shown)"
    kind = type(error).__name__
    return f"{kind}: {text}"[:CLIP] if text else kind


def clipped(value: Any, most: int = 200) -> str:
    """How a value is written, at most this many characters of it."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= most else f"{text[:most]}..."


def number(value: Any) -> float:
    """A single number of any library; text is not taken for a number."""
    if isinstance(value, str | bytes):
        raise TypeError("text")
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")  # who returns an array has imported its library
    kinds = ((numpy.ndarray,) if numpy else ()) + ((torch.Tensor,) if torch else ())
    return float(value.item() if isinstance(value, kinds) else value)


def returned(value: Any) -> Answer:
    """What a function returned: a number, a number with its standard error, a table of these, or something else."""
    try:
        if not isinstance(value, Mapping):
            return {"measured": {"": _measured(value)}}
        return {"measured": {str(name): _measured(one) for name, one in value.items() if one is not None}}
    except Exception:
        return {"returned": clipped(value)}


def _measured(value: Any) -> list[float | None]:
    given, error = value if isinstance(value, tuple | list) and len(value) == 2 else (value, None)
    return [number(given), None if error is None else number(error)]


class Function:
    """Calls a function, whose module is in a folder; imports it at the first call."""

    def __init__(self, folder: str, function: str) -> None:
        self.folder = folder
        self.name = function
        self.function: Callable[..., Any] | None = None

    def __call__(self, params: dict[str, Any]) -> Answer:
        """What came of one call."""
        with modules_of(self.folder):
            return self._called(params)

    def _called(self, params: dict[str, Any]) -> Answer:
        try:
            if self.function is None:
                self.function = load(self.name, self.folder)
        except BaseException as error:  # sys.exit() while it is imported is a failure as well
            _show(error)
            return {"failed": f"{self.name} could not be loaded: {said(error)}"[:CLIP]}
        try:
            return returned(self.function(**params))
        except BaseException as error:
            _show(error)
            return {"failed": said(error)}


def run(folder: str, command: list[str], params: dict[str, Any]) -> Answer:
    """What came of one run of a command; its standard error is that of this process."""
    try:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        return {"failed": f"{command[0]} could not be started in {folder}: {error.strerror or error}"}
    assert process.stdin is not None
    assert process.stdout is not None
    kept = bytearray()
    threading.Thread(target=_feed, args=(process.stdin, json.dumps(params).encode()), daemon=True).start()
    reader = threading.Thread(target=_keep, args=(process.stdout.fileno(), kept), daemon=True)
    reader.start()
    code = process.wait()
    reader.join(GRACE)
    return {"code": code, "printed": bytes(kept).decode(errors="replace")}


def _feed(pipe: IO[bytes], line: bytes) -> None:
    """Write to a program that need not read."""
    with contextlib.suppress(OSError):
        pipe.write(line)
    with contextlib.suppress(OSError):
        pipe.close()


def _keep(pipe: int, kept: bytearray) -> None:
    """Read all there is, and keep its end."""
    while chunk := os.read(pipe, PRINTED):
        kept += chunk
        del kept[:-PRINTED]


def _show(error: BaseException) -> None:
    """Write a traceback to standard error, without the frames of this file."""
    trace = error.__traceback__
    with contextlib.suppress(Exception):
        traceback.print_exception(type(error), error, trace.tb_next if trace else None)


def _listen(lines: IO[bytes], questions: "queue.SimpleQueue[bytes]") -> None:
    for line in lines:
        questions.put(line)
    os.killpg(0, signal.SIGKILL)  # nobody waits for an answer: end this process and what it has started


def line_pipes() -> "tuple[queue.SimpleQueue[bytes], IO[bytes]]":
    """The lines that come in, and where answers go; nothing else reads or writes these pipes from now on."""
    lines, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")  # copies are not inherited by others
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    questions: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(lines, questions), daemon=True).start()
    return questions, answers


def watch_pipe() -> None:
    """Start a process that ends this group once nobody holds the other end of the pipe any more.

    It is no child of this process, so that a function that waits for its own children does not meet it.
    """
    with contextlib.suppress(OSError):  # no room for another process: then the thread that listens has to do
        between = os.fork()
        if between:
            os.waitpid(between, 0)
            return
        try:
            if not os.fork():
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, 1)  # whoever reads these must see that the group's first process has ended
                os.dup2(nothing, 2)
                pipe = select.poll()
                pipe.register(0, 0)  # nothing but its end is waited for
                pipe.poll()
                os.killpg(0, signal.SIGKILL)
        finally:
            os._exit(0)


def main() -> None:
    """Answer, until nobody asks any more."""
    kind, folder, *rest = sys.argv[1:]
    if kind == "function":
        watch_pipe()
    questions, answers = line_pipes()
    answer = Function(folder, *rest) if kind == "function" else partial(run, folder, rest)
    while True:  # in the main thread, which some functions need
        question = questions.get()
        answers.write(b"\n")
        answers.flush()
        reply = answer(json.loads(question))
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the function may have closed it
                stream.flush()
        answers.write(json.dumps(reply).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
