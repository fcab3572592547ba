"""A belief about several outcomes is the beliefs about each of them, side by side; mixtures are weighed by all."""

import pickle
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from hentropy.core.beliefs import Gaussian, Known, Needs, Several
from hentropy.core.spaces import Space
from hentropy.errors import InputError, ModelError
from hentropy.studies.testing import check_belief
from support.beliefs import (
    LOW,
    WIDTH,
    bayes_weights,
    dense,
    designs,
    price,
    rebuilt,
    tensor,
    three_outcomes,
    two_outcomes,
)

SPACE = Space.box(LOW.tolist(), (LOW + WIDTH).tolist())
POINTS = designs(4, seed=21)


def parts(belief: Several) -> list[Gaussian]:
    return [part for part in belief.parts if isinstance(part, Gaussian)]


def by_hand(belief: Several, points: Tensor) -> tuple[Tensor, Tensor]:
    """Means H x m x o and covariances H x (m o) x (m o) from dense inverses, entry by entry."""
    each = [dense(part, points) for part in parts(belief)]
    mean = torch.stack([m for m, _ in each], -1)
    o, m, cov = len(each), len(points), torch.zeros(mean.shape[0], mean[0].numel(), mean[0].numel(), dtype=mean.dtype)
    for i in range(o):
        for a in range(m):
            for b in range(m):
                cov[:, a * o + i, b * o + i] = each[i][1][:, a, b]
    return mean, cov


def observed(belief: Several, x: Tensor, y: Tensor) -> Several:
    """Each part fitted anew to its data and y (n x o) at x, weights from the product of the densities."""
    weights = belief.weights
    after = []
    for i, part in enumerate(parts(belief)):
        seen = ~torch.isnan(y[:, i])
        after.append(rebuilt(part, x[seen], y[seen, i]) if bool(seen.any()) else part)
        if bool(seen.any()):
            weights = weights * bayes_weights(part, x[seen], y[seen, i]) / part.weights
    weights = weights / weights.sum()
    names = belief.outcomes
    return Several(tuple(replace(p, weights=weights, outcomes=(n,)) for p, n in zip(after, names, strict=True)))


@pytest.mark.parametrize("H", [1, 3])
def test_moments_are_those_of_dense_inverses_point_by_point(H: int) -> None:
    belief = two_outcomes(H)
    mean, cov = by_hand(belief, POINTS)
    moments = belief.moments(POINTS, Needs.JOINT)
    assert_close(moments.mean.unflatten(-1, (4, 2)), mean)
    assert_close(moments.covariance, cov)
    assert_close(moments.variance, cov.diagonal(dim1=-2, dim2=-1))
    assert_close(moments.root @ moments.root.mT, cov, atol=1e-10, rtol=1e-8)
    assert (moments.outcomes, belief.outcomes, belief.components) == (2, ("yield", "impurity"), H)


@pytest.mark.covering
@pytest.mark.parametrize("H", [1, 3])
@pytest.mark.parametrize("make", [two_outcomes, three_outcomes])
def test_the_belief_does_not_contradict_itself(make: object, H: int) -> None:
    check_belief(make(H), SPACE)  # type: ignore[operator]


@pytest.mark.parametrize("first", [True, False])
def test_a_mixture_beside_one_gaussian_process(first: bool) -> None:
    mixture, one = two_outcomes(3).parts[0], two_outcomes(1).parts[1]
    belief = Several((mixture, one) if first else (one, mixture))
    assert belief.components == 3
    check_belief(belief, SPACE)


