"""Amounts that are uniform on all that add up: an exact map from uniform points of a cube, one part after the other.

s              what is still to be shared out
c              how many of the parts that are left must be used
w_j            the largest amount of part j
V_j(s, c)      the volume of all amounts of the parts j, j + 1, ... of which c are used and that add up to s
G_j(s, c)      the integral of V_j(., c) from 0 to s

V_j(s, 1) counts the parts that can take all of s, and V_j(s, c) = V_{j+1}(s, c) + G_{j+1}(s, c - 1) - G_{j+1}(s - w_j,
c - 1): part j is left out, or it is used. So it is left out with probability V_{j+1}(s, c) / V_j(s, c); otherwise the
distribution function of its amount y is G_{j+1}(s, c - 1) - G_{j+1}(s - y, c - 1) over its value at y = w_j, which a
uniform number inverts. While s is below all w of the n parts that are left, G is a power of s: part j is left out with
probability 1 - c / n, and y = s (1 - (1 - v)^(1 / (c - 1))). Elsewhere G is tabulated.
"""

from dataclasses import dataclass
from functools import cached_property

from hentropy.lazy import Tensor, torch

TABLE_CELLS = 4096
"""Cells of a table, from 0 to the whole: the density of an amount is constant in each."""

MIN_VOLUME_SHARE = 1e-6
"""Below it, as a share of the volume without upper bounds, tables are too coarse to tell feasible amounts apart."""

WIDTH_TOLERANCE = 1e-12
"""An amount that exceeds a width by no more fits."""


@dataclass(frozen=True)
class _Volume:
    """V(., c) and G(., c), both times (c - 1)!, at knots from 0 to 1: linear between them, so that G is exact at c = 1.

    `widths` are those of the parts, where c = 1: V is then how many of them are large enough.
    """

    knots: Tensor
    V: Tensor
    G: Tensor
    widths: Tensor | None = None

    @classmethod
    def of_one(cls, widths: Tensor) -> "_Volume":
        """One part takes all: widths k."""
        knots = torch.cat([widths.new_tensor([0.0, 1.0]), widths]).unique()
        G = torch.minimum(knots.unsqueeze(-1), widths).sum(-1)
        return cls(knots, knots, G, widths)

    def volume(self, s: Tensor) -> Tensor:
        """V at s (n): n."""
        if self.widths is not None:
            return (s.unsqueeze(-1) <= self.widths.to(s) + WIDTH_TOLERANCE).sum(-1).to(s)
        return self._between(self.V, s)

    def below(self, s: Tensor) -> Tensor:
        """G at s (n): n."""
        return self._between(self.G, s)

    def _between(self, values: Tensor, s: Tensor) -> Tensor:
        knots, values = self.knots.to(s), values.to(s)
        cell = torch.searchsorted(knots, s.contiguous(), right=True).clamp(1, len(knots) - 1) - 1
        start, end = knots[cell], knots[cell + 1]
        return torch.lerp(values[cell], values[cell + 1], ((s - start) / (end - start)).clamp(0.0, 1.0))

    def inverse(self, values: Tensor) -> Tensor:
        """Where G has these values (n): n."""
        knots, G = self.knots.to(values), self.G.to(values)
        cell = torch.searchsorted(G, values.contiguous()).clamp(1, len(knots) - 1) - 1
        share = ((values - G[cell]) / (G[cell + 1] - G[cell]).clamp_min(1e-300)).clamp(0.0, 1.0)
        return torch.lerp(knots[cell], knots[cell + 1], share)


