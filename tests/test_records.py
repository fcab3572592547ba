"""Trials and verdicts: small frozen values, readable in a terminal and in a notebook."""

import dataclasses

import pytest
from rich.console import Console

import hentropy as he
from hentropy.studies.records import Entry, State, Trial
from hentropy.studies.records.verdict import KEPT_ROWS, lying
from hentropy.studies.storage.tables import trials
from hentropy.views.server.api.answers import TrialAnswer
from hentropy.views.text.trials import as_json
from support.studies import DECISIONS, PLANE, begun, measured

pytestmark = pytest.mark.smoke


def verdict(**changes: object) -> he.Verdict:
    rows = [{"x": 1.25, "mean": 3.0, "sd": 0.5}]
    base = he.Verdict(rows, expected_loss=-3.0, std_error=0.0, decision="Maximize()", observations=4, raw=None)
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


def test_records_are_frozen() -> None:
    trial = he.Trial(0, {"x": 1.0})
    with pytest.raises(dataclasses.FrozenInstanceError):
        trial.value = 1.0  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict().expected_loss = 1.0  # type: ignore[misc]


def test_one_description_of_a_trial_serves_store_files_and_api() -> None:
    trial = he.Trial(3, {"x": 1.5}, State.COMPLETE, measured(2.0, 0.1), 0.3, 0.01, -1.0, "first", "warm")
    entry = Entry(trial, 1.0, 2.0, "me", 3.0, 1, 2)
    assert Trial.of(trial.plain() | {"revision": 9}) == trial
    assert Entry.of(entry.plain() | {"study_id": 1, "revision": 9}) == entry
    assert {*entry.plain(), "study_id", "revision"} == {*trials.c.keys()}
    assert list(as_json(entry)) == list(TrialAnswer.model_fields)
    assert TrialAnswer(**as_json(entry)).model_dump() == as_json(entry)


def test_a_verdict_prints_as_a_table() -> None:
    assert str(verdict()).splitlines() == [
        "Maximize(). After 4 runs.",
        "┏━━━┳━━━━━━┳━━━━━━┳━━━━━┓",
        "┃   ┃    x ┃ mean ┃  sd ┃",
        "┡━━━╇━━━━━━╇━━━━━━╇━━━━━┩",
        "│ 1 │ 1.25 │  3.0 │ 0.5 │",
        "└───┴──────┴──────┴─────┘",
    ]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"observations": 1}, "Maximize(). After 1 run."),
        ({"headline": "One design: value 3."}, "One design: value 3. After 4 runs."),
        ({"failed": 2}, "Maximize(). After 6 runs, 2 of which failed."),
        ({"worth": "Another run is worth 1: stop."}, "Maximize(). After 4 runs. Another run is worth 1: stop."),
        ({"action": [{"estimate": 0.5}] * 20}, "... and 8 more rows in verdict.action"),
        ({"action": [{"estimate": 0.5}] * 13}, "... and 1 more row in verdict.action"),
        ({"action": [{"estimate": 0.5}] * KEPT_ROWS}, "... and more rows in verdict.action"),
        ({"action": []}, "Maximize(). After 4 runs."),
    ],
)
def test_lines_of_a_verdict(changes: dict, line: str) -> None:
    assert line in str(verdict(**changes)).splitlines()


@pytest.mark.parametrize(
    ("changes", "loss"),
    [
        ({}, "expected loss -3"),
        ({"std_error": 0.0123}, "expected loss -3 ± 0.012 (Monte Carlo)"),
        ({"expected_loss": -0.0}, "expected loss 0"),
    ],
)
def test_the_expected_loss_is_one_click_away(changes: dict, loss: str) -> None:
    made = verdict(**changes)
    assert made.loss == loss
    assert "expected loss" not in str(made)
    shown, details = made._repr_html_().split("<details>")
    assert loss not in shown
    assert details.endswith(f"Maximize(): {loss}</details>")


def test_markup_in_names_and_values_is_shown_as_it_is() -> None:
    odd = verdict(
        action=[{"[bold]x[/bold]": "[red]ship[/red]", "<b>": "<script>alert(1)</script>"}], decision="<i>D</i>"
    )
    assert "[bold]x[/bold]" in str(odd)
    assert "[red]ship[/red]" in str(odd)
    page = odd._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "&lt;i&gt;D&lt;/i&gt;" in page
    assert "<th>&lt;b&gt;</th>" in page


