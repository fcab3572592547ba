"""A study is opened once: what a command reads, checks and makes is counted."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from hentropy.core.decisions import Maximize
from hentropy.studies.definition import Description, reading
from support.commands import done, lab


@pytest.fixture
def counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often a transaction begins, a description is validated, a study file is read and its decision is made."""
    found: Counter[str] = Counter()

    def counting(owner: Any, name: str, what: str) -> None:
        original = getattr(owner, name)

        def counted(*given: Any, **named: Any) -> Any:
            found[what] += 1
            return original(*given, **named)

        monkeypatch.setattr(owner, name, counted)

    def began(_: Any) -> None:
        found["transactions"] += 1

    monkeypatch.chdir(tmp_path)
    counting(Description, "model_validate", "validations")
    counting(reading, "read_text", "parses")
    counting(Maximize, "__init__", "decisions")
    event.listen(Engine, "begin", began)
    yield found
    event.remove(Engine, "begin", began)


ONCE = {"validations": 1, "parses": 1, "decisions": 1}


@pytest.mark.parametrize(
    ("command", "transactions"),
    [
        (("ask",), 5),
        (("ask", "--json"), 5),
        (("tell", "0", "1.0"), 3),
        (("fail", "0", "broken"), 3),
        (("withdraw", "0"), 3),
        (("decide",), 5),
        (("show",), 3),
    ],
)
def test_a_command_opens_a_study_once(
    command: tuple[str, ...], transactions: int, counts: Counter[str], tmp_path: Path
) -> None:
    file = lab(tmp_path).name
    for number in range(2):
        done("ask", file)
        if command[0] not in ("tell", "fail", "withdraw"):
            done("tell", file, str(number), "1.0")
    counts.clear()
    done(command[0], file, *command[1:])
    assert dict(counts) == {**ONCE, "transactions": transactions}


def test_a_study_without_its_file_is_opened_once(counts: Counter[str], tmp_path: Path) -> None:
    done("ask", lab(tmp_path).name)
    counts.clear()
    done("tell", "lab", "0", "1.0", "--store", "sqlite:///hentropy.db")
    assert dict(counts) == {"validations": 1, "decisions": 1, "transactions": 3}
