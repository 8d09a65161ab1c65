"""`--add-scram`: Kafka's examples, Kafka's refusals."""

import hashlib
import hmac

import pytest

from odradek.metadata.scram_argument import BadScramArgument, credential_of
from odradek.reactor.adapters.rng import SystemRng

CHANCE = SystemRng().stream("test")


def test_a_password_is_derived():
    record = credential_of("SCRAM-SHA-256=[name=alice,password=alice-secret]", CHANCE)
    assert (record.name, record.mechanism, record.iterations) == ("alice", 1, 4096)
    salted = hashlib.pbkdf2_hmac("sha256", b"alice-secret", record.salt, 4096)
    assert record.server_key == hmac.digest(salted, b"Server Key", "sha256")
    assert record.stored_key == hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    assert credential_of("SCRAM-SHA-256=[name=alice,password=alice-secret]", CHANCE).salt != record.salt


def test_a_salted_password_gives_the_keys_that_kafka_writes():
    argument = 'SCRAM-SHA-512=[name=bob,iterations=8192,salt="N3E=",saltedpassword="YCE="]'
    record = credential_of(argument, CHANCE)
    assert (record.name, record.mechanism, record.salt, record.iterations) == ("bob", 2, b"7q", 8192)
    assert record.stored_key[:8] == b"qv\xa3I\xf9\x1e\xb2\xe1"


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("nothing", "add-scram is MECHANISM="),
        ("SCRAM-SHA-999=[name=a,password=x]", "The add-scram mechanism SCRAM-SHA-999 is not supported."),
        ("SCRAM-SHA-256=[password=x]", "You must supply 'name'"),
        ("SCRAM-SHA-256=[name=a]", "You must supply one of 'password' or 'saltedpassword' to add-scram"),
        ("SCRAM-SHA-256=[name=a,password=x,saltedpassword=eA==]", "You must supply one of"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=eA==]", "You must supply 'salt'"),
        ("SCRAM-SHA-256=[name=a,password=x,iterations=100]", "must be >= 4096 for add-scram using SCRAM_SHA_256"),
        ("SCRAM-SHA-256=[name=a,password=x,iterations=99999]", "must be <= 16384"),
        ("SCRAM-SHA-256=[name=a,password=x,iterations=lots]", "is a number"),
        ("SCRAM-SHA-256=[name=a,password=x,salt=???]", "not base64"),
        ("SCRAM-SHA-256=[name=a,colour=blue]", "takes each of"),
        ("SCRAM-SHA-256=[name=a,name=b]", "takes each of"),
    ],
)
def test_refusals(argument, reason):
    with pytest.raises(BadScramArgument, match=reason):
        credential_of(argument, CHANCE)
