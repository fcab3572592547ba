"""The examples and the page on studies do what they say: their commands are run, in folders of their own."""

import itertools
import json
import math
import multiprocessing
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import hentropy as he
from hentropy.studies.definition import Description, json_schema
from hentropy.studies.records import State
from hentropy.studies.storage import MemoryStore
from hentropy.studies.storage.urls import open_database
from hentropy.views.cli.app import COMMANDS, main
from hentropy.views.plots import PICTURES
from support.commands import done
from support.tiers import nightly
from support.waiting import PATIENCE, until

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
STUDIES = [
    ROOT / "docs" / f"{page}.md"
    for page in (
        "studies",
        "studies/by-hand",
        "studies/outcomes",
        "studies/noise",
        "studies/execution",
        "studies/storage",
        "reference/command-line",
    )
]
"""The pages on studies, in the order in which they are followed: later ones use the files of earlier ones."""
DESIGNS = ROOT / "docs" / "designs.md"
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = [sys.executable, "-m", "hentropy"]

CLIENT = """\
#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    asked = json.dumps({{"arguments": sys.argv[1:], "folder": os.getcwd()}}).encode()
    socket.send_fds(server, [asked], [0, 1, 2])
    sys.exit(int(server.recv(16) or b"70"))
"""
"""A command `hentropy` for scripts: each call is a process of its own, forked from one that has everything imported."""


def warm_up() -> None:
    """Use a store once: a fork finds ready what its first use takes, most of the time of a small command."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        done("init", "lab.toml", "--parameter", "x=real:0:1", "--decision", "maximize")
        done("ask", "lab.toml")
        done("tell", "lab.toml", "0", "1")
        done("show", "lab.toml")
        os.chdir(before)


def serve(path: str) -> None:
    """Run commands for ever, each in a fork of this process."""
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            client, _ = listener.accept()
            with client:
                if os.fork() == 0:
                    _answer(client)


def _answer(client: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    asked, files, *_ = socket.recv_fds(client, 65_536, 3)
    for number, file in enumerate(files):
        os.dup2(file, number)
    words = json.loads(asked)
    os.chdir(words["folder"])
    code: Any = 0
    try:
        main(words["arguments"])
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        code = 70
        sys.excepthook(*sys.exc_info())
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    client.send(str(code).encode())
    os._exit(0)


COMMAND_MODULES = sorted({command.module for command in COMMANDS.values()})
"""Imported once, for all commands that the tests start."""


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """A folder with a command `hentropy` that starts at once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hentropy.studies.storage.urls", *COMMAND_MODULES])
    # the path of a socket has to be short
    with tempfile.TemporaryDirectory(prefix="hentropy-") as folder:
        path = Path(folder, "commands")
        process = context.Process(target=serve, args=(str(path),), daemon=True)
        process.start()
        try:
            command = Path(folder, "hentropy")
            command.write_text(CLIENT.format(python=sys.executable, path=str(path)))
            command.chmod(0o755)
            until(path.exists)
            yield command.parent
        finally:
            process.kill()
            process.join()


