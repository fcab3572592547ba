"""The best k of m things when pairs of them earn a reward: exact, by branch and bound.

    max over subsets S of size k of   sum over S of v_i + sum over pairs of r_ij

A partial subset P is worth its own sum so far, and a thing i outside of it would add g_i = v_i + sum over P of r_ij at
once. The n things still to come add at most the n greatest g, and the greatest reward R for each pair of them. Branches
whose bound is not above the best subset known are cut. The last two are chosen together, by looking at all pairs.
"""

import numpy as np


class BranchAndBound:
    """The search for one problem: values m, rewards m x m (symmetric). `starts` subsets are grown greedily first."""

    def __init__(self, values: np.ndarray, rewards: np.ndarray, k: int, starts: int = 64) -> None:
        self.values, self.rewards, self.k, self.starts = values, rewards, k, starts
        self.greatest = float(rewards.max(initial=0.0))
        self.best = list(range(k))
        self.worth = -np.inf
        self.branches = 0

    def run(self) -> list[int]:
        """The best subset, sorted."""
        # a good subset to begin with cuts most branches at once
        for first in np.argsort(-self.values)[: self.starts]:
            self._greedy(int(first))
        self._branch([], 0.0, np.arange(len(self.values)), self.values.astype(float))
        return sorted(self.best)

    def _greedy(self, first: int) -> None:
        chosen, worth = [first], float(self.values[first])
        gains = self.values + self.rewards[first]
        while len(chosen) < self.k:
            open_gains = gains.copy()
            open_gains[chosen] = -np.inf
            best = int(open_gains.argmax())
            chosen.append(best)
            worth += float(gains[best])
            gains = gains + self.rewards[best]
        self._offer(chosen, worth)

    def _offer(self, chosen: list[int], worth: float) -> None:
        if worth > self.worth:
            self.best, self.worth = chosen, worth

    def _branch(self, chosen: list[int], worth: float, things: np.ndarray, gains: np.ndarray) -> None:
        """Subsets that hold `chosen` and otherwise only `things` (indices), each of which would now add its gain."""
        self.branches += 1
        need = self.k - len(chosen)
        if len(things) < need:
            return
        order = np.argsort(-gains, kind="stable")
        things, gains = things[order], gains[order]
        if need == 1:
            self._offer([*chosen, int(things[0])], worth + float(gains[0]))
            return
        if need == 2:
            self._pairs(chosen, worth, things, gains)
            return
        ahead = self.greatest * need * (need - 1) / 2
        for i in range(len(things) - need + 1):
            if worth + float(gains[i : i + need].sum()) + ahead <= self.worth:
                return  # gains fall from here on
            rest = things[i + 1 :]
            added = gains[i + 1 :] + self.rewards[things[i], rest]
            # a thing that cannot be in a better subset is dropped for the whole branch
            others = np.sort(added)[::-1][: need - 2].sum()
            now = worth + float(gains[i])
            room = self.greatest * (need - 1) * (need - 2) / 2
            kept = now + added + others + room > self.worth
            self._branch([*chosen, int(things[i])], now, rest[kept], added[kept])

    def _pairs(self, chosen: list[int], worth: float, things: np.ndarray, gains: np.ndarray) -> None:
        kept = worth + gains + gains[0] + self.greatest > self.worth
        things, gains = things[kept], gains[kept]
        if len(things) < 2:
            return
        both = gains[:, None] + gains + self.rewards[np.ix_(things, things)]
        np.fill_diagonal(both, -np.inf)
        i, j = np.unravel_index(both.argmax(), both.shape)
        self._offer([*chosen, int(things[i]), int(things[j])], worth + float(both[i, j]))


def best_subset(values: np.ndarray, rewards: np.ndarray, k: int) -> list[int]:
    """The k of m things (values m) whose values and rewards (m x m) sum to most: sorted indices."""
    return BranchAndBound(values, rewards, k).run()
