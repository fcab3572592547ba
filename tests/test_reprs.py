"""What beliefs, spaces, decisions and studies say of themselves: in one line, whatever they know."""

from collections.abc import Callable

import pytest
import torch

import hentropy as he
from hentropy.core.acquisition import as_botorch
from hentropy.core.beliefs import Known, Posterior

pytestmark = pytest.mark.smoke

LONGEST = 400
SPACE = he.Space(x=he.Real(0, 1), y=he.Real(0, 1))
X = SPACE.sample(24, seed=1)
Y = (6.0 * X[:, 0]).sin() + X[:, 1]
BOTH = torch.stack([Y, X[:, 0] - Y.square()], -1)

BELIEFS: dict[str, Callable[[], he.Belief]] = {
    "mixture": lambda: he.fit(X, Y, space=SPACE),
    "one": lambda: he.fit(X, Y, space=SPACE, hyperparameters="map"),
    "transformed": lambda: he.fit(X, (3.0 * Y).exp(), space=SPACE),
    "several": lambda: he.fit_outcomes(X, BOTH, ["a", "b"], space=SPACE, correlated=False),
    "correlated": lambda: he.fit_outcomes(X, BOTH, ["a", "b"], space=SPACE, correlated=True),
    "one of correlated": lambda: he.fit_outcomes(X, BOTH, ["a", "b"], space=SPACE, correlated=True).of("b"),
    "graded": lambda: he.fit_outcomes(X, (Y[:, None] > 0.5).double(), ["ok"], space=SPACE, grades={"ok": (2, 1)}),
    "samples": lambda: he.Samples(X, lambda x: x.movedim(-1, 0), torch.ones(2).double(), 0.1),
    "posterior": lambda: Posterior(as_botorch(he.fit(X, Y, space=SPACE, hyperparameters="map")), X, 0.01, X[:0], Y[:0]),
    "known": lambda: Known(X[:0], lambda x: x.sum(-1), ("price",)),
}


@pytest.mark.parametrize("name", BELIEFS)
def test_a_belief_is_one_line_with_outcomes_data_and_noise(name: str) -> None:
    belief = BELIEFS[name]()
    said = repr(belief)
    assert said.startswith(
        f"{type(belief).__name__}({', '.join(belief.outcomes)}; {len(belief.X)} observed designs of 2"
    )
    assert "\n" not in said
    assert "tensor(" not in said
    assert "; noise " in said
    assert len(said) - sum(map(len, belief.notes)) < LONGEST
    assert all(note in said for note in belief.notes)


def test_a_mixture_says_of_which_kernels_it_consists_and_their_weights() -> None:
    belief = BELIEFS["mixture"]()
    assert isinstance(belief, he.Gaussian)
    rough = 100.0 * sum(
        weight
        for weight, kind in zip(belief.weights.tolist(), belief.kinds, strict=True)
        if kind == "Matern-3/2"
    )  # fmt: skip
    assert 0.0 < rough < 100.0
    assert f"{belief.components} components: " in repr(belief)
    assert f"Matern-3/2 {rough:.0f} %" in repr(belief)
    assert "with waves and a trend" in repr(belief)


def test_one_process_says_its_kernel_alone() -> None:
    belief = BELIEFS["one"]()
    assert repr(belief) == (
        f"Gaussian(value; 24 observed designs of 2 coordinates; Matern-5/2; noise {belief.noise_std:.3g})"
    )


def test_a_transform_is_named_by_component() -> None:
    assert "of a transform" in repr(BELIEFS["transformed"]())


def test_parameters_are_shown_as_they_were_written() -> None:
    assert repr(he.Real(0, 1)) == "Real(0, 1)"
    assert repr(he.Real(0.1, 10, log=True, unit="bar")) == "Real(0.1, 10, log=True, unit='bar')"
    assert repr(he.Integer(1, 8)) == "Integer(1, 8)"
    assert repr(he.Choice(["a", "b"])) == "Choice(['a', 'b'])"
    assert repr(he.Levels([1, 2, 5])) == "Levels([1, 2, 5])"
    many = he.Choice([f"option {i}" for i in range(300)])
    assert repr(many) == "Choice(['option 0', 'option 1', 'option 2', ... 300 in all])"


def test_spaces_decisions_and_studies_are_one_line() -> None:
    wide = he.Space(c=he.Choice([f"option {i}" for i in range(300)]), t=he.Levels(list(range(200))))
    decisions = (he.Maximize(), he.LevelSets([0.1, 0.2], at=X), he.TopK(3), he.Identify(X))
    for said in map(repr, (wide, SPACE, he.Pool(X), *decisions, he.Study(wide, he.Maximize()))):
        assert "\n" not in said
        assert "tensor(" not in said
        assert len(said) < LONGEST
