"""One profile for every property-based test: the same examples on every run, and no clock."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "lsip",
    derandomize=True,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("lsip")
