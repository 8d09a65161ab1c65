"""Fetches: which session a request belongs to, what its partitions have to tell, and how it waits for more."""
