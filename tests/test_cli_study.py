"""Studies on the command line: asked and told by hand, run to the end, shown and deleted."""

import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stdout
from datetime import datetime
from pathlib import Path

import pytest

import hentropy as he
from hentropy.errors import NoStore
from hentropy.studies.storage import open_store
from hentropy.views.cli.app import COMMANDS, app
from hentropy.views.cli.opening import as_typed, shown
from support.commands import STUDY, done, function, hentropy, lab, refused


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    text = " ".join(done(command, "--help").split())
    assert f"Example: hentropy {command}" in text or f"&& hentropy {command}" in text


LARGE = ("torch", "gpytorch", "botorch", "scipy", "pandas", "matplotlib", "fastapi")

IMPORTED = """
import json, sys
from contextlib import redirect_stdout
from datetime import datetime
from hentropy.views.cli.app import main
found = {}
for asked in json.load(sys.stdin):
    with redirect_stdout(sys.stderr):
        try:
            main(asked)
        except SystemExit as ended:
            assert not ended.code, asked
    found[" ".join(asked)] = list(sys.modules)
print(json.dumps(found))
"""


def imported_by(*commands: list[str]) -> dict[str, set[str]]:
    """The modules that are imported after each of some commands, all in one new process."""
    given = json.dumps(commands)
    ended = subprocess.run([sys.executable, "-c", IMPORTED], input=given, capture_output=True, text=True, check=True)
    return {command: set(modules) for command, modules in json.loads(ended.stdout).items()}


@pytest.mark.parametrize("asked", ["--help", "--version"])
def test_the_list_of_commands_needs_no_numbers(asked: str) -> None:
    assert not imported_by([asked])[asked] & {*LARGE, "numpy", "sqlalchemy", "pydantic"}


def test_help_is_printed_without_large_libraries() -> None:
    for command, modules in imported_by(*([name, "--help"] for name in COMMANDS)).items():
        assert not modules & {*LARGE}, command


def test_what_computes_nothing_is_done_without_large_libraries(folder: Path) -> None:
    lab(folder)
    done("ask", "lab.toml", "--count", "4")
    (folder / "results.csv").write_text("number,value\n3,0.5\n")
    commands = (
        "list",
        "schema",
        "tell lab.toml 0 -0.83",
        "fail lab.toml 1 broke",
        "withdraw lab.toml 2",
        "tell lab.toml results.csv",
        "export lab.toml --out lab.csv",
        "backup lab.toml copy.db",
        "delete lab.toml --yes",
    )
    for command, modules in imported_by(*(command.split() for command in commands)).items():
        assert not modules & {*LARGE}, command


def test_several_trials_fail_or_are_withdrawn_at_once(folder: Path) -> None:
    lab(folder, text=STUDY.replace("trials = 4", "trials = 9"))
    done("ask", "lab.toml", "--count", "6")
    assert done("fail", "lab.toml", "0", "2", "--reason", "no conversion") == (
        "0: failed (no conversion)\n2: failed (no conversion). 0 results so far, 4 pending (1, 3, 4, 5).\n"
    )
    assert "3: withdrawn (the plate was dropped). 0 results so far, 2 pending (4, 5)." in done(
        "withdraw", "lab.toml", "1", "3", "the plate was dropped"
    )
    assert refused("fail", "lab.toml", "4", "9").startswith("error: there is no trial 9")
    assert [each["number"] for each in json.loads(done("fail", "lab.toml", "4", "5", "--json"))] == [4, 5]
    notes = [(t.state.value, t.note) for t in he.Study.from_file(folder / "lab.toml").records]
    failed, withdrawn = ("failed", "no conversion"), ("withdrawn", "the plate was dropped")
    assert notes == [failed, withdrawn, failed, withdrawn, *[("failed", "no reason given")] * 2]


