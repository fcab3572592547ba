r"""Level sets of a probability against AEPsych's look-ahead, on its two-dimensional detection problem.

A person is shown a stimulus of some frequency and intensity (both scaled to -1 ... 1), and detects it or not. Where is
it detected with a probability of at least 0.75? Three computations start from one latent process g, fitted to the
answers at random designs:

hentropy      `LevelSets` with misclassification, and the probabilities after an answer behind it
brute force   the same by a sum over 4,001 values of g at the design, without the bivariate normal distribution
AEPsych       its look-ahead for level sets and for probabilities, in a Python of its own (`--peer`)

With p_y the probability of answer y at a design, and P_y that g is above the level at a point after it, the gain of
misclassification is the sum over all points of min(P, 1 - P) - sum_y p_y min(P_y, 1 - P_y).

`python -m benchmarks.psychophysics` prints the greatest differences. Without AEPsych it compares the first two.
"""

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import hentropy as he
from hentropy.core.beliefs import Graded, Needs
from hentropy.core.models.success import fit_grades

SPACE = he.Space(frequency=he.Real(-1, 1), intensity=he.Real(-1, 1))
LEVEL = 0.75
PEER = Path(__file__).with_name("psychophysics_peer.py")
NOT_INSTALLED = 3
"""The exit code of the peer's script where AEPsych cannot be imported."""


def detected(x: Tensor) -> Tensor:
    """The latent function of the novel detection problem (Owen et al. 2021), at designs ... x 2."""
    frequency, intensity = x.unbind(-1)
    context = 2.0 * (0.05 + 0.4 * (0.2 * frequency - 1.0).square() * frequency.square())
    return 4.0 * (intensity + 1.0) / context - 4.0


@dataclass(frozen=True)
class Ahead:
    """What is known after an answer, no first: b designs, m points.

    The probability at each point to be above the level (2 x b x m) and of a yes (2 x b x m), and the gains (b).
    """

    above: Tensor
    yes: Tensor
    gain: Tensor


@dataclass(frozen=True)
class Case:
    """A belief after answers, the designs (b x d) that may be next, and the points (m x d) that are labelled."""

    belief: Graded
    designs: Tensor
    points: Tensor

    @classmethod
    def drawn(cls, answers: int, designs: int, points: int, seed: int) -> "Case":
        """Answers at random designs, drawn with the true probabilities."""
        X = SPACE.sample(answers, seed)
        generator = torch.Generator().manual_seed(seed)
        chance = torch.special.ndtr(detected(X))
        told = (torch.rand(answers, generator=generator, dtype=torch.float64) < chance).double()
        belief = fit_grades(X, told, space=SPACE, single=True, seed=seed)
        return cls(belief, SPACE.sample(designs, seed + 1), SPACE.sample(points, seed + 2))


@torch.no_grad()
def by_hentropy(case: Case) -> Ahead:
    """By the closed forms of `Graded` and `LevelSets`."""
    look = case.belief.look_ahead(case.designs.unsqueeze(1))
    threshold = torch.special.ndtri(torch.tensor([LEVEL], dtype=torch.float64))
    chances = look.chances.unsqueeze(-1)  # b x 2 x 1
    above = look.with_grade(case.points, threshold).squeeze(-2) / chances  # b x 2 x m
    yes = look.with_grade(case.points) / chances
    decision = he.LevelSets(LEVEL, at=case.points, relation="misclassification")
    gain = he.gain(decision, case.belief, case.designs, SPACE).value
    return Ahead(above.movedim(1, 0), yes.movedim(1, 0), gain)


@torch.no_grad()
def by_brute_force(case: Case, nodes: int = 4001) -> Ahead:
    """By a sum over values of g at each design: given one, g at a point is normal, and an answer says no more of it."""
    b = len(case.designs)
    moments = case.belief.latent.moments(torch.cat([case.designs, case.points]), Needs.JOINT)
    mean, covariance = moments.mean[0], moments.covariance[0]
    threshold = float(torch.special.ndtri(torch.tensor(LEVEL, dtype=torch.float64)))
    z = torch.linspace(-9.0, 9.0, nodes, dtype=torch.float64)
    weight = torch.softmax(-0.5 * z.square(), 0)
    now = torch.special.ndtr((mean[b:] - threshold) / covariance.diagonal()[b:].sqrt())
    above, yes, gains = [], [], []
    for i in range(b):
        cross, var = covariance[i, b:], covariance[i, i]
        given = mean[b:] + z.unsqueeze(-1) * (cross / var.sqrt())  # nodes x m
        left = (covariance.diagonal()[b:] - cross.square() / var).clamp_min(1e-300)
        detect = torch.special.ndtr(mean[i] + z * var.sqrt())
        seen = torch.stack([1.0 - detect, detect]) * weight  # 2 x nodes
        chance = seen.sum(-1, keepdim=True)
        above.append(seen @ torch.special.ndtr((given - threshold) / left.sqrt()) / chance)
        yes.append(seen @ torch.special.ndtr(given / (1.0 + left).sqrt()) / chance)
        gains.append(_gain(now, above[-1], chance))
    return Ahead(torch.stack(above, 1), torch.stack(yes, 1), torch.stack(gains))


def _gain(now: Tensor, then: Tensor, chance: Tensor) -> Tensor:
    """How many fewer labels are wrong: now (m), then (2 x m) after answers with these chances (2 x 1)."""
    return torch.minimum(now, 1.0 - now).sum() - (chance * torch.minimum(then, 1.0 - then)).sum()


@torch.no_grad()
def by_peer(case: Case, python: str) -> Ahead | None:
    """By AEPsych as another Python has it, given the mean and the covariance of g; None where that has none."""
    both = torch.cat([case.designs, case.points])
    moments = case.belief.latent.moments(both, Needs.JOINT)
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
        np.savez(given, mean=moments.mean[0], covariance=moments.covariance[0], designs=len(case.designs), level=LEVEL)
        # it writes logs where it runs
        where = Path(python).absolute() if Path(python).parts[1:] else python
        ended = subprocess.run([str(where), str(PEER.absolute()), str(given), str(found)], cwd=folder, check=False)
        if ended.returncode == NOT_INSTALLED:
            return None
        ended.check_returncode()
        with np.load(found) as read:
            return Ahead(*(torch.from_numpy(read[field.name]) for field in fields(Ahead)))


def differences(one: Ahead, other: Ahead) -> dict[str, float]:
    """The greatest absolute difference in each of the quantities."""
    return {
        field.name: float((getattr(one, field.name) - getattr(other, field.name)).abs().max())
        for field in fields(Ahead)
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--answers", type=int, default=40)
    options.add_argument("--designs", type=int, default=60)
    options.add_argument("--points", type=int, default=256)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--peer", default=sys.executable, help="a Python that has AEPsych")
    given = options.parse_args()
    case = Case.drawn(given.answers, given.designs, given.points, given.seed)
    own = by_hentropy(case)
    others = {"brute force": by_brute_force(case), "AEPsych": by_peer(case, given.peer)}
    print(f"{given.answers} answers, {given.designs} designs, {given.points} points, level {LEVEL}")
    print(f"gains from {float(own.gain.min()):.4f} to {float(own.gain.max()):.4f} labels")
    print("greatest difference to      above the level   probability of yes   gain")
    for name, other in others.items():
        if other is None:
            print(f"{name}: not installed in {given.peer}; left out")
            continue
        found = differences(own, other)
        print(f"{name:<27} {found['above']:<17.1e} {found['yes']:<20.1e} {found['gain']:.1e}")


if __name__ == "__main__":
    main()
