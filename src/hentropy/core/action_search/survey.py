"""A look at a whole list: mean and standard deviation of every row, and the means of rows after outcomes.

Lists are long, and fresh large arrays cost more than the arithmetic: all is done in pieces that fit the cache.
"""

from hentropy.core.beliefs import Belief, Fantasy, Needs
from hentropy.core.clock import Clock, pieces
from hentropy.lazy import Tensor, torch

ORDER_SEED = 20_011
"""Of the order in which rows are looked at when time is short: the same for all, and not that of the file."""


SURVEY_SHARE = 0.4
"""The part of a time limit that the look at a list may take."""


@torch.no_grad()
def survey(belief: Belief, points: Tensor, clock: Clock) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Mean and standard deviation over all components at rows m x d, the standard deviation of the noise of an
    observation there, and the positions of those looked at: m' each.

    Of several outcomes, m' x o each.
    All rows in their order, unless the clock has a limit: then rows spread over the list, as many as time allows.
    """
    order = torch.arange(points.shape[0], device=points.device)
    if clock.limited:
        generator = torch.Generator().manual_seed(ORDER_SEED)
        order = torch.randperm(points.shape[0], generator=generator).to(points.device)
    # one array for all: small results between large pieces would keep the memory of all pieces from being reused
    several = (len(belief.outcomes),) if len(belief.outcomes) > 1 else ()
    found, seen = points.new_empty(3, points.shape[0], *several), 0
    for part in order.split(pieces(belief.components * (belief.sites + 1), points.device)):
        rows = points[part] if clock.limited else points[seen : seen + len(part)]
        moments = belief.moments(rows, Needs.VARIANCE)
        total = torch.stack(moments.total())
        found[:2, seen : seen + len(part)] = total.reshape(2, len(part), *several)
        found[2, seen : seen + len(part)] = torch.as_tensor(belief.noise_std_given(moments)).to(found)
        seen += len(part)
        if clock.expired:
            break
    mean, sd, noise = found[0, :seen], found[1, :seen].clamp_min(0.0).sqrt(), found[2, :seen]
    if not clock.limited:
        return mean, sd, noise, order
    looked, place = order[:seen].sort()
    return mean[place], sd[place], noise[place], looked


def mean_moves(sd: Tensor, noise_std: Tensor) -> Tensor:
    """The standard deviation of the mean after one observation, from that of f: sd^2 / sqrt(sd^2 + noise^2)."""
    return sd.square() / (sd.square() + noise_std.square()).clamp_min(1e-300).sqrt()


def means_after(fantasy: Fantasy, points: Tensor) -> Tensor:
    """The mean over all components after each outcome at rows that all designs share (m x d): b x N x m."""
    moments = fantasy.shared_moments(points.unsqueeze(0), Needs.MEAN)
    return moments.expect_vector(moments.mean).squeeze(-2)