@pytest.mark.smoke
def test_a_study_by_hand(folder: Path) -> None:
    lab(folder)
    [asked] = json.loads(done("ask", "lab.toml", "--json"))
    assert asked["number"] == 0
    assert set(asked) >= {"number", "params", "gain", "entropy", "origin"}
    second = done("ask", "lab.toml")
    assert "Run this experiment" in second
    assert "Still pending" in second
    assert "0: -0.83 is recorded" in done("tell", "lab.toml", "0", "-0.83", "--note", "[bold]cold[/bold] \x1b[31m")
    assert json.loads(done("tell", "lab.toml", "1", "-1.5e-1", "--std-error", "0.1", "--json"))["measurements"] == {
        "value": {"value": -0.15, "std_error": 0.1}
    }
    [third] = json.loads(done("ask", "lab.toml", "--json"))
    assert third["gain"] > 0
    assert "2: failed (broke)" in done("fail", "lab.toml", "2", "broke")
    done("ask", "lab.toml")
    assert "withdrawn" in done("withdraw", "lab.toml", "3", "no time")
    study = he.Study.from_file(folder / "lab.toml")
    states = [(t.number, t.state.value, t.value, t.std_error) for t in study.records]
    assert states == [
        (0, "complete", -0.83, None),
        (1, "complete", -0.15, 0.1),
        (2, "failed", None, None),
        (3, "withdrawn", None, None),
    ]
    verdict = json.loads(done("decide", "lab.toml", "--json"))
    assert verdict["expected_loss"] == study.decide().expected_loss
    assert verdict["action"] == study.decide().action
    said = done("decide", "lab.toml")
    best = r"The best design: value \S+ ± \S+\. A run there succeeds with \d+ % probability\."
    best += (
        r" Measured in trial 1: -0\.15\. A design that was never run should be better by \S+ on average, but is better"
    )
    best += r" with only \d+ %"
    best += r" probability: too uncertain to recommend before a run\."
    best += r" After 3 runs, 1 of which failed\. Another run is worth (about|less than) \S+ in value\.\n"
    assert re.match(best, said)
    assert "\nNever run, perhaps better: x " in said
    compared = study.decide().comparison
    assert compared is not None
    assert verdict["comparison"] == compared.plain()
    assert "expected loss" not in said
    told = done("decide", "lab.toml", "--details")
    assert re.search(
        r"^One design with the highest value: expected loss \S+; the smallest of any design is \S+$", told, re.MULTILINE
    )
    shown = done("show", "lab.toml")
    assert "4 trials: 2 complete, 1 failed, 1 withdrawn. Values from -0.83 (trial 0) to -0.15 (trial 1)." in shown
    assert "[bold]cold[/bold]" in shown
    assert "\x1b" not in shown


def test_what_was_told_is_corrected_and_kept(folder: Path) -> None:
    lab(folder)
    done("ask", "lab.toml")
    done("tell", "lab.toml", "0", "1")
    assert "give --replace to correct it" in hentropy("tell", "lab.toml", "0", "2").err
    assert done("tell", "lab.toml", "0", "1")
    done("tell", "lab.toml", "0", "-2", "--replace")
    history = json.loads(done("show", "lab.toml", "--number", "0", "--json"))["history"]
    assert [one["measurements"]["value"]["value"] for one in history] == [1.0, -2.0]
    assert re.search(r"│ +1 │.*│ +-2 │", done("show", "lab.toml", "--number", "0"), re.DOTALL)


def test_only_a_value_can_have_failed(folder: Path) -> None:
    lab(folder)
    done("ask", "lab.toml")
    assert "use `hentropy fail`" not in hentropy("tell", "lab.toml", "0", "1", "--std-error", "abc").err


def test_the_gain_of_several_is_said_once(folder: Path) -> None:
    lab(folder, text=STUDY.replace("trials = 4", "trials = 40"))
    done("ask", "lab.toml", "--count", "2")
    for number in range(2):
        done("tell", "lab.toml", str(number), str(number))
    text = done("ask", "lab.toml", "--count", "3")
    asked = json.loads(done("show", "lab.toml", "--json"))["trials"][2:]
    [said] = re.findall(r"^Together they are worth about (\S+) in value\.$", text, re.MULTILINE)
    assert float(said) == pytest.approx(sum(trial["gain"] for trial in asked), rel=0.05)
    assert "┃ trial ┃ " in text
    assert "gain ┃" not in text
    by_name = done("ask", "lab", "--store", "sqlite:///hentropy.db")
    assert "Then: hentropy tell lab --store sqlite:///hentropy.db 5 VALUE" in by_name
    assert by_name.count("gain ┃") == 1


