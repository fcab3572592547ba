"""Studies in which experiments fail: what is learned from them, and what is decided."""

from pathlib import Path
from typing import Any

import pytest
import torch

import hentropy as he
from hentropy.studies.definition import describe
from hentropy.studies.outcomes import Outcomes
from hentropy.studies.study import State, Study, Trial
from hentropy.views.plots.known import known_info, known_picture
from hentropy.views.plots.marks import Contour, Heat, Panel
from hentropy.views.plots.scene import scene_of
from hentropy.views.text.earlier_data import earlier_data

SQUARE = he.Space(x=he.Real(0, 1), y=he.Real(0, 1))


def outcome(params: dict[str, float]) -> float | None:
    """The further to the right, the better, and no value at all from 0.7 on."""
    return None if params["x"] > 0.7 else params["x"] - 0.3 * (params["y"] - 0.4) ** 2


def earlier(count: int) -> list[tuple[dict[str, float], float | he.Failed]]:
    rows = [SQUARE.decode(row) for row in SQUARE.sample(count, 5)]
    return [(row, he.Failed("crashed") if (value := outcome(row)) is None else value) for row in rows]


def study(count: int = 24, **options: Any) -> Study:
    made = Study(SQUARE, he.Maximize(), first=4, hyperparameters="map", **options)
    made.attach_many(earlier(count))
    return made


def run(it: Study, count: int) -> list[Trial]:
    asked = []
    for _ in range(count):
        trial = it.ask()
        value = outcome(trial.params)
        asked.append(it.tell(trial, failed="crashed") if value is None else it.tell(trial, value))
    return asked


@pytest.fixture(scope="module")
def learning() -> Study:
    it = study()
    run(it, 3)
    return it


def test_failures_can_be_attached_with_their_reason(learning: Study) -> None:
    failed = [trial for trial in learning.records if trial.state is State.FAILED and trial.origin == "attached"]
    assert len(failed) == sum(isinstance(value, he.Failed) for _, value in earlier(24)) > 0
    assert {trial.note for trial in failed} == {"crashed"}
    assert all(trial.value is None for trial in failed)
    one = study(count=4).attach({"x": 0.9, "y": 0.9}, he.Failed("too hot"))
    assert (one.state, one.note) == (State.FAILED, "too hot")


def test_the_verdict_says_the_chance_of_success(learning: Study) -> None:
    verdict = learning.decide()
    success = learning.success
    assert success is not None
    assert verdict.chances == pytest.approx([float(success.chance(verdict.raw))])
    assert verdict.chances[0] >= 0.5
    assert "chance of success" in str(verdict)
    assert "A run there succeeds with" in verdict.headline
    assert verdict.action[0]["x"] < 0.8  # the best mean lies at the right edge, where nothing succeeds
    ignoring = Study(SQUARE, he.Maximize(), first=4, hyperparameters="map", failures="ignore", records=learning.records)
    assert ignoring.decide().action[0]["x"] > 0.9
    assert ignoring.decide().chances == []


def test_pictures_show_the_probability_of_success(learning: Study) -> None:
    info = known_info(scene_of(learning), points=5, plane=5)
    success = learning.success
    assert success is not None
    plane = next(view for view in info.slices if view.ground.is_pair)
    x, y = plane.ground.grids
    places = torch.tensor([[a, b] for b in y for a in x]).double()
    assert plane.chance is not None
    assert plane.chance.flatten().tolist() == pytest.approx(success.chance(places).tolist())
    panels = [panel for row in known_picture(info).rows for panel in row if isinstance(panel, Panel)]
    maps = [panel for panel in panels if any(isinstance(mark, Heat) for mark in panel.marks)]
    assert len(maps) == 3  # values, uncertainty, probability of success, each with the edge of what may be decided on
    assert all(any(isinstance(mark, Contour) and mark.level == 0.5 for mark in panel.marks) for panel in maps)
    ignoring = Study(SQUARE, he.Maximize(), first=4, hyperparameters="map", failures="ignore", records=learning.records)
    assert all(view.chance is None for view in known_info(scene_of(ignoring), points=3, plane=3).slices)


def test_an_unlikely_verdict_is_doubted(learning: Study) -> None:
    strict = Study(SQUARE, he.Maximize(), first=4, hyperparameters="map", at_least=0.999999, records=learning.records)
    verdict = strict.decide()
    assert "No run succeeds" in str(verdict)
    assert verdict.chances[0] > 0.9  # the likeliest


def test_a_study_continued_from_its_records_proposes_the_same(learning: Study) -> None:
    again = Study(SQUARE, he.Maximize(), first=4, hyperparameters="map", records=learning.records)
    assert again.propose().params == learning.propose().params
    assert again.propose().gain == learning.propose().gain


def test_proposals_keep_to_where_experiments_succeed() -> None:
    asked = run(study(), 6)
    assert sum(trial.state is State.FAILED for trial in asked) <= 2


def test_without_failures_nothing_changes() -> None:
    values = [(row, value) for row, value in earlier(24) if not isinstance(value, he.Failed)]
    both = []
    for failures in ("learn", "ignore"):
        it = Study(SQUARE, he.Maximize(), first=4, hyperparameters="map", failures=failures)
        it.attach_many(values)
        assert it.success is None
        both.append((it.propose(), it.decide()))
    (one, decided), (other, then) = both
    assert torch.equal(one.x, other.x)
    assert one.gain == other.gain
    assert decided == then
    assert decided.columns == ["x", "y", "mean", "sd"]


