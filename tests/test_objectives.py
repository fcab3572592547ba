"""Objectives: functions and programs that work, fail, hang, crash and disappear."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import psutil
import pytest

from hentropy.errors import InputError
from hentropy.studies.execution import CommandObjective, Objective, PythonObjective
from hentropy.studies.execution.child import SCRIPT
from hentropy.studies.execution.executor import TAIL
from support.waiting import LATE, PATIENCE

LAB = """
import os, subprocess, sys, time
from decimal import Decimal
from pathlib import Path
import numpy as np

HERE = Path(__file__).parent
with open(HERE / "imports", "a") as file:
    file.write("x")

class Rig:
    @staticmethod
    def measure(x): return x + 0.5

class Odd:
    def __float__(self): raise RuntimeError("odd")
    def __repr__(self): raise RuntimeError("odd")

class Unsayable(Exception):
    def __str__(self): raise RuntimeError("odd")

def double(x): return 2 * x
def noisy(x): return x, 0.25
def listed(x): return [x, None]
def scalar(x): return np.float32(x), np.float64(0.5)
def array(x): return np.array([x])
def decimal(x): return Decimal(x)
def none(x): return None
def text(x): return "3"
def nan(x): return float("nan")
def infinite(x): return -np.inf
def negative(x): return x, -1.0
def many(x): return np.zeros(3)
def triple(x): return x, 1.0, 2.0
def huge(x): return 10**400
def odd(x): return Odd()
def raises(x): raise ValueError("the sample broke")
def silent(x): raise KeyError
def unsayable(x): raise Unsayable
def long(x): raise ValueError("a" * 100_000)
number = 3

def hang(x):
    time.sleep(1000)

def brood(x):
    subprocess.Popen(["sleep", "1000"], cwd=HERE)
    time.sleep(1000)

def chatty(x):
    print("to standard output")
    print("to standard error", file=sys.stderr)
    os.write(1, b'{"value": 99, "std_error": null}\\n')
    subprocess.run(["echo", "5"])
    subprocess.run(["cat"], timeout=300)
    assert sys.stdin.read() == ""
    return x

def wordy(x):
    for _ in range(20_000):
        print("a line that nobody needs, and so many of them")
    print("the end")
    return x

def light(x):
    ours = {name for name in sys.modules if name.startswith("hentropy.")} - {"hentropy.loading", "hentropy._version"}
    return float("torch" in sys.modules or bool(ours))

def leave(x):
    sys.exit("enough")

def vanish(x):
    os._exit(3)

def crash(x):
    os.abort()

def slow(x):
    (HERE / "pid").write_text(str(os.getpid()))
    time.sleep(1000 if x > 0 else 0)
    return x
"""


def lab(folder: Path, function: str, timeout: float | None = None) -> PythonObjective:
    (folder / "lab.py").write_text(LAB)
    return PythonObjective(f"lab:{function}", folder, timeout)


def shell(folder: Path, script: str, timeout: float | None = PATIENCE) -> CommandObjective:
    return CommandObjective(("sh", "-c", script), folder, timeout)


def alive(folder: Path) -> list[str]:
    """Processes that work in a folder or name it."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it has just ended
            line = " ".join(process.cmdline())
            there = str(folder) in f"{process.cwd()} {line}" and process.status() != psutil.STATUS_ZOMBIE
            if there and process.pid != os.getpid():
                found.append(line)
    return found


def left(folder: Path) -> list[str]:
    """The same, of those that do not go: one that was killed may take a moment."""
    for _ in range(round(PATIENCE / 0.02)):
        if not alive(folder):
            return []
        time.sleep(0.02)
    return alive(folder)


def appears(file: Path) -> str:
    """What is in a file, once there is something in it."""
    for _ in range(round(PATIENCE / 0.01)):
        if file.exists() and (text := file.read_text()):
            return text
        time.sleep(0.01)
    raise AssertionError(f"{file} does not appear")


