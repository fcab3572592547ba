"""docs/adapters.md: its examples run, each by itself, and every adapter has one; adapters say what they need."""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import hentropy.adapters
from hentropy.errors import MissingExtra

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "adapters.md").read_text()
EXAMPLES = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.filterwarnings("ignore")  # those of the packages themselves
@pytest.mark.parametrize("package", EXAMPLES)
def test_the_example_runs(package: str, capsys: pytest.CaptureFixture[str]) -> None:
    if package in ("Ax", "BayBE"):
        pytest.importorskip(package.lower(), reason=f"{package} is in the extra test, which `make test` installs")
    names: dict[str, Any] = {"__name__": "example"}
    exec(EXAMPLES[package], names)
    printed = capsys.readouterr().out
    assert re.search(r"After\s+\d+\s+runs", printed) or package in ("One call", "BayBE")


def test_every_adapter_is_on_the_page() -> None:
    folder = Path(hentropy.adapters.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "host", "mcp", "mcp_command"}
    assert {f"`hentropy.adapters.{name}`" for name in modules} == set(re.findall(r"`hentropy\.adapters\.\w+`", PAGE))
    assert set(EXAMPLES) == {"One call", "Optuna", "Ax", "gest-api", "BayBE"}


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("optuna", "optuna", "optuna"),
        ("ax", "ax", "ax"),
        ("gest_api", "gest_api", "gest-api"),
        ("baybe", "baybe", "baybe"),
        ("mcp", "mcp", "mcp"),
    ],
)
def test_a_package_that_is_missing_is_named(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, f"hentropy.adapters.{module}", raising=False)
    with pytest.raises(MissingExtra, match=re.escape(f"pip install 'hentropy[{extra}]'")):
        importlib.import_module(f"hentropy.adapters.{module}")
