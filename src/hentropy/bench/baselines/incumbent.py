"""The best value so far, which improvement is counted from."""

from hentropy.core.beliefs import Belief, Needs


def incumbent(belief: Belief, largest: bool) -> float:
    """The best mean at an observed design: the best value without noise, and not the luckiest one with it."""
    moments = belief.moments(belief.X, Needs.MEAN)
    mean = moments.expect_vector(moments.mean)
    return float(mean.max() if largest else mean.min())