def environment(*folders: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join([*map(str, folders), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", **more}


def copied(name: str, folder: Path) -> Path:
    """A copy of an example, without what somebody who tried it has left there."""
    target = folder / name
    shutil.copytree(EXAMPLES / name, target, ignore=shutil.ignore_patterns("*.db*", "*.log", "__pycache__"))
    return target


def run(folder: Path, command: str, *programs: Path, code: int = 0) -> str:
    """What a line of shell printed, errors included."""
    given: dict[str, Any] = {"cwd": folder, "env": environment(*programs), "text": True, "timeout": 10 * PATIENCE}
    ended = subprocess.run(
        ["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **given
    )
    assert ended.returncode == code, f"{command}: {ended.stdout}"
    return str(ended.stdout)


def exported(folder: Path, programs: Path) -> list[dict[str, Any]]:
    text = run(folder, "hentropy export study.toml --format jsonl", programs)
    return [json.loads(line) for line in text.splitlines()]


def decided(folder: Path, programs: Path) -> list[dict[str, Any]]:
    verdict = json.loads(run(folder, "hentropy decide study.toml --json", programs))
    return list(verdict["action"])


def states(trials: list[dict[str, Any]]) -> dict[str, int]:
    found = [trial["state"] for trial in trials]
    return {state: found.count(state) for state in dict.fromkeys(found)}


@pytest.mark.nightly
def test_wet_lab_goes_through_its_week(tmp_path: Path, programs: Path) -> None:
    folder = copied("wet_lab", tmp_path)
    said = run(folder, "sh week.sh", programs)
    assert "4 rows attached" in said
    assert "precipitate in the cuvette" in said
    trials = exported(folder, programs)
    assert states(trials) == {"complete": 10, "failed": 1, "withdrawn": 1}
    assert [trial["origin"] for trial in trials] == ["attached"] * 4 + ["first"] * 5 + ["proposed"] * 3
    told = [trial["ended_at"] for trial in trials]
    assert told[5] < told[4]
    one = json.loads(run(folder, "hentropy show study.toml --number 4 --json", programs))
    assert [then["measurements"]["value"]["value"] for then in one["history"]] == [92.4, 29.4]
    assert one["measurements"] == {"value": {"value": 29.4, "std_error": 1.5}}
    (best,) = decided(folder, programs)
    assert abs(best["temperature"] - 48.0) < 7.0
    assert abs(best["ph"] - 6.5) < 0.6


def test_command_measures_again_what_did_not_work(tmp_path: Path, programs: Path) -> None:
    folder = copied("command", tmp_path)
    said = run(folder, shell("run study.toml"))
    assert said.count("will be retried: the command ended with exit code 75") == 3
    trials = exported(folder, programs)
    assert states(trials) == {"complete": 14}
    assert len((folder / "measurements.log").read_text().splitlines()) == 17
    assert {trial["measurements"]["value"]["std_error"] for trial in trials} == {0.025}
    (best,) = decided(folder, programs)
    assert 0.01 < best["rate"] < 0.04
    assert abs(best["length"] - 12) <= 2


@pytest.mark.nightly
def test_own_decision_prefers_the_broad_peak(tmp_path: Path, programs: Path) -> None:
    folder = copied("own_decision", tmp_path)
    said = run(folder, shell("run study.toml"))
    assert "After 9 runs." in " ".join(said.split())
    assert states(exported(folder, programs)) == {"complete": 9}
    (best,) = decided(folder, programs)
    assert abs(best["temperature"] - 40.0) < 2.0
    assert "which runs code" in run(folder, "hentropy decide robust --store sqlite:///hentropy.db", programs, code=1)


def shell(arguments: str) -> str:
    """A line of shell that starts the command from nothing."""
    return f"{sys.executable} -m hentropy {arguments}"


@contextmanager
def started(folder: Path, *arguments: str, **more: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended in any case, and all that it has started with it."""
    given: dict[str, Any] = {"cwd": folder, "env": environment(**more), "text": True, "start_new_session": True}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(arguments, **given, **pipes) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


MEETING = """
import os
import time
from pathlib import Path

import growth

HERE = Path(__file__).parent


def simulate(**params):
    (HERE / f"at work {os.environ['WHO']}").touch()
    while len(list(HERE.glob("at work *"))) < 3:
        time.sleep(0.02)
    return growth.simulate(**params)
"""
"""The experiment of a team in which all three are at work before the first of them has ended."""


@pytest.mark.nightly
def test_team_shares_a_study_by_dask_and_plain_workers(tmp_path: Path, postgres_url: str, programs: Path) -> None:
    folder = copied("team", tmp_path)
    file = folder / "study.toml"
    words = file.read_text().replace("growth:simulate", "meeting:simulate").replace("timeout = 60", "timeout = 3000")
    words = words.replace("trials = 12", "trials = 12\nwhen_exhausted = false")  # who is quicker decides what is asked
    file.write_text(re.sub(r'url = "[^"]*"', f'url = "{postgres_url}"', words))
    (folder / "meeting.py").write_text(MEETING)
    quick = {"GROWTH_SECONDS": "0.1"}
    with ExitStack() as stack:
        found = tmp_path / "scheduler.json"
        listening = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(found)]
        stack.enter_context(started(tmp_path, *dask_command("scheduler"), *listening))
        until(lambda: found.exists() and found.read_text().endswith("}"))
        address = json.loads(found.read_text())["address"]
        own = ["--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1", "--local-directory", str(tmp_path)]
        stack.enter_context(started(folder, *dask_command("worker"), address, *own, WHO="dask", **quick))
        runner = [*COMMAND, "run", "study.toml", "--executor", "dask", "--scheduler", address]
        workers = [
            stack.enter_context(started(folder, *runner, **quick)),
            stack.enter_context(started(folder, *COMMAND, "worker", "study.toml", WHO="first", **quick)),
            stack.enter_context(started(folder, *COMMAND, "worker", "study.toml", WHO="second", **quick)),
        ]
        said = [worker.communicate(timeout=10 * PATIENCE)[0] for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0, 0], said
    measured = [re.findall(r"^(\d+): -?[\d.]+ \(", text, re.MULTILINE) for text in said]
    assert sorted(int(number) for numbers in measured for number in numbers) == list(range(12)), said
    assert all(measured), said
    assert states(exported(folder, programs)) == {"complete": 12}
    assert max(guess["mean"] for guess in decided(folder, programs)) > 4.0


def dask_command(name: str) -> list[str]:
    return [sys.executable, "-m", "dask", name]


TIMING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d+ (?:s|minutes?|hours?|days?) ago"
    r"|after \d+ trials|process \d+ on \S+,|\b\w+@\w[\w.-]*"
)
NUMBER = re.compile(r"-?\d+(\.\d+)*(e[-+]?\d+)?")
FRACTION = re.compile(r"-?\d+\.\d+(e[-+]?\d+)?")
BY_MODEL = re.compile(r"│|so far:")
"""Lines with numbers that come from a model: they may differ a little from machine to machine."""


HEADLINE = re.compile(r"-?\d.*(?=\. After \d+ runs?\b)|(?<=so far: )(\D*).*")
"""The numbers that a verdict begins with: rounding may also make one number of a range."""


def stable(line: str) -> str:
    """The part of a line of output that is the same everywhere: words, and whole numbers that no model has chosen."""
    # how little another run is worth, next to nothing or nothing at all, is a matter of rounding
    line = re.sub(r"Another run is (not expected|worth) .*stop\.", "Another run is #", line)
    line = HEADLINE.sub(lambda found: f"{found[1] or ''}#", line)
    without = (NUMBER if BY_MODEL.search(line) else FRACTION).sub("#", TIMING.sub("~", line))
    return " ".join(re.sub(r"[━┃┏┳┓┡╇┩└┴┘─│]", " ", without).split())


def typed(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines that it is said to print."""
    command, shown = "", list[str]()
    for line in text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            if command:
                yield command, shown
            command, shown = line.removeprefix("$ "), []
        elif line != "...":
            shown.append(line)
    yield command, shown


def follow(text: str, folder: Path, programs: Path) -> int:
    """Do what a page says, in a folder; how many commands were run.

    A block that begins with `# name.ending` is the file of that name. Lines of a console block that begin with `$ ` are
    run. What they print must have all lines shown, in that order, as far as they are stable. A command that is shown to
    end with an error must do so, and one that is shown to be killed is killed after what is shown before.
    """
    commands = 0
    for found in FENCED.finditer(text):
        if named := re.match(r"# (\w+\.\w+)\n", found[2]):
            (folder / named[1]).write_text(found[2])
        for command, shown in typed(found[2]) if found[1] == "console" else ():
            commands += 1
            if shown and shown[-1] == "Killed":
                ended = sum(re.match(r"\d+: ", line) is not None for line in shown)
                printed = killed(command, shown.pop(), folder, len(shown), ended)
            else:
                printed = run(folder, command, programs, code=int(any(line.startswith("error:") for line in shown)))
            left = iter([stable(line) for line in printed.splitlines()])
            for line in shown:
                assert stable(line) in left, f"{command}: {line!r} is not in what is printed, or not there:\n{printed}"
    return commands


def killed(command: str, how: str, folder: Path, lines: int, ended: int) -> str:
    """What a command printed until it was killed, in the middle of the experiment that comes after so many lines."""
    assert how == "Killed"
    module = folder / "oven.py"
    text = module.read_text()
    # the experiment that comes then does not end by itself
    count = "measure.calls = vars(measure).get('calls', 0) + 1"
    module.write_text(text.replace("time.sleep(1)", f"{count}; time.sleep(1000 if measure.calls > {ended} else 1)"))
    with started(folder, *COMMAND, *command.split()[1:]) as process:
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(lines)]
        with closing(open_database(folder / "hentropy.db", make=False)) as store:
            (study,) = store.studies()
            until(lambda: any(entry.trial.state is State.RUNNING for entry in store.news(study).entries))
        os.killpg(process.pid, signal.SIGKILL)
    module.write_text(text)
    return "".join(printed)


@pytest.mark.parametrize(
    "page", ["start", "howto/backup", *map(nightly, ("tutorials/laboratory-week", "tutorials/cluster", "howto/csv"))]
)
def test_the_consoles_of_a_page_are_true(page: str, tmp_path: Path, programs: Path) -> None:
    assert follow((ROOT / "docs" / f"{page}.md").read_text(), tmp_path, programs) > 1


WHOLE_FILE = """
version = 1
name = "lab"
decision.name = "maximize"
space.solvent = {type = "choice", options = ["THF", "ethanol", "water"]}
space.ligand = {type = "choice", options = ["SPhos", "XPhos"]}
space.catalyst = {type = "choice", options = ["Pd", "Ni"], descriptors = {price = [9, 1]}}
space.temperature = {type = "real", low = 30, high = 110}
space.loading = {type = "real", low = 0.5, high = 5}
"""
"""What a part of a study file is a part of: it has all that the parts refer to."""


@pytest.mark.parametrize("page", ["constraints", "costs"])
def test_the_part_of_a_study_file_in_a_guide_can_be_used(page: str, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "howto" / f"{page}.md").read_text()
    [part] = [found[2] for found in FENCED.finditer(text) if found[1] == "toml"]
    (tmp_path / "lab.toml").write_text(WHOLE_FILE + part)
    study = he.Study.from_file(tmp_path / "lab.toml", storage=MemoryStore())
    assert isinstance(study.space, he.Space)
    assert len(study.space.where) == len(tomllib.loads(part).get("where", ()))
    assert (study.ask().expected_cost is None) == ("cost" not in tomllib.loads(part))


@pytest.mark.nightly
def test_the_consoles_of_the_page_on_pictures_are_true(tmp_path: Path, programs: Path) -> None:
    words = 'version = 1\nname = "lab"\nfirst = 4\nspace.x = {type = "real", low = -1, high = 3}\n'
    model = 'decision.name = "maximize"\nmodel.hyperparameters = "map"\n'
    (tmp_path / "lab.toml").write_text(words + model)
    (tmp_path / "earlier.csv").write_text("x,value\n-0.5,0\n0.4,0.8\n1.1,1\n2.6,0.2\n")
    run(tmp_path, "hentropy attach lab.toml earlier.csv", programs)
    before = {path.name for path in tmp_path.iterdir()}
    assert follow((ROOT / "docs" / "pictures.md").read_text(), tmp_path, programs) == 3
    assert {path.name for path in tmp_path.iterdir()} - before == {"lab-pictures", "pictures", "lab.html"}
    assert {path.name for path in (tmp_path / "lab-pictures").iterdir()} == {f"{name}.png" for name in PICTURES}
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {"known.svg", "why.svg"}


@pytest.mark.nightly
def test_the_page_on_designs_is_true(tmp_path: Path, programs: Path) -> None:
    text = DESIGNS.read_text()
    assert follow(text, tmp_path, programs) > 5
    said, settings = [found[2] for found in FENCED.finditer(text) if found[1] == "toml"]
    there = tomllib.loads((tmp_path / "coupling.toml").read_text())
    assert {key: there[key] for key in tomllib.loads(said)} == tomllib.loads(said)
    words = tomllib.loads(settings)
    space = {"x": {"type": "real", "low": 0, "high": 1}, "fidelity": {"type": "levels", "values": [0.2, 1.0]}}
    Description.model_validate(
        {"version": 1, "name": "settings", "space": space, "decision": {"name": "maximize"}, **words}
    )


@pytest.mark.nightly
def test_the_pages_on_studies_are_true(tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(follow(page.read_text(), tmp_path, programs) for page in STUDIES) > 20
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    for page in STUDIES:
        text = page.read_text()
        for found in FENCED.finditer(text):
            if found[1] == "python" and not found[2].startswith("# "):
                exec(compile("\n" * text[: found.start(2)].count("\n") + found[2], page, "exec"), names)
    assert names["from_file"].stopped == "the budget of 12 trials is used up"
    for study in [value for value in names.values() if isinstance(value, he.Study)]:
        study.close()


def test_a_page_that_is_not_true_is_found(tmp_path: Path) -> None:
    page = "```text\n# said.txt\nyes 0.25\n```\n```console\n$ cat said.txt\n{}\n```\n"
    assert follow(page.format("yes 0.26"), tmp_path, tmp_path) == 1
    for wrong in ("no 0.25", "yes 1", "error: yes 0.25", "yes 0.25\nyes 0.25"):
        with pytest.raises(AssertionError):
            follow(page.format(wrong), tmp_path, tmp_path)


def keys(schema: dict[str, Any], node: Any, path: str) -> Iterator[str]:
    """All keys of a study file, with their tables; of decisions only how they are named, of `decide_on` the tables."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    for form in [*node.get("anyOf", ()), *node.get("oneOf", ())]:
        if set(form) != {"required"}:
            yield from keys(schema, form, path)
    if isinstance(node.get("additionalProperties"), dict) and node.get("type") == "object":
        yield from keys(schema, node["additionalProperties"], f"{path}NAME.")
    for name, inside in node.get("properties", {}).items():
        if path == "decision." and name not in ("name", "python"):
            continue
        below = [] if path == "decide_on." else list(keys(schema, inside, f"{path}{name}."))
        yield from below or [f"{path}{name}"]


def test_the_page_names_every_key_of_a_study_file() -> None:
    schema = json_schema()
    page = ROOT / "docs" / "reference" / "study-file.md"
    section = page.read_text().split("## Keys")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)) == set(keys(schema, schema, ""))


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir() if (path / "study.toml").is_file()))
def test_every_example_says_what_it_is(name: str) -> None:
    readme = (EXAMPLES / name / "README.md").read_text()
    files = {path.name for path in (EXAMPLES / name).iterdir() if path.is_file()} - {"README.md", "measurements.log"}
    assert {file for file in files if ".db" not in file} == set(re.findall(r"^\| `([\w.]+)` \|", readme, re.MULTILINE))
    for link in re.findall(r"\]\(([^)#]+)", readme):
        assert (EXAMPLES / name / link).is_file(), link


@pytest.mark.nightly
def test_plates_of_a_reaction(tmp_path: Path, programs: Path) -> None:
    folder = copied("suzuki", tmp_path)
    said = run(folder, "PLATES=3 sh plates.sh", programs)
    assert "Every design satisfies temperature <= boiling_point[solvent] - 2." in said
    assert "0: failed (the seal leaked)" in said
    trials = exported(folder, programs)
    assert sum(states(trials).values()) == 12
    assert states(trials)["failed"] >= 4
    boiling = {"THF": 66, "dioxane": 101, "toluene": 111, "DMF": 153, "ethanol": 78}
    for start in (0, 4, 8):
        failed = {trial["state"] for trial in trials[start : start + 4]}
        assert failed == ({"failed"} if trials[start]["params"]["temperature"] > 66 else {"complete"})
        plate = [trial["params"] for trial in trials[start : start + 4]]
        assert len({params["temperature"] for params in plate}) == 1
        assert all(params["temperature"] <= boiling[params["solvent"]] - 2 for params in plate)
    assert len({trial["params"]["ligand"] for trial in trials[:8]}) == 8
    assert all(set(trial["measurements"]) == {"yield", "impurity"} for trial in trials if trial["state"] == "complete")
    assert all(trial["expected_cost"] > 10.0 for trial in trials)
    three = decided(folder, programs)
    assert min(apart(one, other) for one, other in itertools.combinations(three, 2)) >= 0.25  # of the cap
    assert "Three designs, each different: yield " in said
    assert re.search(r", impurity <= 3 % (at (each|the least likely) of them )?with [a-z ]*\d+ % probability\.", said)
    assert f"After 12 runs, {states(trials)['failed']} of which failed." in " ".join(said.split())
    assert len(re.findall(r"^Spent \d+(\.\d+)? of 500 euro\.$", said, re.MULTILINE)) == 2  # decide, and show
    assert all(row["chance of success"] >= 0.5 and 0.0 <= row["limits hold"] <= 1.0 for row in three)
    assert all(row["temperature"] <= boiling[row["solvent"]] - 2 for row in three)
    said = run(folder, f"{sys.executable} -c 'import in_python; print(in_python.run(plates=2))'")
    assert "After 8 runs, 4 of which failed." in " ".join(said.split())


def apart(one: dict[str, Any], other: dict[str, Any]) -> float:
    """How much two recipes differ: another option counts 1, a number the share of its range, loadings as logarithms."""
    options = sum(one[name] != other[name] for name in ("ligand", "solvent"))
    numbers = abs(one["temperature"] - other["temperature"]) / 80.0 + abs(one["time"] - other["time"]) / 110.0
    return options + numbers + abs(math.log(one["loading"] / other["loading"])) / math.log(10.0)