FUNCTIONS = [
    ("double", 6.0, None, None),
    ("Rig.measure", 3.5, None, None),
    ("noisy", 3.0, 0.25, None),
    ("listed", 3.0, None, None),
    ("scalar", 3.0, 0.5, None),
    ("array", 3.0, None, None),
    ("decimal", 3.0, None, None),
    ("none", None, None, "returned None; it must return"),
    ("text", None, None, "returned '3'; it must return"),
    ("nan", None, None, "returned nan; it must return"),
    ("infinite", None, None, "returned -inf; it must return"),
    ("negative", None, None, "; it must return"),
    ("many", None, None, "returned array([0., 0., 0.]); it must return"),
    ("triple", None, None, "returned (3, 1.0, 2.0); it must return"),
    ("huge", None, None, "returned 1000000"),
    ("odd", None, None, "returned a Odd that cannot be shown"),
    ("raises", None, None, "ValueError: the sample broke"),
    ("silent", None, None, "KeyError"),
    ("unsayable", None, None, "Unsayable: (what it says cannot be shown)"),
    ("long", None, None, "ValueError: aaa"),
    ("number", None, None, "lab:number could not be loaded: TypeError: it is 3, which cannot be called"),
    ("nowhere", None, None, "lab:nowhere could not be loaded: AttributeError"),
]


@pytest.mark.parametrize("way", ["here", "apart"])
@pytest.mark.parametrize(("function", "value", "error", "failed"), FUNCTIONS, ids=[row[0] for row in FUNCTIONS])
def test_functions(
    function: str, value: float | None, error: float | None, failed: str | None, way: str, tmp_path: Path
) -> None:
    objective = lab(tmp_path, function)
    with objective.here() if way == "here" else objective.apart() as evaluator:
        outcome = evaluator.evaluate({"x": 3})
    assert (outcome.value, outcome.std_error, outcome.lost) == (value, error, False)
    assert outcome.seconds > 0
    if failed is None:
        assert outcome.failed is None
    else:
        assert outcome.failed is not None
        assert failed in outcome.failed
        assert len(outcome.failed) < 2_500


@pytest.mark.parametrize("timeout", [None, PATIENCE])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "ModuleNotFoundError: No module named 'broken'"),
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("def f(:", "SyntaxError"),
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
    ],
)
def test_a_module_that_cannot_be_imported(text: str | None, said: str, timeout: float | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "broken.py").write_text(text)
    outcome = PythonObjective("broken:f", tmp_path, timeout).evaluate({"x": 1})
    assert outcome.failed is not None
    assert outcome.failed.startswith(f"broken:f could not be loaded: {said}")
    assert not outcome.lost


@pytest.mark.parametrize("timeout", [None, PATIENCE])
def test_the_log_of_an_exception_is_its_traceback(timeout: float | None, tmp_path: Path) -> None:
    log = lab(tmp_path, "raises", timeout).evaluate({"x": 1}).log
    assert log.startswith("Traceback")
    assert log.endswith("ValueError: the sample broke\n")
    assert "lab.py" in log
    assert "hentropy" not in log


def test_parameters_that_the_function_does_not_take(tmp_path: Path) -> None:
    for timeout in (None, PATIENCE):
        outcome = lab(tmp_path, "double", timeout).evaluate({"y": 1})
        assert outcome.failed is not None
        assert outcome.failed.startswith("TypeError: double() got an unexpected keyword argument 'y'")


def test_parameters_that_json_cannot_hold(tmp_path: Path) -> None:
    for params in ({"x": float("nan")}, {"x": object()}):
        outcome = lab(tmp_path, "double", PATIENCE).evaluate(params)
        assert outcome.failed is not None
        assert "cannot be written as JSON" in outcome.failed


def test_functions_of_one_name_in_two_folders(tmp_path: Path) -> None:
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "beside.py").write_text(f"number = {number}")
        (folder / "lab_of_two.py").write_text("def f(x):\n    import beside\n    return beside.number")
    before = list(sys.path)
    values = [PythonObjective("lab_of_two:f", tmp_path / n).evaluate({"x": 0}).value for n in ("1", "2", "1")]
    assert values == [1.0, 2.0, 1.0]
    assert sys.path == before


