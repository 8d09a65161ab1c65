"""The word for "you are fenced", which transactional producers have learnt in one API after the other."""

from odradek.protocol import errors


def fenced_as(error: errors.KafkaError, version: int, fenced_version_min: int) -> int:
    """The error's code; INVALID_PRODUCER_EPOCH for clients that do not know PRODUCER_FENCED yet (KIP-588)."""
    if isinstance(error, errors.ProducerFenced) and version < fenced_version_min:
        return errors.InvalidProducerEpoch.code
    return error.code
