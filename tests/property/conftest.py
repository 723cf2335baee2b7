"""Profiles: `quick` is the same every time and for every commit; `deep` searches (HYPOTHESIS_PROFILE=deep)."""

import os

from hypothesis import HealthCheck, settings

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "quick", derandomize=True, deadline=None, database=None, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "deep", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=_SLOW_IS_FINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
