"""All problems that need no file of the user, by name."""

from collections.abc import Callable
from functools import partial

from hentropy.bench.problems.alpine import alpine, alpine_levels
from hentropy.bench.problems.base import Problem, named
from hentropy.bench.problems.crash import crash_region
from hentropy.bench.problems.lab import fullerenes_levels, fullerenes_top_k, photo_pce10_levels, photo_pce10_top_k
from hentropy.bench.problems.maps import night_light, vaccination, vaccination_sequence
from hentropy.bench.problems.multihills import multihills_level, multihills_levels, multihills_sequence
from hentropy.bench.problems.outcomes import botorch_front, gardner, gramacy, reizman_front, welded_beam
from hentropy.bench.problems.published_levels import exp_sin_level, levy_level
from hentropy.bench.problems.reactions import reaction
from hentropy.bench.problems.standard import branin_guesses, griewank_min_max, least_top_k, levy_levels, standard

PROBLEMS: dict[str, Callable[[], Problem]] = {
    "ackley-2": partial(standard, "ackley-2"),
    "ackley-10-top-3": partial(least_top_k, "ackley-10", 3, 5.0),
    "alpine-2-one-level": partial(alpine_levels, (0.45,)),
    "alpine-2-top-5": partial(alpine, 2),
    "alpine-2-two-levels": partial(alpine_levels, (0.35, 0.6)),
    "alpine-3-top-3": partial(alpine, 3),
    "alpine-5-top-5": partial(alpine, 5),
    "baumgartner-aniline": partial(reaction, "baumgartner-aniline"),
    "branin": partial(standard, "branin"),
    "branin-3-guesses": branin_guesses,
    "branin-currin": partial(botorch_front, "branin-currin"),
    "crash-12": crash_region,
    "dtlz2-4": partial(botorch_front, "dtlz2-4"),
    "exp-sin-level": exp_sin_level,
    "fullerenes-levels": fullerenes_levels,
    "fullerenes-top-5": fullerenes_top_k,
    "gardner": gardner,
    "gramacy": gramacy,
    "griewank-5-min-max": griewank_min_max,
    "hartmann-6": partial(standard, "hartmann-6"),
    "levy-10-level": levy_level,
    "levy-4": partial(standard, "levy-4"),
    "levy-4-two-levels": levy_levels,
    "multihills-one-level": multihills_level,
    "multihills-sequence": multihills_sequence,
    "multihills-two-levels": multihills_levels,
    "night-light-level-labels": partial(night_light, "misclassification"),
    "night-light-one-level": night_light,
    "photo-pce10-levels": photo_pce10_levels,
    "photo-pce10-top-5": photo_pce10_top_k,
    "reizman-front-1": partial(reizman_front, 1),
    "reizman-suzuki-1": partial(reaction, "reizman-suzuki-1"),
    "reizman-suzuki-2": partial(reaction, "reizman-suzuki-2"),
    "rosenbrock-4": partial(standard, "rosenbrock-4"),
    "styblinski-tang-3-top-4": partial(least_top_k, "styblinski-tang-3", 4, 1.0),
    "vaccination-pennsylvania-sequence": partial(vaccination_sequence, "pennsylvania"),
    "vaccination-pennsylvania-top-5": partial(vaccination, "pennsylvania"),
    "vaccination-united-states-sequence": partial(vaccination_sequence, "united-states"),
    "vaccination-united-states-top-5": partial(vaccination, "united-states"),
    "welded-beam": welded_beam,
}
"""Each name with what makes the problem; nothing is loaded before it is asked for."""


def problem(name: str) -> Problem:
    """The problem with this name, or an `InputError` that lists the names there are."""
    return named(name, PROBLEMS, "problem")()