def test_a_notebook_shows_what_the_terminal_shows() -> None:
    many = verdict(action=[{"estimate": float(i)} for i in range(21)], std_error=0.1)
    page = many._repr_html_()
    assert page.count("<tr>") == 13
    for note in many.notes:
        assert note in page


def test_a_wide_table_lies_on_its_side_in_a_notebook() -> None:
    names = [f"p{i}" for i in range(9)]
    many = verdict(action=[{name: f"{name} of {row}" for name in names} for row in range(9)])
    page = many._repr_html_()
    assert page.count("<table>") == 2
    assert page.count("<tr>") == 2 * 10
    assert "<tr><td>p3</td><td>p3 of 0</td><td>p3 of 1</td>" in page
    assert "<tr><td>p3</td><td>p3 of 5</td><td>p3 of 6</td><td>p3 of 7</td><td>p3 of 8</td></tr>" in page
    assert "<th></th><th>6</th><th>7</th>" in page
    assert lying(8, 9, 9) == lying(9, 512, 12) == []
    assert lying(6, 3, 12, across=5) == [range(3)]
    assert lying(9, 20, 12) == [range(6), range(6, 12)]
    assert lying(6, 5, 12, across=5) == [range(3), range(3, 5)]


def test_a_long_decision_is_cut_to_a_readable_heading() -> None:
    long = verdict(decision=f"Estimate(at=tensor([{'1.0, ' * 400}\n 2.0]))")
    assert len(long.heading) < 150
    assert "\n" not in long.heading
    assert all(len(line) <= 80 for line in str(long).splitlines())


def test_a_rich_console_prints_a_verdict_at_its_own_width() -> None:
    console = Console(width=60, no_color=True)
    with console.capture() as captured:
        console.print(verdict())
    assert "Maximize(). After 4 runs." in captured.get()


LONG = [f"the {what} of the dough in the third bowl" for what in ("heat", "salt", "yeast", "water", "age", "weight")]


@pytest.mark.parametrize("names", [LONG, [f"x{i}" for i in range(9)]])
@pytest.mark.parametrize("rows", [1, 3, 12])
def test_a_verdict_that_is_too_wide_lies_on_its_side_and_nothing_is_cut(names: list[str], rows: int) -> None:
    said = [{name: -1.2345e-7 * (10 * i + k + 1) for k, name in enumerate(names)} | {"sd": 0.5} for i in range(rows)]
    text = str(verdict(action=said))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, *cells = [cell.strip() for cell in line.strip("│┃").split("│" if "│" in line else "┃")]
        found.setdefault(name, []).extend(cells)
    for name in names:
        assert found[name] == [f"{row[name]:.5g}" for row in said]
    assert found[""] == [str(number + 1) for number in range(rows)]


def test_a_name_that_is_wider_than_the_screen_is_broken_not_cut() -> None:
    text = str(verdict(action=[{"w" * 200: 1.2345, "mean": -1.2345e-5}]))
    assert text.count("w") == 200
    assert "-1.2345e-05" in text


def test_a_parameter_called_mean_is_not_overwritten() -> None:
    made = he.Study(he.Space(mean=he.Real(0.0, 1.0)), he.Maximize(), hyperparameters="map")
    for value in (0.1, 0.5, 0.9):
        made.attach({"mean": value}, 10.0 + value)
    row = made.decide().action[0]
    assert 0.0 <= row["mean"] <= 1.0
    assert row["mean of f"] > 10.0


@pytest.mark.parametrize("name", ["maximize", "top k", "sequence", "min max", "own class"])
def test_chosen_designs_come_with_what_is_known_of_them(name: str) -> None:
    made = begun(PLANE, DECISIONS[name])
    found = made.decide()
    for row, design in zip(found.action, found.raw, strict=True):
        assert set(row) >= {"x", "rate", "mean", "sd"}
        assert PLANE.encode({key: row[key] for key in PLANE.names}).tolist() == design.tolist()