def test_a_module_in_the_folder_hides_no_loaded_library(tmp_path: Path) -> None:
    """A file that happens to have the name of a library that is in use must not take that library away."""
    library = sys.modules["numpy"]
    (tmp_path / "numpy.py").write_text("")
    (tmp_path / "plain.py").write_text("def f(x): return x")
    assert PythonObjective("plain:f", tmp_path).evaluate({"x": 1}).value == 1.0
    assert sys.modules["numpy"] is library


def test_a_child_serves_many_calls_and_is_light(tmp_path: Path) -> None:
    with lab(tmp_path, "light").apart() as evaluator:
        assert [evaluator.evaluate({"x": x}).value for x in range(5)] == [0.0] * 5
    assert (tmp_path / "imports").read_text() == "x"
    assert left(tmp_path) == []


def test_what_a_function_prints_is_log(tmp_path: Path) -> None:
    with lab(tmp_path, "chatty").apart() as evaluator:
        for x in (1, 2):
            outcome = evaluator.evaluate({"x": x})
            assert outcome.value == x
            for line in ("to standard output", "to standard error", '{"value": 99', "5\n"):
                assert outcome.log.count(line) == 1


def test_the_end_of_a_long_log_is_kept(tmp_path: Path) -> None:
    log = lab(tmp_path, "wordy", PATIENCE).evaluate({"x": 1}).log
    assert len(log) == TAIL
    assert log.endswith("the end\n")


COMMANDS = [
    ("echo 3", 3.0, None, None),
    ("echo started; echo; echo -2.5e1; echo", -25.0, None, None),
    ("printf 4", 4.0, None, None),
    ("echo '[3, 0.5]'", 3.0, 0.5, None),
    ("echo '[3, null]'", 3.0, None, None),
    ('echo \'{"value": 3, "std_error": 0.5, "unit": "mm"}\'', 3.0, 0.5, None),
    ("echo '{\"value\": 3}'", 3.0, None, None),
    ("sed 's/.*: \\(.*\\)}/\\1/'", 7.0, None, None),
    ('echo \'{"failed": "no signal"}\'', None, None, "no signal"),
    ("echo '{\"failed\": null}'", None, None, "the command printed {'failed': None}"),
    ('echo \'{"value": 1.5, "failed": null}\'', 1.5, None, None),
    ('echo \'{"value": 1.5, "std_error": 0.5, "failed": false}\'', 1.5, 0.5, None),
    ('echo \'{"value": 1.5, "failed": "no signal"}\'', None, None, "no signal"),
    ("true", None, None, "printed nothing"),
    ("echo done", None, None, "printed 'done', which is not JSON"),
    ("echo NaN", None, None, "printed 'NaN'; its last line must"),
    ("echo Infinity", None, None, "printed 'Infinity'; its last line must"),
    ("echo 1e999", None, None, "printed '1e999'; its last line must"),
    ("echo null", None, None, "printed 'null'; its last line must"),
    ("echo true", None, None, "printed 'true'; its last line must"),
    ("echo '\"3\"'", None, None, "printed '\"3\"'; its last line must"),
    ("echo '[1, 2, 3]'", None, None, "printed '[1, 2, 3]'; its last line must"),
    ("echo '[1, -2]'", None, None, "printed '[1, -2]'; its last line must"),
    ("echo '{}'", None, None, "printed '{}'; its last line must"),
    ("head -c 100000 /dev/zero | tr '\\0' '['", None, None, "which is not JSON"),
    ("head -c 100000 /dev/zero | tr '\\0' 7", None, None, "which is not JSON"),
    ("printf '\\377\\376\\n'", None, None, "which is not JSON"),
    ("echo 3; exit 4", None, None, "ended with exit code 4"),
    ("echo a >&2; echo why >&2; exit 1", None, None, "ended with exit code 1: a\nwhy"),
    ("kill -TERM $$", None, None, "ended with SIGTERM"),
    ("kill -KILL $$", None, None, "ended with SIGKILL"),
    ("nothing_of_this_name", None, None, "ended with exit code 127: sh: "),
]


