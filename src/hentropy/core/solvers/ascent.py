"""Searches that climb: many designs screened against good actions, the best few ascended.

`OneShot` ascends a design and one action per outcome together (Section 6 of the paper). `Nested` solves the inner
minimum for every outcome, and the envelope theorem gives the gradient in the design.
"""

from dataclasses import dataclass, replace

from hentropy.core.action_search import ContinuousSearch, descend
from hentropy.core.action_search.descent import polish
from hentropy.core.beliefs import Needs, Nodes
from hentropy.core.gain import Appraisal
from hentropy.core.solvers.base import Cost, Finalists, Solver, leading, per_cost, with_few_draws
from hentropy.core.spaces import DesignSpace, Pool
from hentropy.errors import InputError
from hentropy.lazy import Tensor, torch

FIRST_SHARE, FEWEST_FIRST = 2, 6
LOOKED_AT_TWICE = 0.5
"""A first look at all designs takes half of the outcomes, but no fewer than have tails, where the gain is late in a
run, and the known actions; the better half is looked at again with actions that descend. It takes all components of a
mixture: a gain may be that of one with a small weight. Of 22 cases in which proposals had been poor, the best quarter
by known actions had a design with at least 0.94 of the best of all designs, the best eighth once 0.09; late in a run
of Hartmann-3 the best quarter missed a peak that the better half has (0.76 of the largest gain, and 0.98)."""

APART = 0.03
"""The designs that go on differ by so much in each coordinate of the unit cube, in the root mean square: one peak does
not take all places."""

CLOSE = (0.1, 0.001)
"""How far from an anchor designs are looked at, in the unit cube: on all scales between these. Late in a run the data
crowd around an optimum, and a peak of the gain among them is as narrow as their distances."""

BEST_SEEN, WORST_SEEN, MOST_ANCHORS = 4, 2, 64
"""Observed designs with the largest and smallest means that are anchors, and points of the good actions that are."""


