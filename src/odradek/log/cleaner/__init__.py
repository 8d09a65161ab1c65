"""Compaction: which log needs it, the rounds over it, and the segments that they leave."""
