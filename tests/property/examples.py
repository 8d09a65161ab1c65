"""Which examples property tests draw: the same in every run, so that a red test is red everywhere."""

from hypothesis import settings
from hypothesis.internal.conjecture import providers


def draw_the_same_everywhere() -> None:
    settings.register_profile("deterministic", derandomize=True, deadline=None, database=None)
    settings.load_profile("deterministic")
    forget_constants_of_loaded_modules()


def forget_constants_of_loaded_modules() -> None:
    """Hypothesis likes to draw numbers and words that stand in the modules that are loaded, and which those are depends
    on the tests that ran before. Its older versions do not."""
    if hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = _no_constants


def _no_constants() -> object:
    return providers.Constants()


def look_for_new_ones() -> None:
    settings.register_profile("random", deadline=None)
    settings.load_profile("random")