def first_designs(appraisal: Appraisal, count: int) -> Tensor:
    """Designs worth a look, one at a time: some that fill the space, as many around anchors on all scales: M x d.

    Of a list, all of them; of a space with finitely many designs, all if they are not more than `count`.
    """
    space = appraisal.space
    if space.points is not None and (len(space.points) <= count or isinstance(space, Pool)):
        return space.points.to(appraisal.belief.X)
    filling = space.sample(count, appraisal.seed + 1).to(appraisal.belief.X)
    seen, acted = _seen(appraisal), _acted(appraisal)
    there = space.project(acted)  # actions may lie where nothing can be run
    generator = torch.Generator().manual_seed(appraisal.seed + 2)
    kinds = [anchors for anchors in (acted, seen) if len(anchors)]  # each has its share: actions may be many
    around = [
        beside(space, x, x.new_full((len(x), 1), CLOSE[0]), max(1, count // len(kinds) // len(x)), generator)
        for x in kinds
    ]
    exchanged = space.neighbours(torch.cat([there, seen])).flatten(0, 1)
    return torch.cat([filling, *(x.flatten(0, 1) for x in around), there, exchanged])


def beside(space: DesignSpace, x: Tensor, reach: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Designs around those given (m x d), on all scales from `reach` (m x 1) down to a hundredth of it: count x m x d.

    Half of them differ in some coordinates only.
    """
    at = space.to_cube(x)
    noise = torch.randn(count, *at.shape, generator=generator, dtype=torch.float64).to(at)
    scale = torch.rand(count, len(at), 1, generator=generator, dtype=torch.float64).to(at)
    some = (torch.rand(count, *at.shape, generator=generator) < 0.5).to(at.device)
    some[::2] = True
    moved = at + reach * (CLOSE[1] / CLOSE[0]) ** scale * noise * some
    return space.project(space.from_cube(moved.clamp(0.0, 1.0)))


def _acted(appraisal: Appraisal) -> Tensor:
    """Points of the good actions, where an observation could change what is decided: m x d."""
    search = appraisal.search
    if not isinstance(search, ContinuousSearch):
        return appraisal.belief.X[:0]
    points = search.decision.points(search.contenders).reshape(-1, appraisal.space.dim)
    return torch.unique(points, dim=0)[:MOST_ANCHORS]


@torch.no_grad()
def _seen(appraisal: Appraisal) -> Tensor:
    """The observed designs with the largest and the smallest mean of each outcome, where they could be run: m x d."""
    belief = appraisal.belief
    X = appraisal.space.project(belief.X)
    if len(X) == 0:
        return X
    rows = []
    for name in belief.outcomes:
        order = belief.of(name).means(X).mean.squeeze(0).argsort(descending=True)
        rows += [order[:BEST_SEEN], order[BEST_SEEN:][-WORST_SEEN:]]
    return torch.unique(X[torch.cat(rows)], dim=0)


LOOK_STEPS = 2
"""Steps of descent of the actions in the second look: where the best action after an outcome is a new one, the known
ones show little of the gain, and not the same share of it everywhere."""


FORMULA_STARTS, FORMULA_ROUNDS = 12, 4
"""Where a formula makes gains cheap, so many starts go on by so many rounds of random steps before the ascent: late in
a run a gain spans decades within a thousandth of the cube, and no slope leads from one side of a measured design to the
other. With 6 and 2, the proposal for `BestObserved` on Hartmann-3 had 0.74 of the largest gain, now 0.97."""


def screen(appraisal: Appraisal, cost: Cost | None, designs: int, outcomes: int, keep: int) -> Tensor:
    """The best single designs by their quick gain, apart from each other: keep x 1 x d."""
    space, x = appraisal.space, first_designs(appraisal, designs).unsqueeze(-2)
    quick, few = _quick(appraisal), max(FEWEST_FIRST, outcomes // FIRST_SHARE)
    nodes = appraisal.nodes(outcomes, 1)
    if quick is not None:
        scores = per_cost(quick.screen(x, quick.nodes(few, 1)), x, cost)
        x = x[scores.argsort(descending=True)[: max(keep, int(LOOKED_AT_TWICE * len(x)))]]
        if quick.formula is None:
            appraisal, nodes = quick, quick.nodes(few, 1)
    scores = per_cost(appraisal.screen(x, nodes, LOOK_STEPS), x, cost)
    if space.points is not None:
        return leading(x, scores, keep, appraisal, apart=0.0)
    if quick is None:
        start = leading(x, scores, max(keep, FORMULA_STARTS), appraisal, apart=APART)
        return local_search(appraisal, start, cost, outcomes, FORMULA_ROUNDS)[:keep]
    start = leading(x, scores, keep, appraisal, apart=APART)
    if not space.exchanges:
        return start
    # the first designs have few combinations of options: those next to the best are looked at as well
    both = torch.cat([start, space.neighbours(start[:, 0]).flatten(0, 1).unsqueeze(-2)])
    return leading(both, per_cost(appraisal.screen(both, nodes, LOOK_STEPS), both, cost), keep, appraisal, apart=APART)


def _quick(appraisal: Appraisal) -> Appraisal | None:
    """For a first look at many designs, where there is a quicker way: a quick formula, or fewer outcomes and draws."""
    formula = appraisal.applicable(1)
    if formula is not None and formula.quick is not None and not isinstance(appraisal.space, Pool):
        return replace(appraisal, formula=replace(formula, function=formula.quick))
    return with_few_draws(appraisal) if formula is None else None


TRIES = 14
LONGEST_STEP, SHORTER = 0.1, 0.5
"""Random steps that are tried from each design in a round, and the longest in the unit cube: shorter by this factor
after a round that did not help."""


@torch.no_grad()
def local_search(appraisal: Appraisal, start: Tensor, cost: Cost | None, outcomes: int, rounds: int) -> Tensor:
    """Refine designs F x 1 x d by rounds of random steps: the best first."""
    space, generator = appraisal.space, torch.Generator().manual_seed(appraisal.seed + 3)
    nodes, x = appraisal.nodes(outcomes, 1), start.squeeze(-2)
    reach, every = x.new_full((len(x), 1), LONGEST_STEP), torch.arange(len(x), device=x.device)
    for _ in range(rounds):
        if appraisal.clock.expired:
            break
        moved = beside(space, x, reach, TRIES, generator)
        trial = torch.cat([x.unsqueeze(0), moved, space.neighbours(x).movedim(-2, 0)])  # T x F x d
        sets = trial.flatten(0, 1).unsqueeze(-2)
        most, best = per_cost(appraisal.screen(sets, nodes), sets, cost).reshape(trial.shape[:2]).max(0)
        x, reach = trial[best, every], torch.where((best > 0).unsqueeze(-1), reach, SHORTER * reach)
        order = most.argsort(descending=True)
        x, reach = x[order], reach[order]
    return x.unsqueeze(-2)


def with_other_options(space: DesignSpace, x: Tensor) -> Tensor:
    """Sets of designs R x q x d with one option of one design exchanged, in every way: R x (q M) x q x d."""
    moved = space.neighbours(x)  # R x q x M x d
    own = torch.eye(x.shape[1], dtype=torch.bool, device=x.device).repeat_interleave(moved.shape[-2], 0).unsqueeze(-1)
    return torch.where(own, moved.flatten(1, 2).unsqueeze(-2), x.unsqueeze(1))


def exchanged(appraisal: Appraisal, x: Tensor, cost: Cost | None, outcomes: int, keep: int) -> Tensor:
    """The best sets of designs that differ from one of x (R x q x d) in one option of one design: keep x q x d."""
    sets = torch.unique(with_other_options(appraisal.space, x).flatten(0, 1), dim=0)
    scores = per_cost(appraisal.screen(sets, appraisal.nodes(outcomes, x.shape[1]), LOOK_STEPS), sets, cost)
    return leading(sets, scores, keep, appraisal, apart=APART)


FIRST_STEP, NEAR_DATA = 0.04, 0.1
"""The first step of an ascent in each coordinate of the unit cube where no data are near, and the least share of it."""


def step_lengths(appraisal: Appraisal, x: Tensor) -> Tensor:
    """The first steps of an ascent from designs R x q x d, in each coordinate of the cube: R.

    No longer than the distance to the nearest observed or pending design: a peak of the gain among crowded data is
    narrower than that.
    """
    space, x = appraisal.space, x.detach()
    known, near = torch.cat([appraisal.belief.X, appraisal.pending]), x.new_full(x.shape[:-1], FIRST_STEP)
    if len(known):
        near = torch.cdist(space.to_cube(x).flatten(0, 1), space.to_cube(known)).amin(-1).reshape(near.shape)
    return (near / space.cube**0.5).clamp(NEAR_DATA * FIRST_STEP, FIRST_STEP).amax(-1)


def ascend_together(
    appraisal: Appraisal, x: Tensor, actions: Tensor, nodes: Nodes, steps: int, cost: Cost | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Ascend designs R x q x d and their actions R x N x event together: both as reached, and the one-shot gains R."""
    search, space = appraisal.search, appraisal.space
    if not isinstance(search, ContinuousSearch):
        raise InputError(f"the one-shot search needs continuous actions; {search.decision!r} on this space has a list")
    R, q, _ = x.shape
    domain, head = search.domain, q * space.cube
    # the expected loss of today's action is a constant for an affine loss under one GP, a control variate otherwise
    known = 0.0 if cost is None else appraisal.of_pending(nodes)
    belief = appraisal.belief
    varies = belief.components > 1 or bool(belief.graded) or search.decision.needs is not Needs.MEAN
    today = search.best.expand(R, 1, *search.best.shape)

    def unpack(u: Tensor) -> tuple[Tensor, Tensor]:
        return space.from_cube(u[:, :head].reshape(R, q, -1)), domain.to_action(u[:, head:].reshape(R, nodes.count, -1))

    def minus_gain(u: Tensor) -> Tensor:
        designs, acts = unpack(u)
        fantasy = appraisal.belief.look_ahead(appraisal.together(designs)).fantasy(nodes)
        # what is affine in f has its average at the average mean: today's action as if after one more outcome
        more = fantasy.with_average() if varies and search.decision.needs is Needs.MEAN else None
        if more is not None:
            losses = search.loss_after(more, torch.cat([acts, today], 1))
            losses, stay = losses[:, :-1], losses[:, -1]
        else:
            stay = (search.loss_after(fantasy, today) * fantasy.weights).sum(-1) if varies else search.value
            losses = search.loss_after(fantasy, acts)
        gains = stay - (losses * fantasy.weights).sum(-1)
        return -per_cost(gains - known, designs, cost)

    start = torch.cat([space.to_cube(x).reshape(R, head), domain.to_cube(actions).reshape(R, -1)], -1)
    far = x.new_full(start.shape, FIRST_STEP)
    far[:, :head] = step_lengths(appraisal, x).unsqueeze(-1)
    u, losses = descend(minus_gain, start, steps, appraisal.clock, far, back=True)
    return *unpack(u), -losses


ROUNDS, EXCHANGES = 3, 6
"""How often ascent of the numbers alternates with exchange of options: of the actions while that helps, at most this
many of each, then one of the designs."""


def ascend_in_turns(
    appraisal: Appraisal, x: Tensor, actions: Tensor, nodes: Nodes, steps: int, cost: Cost | None
) -> tuple[Tensor, Tensor, Tensor]:
    """As `ascend_together`; on spaces with options, exchanges of these take turns with parts of the steps."""
    domain = appraisal.search.domain if isinstance(appraisal.search, ContinuousSearch) else None
    rounds = ROUNDS if appraisal.space.exchanges or (domain is not None and domain.exchanges) else 0
    for _ in range(rounds):
        x, actions, _ = ascend_together(appraisal, x, actions, nodes, steps // (1 + rounds), cost)
        if appraisal.clock.expired:
            break
        x, actions = exchange_together(appraisal, x, actions, nodes, cost)
    return ascend_together(appraisal, x, actions, nodes, steps // (1 + rounds), cost)


@torch.no_grad()
def exchange_together(
    appraisal: Appraisal, x: Tensor, actions: Tensor, nodes: Nodes, cost: Cost | None
) -> tuple[Tensor, Tensor]:
    """Designs R x q x d and their actions R x N x event with other options where these raise the one-shot gain.

    An outcome may also take over the action of another one of its designs.
    """
    search, q = appraisal.search, x.shape[1]
    assert isinstance(search, ContinuousSearch)
    fantasy = appraisal.belief.look_ahead(appraisal.together(x)).fantasy(nodes)
    losses, choice = search.loss_of_each(fantasy, actions).min(-1)
    u = search.domain.to_cube(_taken(actions, choice))
    for _ in range(EXCHANGES):
        before = losses
        u, losses = search.with_other_options(fantasy, u, before)
        if not bool((losses < before).any()):
            break
    actions = search.domain.to_action(u)
    sets = torch.cat([x.unsqueeze(1), with_other_options(appraisal.space, x)], 1)  # R x T x q x d
    known, rows = 0.0 if cost is None else appraisal.of_pending(nodes), appraisal.rows(nodes.count, q)
    scores, taken = [], []
    for some in torch.arange(sets[..., 0, 0].numel(), device=x.device).split(rows):
        tried, own = sets.flatten(0, 1)[some], actions[some // sets.shape[1]]
        fantasy = appraisal.belief.look_ahead(appraisal.together(tried)).fantasy(nodes)
        losses, choice = search.loss_of_each(fantasy, own).min(-1)
        gains = ((search.stay(fantasy) - losses) * fantasy.weights).sum(-1)
        scores.append(per_cost(gains - known, tried, cost))
        taken.append(choice)
    best = torch.cat(scores).reshape(sets.shape[:2]).argmax(1)
    every = torch.arange(len(x), device=x.device)
    return sets[every, best], _taken(actions, torch.cat(taken).reshape(*sets.shape[:2], -1)[every, best])


def _taken(actions: Tensor, choice: Tensor) -> Tensor:
    """Those of R x A x event actions that R x N choices name: R x N x event."""
    return actions[torch.arange(len(actions), device=actions.device).unsqueeze(-1), choice]


@dataclass(frozen=True)
class OneShot(Solver):
    """The search of the paper: random restarts, joint ascent, the best restart wins.

    Where designs or actions have options, exchanging options alternates with the ascent.
    """

    restarts: int = 64
    outcomes: int = 16
    steps: int = 100

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Joint ascent from random designs and random actions."""
        search = appraisal.search
        if not isinstance(search, ContinuousSearch):
            raise InputError(
                f"the one-shot search needs continuous actions; {search.decision!r} here has a list: use Auto()"
            )
        nodes = appraisal.nodes(self.outcomes, q)
        x = (
            appraisal.space.sample(self.restarts * q, appraisal.seed + 1)
            .to(appraisal.belief.X)
            .reshape(self.restarts, q, -1)
        )
        actions = search.domain.sample(self.restarts * self.outcomes, appraisal.seed + 2).to(x)
        actions = actions.reshape(self.restarts, self.outcomes, *search.domain.event)
        designs, met, gains = ascend_in_turns(appraisal, x, actions, nodes, self.steps, cost)
        best = gains.argsort(descending=True)[:1]
        return Finalists(appraisal.space.project(designs[best]), not appraisal.clock.expired, met[best])


LOG_FROM = 1e-6
"""Gains are ascended on a logarithmic scale from this share of the largest on: within a few tenths of the cube they
span decades."""

FIRST_DESCENT = 4
"""Steps of descent that find the actions of the first designs, twice: between, outcomes take over better actions."""


def ascend(
    appraisal: Appraisal, x: Tensor, nodes: Nodes, steps: int, inner_steps: int, cost: Cost | None
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Ascend designs R x q x d by quasi-Newton steps along envelope gradients.

    Designs reached, actions met (R x N x event) where these are searched by descent, and gains R, per cost if there is
    one. The actions follow the designs: `inner_steps` of descent after each step, from where they were. The gain of
    numbers on a grid is that of the nearest ones that can be run.
    """
    R, q, _ = x.shape
    space = appraisal.space
    known = 0.0 if cost is None else appraisal.of_pending(nodes)
    follow = _Following.begin(appraisal, x, nodes) if appraisal.applicable(q) is None else None
    unit: list[Tensor] = []

    def minus_gain(u: Tensor) -> Tensor:
        relaxed = space.from_cube(u.reshape(R, q, -1))
        designs = relaxed + (space.project(relaxed) - relaxed).detach()
        if follow is None:
            gains = appraisal.with_gradient(designs, nodes, inner_steps)
        else:
            gains = follow.gains(appraisal.together(designs), nodes, inner_steps)
        worth = per_cost(gains - known, designs, cost)
        if not unit:
            # one that is no number sets no scale for the others
            largest = worth.detach().abs().nan_to_num(0.0, 0.0).max()
            unit.append(LOG_FROM * largest.clamp_min(torch.finfo(worth.dtype).tiny / LOG_FROM))
        return -torch.asinh(worth / unit[0])

    start, far = space.to_cube(x).reshape(R, -1), step_lengths(appraisal, x)
    u, losses, _ = polish(minus_gain, start, steps, appraisal.clock, first_move=far)
    reached = space.project(space.from_cube(u.reshape(R, q, -1)))
    return reached, None if follow is None else follow.actions, unit[0] * torch.sinh(-losses)


@dataclass
class _Following:
    """Actions that follow designs as these move: those at the largest gain so far (R), in the cube R x N x A.

    A step that led down is taken back, and the next one begins where the last good one ended.
    """

    appraisal: Appraisal
    search: ContinuousSearch
    u: Tensor
    metric: Tensor
    largest: Tensor

    @classmethod
    def begin(cls, appraisal: Appraisal, x: Tensor, nodes: Nodes) -> "_Following | None":
        """The best actions for designs R x q x d; None where actions are not searched by descent."""
        search, together = appraisal.search, appraisal.together(x)
        if not isinstance(search, ContinuousSearch):
            return None
        with torch.no_grad():
            fantasy = appraisal.belief.look_ahead(together).fantasy(nodes)
            found = search.best_after(fantasy, together, FIRST_DESCENT, rounds=1)
        u = search.domain.to_cube(found.actions)
        if search.domain.exchanges:
            search = search.with_actions(found.actions.flatten(0, 1))
        metric = search.metric.expand(*u.shape[:2], *search.metric.shape)
        return cls(appraisal, search, u, metric, u.new_full((len(u),), -torch.inf))

    @property
    def actions(self) -> Tensor:
        return self.search.domain.project(self.search.domain.to_action(self.u))

    def gains(self, x: Tensor, nodes: Nodes, steps: int) -> Tensor:
        """The gains R of designs R x (p + q) x d, differentiable in x, after this many steps of the actions."""
        search, belief = self.search, self.appraisal.belief
        fantasy = belief.look_ahead(x).fantasy(nodes)
        if search.domain.exchanges:
            # between options there is nothing to follow: actions that can be run, from the best of those known
            with torch.no_grad():
                still = belief.look_ahead(x.detach()).fantasy(nodes)
            actions = search.best_after(still, x.detach(), 1 + steps).actions
            u, metric = search.domain.to_cube(actions), self.metric
        else:
            u, _, metric = search.polished(fantasy, self.u, self.metric, steps)
            actions = search.domain.to_action(u)
        saved = (search.stay(fantasy) - search.loss_after(fantasy, actions)).clamp_min(0.0)
        gains = (saved * fantasy.weights).sum(-1)
        rose = gains.detach() > self.largest
        self.largest = torch.where(rose, gains.detach(), self.largest)
        rose = rose[:, None, None]
        self.u, self.metric = torch.where(rose, u, self.u), torch.where(rose.unsqueeze(-1), metric, self.metric)
        return gains


@dataclass(frozen=True)
class Nested(Solver):
    """Slow and thorough: screened designs, every inner minimum solved by descent at every step."""

    restarts: int = 8
    outcomes: int = 16
    steps: int = 25
    inner_steps: int = 10
    screened: int = 256

    def search(self, appraisal: Appraisal, q: int, cost: Cost | None) -> Finalists:
        """Ascent by envelope gradients from screened designs."""
        space = appraisal.space
        if space.points is not None:
            raise InputError("the nested search needs a continuous space; on a list of designs use Finite() or Auto()")
        formula = appraisal.applicable(q)
        if formula is not None and not formula.differentiable:
            raise InputError(f"the gain of {appraisal.decision!r} has no gradient for the nested search; use Auto()")
        first = screen(appraisal, cost, self.screened, self.outcomes, self.restarts)
        generator = torch.Generator().manual_seed(appraisal.seed + 4)
        order = torch.stack([torch.randperm(first.shape[0], generator=generator) for _ in range(q)], -1)
        order[:, 0] = torch.arange(first.shape[0])
        start = first[:, 0][order.to(first.device)]  # R x q x d
        nodes, rounds = appraisal.nodes(self.outcomes, q), ROUNDS if space.exchanges else 0
        designs, _, gains = ascend(appraisal, start, nodes, self.steps, self.inner_steps, cost)
        for _ in range(rounds):
            if appraisal.clock.expired:
                break
            best = gains.argsort(descending=True)[: self.restarts]
            others = exchanged(appraisal, designs[best], cost, self.outcomes, self.restarts)
            others, _, more = ascend(appraisal, others, nodes, self.steps // rounds, self.inner_steps, cost)
            designs, gains = torch.cat([designs[best], others]), torch.cat([gains[best], more])
        best = gains.argsort(descending=True)[:2]
        return Finalists(designs[best], not appraisal.clock.expired)
