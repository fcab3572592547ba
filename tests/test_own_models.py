"""Models of one's own in a study: each against a closed form or brute force, in stores and files, and their errors."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from botorch.models import SingleTaskGP
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Belief, Needs
from hentropy.core.gain import Effort
from hentropy.core.models.last_layer import NOISES, SIGNALS, most_probable
from hentropy.core.models.own import Model
from hentropy.studies.definition import validated
from hentropy.studies.testing import check_belief
from hentropy.views.server.new_study import described
from hentropy.views.server.snapshot import why_not_computable

pytestmark = pytest.mark.smoke

POOL = he.Pool([[x / 3, y / 3] for x, y in itertools.product(range(4), range(4))], names=["x", "y"])
SPACE = he.Space(x=he.Real(-1, 3), y=he.Real(0, 2))


def truth(x: Tensor) -> Tensor:
    return 3.0 - 4.0 * (x[..., 0] - 0.4).square() - 2.0 * x[..., 1] * x[..., 0]


def data(space: Any = POOL, n: int = 7) -> he.ModelData:
    X = space.sample(n, 3)
    return he.ModelData(X, truth(X), space, seed=5)


def response(x: Tensor, t: Tensor) -> Tensor:
    """Lines: S x m."""
    return t[:, :1] + t[:, 1:] @ x.mT


MODELS: dict[str, Model] = {
    "botorch": he.botorch_model(SingleTaskGP),
    "forest": he.forest(RandomForestRegressor(12), noise_std=0.5),
    "ensemble": he.ensemble(lambda seed: LinearRegression(), 12, bootstrap=True, noise_std=0.5),
    "last_layer": he.last_layer(8, networks=2, steps=30),
    "simulator": he.simulator(response, torch.randn(300, 3, generator=torch.Generator().manual_seed(0)), noise_std=1.0),
    "fit": lambda data: he.fit(data.X, data.Y, space=data.space, hyperparameters="map", seed=data.seed),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_study_asks_its_model_and_continues_from_its_records(name: str) -> None:
    options: dict[str, Any] = {"model": MODELS[name], "outcomes": {"yield": he.Outcome()}, "first": 5, "seed": 3}
    study = he.Study(POOL, he.Maximize("yield"), **options)
    for _ in range(5):
        trial = study.ask()
        study.tell(trial, float(truth(POOL.encode(trial.params))))
    again = he.Study(POOL, he.Maximize("yield"), **options, records=study.records)
    assert study.ask().params == again.ask().params
    expected = study.belief.expected(POOL.points)
    torch.testing.assert_close(again.belief.expected(POOL.points), expected, rtol=1e-6, atol=1e-8)
    recommended = study.decide().action[0]
    row = POOL.encode({name: recommended[name] for name in POOL.names}).unsqueeze(0)
    assert recommended["mean"] == pytest.approx(float(study.belief.expected(row)), rel=1e-6)
    assert any("only while it gives the same belief" in note for note in study.notes)


def test_a_simulator_weighs_its_draws_and_looks_ahead_as_brute_force_does() -> None:
    """Two of three standard errors are told; outcomes are integrated on a fine grid, for each of a few draws."""
    draws = torch.tensor([[0.0, 1.0, 0.0], [1.0, -1.0, 0.5], [0.2, 0.3, -1.0], [-0.4, 0.0, 1.5]], dtype=torch.float64)
    X = POOL.points[[1, 6, 11]]
    Y, told = torch.tensor([0.5, 0.6, 0.1], dtype=torch.float64), torch.tensor([0.5, 0.0, 0.8], dtype=torch.float64)
    model = he.simulator(response, draws, noise_std=0.4)
    belief = model(he.ModelData(X, Y, POOL, told))
    errors = torch.tensor([0.5, 0.4, 0.8], dtype=torch.float64)
    likelihood = torch.distributions.Normal(response(X, draws), errors).log_prob(Y).sum(-1).exp()
    weights = likelihood / likelihood.sum()
    torch.testing.assert_close(belief.weights, weights)

    values = response(POOL.points, draws)  # S x m
    grid = torch.linspace(-8, 8, 4001, dtype=torch.float64)
    step = float(grid[1] - grid[0])
    now = float((weights @ values).max())
    worth = []
    for f in values.T:
        joint = weights[:, None] * torch.distributions.Normal(f[:, None], 0.4).log_prob(grid).exp()  # S x grid
        worth.append(float((joint.T @ values).max(-1).values.sum()) * step - now)
    found = he.gain(he.Maximize(), belief, POOL.points, POOL, effort=Effort(outcomes=1024))
    slack = 6 * found.std_error + 0.02 * max(worth)
    assert bool(((found.value - torch.tensor(worth, dtype=torch.float64)).abs() <= slack).all()), (found, worth)


def test_functions_drawn_from_a_prior_fitted_network_have_its_joint_distribution() -> None:
    """The route that the documents show, with predictions that are known: those of a Gaussian process."""
    page = (Path(__file__).parents[1] / "docs" / "models.md").read_text()
    [code] = [part for part in page.split("```") if part.startswith("python\ndef predictive")]
    names: dict[str, Any] = {"he": he, "torch": torch}
    exec(code.removeprefix("python"), names)

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        return torch.exp(-2.0 * torch.cdist(a, b).square())

    def conditional(X: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """The weights of the known values (... x m x n), and the covariance of the others (... x m x m)."""
        K = kernel(X, X) + 1e-6 * torch.eye(X.shape[-2], dtype=torch.float64)
        weights = torch.linalg.solve(K, kernel(X, x)).mT
        return weights, kernel(x, x) - weights @ kernel(X, x)

    def network(X: Tensor, Y: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        weights, cov = conditional(X, x)
        return (weights @ Y.unsqueeze(-1)).squeeze(-1), cov.diagonal(dim1=-2, dim2=-1).clamp_min(0.0).sqrt()

    given, draws = data(n=4), 2000
    belief = names["predictive"](network, draws=draws)(given)
    shift, scale = given.Y.mean(), given.scale
    weights, cov = conditional(given.X, POOL.points)
    found = belief.raw(POOL.points)
    # standard errors are at most scale / sqrt(draws) for means and scale^2 sqrt(2 / draws) for covariances
    torch.testing.assert_close(
        found.mean(0),
        shift + scale * (weights @ ((given.Y - shift) / scale)),
        rtol=0.0,
        atol=5.0 * scale / draws**0.5,
    )
    torch.testing.assert_close(torch.cov(found.T), scale**2 * cov, rtol=0.0, atol=5.0 * scale**2 * (2.0 / draws) ** 0.5)


def test_a_last_layer_is_bayesian_linear_regression_in_its_features() -> None:
    given = data(SPACE, 9)
    belief = he.last_layer(6, networks=2, steps=40)(given)
    check_belief(belief, SPACE, tolerance=1e-5)
    kernel, points = belief.kernel, SPACE.sample(5, 8)
    moments = belief.moments(points, Needs.VARIANCE)
    for h in range(2):
        one = kernel.some([h])
        phi = one._scaled(SPACE.to_unit(given.X))[0]  # type: ignore[attr-defined]
        at = one._scaled(SPACE.to_unit(points))[0]  # type: ignore[attr-defined]
        y = (given.Y - belief.frame.shift) / belief.frame.scale
        v = belief.future_noise[h]
        A = torch.eye(phi.shape[-1], dtype=torch.float64) + phi.mT @ phi / v
        mean = at @ torch.linalg.solve(A, phi.mT @ y) / v
        var = (at * torch.linalg.solve(A, at.mT).mT).sum(-1)
        torch.testing.assert_close(moments.mean[h], belief.frame.shift + belief.frame.scale * mean)
        torch.testing.assert_close(moments.variance[h], belief.frame.scale.square() * var, rtol=1e-5, atol=1e-7)


def test_the_variances_of_a_last_layer_have_the_greatest_evidence_of_those_tried() -> None:
    features = torch.randn(2, 8, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    y = torch.randn(8, generator=torch.Generator().manual_seed(2), dtype=torch.float64) + features[0, :, 0]
    s, v = most_probable(features, y, None)
    for h, phi in enumerate(features):

        def evidence(s: Tensor, v: Tensor, phi: Tensor = phi) -> float:
            K = s * phi @ phi.mT / 3 + v * torch.eye(8, dtype=torch.float64)
            return float(torch.distributions.MultivariateNormal(torch.zeros(8, dtype=torch.float64), K).log_prob(y))

        best = max(evidence(a, b) for a in SIGNALS[::4] for b in NOISES[16::4])
        assert evidence(s[h], v[h]) >= best - 1e-9


def test_an_ensemble_on_a_box_has_the_slopes_of_its_members() -> None:
    belief = MODELS["ensemble"](data(SPACE))
    x = SPACE.sample(3, 1).requires_grad_()
    (slope,) = torch.autograd.grad(belief.moments(x, Needs.MEAN).mean.mean(0).sum(), x)
    h = torch.tensor([0.01, 0.0], dtype=torch.float64)
    with torch.no_grad():
        rise = belief.expected(x + h) - belief.expected(x - h)
    torch.testing.assert_close(slope[:, 0], rise / 0.02, rtol=1e-4, atol=1e-6)
    proposal = he.propose(he.Maximize(), belief, SPACE, seed=0, max_seconds=None)
    assert math.isfinite(proposal.gain)


def wrong_width(data: he.ModelData) -> Belief:
    return he.fit(data.X[:, :1], data.Y)


def not_finite(data: he.ModelData) -> Belief:
    return he.Samples(data.X, lambda x: torch.full((2, *x.shape[:-1]), math.nan), torch.ones(2), 0.1)


def wrong_shape(data: he.ModelData) -> Belief:
    return he.Samples(data.X, lambda x: x.sum(-1), torch.ones(2), 0.1)


def breaks(data: he.ModelData) -> Belief:
    raise KeyError("solvent")


WRONG: dict[str, tuple[Callable[[he.ModelData], Any], str]] = {
    "tensor": (lambda data: data.Y, "returned a value of type Tensor, not a belief"),
    "nothing": (lambda data: None, "returned nothing, not a belief"),
    "width": (wrong_width, r"about designs of shape \(4, 1\); the space has 2 coordinates"),
    "not finite": (not_finite, "expects .*nan.* finite number"),
    "shape": (wrong_shape, "cannot be asked: it raised ModelError: the functions gave shape"),
    "raises": (breaks, r"breaks raised KeyError: 'solvent' \(test_own_models.py, line \d+\); fix it"),
    "library": (lambda data: he.fit(data.X, data.Y[:1]), "raised InputError: Y must have one value"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_model_is_said_and_the_data_stay(name: str) -> None:
    model, said = WRONG[name]
    study = he.Study(POOL, he.Maximize(), model=model, first=4)
    for _ in range(4):
        study.tell(study.ask(), 1.0)
    with pytest.raises(he.ModelError, match=said):
        study.ask()
    assert len(study.records) == 4


def test_a_model_gets_its_data_on_the_device_of_the_study() -> None:
    seen: list[torch.device] = []

    def model(data: he.ModelData) -> he.Belief:
        assert data.noise is not None
        seen.extend(part.device for part in (data.X, data.Y, data.noise))
        raise KeyError("seen")

    study = he.Study(POOL, he.Maximize(), model=model, first=4, device="meta")
    for _ in range(4):
        study.tell(study.ask(), (1.0, 0.1))
    with pytest.raises(he.ModelError, match="seen"):
        study.ask()
    assert {device.type for device in seen} == {"meta"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": "forest"}, "it must be a function from he.ModelData"),
        ({"hyperparameters": "map"}, "hyperparameters are those of the model that a study fits itself"),
        ({"outcomes": {"seen": he.Outcome(kind="yes/no")}}, "let seen be an Outcome without log"),
    ],
)
def test_options_that_do_not_go_with_a_model_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(he.InputError, match=said):
        he.Study(POOL, he.Maximize(), **{"model": MODELS["fit"], **options})


FILE = """
version = 1
name = "own"
[space.x]
type = "real"
low = -1.0
high = 3.0
[decision]
name = "maximize"
[model]
python = "{module}:model"
"""


def test_a_file_names_its_model_and_only_who_trusts_it_runs_it(tmp_path: Path) -> None:
    (tmp_path / "named_model.py").write_text("import hentropy as he\nmodel = he.last_layer(4, networks=1, steps=5)\n")
    file = tmp_path / "own.toml"
    file.write_text(FILE.format(module="named_model"))
    study = he.Study.from_file(file)
    study.attach({"x": 0.5}, 1.0)
    assert study.belief.components == 1
    study.close()
    he.Study.from_file(file).close()  # it is the same study
    with pytest.raises(he.InputError, match="named_model:model, which runs code"):
        he.load_study("own", f"sqlite:///{tmp_path / 'hentropy.db'}")
    file.write_text(FILE.format(module="named_model").replace('python = "named_model:model"', ""))
    with pytest.raises(he.StorageError, match=r"model\.python"):
        he.Study.from_file(file)


def test_a_store_knows_that_a_model_was_made_in_python(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'hentropy.db'}"
    he.Study(POOL, he.Maximize(), model=MODELS["fit"], storage=url).close()
    with pytest.raises(he.StudyError, match="give model="):
        he.load_study("study", url)
    he.load_study("study", url, model=MODELS["fit"]).close()
    with pytest.raises(he.StorageError, match="own"):
        he.Study(POOL, he.Maximize(), storage=url)


def test_a_server_does_not_run_a_model() -> None:
    words = {
        "version": 1,
        "name": "own",
        "space": {"x": {"type": "real", "low": 0.0, "high": 1.0}},
        "decision": {"name": "maximize"},
    }
    with pytest.raises(he.InputError, match=r"model\.python: a model of one's own runs code"):
        described({**words, "model": {"python": "os:getcwd"}})
    why = why_not_computable(validated({**words, "model": {"python": "os:getcwd"}}, "it"))
    assert "os:getcwd, which a server does not run" in str(why)