@pytest.mark.parametrize("H", [1, 3])
def test_conditioning_is_fitting_each_part_anew(H: int) -> None:
    belief, x, y = two_outcomes(H), designs(3, seed=5), tensor([[4.0, -1.2], [5.5, -0.6], [2.0, -1.9]])
    found, expected = belief.condition(x, y), observed(belief, x, y)
    assert_close(found.weights, expected.weights)
    for got, want in zip(
        found.moments(POINTS, Needs.JOINT).total(), expected.moments(POINTS, Needs.JOINT).total(), strict=True
    ):
        assert_close(got, want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("H", [1, 3])
@pytest.mark.parametrize("q", [1, 2])
def test_looking_ahead_is_fitting_each_part_anew(H: int, q: int) -> None:
    belief, x = two_outcomes(H), designs(2, q, seed=13)
    fantasy = belief.look_ahead(x).fantasy(belief.nodes(4, q))
    own = fantasy.moments(POINTS.expand(2, 1, *POINTS.shape), Needs.JOINT)
    shared = fantasy.shared_moments(POINTS.unsqueeze(0), Needs.JOINT)
    affine = fantasy.moments(POINTS.expand(2, 4, *POINTS.shape), Needs.MEAN).averaged()
    values = fantasy.values.unflatten(-1, (q, 2))
    for b in range(2):
        for n in range(4):
            after = observed(belief, x[b], values[b, n])
            mean, cov = by_hand(after, POINTS)
            if H > 1:
                assert_close(own.weights[:, b, n], after.weights)
            assert_close(own.mean[:, b, n].unflatten(-1, (4, 2)), mean, rtol=1e-7, atol=1e-9)
            assert_close(shared.mean[:, b, n, 0].unflatten(-1, (4, 2)), mean, rtol=1e-7, atol=1e-9)
            assert_close(own.covariance.expand(H, 2, 4, 8, 8)[:, b, n], cov, rtol=1e-7, atol=1e-9)
            assert_close(affine.mean[0, b, n], (after.weights @ mean.flatten(1)), rtol=1e-7, atol=1e-9)


def test_outcomes_that_were_not_measured_are_left_out() -> None:
    belief, x = two_outcomes(3), designs(2, seed=6)
    y = tensor([[4.0, torch.nan], [torch.nan, torch.nan]])
    after = belief.condition(x, y)
    assert_close(after.weights, bayes_weights(parts(belief)[0], x[:1], y[:1, 0]))
    unmeasured = parts(after)[1]
    assert unmeasured.X.shape == parts(belief)[1].X.shape
    assert_close(unmeasured.moments(POINTS, Needs.MEAN).mean, parts(belief)[1].moments(POINTS, Needs.MEAN).mean)
    assert len(after.X) == len(belief.X) + 1  # nothing was seen of the second design


def test_a_part_alone_is_the_belief_about_its_outcome() -> None:
    belief = two_outcomes(3)
    assert belief.of("impurity") is belief.parts[1]
    assert belief.of("yield", "impurity") is belief
    assert belief.parts[0].of("yield") is belief.parts[0]
    for i, part in enumerate(belief.parts):
        mean, var = belief.moments(POINTS, Needs.VARIANCE).total()
        alone_mean, alone_var = part.moments(POINTS, Needs.VARIANCE).total()
        assert_close(mean[i::2], alone_mean)
        assert_close(var[i::2], alone_var)


def test_another_order_of_the_outcomes_orders_the_moments() -> None:
    belief = three_outcomes(3)
    turned = belief.of("price", "impurity", "yield")
    order = [3 * k + i for k in range(4) for i in (1, 2, 0)]
    first, second = belief.moments(POINTS, Needs.JOINT), turned.moments(POINTS, Needs.JOINT)
    assert_close(second.mean, first.mean[:, order])
    assert_close(second.covariance, first.covariance[:, order][:, :, order])
    assert turned is belief.of("price", "impurity", "yield")  # what was found from it is kept
    x, nodes = designs(1, 2, seed=4), turned.nodes(8, 2)
    z = nodes.z.unflatten(-1, (2, 3))[..., [2, 0, 1]].flatten(-2)
    here = turned.look_ahead(x).fantasy(nodes).shared_moments(POINTS.unsqueeze(0), Needs.VARIANCE)
    there = belief.look_ahead(x).fantasy(replace(nodes, z=z)).shared_moments(POINTS.unsqueeze(0), Needs.VARIANCE)
    assert_close(here.mean, there.mean[..., order])
    assert_close(here.weights, there.weights)


@pytest.mark.parametrize("H", [1, 3])
def test_a_computed_outcome_is_known_and_teaches_nothing(H: int) -> None:
    two, three, x = two_outcomes(H), three_outcomes(H), designs(3, 1, seed=14)
    nodes = three.nodes(6, 1)
    assert bool((nodes.z[:, 1] == 0).all())
    assert_close(nodes.z[:, [0, 2]], two.nodes(6, 1).z)
    fantasy = three.look_ahead(x).fantasy(nodes)
    moments = fantasy.shared_moments(POINTS.unsqueeze(0), Needs.JOINT)
    assert_close(moments.mean.unflatten(-1, (4, 3))[..., 1], price(POINTS).expand(H, 3, 6, 1, 4))
    assert float(moments.variance.unflatten(-1, (4, 3))[..., 1].abs().max()) == 0.0
    alone = two.look_ahead(x).fantasy(two.nodes(6, 1)).shared_moments(POINTS.unsqueeze(0), Needs.JOINT)
    assert_close(moments.mean.unflatten(-1, (4, 3))[..., [0, 2]].flatten(-2), alone.mean)
    assert_close(fantasy.values[..., 1], price(x).expand(3, 6))
    draws = three.sample(POINTS, 50, seed=1)
    assert_close(draws[..., 1], price(POINTS).expand(50, 4), rtol=0, atol=0)
    after = three.condition(x[0], tensor([[4.0, torch.nan, -1.0]]))
    assert_close(after.weights, two.condition(x[0], tensor([[4.0, -1.0]])).weights)


def test_an_observation_of_one_uncertain_outcome_is_integrated_as_one() -> None:
    belief = three_outcomes(3).of("yield", "price")
    alone = three_outcomes(3).of("yield")
    assert_close(belief.nodes(8, 1).z[:, 0], alone.nodes(8, 1).z[:, 0])
    assert belief.nodes(8, 1).quantiles
    x = designs(2, 1, seed=14)
    both = belief.look_ahead(x).fantasy(belief.nodes(8, 1))
    one = alone.look_ahead(x).fantasy(alone.nodes(8, 1))
    assert_close(both.values[..., :1], one.values)


def test_few_components_stand_for_all_outcomes() -> None:
    belief = two_outcomes(3)
    few = belief.typical(2)
    assert few.components == 2
    assert_close(parts(few)[0].weights, parts(few)[1].weights)
    assert few is belief.typical(2)
    assert belief.typical(3) is belief
    assert two_outcomes(1).typical().components == 1


def test_values_in_other_units_are_drawn_as_well() -> None:
    """A jitter that fits the greatest variance must not blur the least, nor what is known."""
    belief = two_outcomes(1)
    small = parts(belief)[1]
    small = replace(small, frame=replace(small.frame, scale=tensor(1e-9), shift=tensor(0.0)))
    mixed = Several((belief.parts[0], small))
    root = mixed.moments(POINTS, Needs.JOINT).root
    assert_close(root[0, 1::2, 1::2], small.moments(POINTS, Needs.JOINT).root[0], rtol=1e-4, atol=1e-16)


def test_what_the_belief_refuses() -> None:
    one, other = two_outcomes(3).parts
    with pytest.raises(InputError, match="at least 2"):
        Several((one,))
    with pytest.raises(InputError, match="two beliefs are about 'yield'"):
        Several((one, one))
    with pytest.raises(InputError, match="differ in the number"):
        Several((one, two_outcomes(3).typical(2).parts[1]))
    with pytest.raises(InputError, match="asked for 'strength'"):
        two_outcomes().of("strength")
    with pytest.raises(InputError, match="asked for none"):
        two_outcomes().of()
    with pytest.raises(InputError, match="one column for each of yield, impurity"):
        two_outcomes().condition(POINTS[:1], tensor([1.0]))
    assert isinstance(other, Gaussian)
    wrong = Known(other.X[:0], lambda x: x, ("price",))
    with pytest.raises(ModelError, match="function of 'price' gave shape"):
        wrong.moments(POINTS, Needs.MEAN)


def test_a_belief_can_be_sent_to_another_process() -> None:
    belief = Several(tuple(replace(p, frame=replace(p.frame, transform=SPACE.to_unit)) for p in parts(two_outcomes(3))))
    again = pickle.loads(pickle.dumps(belief))
    assert_close(again.moments(POINTS, Needs.MEAN).mean, belief.moments(POINTS, Needs.MEAN).mean)
