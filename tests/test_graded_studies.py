"""Studies of yes and no and of grades: told in words, kept, shown, decided on, in files, on the page and in the API."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch

import hentropy as he
from hentropy.errors import InputError
from hentropy.studies.definition import json_schema
from hentropy.views.client import RemoteStudy
from hentropy.views.plots.pictures import information, picture
from hentropy.views.plots.scene import scene_of
from hentropy.views.server.settings import Settings
from support.commands import done, hentropy
from support.serving import Served, emptied, served
from support.waiting import PATIENCE

LINE = he.Space(x=he.Real(0.0, 1.0))
GRADES = ("poor", "fair", "good")
QUALITY = he.Outcome(kind="grades", grades=GRADES)


def study(decision: he.Decision, **outcomes: he.Outcome) -> he.Study:
    return he.Study(LINE, decision, outcomes=outcomes, seed=1, first=4)


def attached(made: he.Study) -> he.Study:
    """With a yes above 0.5, or the grades from the left to the right."""
    [name] = made.outcomes.measured
    words = made.outcomes.words(name)
    for i in range(12):
        x = (i + 0.5) / 12
        made.attach({"x": x}, words[int(x * len(words))])
    return made


def test_outcomes_are_told_in_words() -> None:
    made = study(he.Maximize("crystal"), crystal=he.Outcome(kind="yes/no"), purity=he.Outcome(unit="%"))
    for told, value in ((True, 1.0), ("yes", 1.0), (" No ", 0.0), ("n", 0.0), (1, 1.0), (0.0, 0.0), ("TRUE", 1.0)):
        trial = made.ask()
        assert made.tell(trial, {"crystal": told}).measurements == {"crystal": he.Measurement(value)}
    graded = study(he.Maximize(), quality=QUALITY)
    assert graded.tell(graded.ask(), "Fair").measurements == {"quality": he.Measurement(1.0)}
    assert graded.trials["quality"].tolist() == ["fair"]
    assert made.trials["crystal"].tolist() == ["yes", "yes", "no", "no", "yes", "no", "yes"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("maybe", "must be one of no, yes"),
        (0.5, "must be one of no, yes"),
        (2, "must be one of no, yes"),
        ((True, 0.1), "has no standard error"),
        (float("nan"), "must be one of no, yes"),
    ],
)
def test_what_is_neither_yes_nor_no_is_refused(told: Any, said: str) -> None:
    made = study(he.Maximize(), crystal=he.Outcome(kind="yes/no"))
    with pytest.raises(InputError, match=said):
        made.tell(made.ask(), told)


def test_grades_that_are_called_by_numbers_are_meant_by_their_names() -> None:
    stars = he.Outcome(kind="grades", grades=("1", "2", "3"))
    assert [stars.grade(told, "stars") for told in (1, "2", 3.0)] == [0.0, 1.0, 2.0]
    with pytest.raises(InputError, match="one of 1, 2, 3"):
        stars.grade(0, "stars")
    assert QUALITY.grade(2, "quality") == 2.0  # as a program gives it


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"kind": "maybe"}, "the kind of an outcome"),
        ({"kind": "yes/no", "unit": "%"}, "no unit and no logarithm"),
        ({"kind": "yes/no", "grades": ["a", "b"]}, 'go with kind="grades"'),
        ({"kind": "grades"}, "2 to 20 different grades"),
        ({"kind": "grades", "grades": ["a", "A"]}, "2 to 20 different grades"),
        ({"kind": "grades", "grades": ["a", "b"], "at_least": "a"}, "at_least is one of b"),
    ],
)
def test_outcomes_that_make_no_sense_are_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        he.Outcome(**parts)


def test_verdicts_speak_of_probabilities() -> None:
    crystal = attached(study(he.Maximize(), crystal=he.Outcome(kind="yes/no")))
    verdict = crystal.decide()
    assert re.fullmatch(r"The design most likely to give crystal: \d\d % \(\d+ to \d+ %\)\.", verdict.headline)
    assert verdict.action[0]["x"] > 0.5
    assert verdict.action[0]["probability"] == pytest.approx(-verdict.expected_loss - verdict.forgone)
    fair = he.Outcome(kind="grades", grades=GRADES, at_least="fair")
    levels = attached(study(he.LevelSets([0.5, 0.9]), quality=fair)).decide().headline
    assert levels.startswith("The probability of quality at least fair is above 50 % at 6")
    best = attached(study(he.BestObserved(), quality=QUALITY)).decide().headline
    assert re.fullmatch(
        r"Of the designs tried, the one most likely to give quality good: \d\d % \(\d+ to \d+ %\)\.", best
    )


def test_designs_are_asked_and_what_could_be_decided_is_pictured() -> None:
    made = attached(study(he.LevelSets(0.8, relation="misclassification"), quality=QUALITY))
    trial = made.ask()
    assert trial.gain is not None
    assert trial.params["x"] > 0.4  # where good begins, and beyond
    grid = torch.linspace(0.0, 1.0, 41, dtype=torch.float64).view(-1, 1, 1)
    assert trial.gain > 0.95 * float(he.gain(made.decision, made.belief, grid, made.space).value.max())
    scene = scene_of(made)
    after = information(scene, "why").outcomes
    assert [one.name for one in after] == list(GRADES)
    assert sum(one.value for one in after) == pytest.approx(1.0)
    known = information(scene, "known")
    assert set(known.trials.values[:12].tolist()) == {0.0, 1.0}
    [ground] = known.slices
    assert ground.ground.quantiles.min() >= 0.0
    assert ground.ground.quantiles.max() <= 1.0
    assert "probabilities of quality good" in picture(scene, "known").caption


FILE = """\
version = 1
name = "crystals"
first = 4
[space.x]
type = "real"
low = 0.0
high = 1.0
[outcomes.crystal]
kind = "yes/no"
[outcomes.quality]
kind = "grades"
grades = ["poor", "fair", "good"]
at_least = "fair"
[decision]
name = "maximize"
outcome = "crystal"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.toml").write_text(FILE)
    return tmp_path