@dataclass(frozen=True)
class UniformParts:
    """Amounts from 0 to `widths` (all above 0) that add up to `whole`, of which exactly `used` are above 0."""

    widths: tuple[float, ...]
    whole: float
    used: int

    @cached_property
    def _w(self) -> Tensor:
        """As shares of the whole, none above it: m."""
        return torch.tensor(self.widths, dtype=torch.float64).div(self.whole).clamp_max(1.0)

    @cached_property
    def _least(self) -> list[float]:
        """The least width of the parts j, j + 1, ... : m numbers."""
        least: list[float] = self._w.flip(0).cummin(0).values.flip(0).tolist()
        return least

    @cached_property
    def _volumes(self) -> dict[tuple[int, int], _Volume]:
        """V_j(., c) and G_j(., c) for each j and c that can occur."""
        grid = torch.linspace(0.0, 1.0, TABLE_CELLS + 1, dtype=torch.float64)
        m = len(self.widths)
        found: dict[tuple[int, int], _Volume] = {}
        for j in range(m - 1, -1, -1):
            for c in range(max(1, self.used - j), min(self.used, m - j) + 1):
                if c == 1:
                    found[j, c] = _Volume.of_one(self._w[j:])
                    continue
                rest = found[j + 1, c - 1]
                V = (c - 1) * (rest.below(grid) - rest.below((grid - self._w[j]).clamp_min(0.0)))
                V = V + found[j + 1, c].V if (j + 1, c) in found else V
                G = torch.cat([grid[:1], (0.5 * (V[1:] + V[:-1])).cumsum(0) / TABLE_CELLS])
                found[j, c] = _Volume(grid, V, G)
        return found

    @cached_property
    def has_volume(self) -> bool:
        """Whether amounts can differ enough for their volume to be computed."""
        if self.whole <= 0.0 or not self.used:
            return False
        if self._least[0] >= 1.0:
            return True
        return float(self._volumes[0, self.used].volume(torch.ones(1, dtype=torch.float64))) > MIN_VOLUME_SHARE

    def __call__(self, u: Tensor) -> Tensor:
        """Uniform points of the cube (... x m) as amounts: ... x m."""
        flat = u.reshape(-1, u.shape[-1]).double()
        m = len(self.widths)
        s = torch.ones_like(flat[:, 0])
        c = torch.full_like(s, self.used, dtype=torch.long)
        amounts = []
        for j in range(m):
            y = torch.zeros_like(s)
            for used in range(max(1, self.used - j), min(self.used, m - j) + 1):
                [here] = (c == used).nonzero(as_tuple=True)
                if len(here):
                    out, amount = self._part(j, used, s[here], flat[here, j])
                    y[here] = torch.where(out, 0.0, amount)
                    c[here] -= (~out).long()
            amounts.append(y)
            s = s - y
        return (self.whole * torch.stack(amounts, -1)).reshape(u.shape).to(u)

    def _part(self, j: int, c: int, s: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        """Whether part j is left out, and its amount if it is not, where s (n) is to be shared out among c parts.

        One number u (n) says both: below the probability of leaving it out, or how far above it.
        """
        n, w = len(self.widths) - j, float(self._w[j])
        below = s <= self._least[j]  # no upper bound matters any more
        bounded = not bool(below.all())
        skip = torch.full_like(s, 1.0 - c / n)
        if bounded and c < n:
            ways = self._volumes[j, c].volume(s)
            share = self._volumes[j + 1, c].volume(s) / ways.clamp_min(1e-300)
            skip = torch.where(below, skip, share.clamp(0.0, 1.0))
        out = u < skip
        if c == 1:
            return out, s
        v = ((u - skip) / (1.0 - skip).clamp_min(1e-300)).clamp(0.0, 1.0)
        amount = s * (1.0 - (1.0 - v) ** (1.0 / (c - 1)))
        if bounded:
            rest = self._volumes[j + 1, c - 1]
            top, bottom = rest.below(s), rest.below((s - w).clamp_min(0.0))
            amount = torch.where(below, amount, s - rest.inverse(torch.lerp(top, bottom, v)))
        most = float(self._w[j + 1 :].sort(descending=True).values[: c - 1].sum())
        return out, torch.minimum(torch.maximum(amount, s - most), s.clamp_max(w)).clamp_min(0.0)
