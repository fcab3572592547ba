"""The public face: what is exported, and that importing it changes nothing."""

import json
import subprocess
import sys
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import hentropy as he
from hentropy import public

pytestmark = pytest.mark.smoke

SOURCE = Path(he.__file__).parents[1]

SCRIPT = """
import json, random, sys, threading, warnings
import numpy, torch

def settings():
    return {
        "default dtype": str(torch.get_default_dtype()),
        "default device": str(torch.get_default_device()),
        "gradients": torch.is_grad_enabled(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "matmul precision": torch.get_float32_matmul_precision(),
        "torch threads": torch.get_num_threads(),
        "print options": str(torch._tensor_str.PRINT_OPTS),
        "torch random state": torch.get_rng_state().tolist(),
        "numpy random state": numpy.random.get_state()[1].tolist(),
        "numpy errors": numpy.geterr(),
        "python random state": random.getstate(),
        "warnings filters": [str(entry) for entry in warnings.filters],
        "threads": threading.active_count(),
    }

# what the libraries that hentropy stands on do when they are imported is not hentropy's doing
import gpytorch, botorch, scipy.optimize, rich.progress
import botorch.models, botorch.acquisition
before = settings()
import hentropy
hentropy.Study
after = settings()
changed = [name for name in before if json.dumps(before[name]) != json.dumps(after[name])]
print(json.dumps({"changed": changed, "modules": sorted(sys.modules)}))
"""


@cache
def fresh_import() -> dict[str, list[str]]:
    """What importing hentropy did in a new interpreter."""
    run = subprocess.run([sys.executable, "-c", SCRIPT], cwd=SOURCE, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_exports_are_exact_and_sorted() -> None:
    assert he.__all__ == sorted(set(he.__all__))
    found = {name for name, value in vars(public).items() if not name.startswith("_")}
    assert found == set(he.__all__) - {"__version__"}
    assert dir(he) == he.__all__


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'hentropy' has no attribute 'maximise'"):
        he.maximise  # noqa: B018


@pytest.mark.parametrize("name", he.__all__)
def test_every_export_is_there_and_documented(name: str) -> None:
    value = getattr(he, name)
    assert not isinstance(value, type(sys))
    if callable(value):
        assert value.__doc__


def test_the_package_is_typed() -> None:
    assert files("hentropy").joinpath("py.typed").is_file()


def test_the_version_is_a_version() -> None:
    assert all(part.isdigit() for part in he.__version__.split(".")[:2])


def test_importing_changes_no_global_setting() -> None:
    assert fresh_import()["changed"] == []


@pytest.mark.parametrize("module", ["matplotlib", "pandas", "botorch_community", "sklearn"])
def test_importing_leaves_optional_parts_alone(module: str) -> None:
    assert module not in fresh_import()["modules"]


@pytest.mark.parametrize(("package", "hole"), [("filelock", "3.20.0"), ("h11", "0.15")])
def test_versions_with_known_holes_are_not_installed(package: str, hole: str) -> None:
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["project"]
    wanted = [Requirement(text) for extra in project["optional-dependencies"].values() for text in extra]
    found = [requirement for requirement in wanted if requirement.name == package]
    assert found
    assert not any(requirement.specifier.contains(hole) for requirement in found)


def test_the_tests_edit_no_files_of_the_system() -> None:
    """Not even for the time of an installation: PostgreSQL's programs are unpacked, and need no settings."""
    said = (SOURCE.parent / "tests" / "support" / "install_postgres.sh").read_text()
    code = "\n".join(line for line in said.splitlines() if not line.lstrip().startswith("#"))
    assert "/etc" not in code
    assert "--download-only" in code
