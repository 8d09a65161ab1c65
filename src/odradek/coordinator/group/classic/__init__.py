"""Groups of the classic protocol: the members agree among themselves, the coordinator brings them together."""
