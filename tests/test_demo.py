"""The demo runs from end to end."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_demo_prints_its_tables_and_draws_its_picture(tmp_path: Path) -> None:
    command = [sys.executable, "examples/demo.py", "--experiments", "12", "--out", str(tmp_path / "new folder")]
    environment = {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "80", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    assert "TopK(k=5" in run.stdout
    assert "after 12 observations" in " ".join(run.stdout.split())
    losses = re.findall(r"│ (hentropy|random search) +│ +(-?\d+\.\d+) +│ +(-?\d+\.\d+) +│", run.stdout)
    assert [name for name, *_ in losses] == ["hentropy", "random search"]
    # no five designs do better than five times the greatest value (0.872 each) and the full reward for distance (12.5)
    assert all(-16.86 < float(true) < -12.0 for _, _, true in losses)
    picture = Path(run.stdout.split("picture:")[1].replace("\n", "").strip())
    assert picture.read_bytes().startswith(b"\x89PNG")
