"""One segment of a log: its file of batches, its indexes, and how both are read as a whole."""
