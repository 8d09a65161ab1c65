"""What feeds the quorum's core with events and does what it asks for: the log, other voters, listeners, time."""
