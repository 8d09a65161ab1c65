"""What nobody may read off a log line: keys that prove who a user is, and values of configs, which may be passwords."""

import pytest

from controllers import Harness
from metadata_kit import config
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.difference import difference
from odradek.metadata.image import EMPTY
from odradek.protocol.messages import k33_alter_configs, k44_incremental_alter_configs
from odradek.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from odradek.protocol.messages.k39_renew_delegation_token import RenewDelegationTokenRequest
from odradek.protocol.messages.k51_alter_user_scram_credentials import ScramCredentialUpsertion
from odradek.protocol.messages.metadata_cluster import UserScramCredentialRecord

SECRET = "hunter2"
KEYS = {"salt": b"hunter2-salt", "stored_key": b"hunter2-stored", "server_key": b"hunter2-server"}
RECORDS = [
    UserScramCredentialRecord(name="alice", mechanism=1, iterations=4096, **KEYS),
    config(4, "1", "listener.name.external.ssl.keystore.password", SECRET),
]


@pytest.fixture
def delta():
    delta = MetadataDelta(EMPTY)
    for record in RECORDS:
        delta.replay(record)
    return delta


@pytest.fixture
def core():
    harness = Harness()
    for offset, record in enumerate(RECORDS, 100):
        harness.core.replay(record, offset)
    return harness.core


def test_no_image_shows_a_secret(delta):
    image = delta.apply(1, 1)
    for shown in (image, image.scram, image.scram.by_mechanism_and_user, image.configs, image.configs.by_resource):
        assert SECRET not in repr(shown)
        assert SECRET not in str(shown)
    assert "alice" in repr(image)
    assert "keystore.password" in repr(image)


def test_no_delta_shows_a_secret(delta):
    for made in (delta, difference(EMPTY, delta.apply(1, 1))):
        for shown in (made, made.scram.changed, made.configs.changed):
            assert SECRET not in repr(shown)


@pytest.mark.parametrize(
    "message",
    [
        *RECORDS,
        k33_alter_configs.AlterableConfig(name="ssl.key.password", value=SECRET),
        k44_incremental_alter_configs.AlterableConfig(name="ssl.key.password", config_operation=0, value=SECRET),
        ScramCredentialUpsertion(name="alice", mechanism=1, salt=b"hunter2", salted_password=b"hunter2"),
        RenewDelegationTokenRequest(hmac=b"hunter2"),
        SaslAuthenticateRequest(auth_bytes=b"alice hunter2"),
    ],
    ids=lambda message: f"{type(message).__module__.rpartition('.')[2]}-{type(message).__name__}",
)
def test_no_message_shows_a_secret(message):
    assert SECRET not in repr(message)
    assert "[hidden]" in repr(message)


def test_a_config_still_shows_its_name():
    assert "name='listener.name.external.ssl.keystore.password', value=[hidden]" in repr(RECORDS[1])


def test_no_state_of_the_controller_shows_a_secret(core):
    for shown in (core, core.scram.by_key, core.configs.by_key, core.configs.of(4, "1")):
        assert SECRET not in repr(shown)
