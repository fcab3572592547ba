"""Tables in CSV texts: bounded in columns and rows, whatever their lines end with."""

import time

import pytest

import hentropy as he
from hentropy.errors import InputError
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.records import Entry, State, Trial
from hentropy.studies.records.csv_tables import MOST_COLUMNS, csv_table, number_in
from hentropy.views.text.earlier_data import earlier_data
from hentropy.views.text.trial_files import csv_text, exported_in, guarded, unguarded
from support.studies import measured

pytestmark = pytest.mark.smoke

SPACE = he.Space(x=he.Real(0, 1))
OUTCOMES = Outcomes.of(None, SPACE)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_a_header_of_a_million_names_is_refused_at_once(mark: str) -> None:
    others = ",;\t".replace(mark, "")  # now and then, or it would be a cell too long for the other delimiters
    head = mark.join(f"{number:x}{others if number % 15_000 == 0 else ''}" for number in range(700_000))
    began = time.process_time()
    with pytest.raises(InputError, match=f"has 700000 columns; at most {MOST_COLUMNS}"):
        csv_table(f"{head}\n1\n", "the file")
    assert time.process_time() - began < 30.0  # comparing each name with each takes minutes


def test_as_many_columns_as_allowed_are_read() -> None:
    names = [f"c{number}" for number in range(MOST_COLUMNS)]
    assert csv_table(",".join(names) + "\n", "the file").columns == tuple(names)
    with pytest.raises(InputError, match="two columns named 'c7'"):
        csv_table(",".join([*names[:-1], "c7"]) + "\n", "the file")
    with pytest.raises(InputError, match="columns"):
        csv_table("a,b\n" + "," * MOST_COLUMNS + "x\n", "the file")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_are_counted_whatever_their_lines_end_with(end: str) -> None:
    text = end.join(["a;b", *(f"{number};1" for number in range(4)), "", ""])
    assert len(csv_table(text, "the file", most_rows=4).rows) == len(csv_table(text, "the file").rows) == 4
    with pytest.raises(InputError, match="at most 3 are accepted at once"):
        csv_table(text, "the file", most_rows=3)


def test_a_line_break_within_quotes_is_no_row() -> None:
    assert len(csv_table('a\n"1\n2\n3\n4"\n', "the file", most_rows=1).rows) == 1


def test_exported_trials_are_counted_too() -> None:
    row = '{"number": %d, "params": {"x": 0.5}, "state": "complete", "measurements": {"value": {"value": 1.0}}}\n'
    lines = "".join(row % number for number in range(3)) + "\n" * 9
    table = "number,state,value,x\r" + "".join(f"{number},complete,1,0.5\r" for number in range(3))
    for text in (lines, table):
        assert len(exported_in(text, "the file", OUTCOMES, most_rows=3)) == 3
        with pytest.raises(InputError, match="at most 2 are accepted at once"):
            exported_in(text, "the file", OUTCOMES, most_rows=2)


def test_what_is_nested_without_end_is_no_trial() -> None:
    with pytest.raises(InputError, match="not JSON"):
        exported_in('{"params": ' + "[" * 100_000, "the file", OUTCOMES)


@pytest.mark.parametrize("text", ["1_5", "1_000.0", "_1", "1e1_0"])
def test_underscores_are_no_part_of_a_number(text: str) -> None:
    with pytest.raises(InputError, match=f"x is '{text}': not a number"):
        number_in("x", text)
    assert number_in("x", " 15e-1 ") == 1.5


FORMULAS = [
    "=1+1", "+1", "-1", "@SUM(A1)", "\n=1", "\r\n=1", " =1", "\u00a0=1", "\t=1", "\r=1", "\u3000=1", "\x0b=1", "\x1f=1",
    "\ufeff=1", "\u200b=1", "\u2028=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201", "\ufe661", " \uff1d1", "'=1", "''",
    "\n\n", " ",
]  # fmt: skip
"""Texts that some spreadsheet takes for a formula, perhaps after it has taken away what is not seen; and their like."""

PLAIN = ["", "plain", "x = 1", "a\n=1", "über", "1 - 2", "(=1)", "\u2012"]


@pytest.mark.parametrize("text", FORMULAS)
def test_what_looks_like_a_formula_is_guarded(text: str) -> None:
    assert guarded(text) == f"'{text}"
    assert unguarded(guarded(text)) == text


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert guarded(text) == unguarded(text) == text


def test_texts_come_back_as_they_were_written() -> None:
    notes = [*FORMULAS, *PLAIN]
    entries = [
        Entry(Trial(number, {"x": 0.5}, State.COMPLETE, measured(1.0), note=note), 0.0, 0.0)
        for number, note in enumerate(notes)
    ]
    text = csv_text(entries, OUTCOMES)
    assert ",' =1," in text
    assert [one.trial.note for one in exported_in(text, "the file", OUTCOMES)] == notes


def test_names_of_parameters_come_back_too() -> None:
    names = [" =x", "\u00a0y", "\uff1dz", "w ", "'v", "value"]
    space = he.Space(**{name: he.Real(0, 1) for name in names})
    entry = Entry(Trial(0, dict.fromkeys(names, 0.5), State.COMPLETE, measured(1.0)), 0.0, 0.0)
    outcomes = Outcomes.of(None, space)
    text = csv_text([entry], outcomes)
    assert text.startswith("number,' =x,'\u00a0y,'\uff1dz,w ,''v,param_value,state,")
    assert exported_in(text, "the file", outcomes)[0].trial.params == entry.trial.params
    assert earlier_data(text, "the file", outcomes, {}).good == ((entry.trial.params, {"value": 1.0}),)