@pytest.mark.parametrize(("script", "value", "error", "failed"), COMMANDS, ids=[row[0][:30] for row in COMMANDS])
def test_commands(script: str, value: float | None, error: float | None, failed: str | None, tmp_path: Path) -> None:
    outcome = shell(tmp_path, script).evaluate({"x": 7})
    assert (outcome.value, outcome.std_error, outcome.lost) == (value, error, False)
    if failed is None:
        assert outcome.failed is None
    else:
        assert outcome.failed is not None
        assert failed in outcome.failed
        assert len(outcome.failed) < 1_000


def test_a_command_runs_in_its_folder(tmp_path: Path) -> None:
    (tmp_path / "measure").write_text("#!/bin/sh\ncat data\n")
    (tmp_path / "measure").chmod(0o755)
    (tmp_path / "data").write_text("12\n")
    assert CommandObjective(("./measure",), tmp_path).evaluate({}).value == 12.0


def test_programs_that_cannot_be_started(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("3")
    for program, folder, said in (
        ("nothing_of_this_name", tmp_path, "No such file"),
        ("./plain", tmp_path, "Permission denied"),
        ("true", tmp_path / "nowhere", "No such file"),
    ):
        outcome = CommandObjective((program,), folder).evaluate({})
        assert outcome.failed is not None
        assert f"{program} could not be started in {folder}: {said}" in outcome.failed
        assert not outcome.lost


def test_large_parameters_reach_a_command_or_are_left_unread(tmp_path: Path) -> None:
    params = {"x": "a" * 1_000_000}
    assert shell(tmp_path, "wc -c").evaluate(params).value == 1_000_009
    assert shell(tmp_path, "echo 3").evaluate(params).value == 3.0


def test_large_output_is_not_kept(tmp_path: Path) -> None:
    """The program prints 60 MB to each of its outputs, and then the most memory (MB) that its parent ever had."""
    script = """
import os, sys
for _ in range(600):
    os.write(1, b"0123456789" * 10_000)
    os.write(2, b"0123456789" * 10_000)
peak = next(line for line in open(f"/proc/{os.getppid()}/status") if line.startswith("VmHWM"))
print("\\n", int(peak.split()[1]) / 1000)
"""
    tracemalloc.start()
    outcome = CommandObjective((sys.executable, "-c", script), tmp_path, PATIENCE).evaluate({})
    _, ours = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert outcome.value is not None
    assert outcome.value < 50
    assert ours < 5_000_000
    assert len(outcome.log) == TAIL


def late(objective: Objective, folder: Path) -> None:
    began = time.monotonic()
    outcome = objective.evaluate({"x": 1})
    assert outcome.failed == "did not end within 1 s"
    assert not outcome.lost
    assert 1.0 <= outcome.seconds <= time.monotonic() - began < PATIENCE
    assert left(folder) == []


@pytest.mark.parametrize("function", ["hang", "brood"])
def test_a_function_that_hangs(function: str, tmp_path: Path) -> None:
    late(lab(tmp_path, function, 1.0), tmp_path)


@pytest.mark.parametrize("script", ["sleep 1000", "sleep 1000 & sleep 1000", "trap '' TERM INT; sleep 1000", "yes"])
def test_a_command_that_hangs(script: str, tmp_path: Path) -> None:
    late(shell(tmp_path, script, 1.0), tmp_path)


def test_what_a_command_leaves_behind_is_ended(tmp_path: Path) -> None:
    outcome = shell(tmp_path, "sleep 1000 & echo 4").evaluate({})
    assert outcome.value == 4.0
    assert outcome.seconds < PATIENCE
    assert left(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize(("rest", "timeout", "value"), [("print(4)", PATIENCE, 4.0), ("time.sleep(1000)", LATE, None)])
def test_one_that_escaped_holds_the_pipes(rest: str, timeout: float, value: float | None, tmp_path: Path) -> None:
    """A grandchild in a session of its own is out of reach; it must not hold us up."""
    script = f"""
import subprocess, time
print(subprocess.Popen(["sleep", "1000"], start_new_session=True).pid, file=open("escaped", "w"), flush=True)
{rest}
"""
    outcome = CommandObjective((sys.executable, "-c", script), tmp_path, timeout).evaluate({})
    os.kill(int(appears(tmp_path / "escaped")), signal.SIGKILL)
    assert outcome.value == value
    assert outcome.seconds < PATIENCE


@pytest.mark.slow
def test_a_late_child_is_replaced(tmp_path: Path) -> None:
    with lab(tmp_path, "slow", LATE).apart() as evaluator:
        assert evaluator.evaluate({"x": 1}).failed == "did not end within 15 s"
        assert evaluator.evaluate({"x": -1}).value == -1.0


def test_a_killed_child_is_lost_and_replaced(tmp_path: Path) -> None:
    def kill() -> None:
        os.kill(int(appears(tmp_path / "pid")), signal.SIGKILL)

    with lab(tmp_path, "slow").apart() as evaluator:
        killer = threading.Thread(target=kill)
        killer.start()
        outcome = evaluator.evaluate({"x": 1})
        killer.join()
        assert outcome.lost
        assert outcome.failed is not None
        assert outcome.failed.startswith("the worker process ended (SIGKILL)")
        assert evaluator.evaluate({"x": -1}).value == -1.0
        for seconds in (
            0.0,
            0.3,
        ):  # it is killed while it has nothing to do: before the question, or before it hears it
            idle = psutil.Process(int((tmp_path / "pid").read_text()))
            idle.suspend()
            killer = threading.Timer(seconds, idle.kill)
            killer.start()
            assert evaluator.evaluate({"x": -2}).value == -2.0
            killer.join()
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("function", "said"),
    [("leave", "SystemExit: enough"), ("vanish", "exit code 3"), ("crash", "SIGABRT")],
)
def test_a_function_that_ends_its_process_has_failed(function: str, said: str, tmp_path: Path) -> None:
    with lab(tmp_path, function).apart() as evaluator:
        for _ in range(2):
            outcome = evaluator.evaluate({"x": 1})
            assert not outcome.lost
            assert outcome.failed is not None
            assert said in outcome.failed


@pytest.mark.parametrize("kind", ["function", "command"])
def test_closing_from_another_thread(kind: str, tmp_path: Path) -> None:
    objective = lab(tmp_path, "slow") if kind == "function" else shell(tmp_path, "echo 1 > pid; sleep 1000")
    evaluator = objective.apart()
    closer = threading.Thread(target=lambda: (appears(tmp_path / "pid"), evaluator.close()))
    closer.start()
    outcome = evaluator.evaluate({"x": 1})
    closer.join()
    assert outcome.lost
    assert outcome.failed == "the evaluation was stopped before it ended"
    assert evaluator.evaluate({"x": -1}).lost
    assert left(tmp_path) == []


def test_a_child_ends_when_nobody_waits_for_it(tmp_path: Path) -> None:
    """As when the process that started it was killed: the pipe closes, and the command ends as well."""
    arguments = [sys.executable, str(SCRIPT), "command", str(tmp_path), "sh", "-c", "sleep 1000 & echo 1 > pid; wait"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdin is not None
        process.stdin.write(b"{}\n")
        process.stdin.flush()
        appears(tmp_path / "pid")
        assert len(alive(tmp_path)) == 3
        process.stdin.close()
        assert process.wait(PATIENCE) == -signal.SIGKILL
    assert left(tmp_path) == []


def test_objectives_are_values(tmp_path: Path) -> None:
    for objective in (lab(tmp_path, "double", 3.0), shell(tmp_path, "echo 3")):
        assert pickle.loads(pickle.dumps(objective)) == objective
    assert CommandObjective(("true",), Path("somewhere")).folder == Path.cwd() / "somewhere"


def test_objectives_that_cannot_be() -> None:
    for name in ("", "lab", "lab:", ":f", "lab.py:f()", "a:b:c"):
        with pytest.raises(InputError, match="module:function"):
            PythonObjective(name)
    for command in ((), ("",), "ls", (3,)):
        with pytest.raises(InputError, match="give the program and its arguments"):
            CommandObjective(command)  # type: ignore[arg-type]
    for timeout in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="the timeout is"):
            PythonObjective("lab:f", timeout=timeout)
