"""One profile for every property: the first draw in a fresh checkout builds tables and is slow; that says nothing about the code."""

from hypothesis import HealthCheck, settings

settings.register_profile("rackwright", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rackwright")
