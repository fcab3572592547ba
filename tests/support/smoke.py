"""A wheel that was installed works: run by `make release-check` with an environment that has nothing else."""

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import hentropy as he

STUDY = """
version = 1
name = "lab"
first = 3
space = {x = {type = "real", low = -1.0, high = 3.0}}
decision = {name = "maximize"}
model = {hyperparameters = "map"}
objective = {type = "python", function = "lab:measure"}
stop = {trials = 5}
"""


def command(folder: Path, *arguments: str) -> str:
    program = Path(sys.executable).with_name("hentropy")
    ended = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"hentropy {' '.join(arguments)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def main() -> None:
    """Import, search, and the commands of a study from its file to its report."""
    source = Path(he.__file__)
    assert "site-packages" in source.parts, f"{source} is not what was installed"
    assert he.__version__ == version("hentropy")
    assert (source.parent / "py.typed").is_file()
    found = he.minimize(lambda x: float((x[0] - 0.3) ** 2), [(-1.0, 1.0)], budget=7, hyperparameters="map")
    assert found.fun < 0.1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "lab.toml").write_text(STUDY)
        (folder / "lab.py").write_text("def measure(x):\n    return -(x - 1.0) ** 2\n")
        assert command(folder, "--version") == f"hentropy {he.__version__}\n"
        for line in ("--help", "doctor", "check lab.toml", "run lab.toml", "decide lab.toml", "report lab.toml"):
            command(folder, *line.split())
        assert (folder / "lab-report.html").stat().st_size > 100_000
    print(f"hentropy {he.__version__} works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
