"""Fixtures for the tests of the log, from the modules beside this one."""

from damaged_dirs import log_dir, originals, unclean_dir

__all__ = ["log_dir", "originals", "unclean_dir"]
