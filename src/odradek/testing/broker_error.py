"""What went wrong with a broker that a test has started."""


class BrokerError(Exception):
    """It did not start, is not there any more, or could not do what it was asked for: in the broker's own words."""
