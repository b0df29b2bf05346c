"""One profile for every property-based test: the same examples on every run, and no clock."""

import signal

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# A shell that starts the tests in the background has them ignore Ctrl-C, and all processes that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Hypothesis tries the constants of all modules that happen to be loaded, which depends on the tests that ran before.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = lambda: providers._local_constants

settings.register_profile(
    "lsip",
    derandomize=True,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("lsip")

collect_ignore = ["typing"]  # read by a type checker, never run