def test_a_file_that_has_changed_is_noted(folder: Path) -> None:
    lab(folder)
    done("ask", "lab.toml")
    assert hentropy("show", "lab.toml").err == ""
    lab(folder, text=STUDY.replace("trials = 4", "trials = 5"))
    assert (
        "lab.toml has changed in stop; the next run, ask or worker takes that over" in hentropy("show", "lab.toml").err
    )
    lab(folder, text=STUDY.replace("low = -1.0", "low = -2.0").replace("first = 2", "seed = 3"))
    differs = "lab.toml differs from the stored study in space, seed; run, ask and decide refuse this file"
    assert differs in hentropy("show", "lab.toml").err
    told = hentropy("tell", "lab.toml", "0", "1")
    assert differs in told.err
    assert "This command uses the study as it is stored." in told.err
    assert "0: 1 is recorded." in told.out


def test_an_ended_study_says_so(folder: Path) -> None:
    lab(folder)
    done("ask", "lab.toml", "--count", "4")
    for number in range(4):
        done("tell", "lab.toml", str(number), "1")
    assert "The study is finished: the budget of 4 trials is used up." in done("show", "lab.toml")


def test_asking_ends_with_the_rules_of_the_study(folder: Path) -> None:
    lab(folder)
    assert len(json.loads(done("ask", "lab.toml", "--count", "4", "--json"))) == 4
    again = hentropy("ask", "lab.toml", "--json")
    assert (again.code, json.loads(again.out)) == (0, [])
    assert "the budget of 4 trials is used up" in again.err
    assert [t["number"] for t in json.loads(done("ask", "lab.toml", "--json", "--anyway"))] == [4]


@pytest.mark.smoke
def test_a_run_to_the_end_and_once_more(folder: Path) -> None:
    lab(folder, function(folder, "ran_to_the_end"))
    first = done("run", "lab.toml")
    assert re.search(r"^3: \S+ \(worth (about|less than) \S+ in value\); so far: x \S+, mean", first, re.MULTILINE)
    assert "Finished: the budget of 4 trials is used up." in first
    worth = r"Another run is worth (about|less than) \S+ in value, but the budget of 4 trials is used up: stop\."
    assert re.search(rf"After 4 runs\. {worth}$", first, re.MULTILINE)
    assert "expected loss" not in first
    again = done("run", "lab.toml")
    assert "resumes after 4 trials" in again
    assert "\n3:" not in again
    reference = he.Study.from_file(folder / "lab.toml", storage=f"sqlite:///{folder}/other.db")
    for _ in range(4):
        trial = reference.ask()
        reference.tell(trial, -((trial.params["x"] - 1.0) ** 2))
    assert he.Study.from_file(folder / "lab.toml").records == reference.records


def test_json_lines_are_only_json(folder: Path) -> None:
    lab(folder, function(folder, "talkative", "print('hello')\n    return x"))
    said = hentropy("run", "lab.toml", "--json-lines")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line.get("number") for line in lines] == [0, 1, 2, 3, None]
    assert lines[-1]["stopped"] == "the budget of 4 trials is used up"
    assert said.err.count("hello") == 4


def test_a_worker_prints_dated_json_lines(folder: Path) -> None:
    lab(folder, function(folder, "talkative_too", "print('hello')\n    return x"))
    said = hentropy("worker", "lab.toml", "--json-lines")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line["event"] for line in lines] == ["begin", *["trial"] * 4, "end"]
    assert [line["number"] for line in lines[1:-1]] == [0, 1, 2, 3]
    times = [datetime.fromisoformat(line["at"]) for line in lines]
    assert times == sorted(times)
    assert lines[-1]["stopped"] == "the budget of 4 trials is used up"
    assert said.err.count("hello") == 4


