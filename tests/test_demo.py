"""The demo runs from end to end."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Needs
from hentropy.views.plots import Picture, scene_of
from hentropy.views.plots.marks import Dots, Heat, Panel, Role
from hentropy.views.plots.with_matplotlib import draw
from support.studies import PLANE, begun
from support.waiting import PATIENCE

ROOT = Path(__file__).parents[1]


@pytest.mark.nightly
def test_the_demo_prints_its_tables_and_draws_its_picture(tmp_path: Path) -> None:
    command = [sys.executable, "examples/demo.py", "--experiments", "12", "--out", str(tmp_path / "new folder")]
    environment = {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=10 * PATIENCE, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert "Five designs, each different: value " in run.stdout
    assert "After 12 runs." in " ".join(run.stdout.split())
    losses = re.findall(r"│ (hentropy|random search) +│ +(-?\d+\.\d+) +│ +(-?\d+\.\d+) +│", run.stdout)
    assert [name for name, *_ in losses] == ["hentropy", "random search"]
    # no five designs do better than five times the greatest value (0.872 each) and the full reward for distance (12.5)
    assert all(-16.86 < float(true) < -12.0 for _, _, true in losses)
    picture = Path(run.stdout.split("picture:")[1].replace("\n", "").strip())
    assert picture.read_bytes().startswith(b"\x89PNG")


def truth(x: Tensor) -> Tensor:
    return 5.0 + x[..., 0] * x[..., 1]


def test_its_picture_has_what_is_known_beside_the_truth_on_one_scale(tmp_path: Path) -> None:
    study = begun(PLANE, he.TopK(2), count=8, hyperparameters="mixture")
    made = runpy.run_path(str(ROOT / "examples" / "demo.py"))["beside_the_truth"](scene_of(study), truth, "title", 11)
    assert isinstance(made, Picture)
    [[known, real]] = made.rows
    assert isinstance(known, Panel)
    assert isinstance(real, Panel)
    mean, true = known.marks[0], real.marks[0]
    assert isinstance(mean, Heat)
    assert isinstance(true, Heat)
    assert (mean.low, mean.high) == (true.low, true.high)
    assert true.high == true.z.max() == 5.5
    # row i, column j is the point (x_j, rate_i)
    point = torch.tensor([[mean.x[7], mean.y[2]]], dtype=torch.float64)
    assert np.isclose(mean.z[2, 7], float(study.belief.moments(point, Needs.VARIANCE).total()[0]))
    assert np.isclose(true.z[2, 7], float(truth(point)))
    stars = [mark for panel in (known, real) for mark in panel.marks if getattr(mark, "role", None) is Role.DECIDED]
    chosen = study.decide().raw.numpy()
    for star in stars:
        assert isinstance(star, Dots)
        assert np.stack([star.x, star.y], -1).tolist() == chosen.tolist()
    assert len(stars) == 2
    assert draw(made, tmp_path / "demo.png", dpi=40).read_bytes().startswith(b"\x89PNG")
