"""Wrong study files: one error that names the file and every mistake in it."""

import json
from pathlib import Path
from typing import Any

import pytest

import hentropy as he
from hentropy.studies.definition import read
from support.words import with_changes, written

pytestmark = pytest.mark.smoke


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (None, "there is no file .*designs.csv"),
        ("x,y\n", "at least one design"),
        ("x,y\n1,2\n\n3\n", r"line 4: 1 values for 2 columns \(x, y\)"),
        ("x,y\n1,2\n3,warm\n", "line 3: y is 'warm'; it must be a number, as the others are"),
        ("x,y\n1,\n3,warm\n", "line 2: y is ''; it must be a text or a number"),
        ("x,y\n1,2\n3,nan\n", r"pool\.rows\[1\]\[1\]: got NaN; it must be a finite number"),
        ("x,x\n1,2\n", "has two columns named 'x'"),
        ("x,\n1,2\n", r"pool\.names\[1\]: it is empty"),
    ],
)
def test_wrong_tables_of_designs(table: str | None, said: str, tmp_path: Path) -> None:
    if table is not None:
        (tmp_path / "designs.csv").write_text(table)
    words = with_changes(space=None, pool={"file": "designs.csv"})
    with pytest.raises(he.InputError, match=said):
        read(written(tmp_path, json.dumps(words), "study.json"))


REAL = {"type": "real", "low": 0.0, "high": 1.0}

