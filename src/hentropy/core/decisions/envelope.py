"""E max_i (m_i + s_i Z) for a standard normal Z, exactly: the upper envelope of lines.

After one observation the means of all actions are lines in its standardised outcome Z, so the knowledge gradient on a
finite set is the expectation of a maximum of lines. The envelope is walked from left to right for all designs at once:
each step finds the line that overtakes the current one first. An envelope has few lines, so few steps are needed.
"""

import torch
from torch import Tensor

from hentropy.core.decisions.normal import excess


def expected_rise(intercept: Tensor, slope: Tensor) -> Tensor:
    """E max_i (m_i + s_i Z) - max_i m_i for intercepts and slopes ... x m: ..., never negative, differentiable.

    Equals the sum over the envelope's corners c of (s_next - s) (phi(c) - |c| Phi(-|c|)) (Frazier et al. 2009).
    """
    m, s = torch.broadcast_tensors(intercept, slope)
    with torch.no_grad():
        current = _leftmost(m, s)
    total = m.new_zeros(m.shape[:-1])
    for _ in range(m.shape[-1]):
        m_now, s_now = _pick(m, current), _pick(s, current)
        with torch.no_grad():
            following, found = _overtaker(m, s, m_now, s_now)
        if not bool(found.any()):
            break
        m_next, s_next = _pick(m, following), _pick(s, following)
        gap = torch.where(found, s_next - s_now, 1.0)
        corner = torch.where(found, m_now - m_next, 0.0).abs()  # |c| x gap
        total = total + torch.where(found, excess(corner, gap), 0.0)
        current = torch.where(found, following, current)
    return total


def _pick(values: Tensor, index: Tensor) -> Tensor:
    return values.gather(-1, index.unsqueeze(-1)).squeeze(-1)


def _leftmost(m: Tensor, s: Tensor) -> Tensor:
    """The line that is on top as Z goes to minus infinity: least slope, then greatest intercept."""
    least = s.min(-1, keepdim=True).values
    return torch.where(s == least, m, -torch.inf).argmax(-1)


def _overtaker(m: Tensor, s: Tensor, m_now: Tensor, s_now: Tensor) -> tuple[Tensor, Tensor]:
    """The steeper line that crosses the current one first; of several there, the steepest."""
    rise = s - s_now.unsqueeze(-1)
    steeper = rise > 0
    crossing = torch.where(steeper, (m_now.unsqueeze(-1) - m) / torch.where(steeper, rise, 1.0), torch.inf)
    first = crossing.min(-1, keepdim=True).values
    following = torch.where(steeper & (crossing <= first), s, -torch.inf).argmax(-1)
    return following, steeper.any(-1)
