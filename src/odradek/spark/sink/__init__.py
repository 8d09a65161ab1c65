"""Writing to topics: `write` and `writeStream`."""