WRONG: list[tuple[dict[str, Any], list[str]]] = [
    ({"cost": {"of": 1.0, "unti": "h"}}, ["cost.unti: unknown key; the keys here are of, unit, price; did you mean"]),
    ({"decide_on": {"valeus": {"x": 1.0}}}, ["decide_on.valeus: unknown key", "did you mean values"]),
    ({"decide_on": {"pool": {"fil": "a.csv"}}}, ["decide_on.pool.fil: unknown key", "did you mean file"]),
    ({"decide_on": {"space": {"x": {"type": "real", "lo": 0.0, "low": 0.0, "high": 1.0}}}}, ["decide_on.space.x.lo"]),
    ({"version": 2}, ["version: got 2; it must be 1"]),
    ({"version": None}, ["version: it is missing. The file-format version: 1."]),
    ({"name": ""}, ["name: it is empty; give it at least one letter"]),
    ({"name": "a\nb"}, ["name: 'a\\nb' has the control character '\\n'; leave it out"]),
    ({"name": 5}, ["name: got 5; it must be a text"]),
    ({"seed": "5"}, ['seed: got "5"; it must be a whole number']),
    ({"seed": True}, ["seed: got true; it must be a whole number"]),
    ({"seed": 2**32}, ["seed: got 4294967296; it must be below 4294967296"]),
    ({"first": 0}, ["first: got 0; it must be at least 1"]),
    ({"space": None}, ["space: give the parameters as [space.NAME] tables, or a [pool], and not both"]),
    ({"pool": {"rows": [[1.0]]}}, ["space: give the parameters as [space.NAME] tables, or a [pool], and not both"]),
    ({"space": {}}, ["space: give at least one parameter, [space.NAME]"]),
    ({"name": "-v"}, ["name: '-v' starts with a dash"]),
    ({"name": "n" * 201}, ["name: it has 201 letters; at most 200 are allowed"]),
    (
        {"space": {"x": {"type": "real", "low": -1.7e308, "high": 1.7e308}}},
        ["space.x: the range is too wide for double precision"],
    ),
    (
        {"space": {"x": {"type": "integer", "low": 0, "high": 10**400}}},
        ["space.x: the range is too wide for double precision"],
    ),
    (
        {"objective": {"type": "python", "function": "oven.py:measure"}},
        ["objective.function: 'oven.py:measure' names a file; write oven:measure, without .py"],
    ),
    ({"space": {"self": REAL}}, ["space.self: a parameter cannot be called self"]),
    ({"space": {"x": 3}}, ["space.x: got 3; it must be a table of keys and values"]),
    ({"space": {"a b": {**REAL, "low": "a"}}}, ['space."a b".low: got "a"; it must be a number']),
    (
        {"space": {"x": {**REAL, "type": "reel"}}},
        ["space.x.type", '"reel"', "real, integer, choice, levels, fractions; did you mean real?"],
    ),
    ({"space": {"x": {"low": 0, "high": 1}}}, ["space.x.type: it is missing; it can be real, integer"]),
    (
        {"space": {"x": {**REAL, "hi": 1}}},
        ["space.x.hi: unknown key; the keys here are type, low, high"],
    ),
    ({"space": {"x": {"type": "real", "low": 0}}}, ["space.x.high: it is missing. The upper bound"]),
    ({"space": {"x": {**REAL, "low": 2}}}, ["space.x: the lower bound 2.0 must be below the upper bound 1.0"]),
    (
        {"space": {"x": {**REAL, "log": True}}},
        ["space.x: a logarithmic parameter needs a lower bound above 0"],
    ),
    (
        {"space": {"n": {"type": "integer", "low": 1, "high": 2.5}}},
        ["space.n.high: got 2.5; it must be a whole"],
    ),
    ({"space": {"x": {**REAL, "high": float("inf")}}}, ["space.x.high: got Infinity; it must be a finite number"]),
    ({"space": {"x": {**REAL, "step": 0.3}}}, ["space.x: from 0.0 to 1.0 is not a whole number of steps of 0.3"]),
    ({"space": {"x": {**REAL, "unit": 3}}}, ["space.x.unit: got 3; it must be a text"]),
    ({"space": {"x": {"type": "choice"}}}, ["space.x.options: it is missing. The options: texts, numbers"]),
    ({"space": {"x": {"type": "choice", "options": "a, b"}}}, ['space.x.options: got "a, b"; it must be a list']),
    ({"space": {"x": {"type": "choice", "options": ["a", "a"]}}}, ["space.x: the options must differ, got a twice"]),
    ({"space": {"x": {"type": "choice", "options": [["a"]]}}}, ['space.x.options[0]: got ["a"]; it must be a text or']),
    ({"space": {"x": {"type": "choice", "options": ["a", "b"], "descriptor": {}}}}, ["did you mean descriptors?"]),
    (
        {"space": {"x": {"type": "choice", "options": ["a", "b"], "descriptors": {"size": [1.0]}}}},
        ["space.x: descriptor size has 1 number for 2 options; give one for each"],
    ),
    (
        {"space": {"x": {"type": "choice", "options": ["a", "b"], "descriptors": {"a": [1.0]}}}},
        ["space.x: descriptors must be"],
    ),
    (
        {"space": {"x": {"type": "choice", "options": ["a", "b"], "descriptors": "lost.csv"}}},
        ["space.x.descriptors: there is no file", "lost.csv"],
    ),
    ({"space": {"x": {"type": "levels", "values": [1, "high"]}}}, ["space.x: levels must be all numbers or all names"]),
    ({"space": {"x": {"type": "fractions", "names": ["a"]}}}, ["space.x: fractions need the names of at least two"]),
    (
        {"space": {"x": {"type": "fractions", "names": ["a", "b"], "high": 0.4}}},
        ["space.x: the parts add up to between 0 and 0.8, never to the total 1"],
    ),
    (
        {"space": {"a": REAL, "x": {"type": "fractions", "names": ["a", "b"]}}},
        ["space: the names of a design's values must differ, got a twice"],
    ),
    ({"where": "x < 1"}, ['where: got "x < 1"; it must be a list']),
    ({"where": ["x < 1", "y < 1"]}, ['where: in the expression "y < 1", there is no parameter y']),
    ({"where": ["x > 1", "x < 0"]}, ['where: no design satisfies "x > 1" and "x < 0" together']),
    ({"where": [3]}, ["where[0]: got 3; it must be a text"]),
    ({"tables": {"price": {"a": "dear"}}}, ['tables.price.a: got "dear"; it must be a number']),
    ({"tables": {"price": 3}}, ["tables.price: got 3; it must be a table of keys and values"]),
    ({"same_in_batch": ["t"]}, ["same_in_batch must name parameters, and 't' is none; the parameters are x"]),
    (
        {"space": {"temperature": REAL, "x": REAL}, "same_in_batch": ["temprature"]},
        ["same_in_batch: same_in_batch must name parameters, and 'temprature' is none; did you mean temperature?"],
    ),
    ({"space": None, "pool": {"rows": [[1.0]]}, "where": ["x1 > 0"]}, ["where: conditions go with a space"]),
    ({"space": None, "pool": {"rows": [[1.0, "a"], [2.0, 3.0]]}}, ["pool: row 1 of the pool has the value 3.0"]),
    (
        {"space": None, "pool": {"rows": [[1.0], [[2.0]]]}},
        ["pool.rows[1][0]: got [2.0]; it must be a number or a text"],
    ),
    (
        {"space": None, "pool": {"rows": [[1.0]], "id": "name"}},
        ["pool: the pool has no column 'name'; the columns are x1"],
    ),
    ({"space": None, "pool": {"rows": [[1.0]], "ignor": []}}, ["pool.ignor: unknown key", "did you mean ignore?"]),
    (
        {"space": None, "pool": {"rows": [[1.0], [2.0]]}, "same_in_batch": ["y"]},
        ["same_in_batch: ", "must name columns"],
    ),
    ({"desicion": {}}, ["desicion: unknown key", "did you mean decision?"]),
    ({"decision": None}, ["decision: it is missing."]),
    ({"decision": "maximize"}, ['decision: got "maximize"; it must be a table']),
    ({"decision": {}}, ["decision.name: it is missing; it can be best_observed,", "python = "]),
    ({"decision": {"name": "TopK", "k": 2}}, ['decision.name: got "TopK"', "did you mean top_k?"]),
    ({"decision": {"name": ["top_k"]}}, ['decision.name: got ["top_k"]; it must be one of best_observed,']),
    ({"decision": {"name": "top_k"}}, ["decision.k: it is missing. A whole number. It has to be given."]),
    ({"decision": {"name": "top_k", "k": 2, "wieght": 1}}, ["decision.wieght: unknown key", "did you mean weight?"]),
    (
        {"decision": {"name": "top_k", "k": 2, "distance": "l3"}},
        ['distance: got "l3"; it must be "l1" or "l2"'],
    ),
    (
        {"decision": {"name": "top_k", "k": 0}},
        ["decision: an action needs a whole number of points"],
    ),
    ({"decision": {"name": "top_k", "k": 2.0}}, ["decision.k: got 2.0; it must be a whole number"]),
    ({"decision": {"name": "level_sets", "thresholds": [2, 1]}}, ["decision: the thresholds must rise"]),
    ({"decision": {"name": "level_sets", "thresholds": "a"}}, ['thresholds: got "a"; it must be a list or a number']),
    (
        {"decision": {"name": "level_sets", "thresholds": [1, "a"]}},
        ['decision.thresholds[1]: got "a"; it must be a '],
    ),
    (
        {"decision": {"name": "level_sets", "thresholds": 1, "relation": "diference"}},
        ["decision.relation", "did you mean difference?"],
    ),
    ({"decision": {"name": "identify", "what": "agmax"}}, ["decision.what", "or a list; did you mean argmax?"]),
    ({"decision": {"name": "identify", "what": [[1.0], ["b"]]}}, ['decision.what[1][0]: got "b"; it must be a number']),
    ({"decision": {"name": "identify", "what": [[1.0], [1, 2]]}}, ["decision.what: row 1 has length 2, row 0 has"]),
    ({"decision": {"name": "estimate", "at": []}}, ["decision.at: at least one row"]),
    (
        {"decision": {"name": "estimate", "at": [[1.0, 2.0]]}},
        ["decision: the points have 2 values each"],
    ),
    ({"decision": {"python": "mine.Thing"}}, ["decision.python: 'mine.Thing' is not of the form package.module:name"]),
    ({"decision": {"python": "mine:Thing", "k": float("nan")}}, ["decision: an option is NaN or infinite"]),
    ({"model": {"hyperparameters": "mixtrue"}}, ["model.hyperparameters", 'got "mixtrue"', "did you mean mixture?"]),
    ({"model": 3}, ["model: got 3; it must be a table of keys and values"]),
    ({"solver": {"max_seconds": 0}}, ["solver.max_seconds: got 0; it must be above 0"]),
    ({"solver": {"max_memory": "5 MoB"}}, ["solver.max_memory: '5 MoB' is not an amount of memory"]),
    ({"solver": {"max_memory": 5}}, ["solver.max_memory: max_memory is in bytes and must be at least 1 MiB"]),
    ({"solver": {"max_memory": 1.5}}, ["solver.max_memory: got 1.5; it must be a whole number or a text"]),
    ({"outcomes": {"y": {"noise": -1}}}, ["outcomes.y.noise: got -1; it must be at least 0"]),
    ({"outcomes": {"y": {"noise": "none"}}}, ['outcomes.y.noise: got "none"; it must be a number']),
    ({"outcomes": {"y": {"nose": 1}}}, ["outcomes.y.nose: unknown key", "did you mean noise?"]),
    ({"outcomes": {"y": {"low": 2, "high": 1}}}, ["outcomes: low must be below high, got 2 and 1"]),
    ({"outcomes": {"y": {"kind": "yes/no", "noise": 0}}}, ["outcomes: an outcome of kind 'yes/no' has no noise"]),
    (
        {"outcomes": {"y": {}, "z": {"computed": "x", "high": 1}}},
        ["outcomes: z is computed, so it has no noise and no bounds"],
    ),
    ({"objective": {"retries": 1}}, ["objective.type: it is missing; it can be manual, python, command"]),
    ({"objective": {"type": "manual", "timeout": 5}}, ["objective.timeout: unknown key"]),
    ({"objective": {"type": "python"}}, ["objective.function: it is missing."]),
    ({"objective": {"type": "python", "function": "f"}}, ["objective.function: 'f' is not of the form"]),
    ({"objective": {"type": "command", "command": "ls"}}, ['objective.command: got "ls"; it must be a list']),
    ({"objective": {"type": "command", "command": []}}, ["objective.command: got []; it must be not empty"]),
    (
        {"objective": {"type": "command", "command": ["a"], "timeout": 0}},
        ["objective.timeout: got 0; it must be above 0"],
    ),
    ({"objective": {"type": "manual", "retries": -1}}, ["objective.retries: got -1; it must be at least 0"]),
    ({"stop": {"trial": 5}}, ["stop.trial: unknown key", "did you mean trials?"]),
    ({"stop": {"trials": 0}}, ["stop.trials: got 0; it must be at least 1"]),
    ({"stop": {"patience": 3}}, ["stop: patience counts gains below gain_below, which is not given"]),
    ({"storage": {"url": "postgres://me:secret@host/lab"}}, ["storage.url: a url that starts with 'postgres' is not"]),
    ({"storage": {"url": "sqlite:///:memory:"}}, ["storage.url: a database in memory"]),
    ({"own": ["solver"]}, ["own: it stands for parts made in Python"]),
    ({"decision": {"own": "Thing()"}}, ["own: it stands for parts made in Python"]),
]


