"""The first lines of a function or a program, for a new study that names one which is not there yet."""

import importlib.util
import keyword
import os
from pathlib import Path

from hentropy.views.cli.plan import Plan
from hentropy.views.cli.writing import naming

FUNCTION = '''\
"""The experiment."""


def {name}({parameters}):
    """The value of one experiment, or (value, standard error)."""
    raise NotImplementedError("write here how an experiment is run")
'''

MARK = 'print(json.dumps({"failed": "write here how an experiment is run"}))'
"""The last line of a program that is still to be written."""

PROGRAM = f'''\
#!/usr/bin/env python3
"""One experiment: reads the parameters as JSON, prints its value on the last line."""

import json
import sys

params = json.load(sys.stdin)
# on success: print(json.dumps({{"value": 1.5, "std_error": 0.1}})), or the value alone
{MARK}
'''


def starter(plan: Plan, folder: Path) -> Path | None:
    """Write the file of a function or program that is not there; None if there is nothing to write."""
    if plan.objective == "python" and plan.function:
        module, _, name = plan.function.partition(":")
        path = folder / f"{module}.py"
        there = path.exists() or (folder / module).exists()
        if "." in module or there or importlib.util.find_spec(module) is not None:
            return None
        names = list(plan.parameters)
        by_name = names and all(known.isidentifier() and not keyword.iskeyword(known) for known in names)
        parameters = ", ".join(["*", *names]) if by_name else "**params"
        with naming(path):
            path.write_text(FUNCTION.format(name=name, parameters=parameters), encoding="utf-8")
        return path
    if plan.objective == "command" and plan.command:
        path = folder / plan.command[0]
        if os.sep not in plan.command[0] or path.is_absolute() or path.exists() or not path.parent.is_dir():
            return None
        with naming(path):
            path.write_text(PROGRAM, encoding="utf-8")
            path.chmod(0o755)
        return path
    return None
