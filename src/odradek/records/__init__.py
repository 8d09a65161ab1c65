"""Kafka's record batches, magic 0, 1 and 2: check, scan, build, convert, compress."""
