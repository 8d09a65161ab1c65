"""When the log says something that cannot be."""


class ReplayError(Exception):
    """A record that does not fit what stands before it. Whoever goes on from here knows another cluster than the rest:
    a node that finds one stops, with the record in its log line."""
