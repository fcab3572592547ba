"""What came back from a function or a command, read as an outcome."""

import json
import signal
from typing import Any

from hentropy.errors import InputError
from hentropy.studies.execution.call import clipped
from hentropy.studies.execution.executor import Outcome, failure
from hentropy.studies.study.rules import checked_value

LINES = 3
"""How many of the last lines of standard error a reason repeats."""
WANTED_RETURN = "it must return a finite number, or (value, standard error)"
WANTED_PRINT = 'its last line must be a finite number, [value, standard error], or JSON with "value" or "failed"'


def measured(value: Any, what: str, wanted: str) -> Outcome:
    """The outcome of a value, or of what cannot be one."""
    try:
        number, error = checked_value(value)
    except (InputError, OverflowError):  # a whole number can be too large for a float
        return failure(f"{what} {clipped(value)}; {wanted}")
    return Outcome(number, error, None)


def from_function(answer: dict[str, Any], log: str) -> Outcome:
    """The outcome of a call of a function in a child process."""
    if "failed" in answer:
        return failure(answer["failed"])
    if "returned" in answer:
        return failure(f"the function returned {answer['returned']}; {WANTED_RETURN}")
    value, error = answer["value"], answer["std_error"]
    return measured(value if error is None else (value, error), "the function returned", WANTED_RETURN)


def from_command(answer: dict[str, Any], log: str) -> Outcome:
    """The outcome of a command that has ended."""
    if "failed" in answer:
        return failure(answer["failed"])
    if answer["code"] != 0:
        last = "\n".join([line for line in log.splitlines() if line.strip()][-LINES:])
        return failure(f"the command ended with {ending(answer['code'])}{': ' + last[-500:] if last else ''}")
    return printed(answer["printed"])


def printed(text: str) -> Outcome:
    """The outcome that a program printed: its last line that is not empty."""
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return failure(f"the command printed nothing; {WANTED_PRINT}")
    line = lines[-1].strip()
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return failure(f"the command printed {clipped(line)}, which is not JSON; {WANTED_PRINT}")
    if isinstance(given, dict) and "failed" in given:
        why = given["failed"]
        return failure(why if isinstance(why, str) and why else f"the command printed {clipped(given)}")
    parts = [given]
    if isinstance(given, dict) and "value" in given:
        parts = [given["value"], given.get("std_error")]
    elif isinstance(given, list) and len(given) == 2:
        parts = given
    if any(isinstance(part, bool) for part in parts):
        return failure(f"the command printed {clipped(line)}; {WANTED_PRINT}")
    value = parts[0] if len(parts) == 1 else (parts[0], parts[1])
    outcome = measured(value, "the command printed", WANTED_PRINT)
    return outcome if outcome.failed is None else failure(f"the command printed {clipped(line)}; {WANTED_PRINT}")


def ending(code: int) -> str:
    """How a process ended: its exit code, or the name of the signal that ended it."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
