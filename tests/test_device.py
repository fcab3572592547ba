"""The whole loop on another device: nothing of it is computed beside it (see `support.elsewhere`)."""

import pytest
import torch
from benchmarks.cuda import CONSTRAINED, moved_apart, proposed_on

import hentropy as he
from hentropy.core.beliefs import Gaussian
from hentropy.core.models import many
from support.elsewhere import ELSEWHERE, Elsewhere

SPACE = he.Space(x=he.Real(0, 1), y=he.Real(-1, 2))


def test_devices_do_not_mix_unseen() -> None:
    with ELSEWHERE:
        there = torch.ones(2).to("cuda")
        assert isinstance(there + torch.tensor(1.0), Elsewhere)
        assert not isinstance(there.cpu(), Elsewhere)
        for mixed in (lambda: there + torch.ones(2), lambda: torch.cat([torch.ones(1), there]), there.numpy):
            with pytest.raises((RuntimeError, TypeError)):
                mixed()


def test_a_device_that_is_not_there_is_said() -> None:
    with pytest.raises(he.InputError, match="the device 'tape' cannot be used"):
        he.Study(SPACE, he.Maximize(), device="tape")


@pytest.mark.parametrize(
    "decision", [he.TopK(2), he.LevelSets([0.3], SPACE.sample(12, 0)), he.Identify("max")], ids=repr
)
def test_a_proposal_is_computed_where_the_belief_is(decision: he.Decision, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "FITTED", 8)
    monkeypatch.setattr(many, "EXACT", 10)
    X = SPACE.sample(12, 1)
    with ELSEWHERE:
        belief = he.fit(X, X.sum(-1), space=SPACE, device="cuda", hyperparameters="map")
        assert isinstance(belief.alpha, Elsewhere)
        assert belief.sites == 8
        assert isinstance(he.propose(decision, belief, SPACE).x, Elsewhere)


def test_a_study_asks_and_decides_on_a_device() -> None:
    space = he.Space(x=he.Real(0, 1), y=he.Choice(["a", "b"]))
    with ELSEWHERE:
        study = he.Study(space, he.Maximize(), first=4, hyperparameters="map", device="cuda")
        for number in range(5):
            trial = study.ask()
            if number == 2:
                study.tell(trial, failed="spilled")
            else:
                study.tell(trial, trial.params["x"] ** 2 + (trial.params["y"] == "a"))
        belief, verdict = study.belief, study.decide()
    assert isinstance(belief, Gaussian)
    assert isinstance(belief.X, Elsewhere)
    assert verdict.observations == 4


@pytest.mark.parametrize("name", CONSTRAINED)
def test_designs_hold_conditions_on_a_device(name: str) -> None:
    with ELSEWHERE:
        assert moved_apart(CONSTRAINED[name], "cuda") < 1e-9


@pytest.mark.parametrize("name", ["linear", "table"])
def test_a_proposal_on_a_device_holds_conditions(name: str) -> None:
    with ELSEWHERE:
        x = proposed_on(CONSTRAINED[name], "cuda").x
        assert isinstance(x, Elsewhere)
        assert CONSTRAINED[name].holds(x).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("name", CONSTRAINED)
def test_designs_hold_conditions_on_a_gpu(name: str) -> None:
    assert moved_apart(CONSTRAINED[name], "cuda") < 1e-6
    x = proposed_on(CONSTRAINED[name], "cuda").x
    assert x.is_cuda
    assert CONSTRAINED[name].holds(x).all()
