"""Peak memory of one call, in a process of its own, above what importing everything takes."""

import json
import subprocess
import sys

CHILD = """
import importlib, json, re, sys
def peak():
    # not getrusage: a child starts with the peak of the process it was forked from
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1))
module = importlib.import_module(sys.argv[1])
before = peak()
getattr(module, sys.argv[2])(*map(json.loads, sys.argv[3:]))
print(before, peak())
"""


def peak_memory(module: str, function: str, *arguments: int | str) -> dict[str, float]:
    """MiB at the peak of the whole process, and of the call alone (peak less what was held after the imports)."""
    command = [sys.executable, "-W", "ignore", "-c", CHILD, module, function, *map(json.dumps, arguments)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    before, after = (int(word) / 1024 for word in output.split())
    return {"process": round(after, 1), "call": round(after - before, 1)}
