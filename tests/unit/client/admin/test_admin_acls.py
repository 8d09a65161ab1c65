"""Access control entries at a broker that has an authorizer, and at one that has none."""

import pytest
from admin_kit import kinds, until

from odradek import errors
from odradek.client.admin.acls import AclBinding, AclBindingFilter
from odradek.client.admin.admin_client import AdminClient
from odradek.protocol.vocabulary import AclOperation, AclPermissionType, PatternType, ResourceType
from odradek.testing import Broker

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
READ_ORDERS = AclBinding(ResourceType.TOPIC, "orders", "User:alice", AclOperation.READ)
NO_WRITES = AclBinding(
    ResourceType.TOPIC,
    "or",
    "User:bob",
    AclOperation.WRITE,
    AclPermissionType.DENY,
    "10.0.0.1",
    PatternType.PREFIXED,
)
USE_GROUP = AclBinding(ResourceType.GROUP, "readers", "User:alice", AclOperation.ALL)


@pytest.fixture(scope="module")
def broker():
    running = Broker(thread=True, config=AUTHORIZER)
    with pytest.warns(UserWarning, match="ACLs are stored and bind nobody"):
        running.start()
    yield running
    running.stop()


@pytest.fixture
def three(admin):
    """Three entries that are there."""
    acls = {READ_ORDERS, NO_WRITES, USE_GROUP}
    admin.create_acls(acls).raise_any()
    until(lambda: set(admin.describe_acls()) == acls)
    yield acls
    admin.delete_acls([AclBindingFilter()]).raise_any()
    until(lambda: not admin.describe_acls())


def test_what_was_created_is_described(admin, three):
    assert set(admin.describe_acls()) == three


FILTERED = pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AclBindingFilter(principal="User:alice"), {READ_ORDERS, USE_GROUP}),
        (AclBindingFilter(resource_type=ResourceType.GROUP), {USE_GROUP}),
        (AclBindingFilter(operation=AclOperation.READ), {READ_ORDERS}),
        (AclBindingFilter(permission_type=AclPermissionType.DENY), {NO_WRITES}),
        (AclBindingFilter(host="10.0.0.1"), {NO_WRITES}),
        (AclBindingFilter(resource_name="orders"), {READ_ORDERS}),
        (AclBindingFilter(resource_name="orders", pattern_type=PatternType.MATCH), {READ_ORDERS, NO_WRITES}),
        (AclBindingFilter(pattern_type=PatternType.PREFIXED), {NO_WRITES}),
        (NO_WRITES.filter, {NO_WRITES}),
        (AclBindingFilter(principal="User:nobody"), set()),
    ],
)


@FILTERED
def test_a_filter_finds_what_it_names(admin, three, wanted, found):
    assert set(admin.describe_acls(wanted)) == found


@FILTERED
def test_a_filter_deletes_what_it_names(admin, three, wanted, found):
    assert set(admin.delete_acls([wanted])[wanted]) == found
    until(lambda: set(admin.describe_acls()) == three - found)


def test_each_entry_has_an_outcome_of_its_own(admin):
    good = AclBinding(ResourceType.TOPIC, "fine", "User:alice", AclOperation.READ)
    unnamed = AclBinding(ResourceType.TOPIC, "", "User:alice", AclOperation.READ)
    misnamed = AclBinding(ResourceType.CLUSTER, "mine", "User:alice", AclOperation.ALTER)
    created = admin.create_acls([unnamed, good, misnamed])
    assert kinds(created) == {unnamed: errors.InvalidRequest, misnamed: errors.InvalidRequest}
    assert created.errors[misnamed].message == "The only valid name for the CLUSTER resource is kafka-cluster"
    assert until(lambda: admin.describe_acls()) == [good]
    admin.delete_acls([good.filter]).raise_any()


def test_what_a_filter_deletes_is_told_and_gone(admin, three):
    of_alice, of_nobody = AclBindingFilter(principal="User:alice"), AclBindingFilter(principal="User:nobody")
    deleted = admin.delete_acls([of_alice, of_nobody])
    assert deleted[of_alice].values_ok == {READ_ORDERS: None, USE_GROUP: None}
    assert len(deleted[of_nobody]) == 0
    assert until(lambda: admin.describe_acls(), lambda left: len(left) == 1) == [NO_WRITES]


def test_no_controller_for_a_moment_is_waited_out(admin, broker, three):
    for api in ("CreateAcls", "DeleteAcls"):
        broker.faults.on(api).error("NOT_CONTROLLER", times=1)
    assert admin.create_acls([READ_ORDERS])[READ_ORDERS] is None
    assert set(admin.delete_acls([USE_GROUP.filter])[USE_GROUP.filter]) == {USE_GROUP}


def test_a_broker_without_an_authorizer_says_so():
    with Broker(thread=True) as open_to_all, AdminClient(bootstrap_servers=open_to_all.bootstrap) as admin:
        with pytest.raises(errors.SecurityDisabled):
            admin.describe_acls()
        assert kinds(admin.create_acls([READ_ORDERS])) == {READ_ORDERS: errors.SecurityDisabled}
        everything = AclBindingFilter()
        assert kinds(admin.delete_acls([everything])) == {everything: errors.SecurityDisabled}
