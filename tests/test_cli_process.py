"""The command line as a process: signals, pipes, a terminal, completion in a shell."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import torch

import hentropy as he
from support.commands import STUDY, done, function, hentropy, lab
from support.tiers import nightly
from support.waiting import PATIENCE, until

SOURCE = Path(he.__file__).parents[1]
PYTHON = [sys.executable, "-m", "hentropy"]
SLOW = "time.sleep(0.4)\n    return -(x - 1.0) ** 2"
HELD = """from pathlib import Path
    with Path("begun").open("a") as file:
        file.write(f"{x!r}\\n")
    while Path("hold").exists() and Path("begun").read_text().split().index(repr(x)) > 1:
        time.sleep(0.02)
    return -(x - 1.0) ** 2"""
"""From the third design on, an experiment takes as long as it is held."""


def environment(**more: str) -> dict[str, str]:
    threads = str(torch.get_num_threads())  # what is computed there and here is compared
    return {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": threads, **more}


@contextmanager
def started(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    process = subprocess.Popen([*PYTHON, *arguments], cwd=cwd, env=environment(), stdout=pipe, stderr=pipe, text=True)
    try:
        with process:
            yield process
    finally:
        process.kill()


@pytest.mark.parametrize(("number", "workers"), [nightly(signal.SIGINT, 1), (signal.SIGTERM, 2)])
def test_a_run_that_is_stopped_goes_on_as_if_it_had_not(
    number: signal.Signals, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lab(tmp_path, function(tmp_path, f"stopped_{workers}", HELD))
    (tmp_path / "hold").touch()
    with started("run", "lab.toml", "--workers", str(workers), cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if line.startswith("1:"):
                break
        until(lambda: len((tmp_path / "begun").read_text().split()) > 2)
        process.send_signal(number)
        assert process.wait(PATIENCE) == 130
        said = process.stderr.read()
    told = re.search(
        r"^stopped; (\d) trials? (is|are) complete(, (\d) given back)?; run the same command to resume$", said, re.M
    )
    assert told, said
    assert "Traceback" not in said
    states = [trial.state.value for trial in he.Study.from_file("lab.toml").records]
    assert (states.count("complete"), states.count("running")) == (int(told[1]), int(told[4] or 0))
    assert "complete" in states
    (tmp_path / "hold").unlink()
    done("run", "lab.toml", "--workers", str(workers))
    records = he.Study.from_file("lab.toml").records
    assert [trial.state.value for trial in records] == ["complete"] * 4
    if workers == 1:
        done("run", "lab.toml", "--store", "sqlite:///unbroken.db")
        assert records == he.Study.from_file("lab.toml", storage="sqlite:///unbroken.db").records


def test_a_reader_that_leaves_early_is_no_error_to_see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lab(tmp_path, function(tmp_path, "piped", SLOW))
    with started("run", "lab.toml", cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        process.wait(PATIENCE)
        assert process.stderr.read() == ""
    assert json.loads(done("show", "lab.toml", "--json"))["counts"]["running"] <= 1


def questioned(folder: Path, *answers: str) -> str:
    """What `hentropy init new.toml` says on a terminal to somebody who answers so."""
    near, far = pty.openpty()
    process = subprocess.Popen(
        [*PYTHON, "init", "new.toml"], cwd=folder, env=environment(TERM="dumb"), stdin=far, stdout=far, stderr=far
    )
    os.close(far)
    os.write(
        near, "".join(f"{answer}\n" for answer in answers).encode() + b"\x04"
    )  # the end: a question too many fails
    said = b""
    try:
        while chunk := os.read(near, 4096):
            said += chunk
    except OSError:  # so the end of a terminal is told on Linux
        pass
    assert process.wait(PATIENCE) == 0, said.decode()
    os.close(near)
    return said.decode()


def test_questions_on_a_terminal(tmp_path: Path) -> None:
    # level sets; x from 0 to 4, no whole numbers, no more; two levels, wrong labels, 95 % sure; differs by about 0.2;
    # a person; 7 experiments
    x = ["x", "nonsense", "0 to -1", "0 to 4", "", "", ""]
    often = ["sometimes", "about 0.2"]
    said = questioned(tmp_path, "6", *x, "a b", "0.5 2", "2", "95", "0.95", "", *often, "1", "7", "maybe", "yes")
    for part in (
        """'nonsense' is not understood; write "20 to 120 °C in steps of 5", "1 to 8 whole",""",
        "the lower bound 0.0 must be below the upper bound -1.0",
        "give numbers, such as 1 2.5",
        "'95' is not an answer; give a number between 0 and 1, such as 0.95",
        " 2  misclassification",
        "If you repeat an experiment, by how much does the result differ?",
        "'sometimes' is not an answer; give a number, such as 0.5, 0 for not at all, or nothing if you do not know",
        "The value of a repeated experiment differs by about 0.2 (standard deviation).",
        "In the end you will have a map of where the value is above 0.5 and 2",
        "please answer yes or no",
    ):
        assert part in said
    study = he.Study.from_file(tmp_path / "new.toml")
    assert repr(study.space) == repr(he.Space(x=he.Real(0.0, 4.0)))
    assert study.stop == (he.Budget(7),)
    assert isinstance(study.decision, he.LevelSets)
    assert study.decision.confidence == 0.95
    assert study.outcomes.by_name == {"value": he.Outcome(noise=0.2)}


def test_a_parameter_is_understood_with_its_values_where_a_name_is_asked_for(tmp_path: Path) -> None:
    wrong = ["= 1 to 2", "p = high", "t = 1 to 2"]
    space = ["t=20 to 90 °C", "no", *wrong, "p = 1..5 bar", "no", "s=THF, water", "c=2-9 mM", "no", "", ""]
    said = questioned(tmp_path, "1", *space, "", "", "1", "30", "yes")
    for part in ("begins without a name", "'high' is not understood; write", "there is a parameter t already"):
        assert part in said
    assert repr(he.Study.from_file(tmp_path / "new.toml").space) == repr(
        he.Space(
            t=he.Real(20.0, 90.0, unit="°C"),
            p=he.Real(1.0, 5.0, unit="bar"),
            s=["THF", "water"],
            c=he.Real(2.0, 9.0, unit="mM"),
        )
    )


def test_a_chemist_is_asked(tmp_path: Path) -> None:
    ligand, solvent = ["ligand", "PPh3, XPhos, dppf"], ["solvent", "THF, water"]
    numbers = ["temperature", "20 to 120 °C", "no", "loading", "0.5, 1, 2 mol%", "time", "5 to 60 min in steps of 5"]
    conditions = ["temprature < 30", "temperature <= boils[solvent] - 5", "66", "hot", "100", ""]
    more = ["yes", "yield %, impurity %", "impurity = 3", "impurity <= 3", "", "", ""]
    said = questioned(tmp_path, "1", *ligand, *solvent, *numbers, "", *conditions, *more, "0.5 %", "", "1", "30", "yes")
    for part in (
        "there is no parameter temprature; did you mean temperature?",
        "boils of THF?",
        "'hot' is not a number",
        "loading: levels, 0.5 < 1 < 2 mol%.",
        "time: real, 5 to 60 min in steps of 5.",
        "Every design satisfies temperature <= boils[solvent] - 5.",
        "Does another outcome have to stay within a limit?",
        "If you repeat an experiment, by how much does impurity differ?",
        "In the end you will have one design with the highest yield, with impurity <= 3 %.",
    ):
        assert part in said
    study = he.Study.from_file(tmp_path / "new.toml")
    assert repr(study.decision) == repr(he.Maximize("yield", ["impurity <= 3"]))
    assert study.outcomes.by_name == {"yield": he.Outcome(unit="%", noise=0.5), "impurity": he.Outcome(unit="%")}
    assert repr(study.space) == repr(
        he.Space(
            ligand=["PPh3", "XPhos", "dppf"],
            solvent=["THF", "water"],
            temperature=he.Real(20.0, 120.0, unit="°C"),
            loading=he.Levels([0.5, 1, 2], unit="mol%"),
            time=he.Real(5.0, 60.0, step=5.0, unit="min"),
            where=["temperature <= boils[solvent] - 5"],
            tables={"boils": {"THF": 66.0, "water": 100.0}},
        )
    )


def test_outcomes_limits_plates_costs_and_fidelities_are_asked_for(tmp_path: Path) -> None:
    space = ["ligand", "PPh3, XPhos", "time", "5 to 60 min", "no", "fidelity", "0.2, 1", "", ""]
    measured = ["yield %, yield g", "yield % 0 to 100 noise 0, impurity % log"]
    limits, plates = ["purity <= 3", "impurity <= 3"], ["tme", "time"]
    cost, about = (
        ["2 + prices[ligand", "price[ligand] + time / 10", "1", "8"],
        ["fidelity", "fidelity = 2", "fidelity = 1"],
    )
    said = questioned(tmp_path, "1", *space, "yes", *measured, *limits, *plates, *cost, *about, "", "1", "30", "yes")
    for part in (
        "give names that differ, such as yield %, impurity % log",
        "nothing called purity is measured; did you mean impurity?",
        "same_in_batch must name parameters",
        "price of XPhos?",
        "'fidelity' is not understood; write it as fidelity = 1",
        "parameter fidelity is 2; the options are 0.2, 1",
        "All experiments of a batch have the same time.",
        "Experiments measure yield in % (from 0 to 100) and impurity in % (on a logarithmic scale).",
        "The yield of a repeated experiment is the same.",
        "The cost of an experiment: price[ligand] + time / 10.",
        "The recommendation has fidelity 1",
    ):
        assert part in " ".join(said.split()), part
    study = he.Study.from_file(tmp_path / "new.toml")
    assert repr(study.decision) == repr(he.Maximize("yield", ["impurity <= 3"]))
    assert study.outcomes.titles == {"yield": "yield (%)", "impurity": "impurity (%)"}
    assert study.space.same_in_batch == ("time",)
    assert study.space.all_tables == {"price": {"PPh3": 1.0, "XPhos": 8.0}}
    assert {study.decide_on.decode(row)["fidelity"] for row in study.decide_on.sample(9, 0)} == {1}


def test_one_who_waits_to_ask_is_told_for_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lab(tmp_path)
    study = he.Study.from_file("lab.toml")
    with ExitStack() as stack:
        turn = stack.enter_context(ExitStack())
        turn.enter_context(study.store.asking(study.log.record))
        process = stack.enter_context(started("ask", "lab.toml", cwd=tmp_path))
        assert process.stderr is not None
        assert process.stderr.readline().startswith(f"waiting: process {os.getpid()} on ")
        turn.close()
        assert process.wait(timeout=PATIENCE) == 0
    study.close()


@pytest.mark.parametrize("command", ["run", "worker"])
def test_a_result_that_comes_late_is_kept_and_said(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody tells the trial while it is evaluated."""
    monkeypatch.chdir(tmp_path)
    body = "import hentropy\n    hentropy.load_study('lab', 'hentropy.db').tell(0, 7.0)\n    return 0.12345678"
    lab(tmp_path, function(tmp_path, f"late_{command}", body), STUDY.replace("trials = 4", "trials = 1"))
    said = hentropy(command, "lab.toml")
    assert said.code == 0
    assert "trial 0 is no longer this worker's, but complete" in said.err
    assert "kept as trial 1, a second measurement: 0.12345678" in said.err
    trials = json.loads(done("show", "lab.toml", "--json"))["trials"]
    assert [trial["measurements"]["value"]["value"] for trial in trials] == [7.0, 0.12345678]


def test_other_commands_and_the_servers_processes_do_not_import_what_draws_files() -> None:
    code = (
        "import sys, hentropy.views.server.worker\nfrom hentropy.views.cli.app import COMMANDS\n"
        "[command.load() for command in COMMANDS.values()]\n"
        "slow = ('matplotlib', 'distributed', 'sqlalchemy', 'scipy.stats')\n"
        "print([name for name in slow if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
