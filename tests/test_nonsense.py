"""What nobody should hand over is refused in a sentence: files without an end, recursive texts, absurd numbers."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hentropy as he
from hentropy.core.given import MOST_AT_ONCE, MOST_FIRST, MOST_WORKERS
from hentropy.core.spaces.space import MAX_PARAMETERS
from hentropy.errors import InputError
from hentropy.studies.execution import Local, Processes, PythonObjective
from hentropy.studies.execution.runner import run
from hentropy.studies.files import MOST_IN_STUDY, MOST_IN_TABLE, read_text
from support.commands import STUDY, done, function, hentropy, lab, refused
from support.studies import LINE
from support.waiting import PATIENCE

POOL = 'version = 1\nname = "lab"\n[pool]\nfile = "there.csv"\n[decision]\nname = "maximize"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder; what would hang fails in the end."""

    def late(number: int, frame: Any) -> None:
        raise AssertionError("it hangs")

    monkeypatch.chdir(tmp_path)  # the path of a socket may not be long
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(int(PATIENCE))
    yield tmp_path
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


SPECIAL: dict[str, Callable[[Path], None]] = {
    "FIFO": os.mkfifo,
    "folder": Path.mkdir,
    "socket": _socket,
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.skipif(os.name != "posix", reason="special files as POSIX has them")
@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "there.toml"),
        ("ask", "there.toml"),
        ("run", "there.toml"),
        ("attach", "lab.toml", "there.csv"),
        ("import", "lab.toml", "there.csv"),
        ("check", "pool.toml"),
        ("init", "new.toml", "--yes", "--pool", "there.csv"),
        ("ask", "lab.toml", "--store", "sqlite:///there.db"),
        ("list", "--store", "there.db"),
        ("backup", "there.db", "copy.db"),
    ],
)
def test_only_regular_files_are_read(folder: Path, arguments: tuple[str, ...], kind: str) -> None:
    lab(folder)
    Path("pool.toml").write_text(POOL)
    for ending in ("toml", "csv", "db"):
        SPECIAL[kind](Path(f"there.{ending}"))
    said = refused(*arguments)
    assert f"a {kind}" in said
    assert "there." in said


def test_special_files_beside_a_study_are_passed_over() -> None:
    for kind, make in SPECIAL.items():
        make(Path(f"{kind}.toml"))
    assert "this folder has no study files" in refused("ask", "absent.toml")


@pytest.mark.parametrize(
    ("arguments", "size"),
    [
        (("check", "large.toml"), MOST_IN_STUDY),
        (("attach", "lab.toml", "large.csv"), MOST_IN_TABLE),
        (("import", "lab.toml", "large.csv"), MOST_IN_TABLE),
        (("init", "new.toml", "--yes", "--pool", "large.csv"), MOST_IN_TABLE),
    ],
)
def test_a_huge_file_is_refused(folder: Path, arguments: tuple[str, ...], size: int) -> None:
    lab(folder)
    for name in ("large.toml", "large.csv"):
        with Path(name).open("wb") as file:
            file.truncate(2**40)  # takes no room on the disk
    assert f"is larger than {size // 1_000_000} MB, the most that is read" in refused(*arguments)


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="a system without /dev/fd")
def test_the_pipe_of_a_shell_is_read_and_an_endless_one_refused() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x,value\n1.0,2.0\n")
    os.close(writing)
    assert read_text(Path(f"/dev/fd/{reading}"), 100) == "x,value\n1.0,2.0\n"
    os.close(reading)
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as endless:
        assert endless.stdout is not None
        with pytest.raises(InputError, match="is larger than"):
            read_text(Path(f"/dev/fd/{endless.stdout.fileno()}"), 100_000)
        endless.stdout.close()