def test_settings_are_checked_and_written_down(tmp_path: Path) -> None:
    with pytest.raises(he.InputError, match="learn, ignore"):
        study(failures="forget")
    for wrong in (1.0, -0.1, "half", True):
        with pytest.raises(he.InputError, match="at_least"):
            study(at_least=wrong)
    words = describe("s", SQUARE, he.Maximize(), failures="ignore", at_least=0.8).model
    assert (words.failures, words.at_least) == ("ignore", 0.8)
    url = f"sqlite:///{tmp_path}/s.db"
    Study(SQUARE, he.Maximize(), storage=url, name="s", at_least=0.8, failures="ignore").close()
    found = he.load_study("s", url)
    assert (found.options["failures"], found.options["at_least"]) == ("ignore", 0.8)
    found.close()
    with pytest.raises(he.StorageError, match="at_least"):
        Study(SQUARE, he.Maximize(), storage=url, name="s")


def test_a_table_with_a_status_column() -> None:
    text = "x,y,value,status,reason\n0.1,0.2,1.5,ok,\n0.9,0.2,,Failed,it boiled\n0.2,0.2,1.25,,\n0.3,0.3,,stuck,\n"
    data = earlier_data(text, "old.csv", Outcomes.of(None, SQUARE), {})
    assert data.good == (
        ({"x": 0.1, "y": 0.2}, {"value": 1.5}),
        ({"x": 0.9, "y": 0.2}, he.Failed("it boiled")),
        ({"x": 0.2, "y": 0.2}, {"value": 1.25}),
    )
    assert data.unused == ()
    assert len(data.bad) == 1
    assert "'stuck'" in data.bad[0]


def test_earlier_data_that_failed_have_no_values() -> None:
    outcomes = Outcomes.of({"yield": he.Outcome(), "impurity": he.Outcome()}, SQUARE)
    text = "x,y,yield,impurity,status\n0.1,0.2,52.5,,failed\n0.9,0.2,52.5,2,failed\n0.2,0.2,,,failed\n"
    data = earlier_data(text, "old.csv", outcomes, {})
    assert data.good == (({"x": 0.2, "y": 0.2}, he.Failed("")),)
    assert data.bad == (
        "line 2: status says that it failed, but yield was measured; which is it?",
        "line 3: status says that it failed, but yield and impurity were measured; which is it?",
    )


def test_the_notes_of_earlier_data_are_kept_also_of_those_that_succeeded(tmp_path: Path) -> None:
    text = "x,y,value,note\n0.1,0.2,1.5,old batch\n0.9,0.2,2,\n"
    data = earlier_data(text, "old.csv", Outcomes.of(None, SQUARE), {})
    assert (data.notes, data.unused) == (("old batch", ""), ())
    study = Study(SQUARE, he.Maximize())
    study.log.attach(data.good, note=data.notes)
    assert [trial.note for trial in study.records] == ["old batch", ""]


def test_a_pool_whose_designs_have_all_failed_says_one_thing() -> None:
    study = Study(he.Pool([[0.1], [0.9]], names=["x"]), he.Maximize())
    for trial in study.ask_many(2):
        study.tell(trial, failed="it boiled")
    assert study.stopped == "every design of the pool has failed"
    for attempt in (study.ask, study.propose, study.decide):
        with pytest.raises(he.StudyError, match="every design of the pool has failed, so nothing can be decided"):
            attempt()


def test_without_a_time_limit_no_proposal_is_said_to_have_stopped() -> None:
    """Of a list, rows that probably fail may not be decided on, and are left out of the search: no limit was met."""
    rows = SQUARE.sample(700, 3)
    it = Study(he.Pool(rows, names=["x", "y"]), he.TopK(3), first=4, hyperparameters="map")
    designs = [it.space.decode(row) for row in rows[:16]]
    values = [outcome(design) for design in designs]
    it.attach_many([(row, he.Failed("") if y is None else y) for row, y in zip(designs, values, strict=True)])
    found = it.propose()
    assert found.complete
    assert found.note == it.ask().note == ""


def test_experiments_asked_together_are_different_ones() -> None:
    """What one of them teaches about failures is not counted again for another."""
    it = study(24)
    asked = it.ask_many(3)
    rows = torch.stack([SQUARE.encode(trial.params) for trial in asked])
    assert float(torch.pdist(rows).min()) > 0.003  # 0.002 where nothing steers
    after = torch.stack([*rows, SQUARE.encode(it.ask().params)])
    assert float(torch.pdist(after).min()) > 0.003


def test_a_result_moves_the_belief_as_its_closed_form_says(learning: Study) -> None:
    """Against `Success.after`, which has the mean and the variance after a success or a failure in closed form."""
    success = learning.success
    assert success is not None
    x = torch.tensor([[0.75, 0.3]], dtype=torch.float64)
    elsewhere = torch.tensor([[0.6, 0.4], [0.75, 0.3], [0.9, 0.9]], dtype=torch.float64)
    chance, _, then = success.watching(elsewhere).after(x)
    for succeeds, closed in zip((True, False), then, strict=True):
        probability, after = success.given(x[0], succeeds)
        assert probability == pytest.approx(float(chance) if succeeds else 1.0 - float(chance))
        assert after.chance(elsewhere).tolist() == pytest.approx(closed[0].tolist(), abs=1e-6)