def test_processes_and_a_command(folder: Path) -> None:
    program = folder / "measure"
    program.write_text("#!/bin/sh\nread params\necho 1.5\n")
    program.chmod(0o755)
    lab(folder, 'type = "command"\ncommand = ["./measure"]')
    assert "is valid" in done("check", "lab.toml")
    done("run", "lab.toml", "--workers", "2")
    assert [
        trial["measurements"]["value"]["value"] for trial in json.loads(done("show", "lab.toml", "--json"))["trials"]
    ] == [1.5] * 4


def test_a_broken_objective_is_told_once_and_the_run_ends(folder: Path) -> None:
    lab(folder, function(folder, "broken_lab", "raise RuntimeError('no [power]')"))
    said = hentropy("run", "lab.toml")
    assert said.code == 1
    assert "0: failed: RuntimeError: no [power]" in said.out
    assert "3 experiments in a row failed; the first of them (trial 0) with: RuntimeError" in said.err
    assert "hentropy delete" in said.err


def test_a_worker_knows_only_the_store(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    lab(folder, function(elsewhere, "far_away"))
    url = f"sqlite:///{folder}/hentropy.db"
    he.Study.from_file(folder / "lab.toml")
    said = done("worker", "lab", "--store", url, "--folder", str(elsewhere))
    assert said.count("\n") == 7
    assert "The first 2 designs fill the space (as given)." in said
    assert said.startswith("lab starts; everything is recorded in ")
    assert said.endswith("Finished: the budget of 4 trials is used up.\n")
    assert done("show", "lab", "--store", url).count("complete │") == 4


def test_other_versions_are_noted(folder: Path) -> None:
    lab(folder, function(folder, "versions_differ"))
    study = he.Study.from_file(folder / "lab.toml")
    name, definition = study.name, study.log.record.definition
    study.store.delete(study.log.record)
    study.store.create(name, definition, {"hentropy": "0.0.1", "torch": "1.0"})
    assert "hentropy 0.0.1 then" in hentropy("run", "lab.toml").err


def test_list_and_delete(folder: Path) -> None:
    assert "there is no store hentropy.db" in hentropy("list").err
    assert not list(folder.iterdir())
    lab(folder)
    done("ask", "lab.toml")
    [row] = json.loads(done("list", "--json"))
    assert (row["name"], row["decision"], row["trials"], row["running"]) == ("lab", "maximize", 1, 1)
    assert "│ lab  │ maximize" in done("list")
    refused = hentropy("delete", "lab.toml")
    assert refused.code == 1
    assert "give --yes" in refused.err
    assert "deleted: 'lab' from hentropy.db" in done("delete", "lab.toml", "--yes")
    assert "has no studies yet" in done("list")
    assert "hentropy.db; available: none" in hentropy("show", "lab.toml").err


def test_check_says_what_a_study_will_do_and_makes_nothing(folder: Path) -> None:
    lab(folder)
    said = done("check", "lab.toml")
    for part in (
        "one design with the highest value",
        "The first 2 designs fill the space",
        "You run the experiments",
        "It stops after 4 experiments",
        "It will be stored in hentropy.db; it has not started yet",
    ):
        assert part in said
    assert json.loads(done("check", "lab.toml", "--json"))["trials"] is None
    assert [path.name for path in folder.iterdir()] == ["lab.toml"]
    done("ask", "lab.toml")
    assert "with 1 trial, and resumes" in done("check", "lab.toml")


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"maximize": "maximise"}, "did you mean maximize?"),
        ({"first = 2": "first = 0"}, "first"),
        ({"[stop]": '[objective]\ntype = "python"\nfunction = "absent:f"\n[stop]'}, "there is no module absent"),
        (
            {"[stop]": '[objective]\ntype = "python"\nfunction = "json:dumps"\n[stop]'},
            "cannot be called with x by name",
        ),
        ({"[stop]": '[objective]\ntype = "command"\ncommand = ["./absent"]\n[stop]'}, "there is no program"),
        ({"[stop]": '[objective]\ntype = "command"\ncommand = ["./plain"]\n[stop]'}, "chmod +x"),
        ({"low = -1.0": "low = -1e308", "high = 3.0": "high = 1e308"}, "too wide for double precision"),
        ({"[stop]": '[storage]\nurl = "sqlite:///no/x.db"\n[stop]'}, "storage.url: there is no folder"),
        ({"low = -1.0": "low = -2.0"}, "has another study 'lab', with 1 trial, which differs in space"),
    ],
)
def test_check_finds_mistakes(folder: Path, change: dict[str, str], said: str) -> None:
    lab(folder)
    (folder / "plain").write_text("")
    done("ask", "lab.toml")
    text = STUDY
    for old, new in change.items():
        assert old in text
        text = text.replace(old, new)
    lab(folder, text=text)
    found = hentropy("check", "lab.toml")
    assert found.code == 1
    assert said in found.err
    as_json = hentropy("check", "lab.toml", "--json")
    assert as_json.code == 1
    assert json.loads(as_json.out)["ok"] is False


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@host/x",
        "POSTGRESQL://me:secret@host/x",
        "postgresql://host/x?user=me&password=secret",
        "postgresql://host/x?password=secret@secret",
        "postgresql://me:sec?ret-secret@host/x",
        "postgresql:me:secret@host/x",
    ],
)
def test_no_password_is_shown(url: str) -> None:
    assert "secret" not in shown(url)
    assert "secret" not in as_typed("lab", url)
    assert shown(url).lower().startswith("postgresql:")


