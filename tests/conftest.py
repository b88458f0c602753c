"""One hypothesis profile for all tests: the same examples on every run, no clock."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "leastnoise", derandomize=True, deadline=None, database=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("leastnoise")
