"""The same examples in every run, so that a red test is red everywhere; ODRADEK_EXAMPLES=random looks for new ones."""

import os

from hypothesis import settings

settings.register_profile("deterministic", derandomize=True, deadline=None, database=None)
settings.register_profile("random", deadline=None)
settings.load_profile("random" if os.environ.get("ODRADEK_EXAMPLES") == "random" else "deterministic")
