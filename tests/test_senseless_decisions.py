"""Studies that could never decide sensibly are refused when they are defined: in Python, and in a file."""

from pathlib import Path

import pytest

import hentropy as he
from hentropy.core.decisions import Decision
from hentropy.errors import InputError

pytestmark = pytest.mark.smoke

SPACE = he.Space(x=he.Real(0, 1))
LOGS = {"yield": he.Outcome(log=True), "impurity": he.Outcome(log=True)}
CRYSTAL = {"crystal": he.Outcome(kind="yes/no")}
LIMIT = ["impurity <= 3"]


@pytest.mark.parametrize(
    ("decision", "outcomes", "said"),
    [
        (he.Maximize("yield", LIMIT, fallback=0.0), LOGS, "the fallback is 0, and yield is modelled on a log"),
        (he.Maximize("yield", ["impurity <= -1"]), LOGS, "the limit is -1, and impurity is modelled"),
        (he.Pareto(2, {"yield": "max", "impurity": "min"}, {"yield": 0, "impurity": 5}), LOGS, "the reference is 0"),
        (he.LevelSets([-1.0, 2.0], outcome="yield"), LOGS, "the level is -1"),
        (he.Target({"yield": 5, "impurity": (-2, 0)}), LOGS, "the target is 0, and impurity"),
        (he.Sequence([1.0, -1.0], outcome="yield"), LOGS, "the target is -1"),
        (he.KGuesses(2), CRYSTAL, "crystal is yes or no, so all that is known of it is a probability"),
        (he.LevelSets([5.0]), CRYSTAL, "the level is 5, and crystal is yes or no"),
        (he.Improve(1.5), CRYSTAL, "between 0 and 1"),
    ],
    ids=str,
)
def test_a_study_that_cannot_decide_is_refused(decision: Decision, outcomes: dict[str, he.Outcome], said: str) -> None:
    with pytest.raises(InputError, match=said):
        he.Study(SPACE, decision, outcomes=outcomes)


def test_what_can_be_decided_is_not_refused() -> None:
    he.Study(SPACE, he.Maximize("yield", ["impurity <= 3", "yield >= 0"], fallback=0.1), outcomes=LOGS)
    he.Study(SPACE, he.LevelSets([0.5]), outcomes=CRYSTAL)
    he.Study(
        SPACE, he.Maximize("yield", LIMIT, fallback=0.0), outcomes={"yield": he.Outcome(), "impurity": LOGS["yield"]}
    )


def test_a_file_says_it_with_its_other_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "lab.toml"
    file.write_text(
        'version = 1\nname = "lab"\n[space.x]\ntype = "real"\nlow = 0\nhigh = 1\n[outcomes.yield]\nlog = true\n'
        '[outcomes.impurity]\n[decision]\nname = "maximize"\noutcome = "yield"\nsubject_to = ["impurity <= 3"]\n'
        "fallback = 0.0\n"
    )
    with pytest.raises(InputError, match=r"decision: the fallback is 0, and yield is modelled on a logarithmic scale"):
        he.Study.from_file(file)