def test_a_store_is_typed_again_as_it_was() -> None:
    assert as_typed("lab", "sqlite:///my lab.db") == "lab --store 'sqlite:///my lab.db'"
    assert as_typed("lab", "postgresql://me:secret@host:1/x") == "lab --store postgresql://me@host:1/x"
    assert as_typed("my lab.toml", None) == "'my lab.toml'"
    assert shown("SQLITE:///lab.db") == "lab.db"


def test_check_leaves_a_database_as_it_is(folder: Path, postgres_url: str) -> None:
    lab(folder, text=f'{STUDY}[storage]\nurl = "{postgres_url}?application_name=secret"\n')
    assert "it has not started yet" in done("check", "lab.toml")
    assert "secret" not in done("check", "lab.toml", "--json")
    assert "there is no store" in hentropy("list", "--store", postgres_url).err
    assert "'lab' has not started: there is no store" in hentropy("show", "lab.toml").err
    with pytest.raises(NoStore):
        open_store(postgres_url, make=False)
    done("ask", "lab.toml")
    assert "with 1 trial, and resumes" in done("check", "lab.toml")


def test_the_schema_is_printed_and_written(folder: Path) -> None:
    assert json.loads(done("schema"))["title"] == "hentropy study file"
    done("schema", "--out", "schema.json")
    assert "already exists" in hentropy("schema", "--out", "schema.json").err
    assert (folder / "schema.json").read_text() == done("schema")
    assert [path.name for path in folder.iterdir()] == ["schema.json"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("tell", "lab.toml", "0", "1,5"), 1, "with a decimal comma; write 1.5"),
        (("tell", "lab.toml", "0", "abc"), 1, "'abc', which is not a number"),
        (("tell", "lab.toml", "0", "nan"), 1, "use `hentropy fail`"),
        (("tell", "lab.toml", "0", "-inf"), 1, "use `hentropy fail`"),
        (("tell", "lab.toml", "0", "1", "--std-error", "-1"), 1, "not negative"),
        (("tell", "lab.toml", "9", "1"), 1, "there is no trial 9 in this study (trials: only 0)"),
        (("tell", "lab.toml", "abc", "3"), 2, "NUMBER is 'abc'; it must be the number of a trial, such as 4"),
        (("tell", "lab.toml", "-1", "3"), 2, "NUMBER is '-1'"),
        (("tell", "lab.toml", "0", "1", "--std-error", "abc"), 1, "not a number; write it like 0.83 or -1.2e-3"),
        (("export", "lab.toml", "--format", "csv", "--out", "x.jsonl"), 2, "x.jsonl is named as jsonl"),
        (("tell", "lab.toml", "0"), 2, "VALUE"),
        (("show", "lab.toml", "--number", "9"), 1, "there is no trial 9"),
        (("show", "lab.toml", "--number", "x"), 2, "NUMBER is 'x'"),
        (("withdraw", "lab.toml", "9"), 1, "there is no trial 9"),
        (("run", "lab.toml"), 1, "its objective is manual. Use `hentropy ask lab.toml`"),
        (("worker", "lab", "--store", "sqlite:///hentropy.db"), 1, "its objective is manual"),
        (("worker", "lab", "--store", "sqlite:///hentropy.db", "--folder", "no"), 1, "there is no folder no"),
        (("run", "lab.toml", "--workers", "0"), 2, "--workers"),
        (("run", "lab.toml", "--executor", "cloud"), 2, "processes"),
        (("decide", "lab.toml"), 1, "nothing has been told yet"),
        (("ask", "absent.toml"), 1, "there is no file absent.toml; the study file in this folder is lab.toml"),
        (("ask", "lab"), 1, "add --store"),
        (("ask", "absent", "--store", "sqlite:///hentropy.db"), 1, "there is no study 'absent' in hentropy.db"),
        (("show", "lab", "--store", "sqlite:///no.db"), 1, "there is no store no.db"),
        (("list", "--store", "mysql://root:secret@host/x"), 1, "there is no store at"),
        (("export", "lab.toml", "--format", "xml"), 2, "csv"),
        (("export", "lab.toml", "--out", "lab.toml", "--format", "csv"), 1, "lab.toml already exists"),
        (("export", "lab.toml", "--out", "lab.xlsx"), 2, "the endings are .csv, .jsonl, .ndjson"),
        (("import", "lab.toml", "lab.toml"), 1, "is not an export of this study"),
        (("check", "."), 1, "ending"),
        (("frobnicate",), 2, "frobnicate"),
    ],
)
def test_wrong_calls(folder: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    lab(folder)
    done("ask", "lab.toml")
    before = {path.name for path in folder.iterdir()}
    found = hentropy(*arguments)
    text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", found.err).split())
    assert found.code == code, found
    assert said in text
    assert "Traceback" not in text
    assert "secret" not in text
    assert {path.name for path in folder.iterdir() if "-wal" not in path.name} <= before


@pytest.mark.parametrize(
    "names",
    [
        [f"the {what} of the dough in the third bowl" for what in ("heat", "salt", "yeast", "water", "age", "weight")],
        [f"parameter{i}" for i in range(9)],
        ["note", "trial", "number"],
    ],
)
def test_wide_tables_lose_nothing(folder: Path, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hentropy.views.cli.printing.WIDTH", 80)
    space = "".join(f'[space."{name}"]\ntype = "real"\nlow = 1.0e-7\nhigh = 2.0e-7\n' for name in names)
    lab(folder, text=re.sub(r"\[space.x\].*(?=\[decision\])", lambda _: space, STUDY, flags=re.DOTALL))
    asked = done("ask", "lab.toml")
    done("tell", "lab.toml", "0", "-1.2345e-7", "--std-error", "1.2345e-9")
    said = {"ask": asked, "decide": done("decide", "lab.toml"), "show": done("show", "lab.toml")}
    [trial] = json.loads(done("show", "lab.toml", "--json"))["trials"]
    action = json.loads(done("decide", "lab.toml", "--json"))["action"][0]
    for command, text in said.items():
        tables = [line for line in text.splitlines() if line.startswith(("│", "┃", "trial 0:"))]
        assert all(len(line) <= 80 for line in tables)
        assert "…" not in text
        for name in names:
            assert f"{(action if command == 'decide' else trial['params'])[name]:.5g}" in text
            assert set(name.split()) <= set(re.split(r"[\s│┃,]+", text))
    assert "-1.2345e-07 ± 1.2345e-09" in said["show"]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("hentropy init --decision to", "top_k"),
        ("hentropy export x --format j", "jsonl"),
        ("hentropy run x --executor d", "dask"),
        ("hentropy ask ", "lab.toml"),
    ],
)
def test_a_shell_completes(typed: str, offered: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab(folder)
    (folder / "other.toml").write_text("[tool]\n")
    monkeypatch.setenv("_HENTROPY_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    out = io.StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit):
        app(prog_name="hentropy")
    assert out.getvalue().split() == [offered]
