"""Experiments as batch jobs: submitit's debug and local executors stand in for SLURM."""

from pathlib import Path

import pytest

from hentropy.errors import ExecutionError, InputError
from hentropy.studies.execution import PythonObjective
from hentropy.studies.execution.batch_jobs import BatchJobs, job_parameters
from support.commands import function, lab, refused
from support.waiting import PATIENCE

LAB = """
import os, signal

def measure(x):
    if x == 13:
        raise ValueError("unlucky")
    if x < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * x, 0.5
"""


@pytest.fixture
def objective(tmp_path: Path) -> PythonObjective:
    (tmp_path / "batch_lab.py").write_text(LAB)
    return PythonObjective("batch_lab:measure", tmp_path)


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # the logs of submitit's debug jobs
def test_results_and_failures_come_back_in_their_order(objective: PythonObjective, tmp_path: Path) -> None:
    with BatchJobs(objective, 2, tmp_path / "jobs", cluster="debug") as executor:
        executor.submit(4, {"x": 3})
        executor.submit(7, {"x": 13})
        with pytest.raises(InputError, match="experiment 7 is pending already"):
            executor.submit(7, {"x": 1})
        assert executor.pending == {4, 7}
        (first, second) = executor.wait()
        assert (first[0], first[1].told) == (4, (6.0, 0.5))
        assert (second[0], second[1].failed, second[1].lost) == (7, "ValueError: unlucky", False)
        assert executor.wait() == []
    with pytest.raises(ExecutionError, match="after the executor was closed"):
        executor.submit(8, {"x": 1})


@pytest.mark.slow
def test_a_job_that_is_killed_is_lost_and_others_are_not(objective: PythonObjective, tmp_path: Path) -> None:
    with BatchJobs(objective, 2, tmp_path / "jobs", {"timeout_min": 5}, cluster="local") as executor:
        executor.submit(0, {"x": -1})
        executor.submit(1, {"x": 2})
        outcomes = dict(executor.wait(PATIENCE))
        while len(outcomes) < 2:
            outcomes |= dict(executor.wait(PATIENCE))
    assert outcomes[1].told == (4.0, 0.5)
    assert outcomes[0].lost
    assert "ended without a result" in str(outcomes[0].failed)


def test_parameters_of_jobs_are_submitits_or_slurms(objective: PythonObjective, tmp_path: Path) -> None:
    assert job_parameters(["partition=gpu", "timeout_min=60"]) == {"slurm_partition": "gpu", "timeout_min": 60}
    with pytest.raises(InputError, match="is not NAME=VALUE"):
        job_parameters(["partition"])
    with pytest.raises(InputError, match="does not take these parameters"):
        BatchJobs(objective, 1, tmp_path, {"slurm_patience": 3}, cluster="debug")


def test_a_machine_without_slurm_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lab(tmp_path, function(tmp_path, "no_slurm", "return x"))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no SLURM here" in refused("run", "lab.toml", "--executor", "slurm", "--slurm", "partition=gpu")
    assert "go with the executor slurm" in refused("run", "lab.toml", "--slurm", "partition=gpu", code=2)
