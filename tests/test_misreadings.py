"""What could be read in another way than it was meant is refused: numbers of other notations, columns named twice."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer

import hentropy as he
from hentropy.errors import InputError
from hentropy.studies.definition import read, space_of
from hentropy.studies.definition.reading import designs_in
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records.numbers import plain_number, plain_whole
from hentropy.views.cli import questions
from hentropy.views.cli.arguments import whole
from hentropy.views.server.api import data
from hentropy.views.server.pages.forms import Mistaken, columns_in
from hentropy.views.text.earlier_data import earlier_data
from support.commands import STUDY, done, hentropy, lab
from support.studies import LINE, hill, study

YAML = "version: 1\nname: small\nspace: {x: {type: real, low: 0, high: HIGH}}\ndecision: {name: top_k, k: WHOLE}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", ["1_5", "_1", "1__0", "1e1_0", "0.1_5", "1:30", "0x10", ""])
def test_only_plain_decimal_numbers_are_numbers(text: str) -> None:
    for reading in (plain_number, plain_whole):
        with pytest.raises(ValueError, match=r"number|float|literal"):
            reading(text)


def test_plain_numbers_are_read_as_they_are_meant() -> None:
    assert [plain_number(text) for text in ("15", " -1.5e-3 ", "+.5", "010")] == [15.0, -1.5e-3, 0.5, 10.0]
    assert [plain_whole(text) for text in ("15", " -3 ", "010")] == [15, -3, 10]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("init", "new.toml", "--parameter", "x=real:0:1_5"), 2, "must be numbers"),
        (("init", "new.toml", "--parameter", "x=integer:0:1_5"), 2, "must be whole numbers"),
        (("init", "new.toml", "--decision", "top_k", "--option", "k=1_5"), 1, 'decision.k: got "1_5"'),
        (
            ("init", "new.toml", "--decision", "improve", "--option", "threshold=1_5"),
            1,
            'decision.threshold: got "1_5"',
        ),
        (("init", "new.toml", "--trials", "1_5"), 2, "--trials"),
        (("ask", "lab.toml", "--count", "1_5"), 2, "--count"),
        (("show", "lab.toml", "--trials", "1_0"), 2, "--trials"),
        (("run", "lab.toml", "--workers", "1_0"), 2, "--workers"),
    ],
)
def test_underscores_on_the_command_line(folder: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    lab(folder)
    found = hentropy(*arguments)
    assert found.code == code
    assert said in " ".join(found.err.replace("│", " ").split())
    assert [path.name for path in folder.iterdir()] == ["lab.toml"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (("1_5",), "the value is '1_5', which is not a number"),
        (("1", "--std-error", "0_1"), "the standard error is '0_1', which is not a number"),
    ],
)
def test_underscores_in_what_is_told(folder: Path, told: tuple[str, ...], said: str) -> None:
    lab(folder)
    done("ask", "lab.toml")
    found = hentropy("tell", "lab.toml", "0", *told)
    assert (found.code, said in found.err) == (1, True)
    assert he.Study.from_file(folder / "lab.toml").records[0].state.value == "running"


@pytest.mark.parametrize("text", ["1_0", "0", "11", "1.5", "x", ""])
def test_whole_numbers_of_options_are_within_their_bounds(text: str) -> None:
    assert [whole(1, 10)(given) for given in ("1", "10", 7)] == [1, 10, 7]
    with pytest.raises(typer.BadParameter, match=f"'{text}' is not a whole number from 1 to 10"):
        whole(1, 10)(text)


def test_underscores_in_answers_and_tables(folder: Path) -> None:
    with pytest.raises(InputError, match="'1_5' is not a number"):
        questions._number("1_5")
    (folder / "designs.csv").write_text("a\n1\n1_5\n")
    with pytest.raises(InputError, match="line 3: a is '1_5'; it must be a number, as the others are"):
        designs_in(folder / "designs.csv")


@pytest.mark.parametrize("text", ["1_5", "1:30", "010", "-010", "0x10", "0b11", "0o17", "1_5.0", "1:30.5", "+0_1"])
def test_yaml_numbers_are_plain_decimal_numbers(folder: Path, text: str) -> None:
    file = folder / "study.yaml"
    for key, content in (
        ("space.x.high", YAML.replace("HIGH", text).replace("WHOLE", "2")),
        ("decision.k", YAML.replace("HIGH", "1").replace("WHOLE", text)),
    ):
        file.write_text(content)
        with pytest.raises(InputError, match=re.escape(f'{key}: got "{text}"; it must be a')):
            read(file)
    file.write_text(YAML.replace("HIGH", f"!!float {text}").replace("WHOLE", f"!!int {text}"))
    with pytest.raises(InputError, match=r"line [34]: .* is not a plain decimal number"):
        read(file)


def test_yaml_texts_are_what_is_written(folder: Path) -> None:
    file = folder / "study.yaml"
    for name in ("1_5", "1:30", "010"):
        file.write_text(YAML.replace("HIGH", "+1.5e+1").replace("WHOLE", "2").replace("name: small", f"name: {name}"))
        assert read(file).name == name


@pytest.mark.parametrize(
    ("text", "high"),
    [
        ("1_5", None),
        ("-1_5", None),
        ("1_5.0", None),
        ("0.1_5", None),
        ("1e1_5", None),
        ("1_000", 1000.0),
        ("1_000.5", 1000.5),
    ],
)
def test_toml_underscores_stand_between_thousands(folder: Path, text: str, high: float | None) -> None:
    note = '# 1_5\n[space.x_1_5]\ntype = "real"\nlow = -1_000\nhigh = 1_000\n'
    file = lab(folder, text=STUDY.replace("high = 3.0", f"high = {text}") + note.replace('"real"', "'real' # = 1_5"))
    if high is not None:
        assert space_of(read(file)).fields[0].high == high
        return
    with pytest.raises(InputError, match=r"is not valid TOML: line 8: .*_.* could be a slip"):
        read(file)


def test_underscores_in_toml_texts_are_texts(folder: Path) -> None:
    for name in ('"1_5 = 1_5"', "'1_5'", '"""= 1_5 \\""" 1_5"""', "'''= 1_5'''"):
        assert "1_5" in read(lab(folder, text=STUDY.replace('"lab"', name))).name


MAPS = [
    (["a=x", "b=x"], "x"),
    (["a=x", " b = x "], "x"),
    (["a=x", "a=y"], "the column a"),
    (["a=x", "a=x"], "the column a"),
]


@pytest.mark.parametrize(("mapped", "said"), MAPS)
def test_a_column_is_mapped_once(folder: Path, mapped: list[str], said: str) -> None:
    lab(folder)
    (folder / "old.csv").write_text("a,b,value\n0,1,2\n")
    found = hentropy("attach", "lab.toml", "old.csv", *(part for text in mapped for part in ("--map", text)))
    assert found.code == 2
    assert f"{said} appears twice" in " ".join(found.err.replace("│", " ").split())
    with pytest.raises(InputError, match=f"{said} appears twice"):
        data._columns(mapped)
    with pytest.raises(Mistaken, match=f"{said} appears twice"):
        columns_in({"map": ", ".join(mapped)})


def test_a_column_is_used_once() -> None:
    outcomes = Outcomes.of(None, he.Space(x=he.Real(0, 9), y=he.Real(0, 9)))
    text = "x,y,z,value,value_se\n1,2,3,4,5\n"
    with pytest.raises(InputError, match="the column 'x' is taken for x and for y"):
        earlier_data(text, "the file", outcomes, {"y": "x"})
    for column in ("x", "value"):
        with pytest.raises(InputError, match=f"the column '{column}' is taken for .* and for value_se"):
            earlier_data(text, "the file", outcomes, {"value_se": column})
    assert earlier_data(text, "the file", outcomes, {"y": "x", "x": "y"}).good == (
        ({"x": 2.0, "y": 1.0}, {"value": (4.0, 5.0)}),
    )


def test_complex_losses_are_refused() -> None:
    decision = he.decision(lambda f, a: (-f[..., 0]).to(torch.complex128), actions=he.Points(1))
    made = he.Study(LINE, decision, first=2)
    for x in (0.0, 1.0, 2.0):
        made.attach({"x": x}, hill(x))
    with pytest.raises(he.DecisionError, match="complex numbers"):
        made.decide()


COMPLEX: list[Any] = [1 + 2j, np.complex64(1 + 2j), np.complex128(1 + 2j), np.array(1 + 2j), torch.tensor(1 + 2j)]


@pytest.mark.parametrize("value", COMPLEX, ids=lambda value: type(value).__name__)
def test_complex_numbers_are_not_told(value: Any) -> None:
    made = study()
    with pytest.raises(InputError, match="the value told is"):
        made.tell(made.ask(), value)
    with pytest.raises(InputError, match=r"parameter x is .*; it must be a number"):
        made.attach({"x": value}, 1.0)


@pytest.mark.parametrize(
    "table",
    [
        np.array([[1 + 2j], [0j]]),
        torch.tensor([[1 + 2j], [0j]]),
        [[1 + 2j], [0j]],
        [[np.complex64(1)], [2]],
        np.array([[np.complex64(1)], [2]], dtype=object),
        [["1_5"], [2]],
        np.array([["1_5"], [2]], dtype=object),
    ],
)
def test_tables_of_complex_numbers_or_underscores_are_refused(table: Any) -> None:
    with pytest.raises(InputError, match=r"a pool needs a table of numbers|which has texts elsewhere; correct it"):
        he.Pool(table)
    with pytest.raises(InputError, match="X is not a table of numbers"):
        he.fit(table, [0.0, 1.0])
    with pytest.raises(InputError, match="Y is not a table of numbers"):
        he.fit([[0.0], [1.0]], table)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-150])
@pytest.mark.parametrize("noise", [None, 1e-301])
def test_outcomes_too_close_for_their_variance_are_refused(unit: float, noise: float | None) -> None:
    with pytest.raises(InputError, match="so close together that their variance is beyond what numbers can hold"):
        he.fit([[0.0], [1.0], [2.0]], [0.0, unit, 3 * unit], noise=noise)


def test_small_outcomes_are_told_apart() -> None:
    small, plain = (he.fit([[0.0], [1.0], [2.0]], [0.0, unit, 3 * unit], space=LINE) for unit in (1e-120, 1.0))
    at = torch.tensor([[0.5]], dtype=torch.float64)
    wanted = plain.moments(at, he.Needs.VARIANCE)
    found = small.moments(at, he.Needs.VARIANCE)
    torch.testing.assert_close(found.mean * 1e120, wanted.mean)
    torch.testing.assert_close(found.variance * 1e120 * 1e120, wanted.variance)


@pytest.mark.parametrize("value", [0.0, 1e-300, 5e-324, 0.1, -1e6, 1e300])
def test_equal_outcomes_are_constant_whatever_their_size(value: float) -> None:
    belief = he.fit([[0.0], [1.0], [2.0]], [value] * 3)
    mean = belief.means(belief.X).mean
    torch.testing.assert_close(mean, torch.full_like(mean, value), rtol=1e-12, atol=1e-2)
    # between them a component may differ, of a kernel that remembers little; what is expected hardly does
    between = belief.moments(torch.tensor([[0.5]], dtype=torch.float64), he.Needs.VARIANCE).total()[0]
    torch.testing.assert_close(between, torch.full_like(between, value), rtol=1e-12, atol=0.2)


def test_json_has_no_other_notations(folder: Path) -> None:
    words = {
        "version": 1,
        "name": "small",
        "space": {"x": {"type": "real", "low": 0, "high": 9}},
        "decision": {"name": "maximize"},
    }
    for text in ("1_5", "010", "0x10"):
        (folder / "study.json").write_text(json.dumps(words).replace("9", text))
        with pytest.raises(InputError, match="is not valid JSON"):
            read(folder / "study.json")
