"""What came back from a function or a command, read as an outcome."""

import json
import signal
from collections.abc import Mapping
from typing import Any

from hentropy.errors import InputError
from hentropy.studies.execution.call import clipped
from hentropy.studies.execution.executor import ONLY, Evaluation, failure
from hentropy.studies.records import Measurement
from hentropy.studies.records.numbers import checked_value

LINES = 3
"""How many of the last lines of standard error a reason repeats."""
WANTED_RETURN = "it must return a finite number, or (value, standard error), or a table of these by outcome"
WANTED_PRINT = (
    'its last line must be a finite number, [value, standard error], JSON with "value" or "failed", or a table of'
    " values by outcome"
)


def measured(value: Any, what: str, wanted: str) -> Evaluation:
    """What a value says, or a table of values by outcome; a failure if it is something else."""
    given = value if isinstance(value, Mapping) else {ONLY: value}
    try:
        found = {str(name): Measurement(*checked_value(one)) for name, one in given.items() if one is not None}
    except (InputError, OverflowError):  # a whole number can be too large for a float
        return failure(f"{what} {clipped(value)}; {wanted}")
    return Evaluation(found) if found else failure(f"{what} {clipped(value)}; {wanted}")


def from_function(answer: dict[str, Any], log: str) -> Evaluation:
    """The outcome of a call of a function in a child process."""
    if "failed" in answer:
        return failure(answer["failed"])
    if "returned" in answer:
        return failure(f"the function returned {answer['returned']}; {WANTED_RETURN}")
    given = {name: value if error is None else (value, error) for name, (value, error) in answer["measured"].items()}
    return measured(given.get(ONLY, given), "the function returned", WANTED_RETURN)


def from_command(answer: dict[str, Any], log: str) -> Evaluation:
    """The outcome of a command that has ended."""
    if "failed" in answer:
        return failure(answer["failed"])
    if answer["code"] != 0:
        last = "\n".join([line for line in log.splitlines() if line.strip()][-LINES:])
        return failure(f"the command ended with {ending(answer['code'])}{': ' + last[-500:] if last else ''}")
    return printed(answer["printed"])


def printed(text: str) -> Evaluation:
    """The outcome that a program printed: its last line that is not empty."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return failure(f"the command printed nothing; {WANTED_PRINT}")
    line = lines[-1].strip()
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return failure(f"the command printed {clipped(line)}, which is not JSON; {WANTED_PRINT}")
    if isinstance(given, dict) and len(given) > 1 and (given.get("failed", "") is None or given.get("failed") is False):
        del given["failed"]  # with values beside it, this says that nothing failed
    if isinstance(given, dict) and "failed" in given:
        why = given["failed"]
        return failure(why if isinstance(why, str) and why else f"the command printed {clipped(given)}")
    if isinstance(given, dict) and "value" in given and ("std_error" in given or len(given) == 1):
        given = [given["value"], given.get("std_error")]
    if any(isinstance(part, bool) for part in _parts(given)):
        return failure(f"the command printed {clipped(line)}; {WANTED_PRINT}")
    evaluation = measured(given, "the command printed", WANTED_PRINT)
    return evaluation if evaluation.failed is None else failure(f"the command printed {clipped(line)}; {WANTED_PRINT}")


def _parts(given: Any) -> list[Any]:
    """The values inside lists and tables."""
    inside = given.values() if isinstance(given, dict) else given if isinstance(given, list) else None
    return [given] if inside is None else [part for one in inside for part in _parts(one)]


def ending(code: int) -> str:
    """How a process ended: its exit code, or the name of the signal that ended it."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
