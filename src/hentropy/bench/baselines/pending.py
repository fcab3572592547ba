"""Designs whose outcomes are still to come, for rules that look at a belief alone."""

from torch import Tensor

from hentropy.core.beliefs import Belief, Needs
from hentropy.core.gain import Appraisal


def believed(belief: Belief, waiting: Tensor) -> Belief:
    """The belief as if pending designs (p x d) had been observed with the values expected there.

    It knows less where nobody looks and more where somebody does: for one GP the means stay and the variances are
    those to come, which do not depend on the outcomes.
    """
    if not len(waiting):
        return belief
    moments = belief.moments(waiting, Needs.MEAN)
    return belief.condition(waiting, moments.expect_vector(moments.mean))


def expected_belief(appraisal: Appraisal) -> Belief:
    """The belief of an appraisal, pending designs believed."""
    return believed(appraisal.belief, appraisal.pending)


def occurs(x: Tensor, rows: Tensor) -> Tensor:
    """Which designs (b x d) are among rows (m x d), exactly: b."""
    return (x.unsqueeze(1) == rows).all(-1).any(-1)
