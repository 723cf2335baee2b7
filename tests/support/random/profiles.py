"""Hypothesis's profiles: `quick` is the same every time for every commit; `deep` searches (HYPOTHESIS_PROFILE=deep).

Neither has a deadline: on a busy machine it would fail a test of a property for the time that an example took.
"""

import os

from hypothesis import HealthCheck, settings

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]


def load_profile() -> None:
    """Use the profile that the environment names."""
    settings.register_profile(
        "quick", derandomize=True, deadline=None, database=None, suppress_health_check=_SLOW_IS_FINE
    )
    settings.register_profile(
        "deep", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=_SLOW_IS_FINE
    )
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
