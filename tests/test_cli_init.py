"""`hentropy init`: what it writes passes `hentropy check`."""

from pathlib import Path

import pytest

from hentropy.studies.definition import CHOICES, read
from hentropy.studies.definition.decisions import DECISIONS
from support.commands import done, function, hentropy, lab


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_answer_is_a_decision() -> None:
    assert {choice.decision for choice in CHOICES} <= set(DECISIONS)


@pytest.mark.parametrize("decision", [choice.decision for choice in CHOICES])
def test_every_decision_can_be_begun_without_questions(decision: str) -> None:
    done("init", "lab.toml", "--decision", decision)
    assert "lab.toml is valid" in done("check", "lab.toml")


@pytest.mark.parametrize("number", range(3))
def test_what_is_written_for_each_objective_passes_the_check(folder: Path, number: int) -> None:
    objective = [
        ("--objective", "manual"),
        ("--function", f"begun_{folder.name.replace('-', '_')}:growth"),
        ("--command", "./measure --fast"),
    ][number]
    said = done("init", "--parameter", "x=real:0.1:10:log", "--parameter", "n=integer:1:8", "--trials", "9", *objective)
    assert "hentropy check study.toml" in said
    words = read(folder / "study.toml")
    assert words.name == "study"
    assert words.stop.trials == 9
    assert [(name, p.type, p.low, p.high, p.log) for name, p in (words.space or {}).items()] == [
        ("x", "real", 0.1, 10.0, True),
        ("n", "integer", 1, 8, False),
    ]
    if number == 0:
        assert "study.toml is valid" in done("check", "study.toml")
        return
    for command in ("check", "run", "worker"):
        refused = hentropy(command, "study.toml")
        assert refused.code == 1
        assert "is still the stub; write there how an experiment is run" in refused.err
    assert not list(folder.glob("*.db*"))
    [stub] = [path for path in folder.iterdir() if path.name != "study.toml" and path.is_file()]
    written = {1: ("raise NotImplementedError", "return 1.5  # "), 2: ("print(json", "print(1.5)  # ")}[number]
    stub.write_text(stub.read_text().replace(*written))
    if number == 2:  # a module that is loaded stays as it was
        assert "study.toml is valid" in done("check", "study.toml")


@pytest.mark.parametrize(
    ("body", "stub"),
    [
        ("raise NotImplementedError", True),
        ('"""Doc."""\n    raise NotImplementedError("later")', True),
        ("return x", False),
        ("if x > 1:\n        raise NotImplementedError\n    return x", False),
        ("x = 1\n    raise NotImplementedError", False),
        ("raise ValueError", False),
    ],
)
def test_a_stub_is_known_by_its_text(folder: Path, body: str, stub: bool) -> None:
    module = f"stub_{abs(hash(body))}"
    lab(folder, function(folder, module, body))
    assert ("is still the stub" in hentropy("check", "lab.toml").err) is stub


def test_options_of_a_decision(folder: Path) -> None:
    done("init", "a.toml", "--decision", "top_k", "--option", "k=3", "--option", "largest=no", "--option", "cap=0.5")
    words = read(folder / "a.toml").decision.model_dump()
    assert (words["k"], words["largest"], words["cap"], words["weight"]) == (3, False, 0.5, 5.0)
    done("init", "b.toml", "--decision", "level_sets", "--option", "thresholds=0.5 1")
    assert read(folder / "b.toml").decision.model_dump()["thresholds"] == (0.5, 1.0)


def test_designs_from_a_file(folder: Path) -> None:
    assert "there is no file designs.csv" in hentropy("init", "--pool", "designs.csv").err
    assert not list(folder.iterdir())
    (folder / "designs.csv").write_text("a,b\n0,1\n1,2\n2,0\n")
    done("init", "--pool", "designs.csv")
    assert "a list of 3; their parameters are a, b" in done("check", "study.toml")


def test_a_file_that_is_there_is_left_alone(folder: Path) -> None:
    (folder / "study.toml").write_text("mine")
    assert "give --force" in hentropy("init").err
    assert (folder / "study.toml").read_text() == "mine"
    done("init", "--force")
    assert "x1 and x2 from 0 to 1 are examples" in done("init", "--force")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="/proc is a folder in which nobody can write")
def test_a_file_that_cannot_be_written_is_named_itself() -> None:
    said = hentropy("init", "/proc/x.toml")
    assert said.code == 1
    assert said.err.startswith("error: /proc/x.toml cannot be written: ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("study.yaml",), 1, "does not end in .toml"),
        (("no/study.toml",), 1, "there is no folder no"),
        (("--parameter", "x"), 2, "NAME=real:LOW:HIGH"),
        (("--parameter", "x=real:1:0"), 2, "must be below"),
        (("--parameter", "x=real:a:b"), 2, "must be numbers"),
        (("--parameter", "x=integer:0.5:2"), 2, "must be whole numbers"),
        (("--parameter", "x=real:0:1:log"), 2, "lower bound above 0"),
        (("--parameter", "x=real:0:1", "--parameter", "x=real:0:1"), 2, "appears twice"),
        (("--parameter", "x=real:0:1", "--pool", "p.csv"), 2, "not both"),
        (("--decision", "best"), 2, "maximize"),
        (("--option", "k=2"), 2, "--decision"),
        (("--decision", "top_k", "--option", "k"), 2, "KEY=VALUE"),
        (("--decision", "top_k", "--option", "k=many"), 1, "decision.k"),
        (("--decision", "top_k", "--option", "size=2"), 1, "decision.size"),
        (("--objective", "manual", "--function", "a:b"), 2, "a function goes with python"),
        (("--function", "nonsense"), 1, "package.module:name"),
        (("--trials", "0"), 2, "--trials"),
        (("--function", "class:def"), 1, "a word of Python itself"),
        (("--function", "oven:def"), 1, "has 'def', which is a word of Python itself"),
        (("--function", "oven.py:measure"), 1, "write oven:measure, without .py"),
        (("--function", "oven:mea-sure"), 1, "package.module:name"),
        (("--name=-v",), 1, "starts with a dash"),
        (("--name", "n" * 201), 1, "it has 201 letters; at most 200"),
        (("--parameter", "x=real:-1e308:1e308"), 2, "too wide for double precision"),
        (("--parameter", "x=integer:0:1" + "0" * 400), 2, "too wide for double precision"),
    ],
)
def test_wrong_options_write_nothing(folder: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    found = hentropy("init", *arguments)
    assert found.code == code, found
    assert said in " ".join(found.err.replace("│", " ").split())
    assert not list(folder.iterdir())
