"""What a decision says in one sentence: numbers with the digits that are known, ranges, shares, chances.

A decision writes its own `headline` from these; `Quantity` is the outcome it is about, in the user's words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

LARGEST, MOST_DECIMALS, SMALL = 1e12, 7, 1e-3
"""Numbers have an exponent that are larger, are rounded by more digits, or are finer and small."""

SURE = 0.95
"""A label counts as sure from this probability on."""


@dataclass(frozen=True)
class Quantity:
    """The outcome that a decision is about: its name, its unit, and whether it is believed as its logarithm.

    `bounds` are the least and the greatest value that it can have, in its unit: what is said of it stays within these.
    """

    name: str = "value"
    unit: str = ""
    log: bool = False
    bounds: tuple[float, float] = (-math.inf, math.inf)
    event: str = ""
    """What may happen, where the value is its probability."""
    likely: tuple[tuple[float, float], ...] = ()
    """Of a probability at each point, the range that holds it in nine of ten cases."""
    measured: str = ""
    """The value as text, where it was measured without noise: then there is nothing to expect."""
    spread: float = 1.0
    """By which factor standard deviations are greater than those of the belief."""

    @classmethod
    def chance(cls, event: str) -> "Quantity":
        """The probability of something."""
        return cls(f"probability of {event}", event=event)

    def of(self, mean: float, sd: float) -> str:
        """A value with its error: yield 78.3 ± 1.1 %, crystal with 93 % probability."""
        return (
            f"{self.event} with {probable(mean)} probability" if self.event else f"{self.name} {self.amount(mean, sd)}"
        )

    def amount(self, mean: float, sd: float) -> str:
        """A value with its error, without the name: 78.3 ± 1.1 %; of a probability 93 % (71 to 99 %)."""
        if self.event:
            low, high = (f"{100.0 * end:.0f}" for end in (self.likely[0] if len(self.likely) == 1 else (mean, mean)))
            return probable(mean) if low == high else f"{probable(mean)} ({low} to {high} %)"
        if self.measured:
            return self.with_unit(self.measured)
        mean = self.within(mean)
        digits = known_digits(sd, mean)
        error = f" ± {rounded(sd, digits)}" if sd > 0 and float(rounded(sd, digits)) > 0 else ""
        return self.with_unit(f"{rounded(mean, digits)}{error}")

    def within(self, value: float) -> float:
        """A value, or the bound beyond which it lies."""
        return min(max(value, self.bounds[0]), self.bounds[1])

    def difference(self, amount: float, error: float = 0.0, falls: bool = False) -> str:
        """How much a value is better than another: 0.4 % yield, 2 percentage points, 5 % of the impurity.

        A value that `falls`, because lower ones are better, does so by less than its whole.
        """
        size = self._size(amount, falls)
        said = roughly(size, error / amount * size if amount else 0.0)
        if self.event:
            return f"{said} percentage points of probability"
        if self.log:
            return f"{said} % of the {self.name}"
        return f"{said}{f' {self.unit}' if self.unit else ''} {'in ' if not self.unit else ''}{self.name}"

    def change(self, amount: float, falls: bool = False) -> str:
        """By how much a value rises or falls: 0.44 %, 2 percentage points, 5 % of the impurity.

        Two digits: an amount that is far smaller than its error would otherwise read as 0.
        """
        unit = "percentage points" if self.event else f"% of the {self.name}" if self.log else self.unit
        return f"{two_digits(self._size(amount, falls))}{f' {unit}' if unit else ''}"

    def _size(self, amount: float, falls: bool) -> float:
        """A difference as it is said: in per cent of probabilities and of values that are known by ratios."""
        if self.log:
            return -100.0 * math.expm1(-amount) if falls else 100.0 * math.expm1(min(amount, 700.0))
        return 100.0 * amount if self.event else amount

    def among(self, means: Sequence[float], sds: Sequence[float]) -> str:
        """Several values: yield 78 to 79 % (± 1), the error of the least certain one."""
        if self.event:
            low, high = probable(min(means)), probable(max(means))
            return f"{self.event} with {low if low == high else f'{low} to {high}'} probability"
        means, worst = [self.within(mean) for mean in means], max(sds)
        digits = known_digits(worst, max(means, key=abs))
        low, high = rounded(min(means), digits), rounded(max(means), digits)
        error = f" (± {rounded(worst, digits)})" if worst > 0 and float(rounded(worst, digits)) > 0 else ""
        return f"{self.name} {self.with_unit(low if low == high else f'{low} to {high}')}{error}"

    def level(self, value: float) -> str:
        """A number that somebody chose: 3 %."""
        if self.event:
            return f"{100.0 * value:g} %"
        return self.with_unit(f"{value:g}")

    def with_unit(self, text: str) -> str:
        """Numbers as text, and the unit behind them."""
        return f"{text} {self.unit}" if self.unit else text


SHORT = 3.55
"""An error is written with two digits if they are below 35, else with one: it is never rounded by more than a tenth."""


def known_digits(sd: float, value: float) -> int:
    """The decimals of a number known to a standard deviation, for both of them, wherever they are written.

    Without an error, four significant digits.
    """
    if sd > 0 and math.isfinite(sd):
        first = math.floor(math.log10(sd))
        leading = sd / 10.0**first
        digits = -first + (1 if leading < SHORT else 0)
    else:
        digits = 3 - (math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0)
    # more than a double holds says nothing
    return min(digits, 15 - (math.floor(math.log10(abs(value))) + 1 if value and math.isfinite(value) else 0))


def known(value: float, sd: float) -> str:
    """A number with the digits that are known, given its standard deviation or how far it lies from its like."""
    return rounded(value, known_digits(sd, value))


def roughly(amount: float, error: float) -> str:
    """An amount above zero with its error, in words: about 0.44; or less than 0.15, if that is all that is known."""
    known = error < 0.5 * amount
    return f"about {two_digits(amount)}" if known else f"less than {two_digits(amount + 2.0 * error)}"


def two_digits(value: float) -> str:
    """A number of which no more than two digits matter."""
    return f"{float(f'{value:.2g}'):g}"


def rounded(value: float, decimals: int) -> str:
    """A number with this many decimals; a negative count rounds away digits of the whole part."""
    if not math.isfinite(value):
        return f"{value:g}"
    fine = decimals > MOST_DECIMALS and abs(value) < SMALL
    if value and (abs(value) >= LARGEST or decimals < -MOST_DECIMALS or fine):
        first = math.floor(math.log10(abs(value)))
        return f"{value:.{max(0, min(decimals + first, 15))}e}"
    number = round(value, decimals) + 0.0
    return f"{number:.{max(decimals, 0)}f}"


def percent(share: float) -> str:
    """A share of a whole, never 0 % or 100 % unless it is."""
    if 0.0 < share < 0.005:
        return "less than 1 %"
    if 0.995 <= share < 1.0:
        return "more than 99 %"
    return f"{100.0 * share:.0f} %"


def probable(chance: float) -> str:
    """The probability of what is not known: never 0 % or 100 %, as the tails of a model end only by rounding."""
    return percent(min(max(chance, 1e-9), 1.0 - 1e-9))


def of_success(chances: Sequence[float], at_least: float) -> str:
    """A sentence about the chances of success of an action's designs; empty where nothing is known of them."""
    if not chances:
        return ""
    least = probable(min(chances))
    if min(chances) < at_least:
        wanted = percent(at_least)
        return f"No run succeeds with {wanted} probability or more; this is the likeliest to, with {least}."
    if len(chances) == 1:
        return f"A run there succeeds with {least} probability."
    return f"A run succeeds {for_each(min(chances))} probability."


def for_each(least: float) -> str:
    """The least of several probabilities, as what holds for each of them: at each of them with at least 93 %."""
    said = probable(least)
    if least < 0.005:
        return f"at the least likely of them with {said}"
    return f"at each of them with {said if said.startswith('more') else f'at least {said}'}"


def in_words(count: int, noun: str, plural: str = "") -> str:
    """Three designs; 25 designs."""
    number = NUMBERS[count].capitalize() if count < len(NUMBERS) else f"{count:,}"
    return f"{number} {noun if count == 1 else plural or noun + 's'}"