def test_a_file_and_the_command_line_take_words(folder: Path) -> None:
    said = done("check", "lab.toml")
    assert "Experiments measure crystal (yes or no) and quality (poor, fair or good)." in said
    assert set(json_schema()["$defs"]["OutcomeWords"]["properties"]) >= {"kind", "grades", "at_least"}
    assert "crystal=no|yes" in done("ask", "lab.toml", "--count", "3")
    assert "crystal yes, quality fair are recorded" in done("tell", "lab.toml", "0", "crystal=yes", "quality=Fair")
    wrong = hentropy("tell", "lab.toml", "1", "crystal=perhaps")
    assert wrong.code != 0
    assert "it must be one of no, yes" in wrong.err
    spread = hentropy("tell", "lab.toml", "1", "crystal=yes", "--std-error", "0.1")
    assert "no standard error" in spread.err
    (folder / "results.csv").write_text("number,crystal,quality\n1,no,poor\n2,TRUE,good\n")
    assert "2: crystal yes, quality good" in done("tell", "lab.toml", "results.csv")
    assert "Crystal: 1 no, 2 yes. Quality: 1 poor, 1 fair, 1 good." in done("show", "lab.toml")
    exported = done("export", "lab.toml")
    assert "yes,,fair,," in exported
    assert he.Study.from_file("lab.toml").outcomes.by_name["quality"] == he.Outcome("", False, "grades", GRADES, "fair")


def test_exports_come_back(folder: Path) -> None:
    done("ask", "lab.toml")
    done("tell", "lab.toml", "0", "crystal=no", "quality=good")
    for kind in ("csv", "jsonl"):
        done("export", "lab.toml", "--out", f"all.{kind}")
        (folder / f"{kind}.toml").write_text(FILE.replace('"crystals"', f'"{kind}"'))
        done("import", f"{kind}.toml", f"all.{kind}")
        [trial] = he.Study.from_file(f"{kind}.toml").records
        assert trial.measurements == {"crystal": he.Measurement(0.0), "quality": he.Measurement(2.0)}
    (folder / "earlier.csv").write_text("x,crystal\n0.1,no\n0.9,yes\n0.8,perhaps\n")
    assert "perhaps" in hentropy("attach", "lab.toml", "earlier.csv", "--skip-bad").err
    assert len(he.Study.from_file("lab.toml").records) == 3


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(Settings(f"sqlite:///{tmp_path_factory.mktemp('store') / 'lab.db'}")) as it:
        yield it


@pytest.fixture
def lab(server: Served) -> Iterator[Served]:
    server.create(
        outcomes={"crystal": {"kind": "yes/no"}, "yield": {}}, decision={"name": "best_observed", "outcome": "crystal"}
    )
    yield server
    emptied(server)


def test_the_page_offers_the_words_and_the_api_takes_them(lab: Served) -> None:
    far = RemoteStudy(lab.url, "lab")
    trial = far.ask()
    assert far.tell(trial, {"crystal": True}).measurements == {"crystal": he.Measurement(1.0)}
    with pytest.raises(InputError, match="one of no, yes"):
        far.tell(far.ask(), {"crystal": "perhaps"})
    assert far.trials["crystal"].tolist()[0] == "yes"
    study = lab.services.store.studies()[0].id
    [crystal, _] = lab.http.get(f"/api/studies/{study}").json()["outcomes"]
    assert crystal["grades"] == ["no", "yes"]
    with httpx.Client(base_url=lab.url, trust_env=False, follow_redirects=True, timeout=PATIENCE) as visit:
        page = visit.get(f"/studies/{study}").text
        assert re.search(r'<select id="o0[^"]*" name="o0"', page)
        assert "Standard error of crystal" not in page
        assert "x, crystal, yield, and yield_se for standard errors" in page
        begun = re.search(r'name="begun" value="([^"]+)"', page)
        assert begun is not None
        form = {"begun": begun[1], "what": "tell"}
        headers = {"Origin": str(visit.base_url)}
        wrong = visit.post(f"/studies/{study}/trials/1", data={**form, "o0": "perhaps"}, headers=headers)
        assert "Choose one of no, yes." in wrong.text
        told = visit.post(f"/studies/{study}/trials/1", data={**form, "o0": "no"}, headers=headers)
        assert told.status_code == 200
        shown = visit.get(f"/studies/{study}/trials/1").text
        assert re.search(r'<option value="no" selected', shown)
    records = he.load_study("lab", lab.services.store).records
    assert records[1].measurements == {"crystal": he.Measurement(0.0)}
