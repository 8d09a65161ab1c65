"""A partition on disk: segments, indexes, recovery, retention, compaction, and all of them in log dirs."""