BOMB = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)
MERGES = "a0: &a0 {x: 1, y: 2}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("&a [*a]", "line 1: an alias stands within what it repeats"),
        ("version: 1\nname: &a {b: *a}\n", "line 2: an alias stands within what it repeats"),
        ("decision: &a {python: 'm:C', b: [*a]}", "an alias stands within what it repeats"),
        ("&a {<<: *a, x: 1}", "an alias stands within what it repeats"),
        (f"{BOMB}name: *a9\n", "aliases repeat more than 10000 values"),
        (f"{BOMB}decision: {{python: 'm:C', b: *a9}}\n", "aliases repeat more than 10000 values"),
        (f"{MERGES}space: *a9\n", "aliases repeat more than 10000 values"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_yaml_that_repeats_itself(text: str, said: str) -> None:
    Path("lab.yaml").write_text(text)
    assert said in refused("check", "lab.yaml")


@pytest.mark.parametrize("dot", [".", " . ", "\t.", '"."'])
def test_toml_with_keys_of_many_parts(dot: str) -> None:
    quote = '"' if '"' in dot else ""
    Path("lab.toml").write_text(f"version = 1\n{quote}{dot.join('a' * 20_000)}{quote} = 1\n")
    assert "line 2: a key has more than 100 parts" in refused("check", "lab.toml")


@pytest.mark.parametrize("value", ["!!bool zz", "!!timestamp x"])
def test_yaml_whose_values_do_not_fit_their_tags(value: str) -> None:
    Path("lab.yaml").write_text(f"version: 1\nname: {value}\n")
    assert "a value does not fit the tag before it" in refused("check", "lab.yaml")


def test_a_fifo_is_refused_under_a_path_that_looks_like_a_pipe_of_the_shell(folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    with pytest.raises(InputError, match="is a FIFO"):
        read_text(Path(f"/dev/fd/../../..{folder}/fifo"), 100)


MANY = 30_000


def described(**parts: Any) -> None:
    Path("lab.json").write_text(json.dumps({"version": 1, "name": "lab", "decision": {"name": "maximize"}, **parts}))


@pytest.mark.parametrize("command", ["check", "ask"])
def test_thirty_thousand_parameters(command: str) -> None:
    described(space={f"x{i}": {"type": "real", "low": 0.0, "high": 1.0} for i in range(MANY)})
    assert f"a design has at most {MAX_PARAMETERS} parameters, got {MANY}" in refused(command, "lab.json")


def test_thirty_thousand_mistakes() -> None:
    described(space={f"x{i}": {"type": "rea"} for i in range(MANY)})
    said = refused("check", "lab.json")
    assert 'space.x0.type: got "rea"' in said
    assert f"... and more: {MANY} in all" in said
    Path("lab.json").write_text(json.dumps({f"x{i}": 1 for i in range(MANY)}))
    assert "x0: unknown key" in refused("check", "lab.json")


@pytest.mark.parametrize("command", ["attach", "import", "check", "init"])
def test_a_table_of_thirty_thousand_columns(folder: Path, command: str) -> None:
    lab(folder)
    Path("pool.toml").write_text(POOL)
    columns = ",".join(f"x{i}" for i in range(MANY))
    Path("there.csv").write_text(f"{columns}\n{','.join(['1'] * MANY)}\n")
    arguments = {
        "attach": ("lab.toml", "there.csv"),
        "import": ("lab.toml", "there.csv"),
        "check": ("pool.toml",),
        "init": ("new.toml", "--yes", "--pool", "there.csv"),
    }[command]
    said = refused(command, *arguments)
    assert "has 30000 columns; at most 1000 are read" in said or "at most 5000 parameters, got 30000" in said


HUGE = ("99999999999999", "9" * 5_000, "-5", "0", "2.0", "1e3", "")


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize(
    "arguments",
    [
        ("ask", "lab.toml", "--count"),
        ("ask", "lab.toml", "--anyway", "--count"),
        ("run", "lab.toml", "--workers"),
        ("run", "lab.toml", "--executor", "dask", "--workers"),
        ("serve", "--port"),
    ],
)
def test_numbers_that_nobody_means(folder: Path, arguments: tuple[str, ...], number: str) -> None:
    if arguments == ("serve", "--port") and number == "0":
        pytest.skip("0 takes a port that is free")
    lab(folder)
    said = hentropy(*arguments, number)
    assert said.code == 2, said
    assert "is not a whole number from" in " ".join(said.err.replace("│", "").split())


@pytest.mark.parametrize("number", ["99999999999999", "9" * 5_000, "-5", "2.0"])
def test_trials_that_cannot_be_there(folder: Path, number: str) -> None:
    lab(folder)
    done("ask", "lab.toml")
    for arguments in (
        ("tell", "lab.toml", number, "1"),
        ("fail", "lab.toml", "--", number),
        ("withdraw", "lab.toml", "--", number),
        ("show", "lab.toml", "--number", number),
    ):
        said = hentropy(*arguments)
        assert said.code in (1, 2), said
        assert "HENTROPY_TRACEBACK" not in said.err
        assert said.err


def test_first_designs_and_counts_have_a_bound_in_files_and_in_python(folder: Path) -> None:
    lab(folder, text=STUDY.replace("first = 2", "first = 99999999999999"))
    assert f"first: got 99999999999999; it must be at most {MOST_FIRST}" in refused("check", "lab.toml")
    for most, wrong in (
        (MOST_FIRST, lambda: he.Study(LINE, he.Maximize(), first=10**14)),
        (MOST_AT_ONCE, lambda: he.Study(LINE, he.Maximize()).ask_many(10**14)),
        (MOST_WORKERS, lambda: Processes(PythonObjective("oven:measure"), 10**14)),
    ):
        with pytest.raises(he.InputError, match=rf"must be a whole number from 1 to {most}, got 10"):
            wrong()


class Odd(BaseException):
    pass


RAISED = {
    "SystemExit: 3": "raise SystemExit(3)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "GeneratorExit": "raise GeneratorExit",
    "Odd: strange": 'class Odd(BaseException): pass\n    raise Odd("strange")',
}


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Odd("strange")], ids=repr)
def test_what_an_experiment_raises_is_its_result_in_a_search(error: BaseException) -> None:
    calls = []

    def measure(x: float) -> float:
        calls.append(x)
        if len(calls) == 2:
            raise error
        return x

    found = he.search(measure, LINE, he.Maximize(), 3, progress=False, hyperparameters="map")
    assert [trial.state.value for trial in found.study.records] == ["complete", "failed", "complete"]
    assert type(error).__name__ in found.study.records[1].note


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), ValueError("no oven")], ids=repr)
def test_a_search_whose_experiments_all_fail_shows_the_error(error: BaseException) -> None:
    def measure(x: float) -> float:
        raise error

    with pytest.raises(he.StudyError, match=rf"3 experiments in a row failed.*{type(error).__name__}") as caught:
        he.search(measure, LINE, he.Maximize(), 9, progress=False)
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("who", ["local", "processes"])
@pytest.mark.parametrize("said", RAISED)
def test_what_an_experiment_raises_is_its_outcome_in_a_run(folder: Path, who: str, said: str) -> None:
    module = f"raising_{who}_{list(RAISED).index(said)}"
    function(folder, module, RAISED[said])
    objective = PythonObjective(f"{module}:measure", folder)
    study = he.Study(LINE, he.Maximize(), stop=[he.Budget(2)])
    run(study, Local(objective) if who == "local" else Processes(objective, 1))
    assert [(trial.state.value, trial.note.splitlines()[0]) for trial in study.records] == [("failed", said)] * 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_still_stops_a_run(folder: Path, number: signal.Signals) -> None:
    body = f"import os\n    os.kill(os.getpid(), {int(number)})\n    time.sleep(600)"
    lab(folder, function(folder, f"signalled_{int(number)}", body))
    said = hentropy("run", "lab.toml")
    assert (said.code, "stopped; 0 trials are complete, 1 given back" in said.err) == (130, True), said