@pytest.mark.parametrize(("parts", "said"), WRONG, ids=[repr(parts)[:60] for parts, _ in WRONG])
def test_wrong_words_and_what_is_said(parts: dict[str, Any], said: list[str], tmp_path: Path) -> None:
    file = written(tmp_path, json.dumps(with_changes(**parts)), "study.json")
    with pytest.raises(he.InputError) as caught:
        read(file)
    first, *lines = str(caught.value).split("\n")
    assert first == f"{file} cannot be used:"
    assert len(lines) == 1
    assert all(part in lines[0] for part in said), lines[0]
    assert "secret" not in lines[0]
    assert ", own" not in lines[0]  # what only a store may say is not offered


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    words = with_changes(seed=-1, decision={"name": "improve", "thresold": 2}, stop={"trials": 2.5}, extra=1)
    with pytest.raises(he.InputError) as caught:
        read(written(tmp_path, json.dumps(words), "study.json"))
    keys = [line.split(":")[0].strip() for line in str(caught.value).split("\n")[1:]]
    assert sorted(keys) == ["decision.threshold", "decision.thresold", "extra", "seed", "stop.trials"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("study.ini", "", r"has the ending '\.ini'; a study file ends in one of \.toml, \.yaml, \.yml, \.json"),
        ("study", "", "has no ending"),
        ("study.toml", 'name = "a"\nname = "b"\n', r"is not valid TOML: .*\(at line 2"),
        ("study.toml", "name = \n", r"is not valid TOML: .*\(at line 1"),
        ("study.json", '{"a": 1,}', "is not valid JSON: .*line 1"),
        ("study.json", '{"a": {"b": 1, "b": 2}}', 'is not valid JSON: the key "b" appears twice in one table'),
        ("study.yaml", "a: 1\nb: [", "(?s)is not valid YAML: .*line 2"),
        ("study.yaml", "a: 1\nb: {c: 1, c: 2}", 'is not valid YAML: line 2: the key "c" appears twice in one table'),
        ("study.yaml", "a: 1\nno: 2", "is not valid YAML: line 2: the key False is not text; put it in quotes"),
        ("study.yaml", "a: !!python/object:os.system {}", "is not valid YAML"),
        ("study.yaml", "- a\n- b", "holds a list; a study file is a table of keys"),
        ("study.yaml", "", "is empty; a study file is a table of keys"),
        ("study.json", "[" * 100_000, "is not valid JSON"),
    ],
)
def test_files_that_cannot_be_read(name: str, text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(he.InputError, match=said) as caught:
        read(written(tmp_path, text, name))
    assert str(tmp_path / name) in str(caught.value)


def test_files_that_are_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(he.InputError, match=r"there is no file .*none\.toml"):
        read(tmp_path / "none.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(he.InputError, match=r"folder\.toml is a folder, not a regular file"):
        read(tmp_path / "folder.toml")
    (tmp_path / "latin.toml").write_bytes('name = "Öl"'.encode("latin-1"))
    with pytest.raises(he.InputError, match=r"not text in UTF-8 \(byte 8 is 0xd6\)"):
        read(tmp_path / "latin.toml")
