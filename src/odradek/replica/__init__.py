"""The replicas of a broker: what it leads or follows, who waits for it, and the sessions that fetch from it."""