def test_a_handler_of_the_experiment_stays(folder: Path) -> None:
    def measure(x: float) -> float:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return x

    before = signal.getsignal(signal.SIGINT)
    try:
        he.search(measure, LINE, he.Maximize(), 1, progress=False)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_exit_in_an_experiment_on_dask(folder: Path) -> None:
    lab(folder, function(folder, "leaving_on_dask", "raise KeyboardInterrupt"))
    command = [sys.executable, "-m", "hentropy", "run", "lab.toml", "--executor", "dask"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert ended.returncode == 1, ended
    assert "3 experiments in a row failed; the first of them (trial 0) with: KeyboardInterrupt" in ended.stderr


OWN = """
import hentropy as he


class Tariff(he.Decision):
    actions = he.Points(1)

    def {method}:
        {body}
{loss}
"""
LOSS = "\n    def loss(self, f, a):\n        return -f[..., 0]\n"


def own(module: str, method: str, body: str) -> None:
    """A study file with a decision of one's own that misbehaves."""
    loss = "" if method.startswith("loss") else LOSS
    Path(f"{module}.py").write_text(OWN.format(method=method, body=body, loss=loss))
    Path("lab.toml").write_text(STUDY.replace('name = "maximize"', f'python = "{module}:Tariff"'))


@pytest.mark.parametrize(
    ("method", "body", "said"),
    [
        ("__init__(self)", 'raise KeyError("price")', "KeyError: 'price'"),
        ("__init__(self)", "raise SystemExit(3)", "SystemExit: 3"),
        ("__init__(self)", "self.actions = None", "AttributeError: 'NoneType' object has no attribute 'check'"),
        ("__new__(cls)", "return 3", "it made 3, not a Decision"),
        ("within(self, space)", 'raise ZeroDivisionError("no price")', "ZeroDivisionError: no price"),
        ("__repr__(self)", 'raise ValueError("no name")', "ValueError: no name"),
    ],
)
def test_a_decision_that_cannot_be_made_is_named(method: str, body: str, said: str) -> None:
    module = re.sub(r"\W+", "_", f"tariff {method} {body}")
    own(module, method, body)
    for command in ("check", "ask"):
        assert f"the decision {module}:Tariff cannot be made: {said}" in refused(command, "lab.toml")


@pytest.mark.parametrize("raised", ['KeyError("price")', 'SystemExit("price")', 'BaseException("price")'])
def test_a_loss_that_raises_is_named(raised: str) -> None:
    own(f"losing_{raised.partition('(')[0].lower()}", "loss(self, f, a)", f"raise {raised}")
    done("ask", "lab.toml", "--count", "2")
    done("tell", "lab.toml", "0", "1")
    done("tell", "lab.toml", "1", "2")
    for command in ("ask", "decide"):
        said = refused(command, "lab.toml")
        assert f"the loss of Tariff raised {raised.partition('(')[0]}: " in said


def test_other_errors_of_a_decision_say_where_they_were_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    own("describing", "describe(self, a, space)", 'raise KeyError("price")')
    done("ask", "lab.toml")
    done("tell", "lab.toml", "0", "1")
    said = hentropy("decide", "lab.toml")
    assert said.code == 1
    assert "error: KeyError: 'price' (" in said.err
    assert "describing.py, line 9); HENTROPY_TRACEBACK=1 in the environment shows the traceback" in said.err
    monkeypatch.setenv("HENTROPY_TRACEBACK", "1")
    with pytest.raises(KeyError):
        hentropy("decide", "lab.toml")
