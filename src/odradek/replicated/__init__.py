"""The runtime of decide, append, replay, answer: one for the controller and for every coordinator."""
