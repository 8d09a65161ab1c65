"""A partition on disk: segments, indexes, recovery, retention, compaction; and the tools that read its files."""
