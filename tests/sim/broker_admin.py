"""An admin as a script: topics, configs and ACLs of its own, which nobody else touches, as registers.

A register holds the last value that was acknowledged, and those that were asked for and not answered. When the broker
has come back from a crash, what it shows is one of them (C7); from then on it is that. A topic that was made again
under its old name has nothing of the old one: neither its configs nor its records.
"""

from broker_clients import BACKOFF_MS, Script, produce_request, told
from broker_kit import ConnectionLost
from log_kit import batch
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.k03_metadata import MetadataRequest
from odradek.protocol.messages.k19_create_topics import CreatableTopic, CreateTopicsRequest
from odradek.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.k29_describe_acls import DescribeAclsRequest
from odradek.protocol.messages.k30_create_acls import AclCreation, CreateAclsRequest
from odradek.protocol.messages.k31_delete_acls import DeleteAclsFilter, DeleteAclsRequest
from odradek.protocol.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.protocol.messages.k44_incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.records.batch import batches

TOPIC = 2
CONFIG = "retention.ms"
RETENTION_MS = 10**11  # and more: every value is another one
ANY_ACL, LITERAL, READ, ALLOW, ANY = 1, 3, 3, 3, 1
ABSENT, SOME = "absent", "some"
REGISTERS_MAX = 6


class Register:
    def __init__(self, value):
        self.value = value
        self.unanswered = []

    @property
    def is_certain(self):
        return not self.unanswered

    def ask(self, value):
        self.unanswered.append(value)

    def answered(self, value):
        """The last thing that was asked for, and `value` is what it has come to."""
        self.unanswered.pop()
        self.value = value

    def refused(self):
        self.unanswered.pop()

    def allows(self, found):
        return found == self.value or found in self.unanswered or (found != ABSENT and SOME in self.unanswered)

    def settle(self, found):
        """After a crash nothing is on its way any more."""
        self.value = found
        self.unanswered.clear()


class OwnTopic:
    def __init__(self, name):
        self.name = name
        self.id = Register(ABSENT)
        self.config = Register(None)

    @property
    def is_certain(self):
        return self.id.is_certain and self.config.is_certain


class Admin(Script):
    def __init__(self, story, name):
        self.topics = []
        self.acls = {}  # by principal
        self.count = 0
        self.settled_life = 0
        self.checks = 0  # of registers, after crashes
        super().__init__(story, name)

    async def run(self):
        if self.connection is None or self.settled_life != self.life:
            await self.look()
        kind = self.stream.below(10)
        if kind < 6:
            await self.touch_topic()
        elif kind < 9:
            await self.touch_acl()
        else:
            await self.issue()
        await self.pause(80)

    def number(self):
        self.count += 1
        return self.count

    # Changing.

    async def touch_topic(self):
        certain = [topic for topic in self.topics if topic.is_certain]
        if not certain or (len(certain) < REGISTERS_MAX and not self.stream.below(3)):
            self.topics.append(OwnTopic(f"{self.name}.{self.number()}"))
            certain.append(self.topics[-1])
        topic = certain[self.stream.below(len(certain))]
        if topic.id.value == ABSENT:
            await self.create(topic)
            await self.write(topic)
        elif self.stream.below(3):
            await self.alter(topic)
        else:
            await self.delete(topic)

    async def create(self, topic):
        topic.config = Register(None)
        topic.id.ask(SOME)
        wanted = CreatableTopic(name=topic.name, num_partitions=1, replication_factor=1)
        answer = (await self.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=2000), 7)).topics[0]
        if answer.error_code:
            self.refused(answer.error_code, topic.id, f"create {topic.name}")
        topic.id.answered(bytes(answer.topic_id))

    async def delete(self, topic):
        topic.id.ask(ABSENT)
        request = DeleteTopicsRequest(topic_names=[topic.name], timeout_ms=2000)
        answer = (await self.ask(request, 5)).responses[0]
        if answer.error_code:
            self.refused(answer.error_code, topic.id, f"delete {topic.name}")
        topic.id.answered(ABSENT)

    async def alter(self, topic):
        value = str(RETENTION_MS + self.number())
        topic.config.ask(value)
        change = AlterableConfig(name=CONFIG, config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=TOPIC, resource_name=topic.name, configs=[change])
        answer = (await self.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)).responses[0]
        if answer.error_code:
            self.refused(answer.error_code, topic.config, f"alter {topic.name}")
        topic.config.answered(value)

    async def touch_acl(self):
        certain = [principal for principal, acl in self.acls.items() if acl.is_certain]
        if certain and self.stream.below(3) == 0:
            principal = certain[self.stream.below(len(certain))]
        else:
            principal = f"User:{self.name}.{self.number()}"
            self.acls[principal] = Register(ABSENT)
        acl = self.acls[principal]
        if acl.value == ABSENT:
            await self.create_acl(principal, acl)
        else:
            await self.delete_acl(principal, acl)

    async def create_acl(self, principal, acl):
        acl.ask("there")
        creation = AclCreation(
            resource_type=TOPIC,
            resource_name="t",
            resource_pattern_type=LITERAL,
            principal=principal,
            host="*",
            operation=READ,
            permission_type=ALLOW,
        )
        answer = (await self.ask(CreateAclsRequest(creations=[creation]), 3)).results[0]
        if answer.error_code:
            self.refused(answer.error_code, acl, f"create the ACL of {principal}")
        acl.answered("there")

    async def delete_acl(self, principal, acl):
        acl.ask(ABSENT)
        wanted = DeleteAclsFilter(
            resource_type_filter=ANY,
            resource_name_filter=None,
            pattern_type_filter=ANY,
            principal_filter=principal,
            host_filter=None,
            operation=ANY,
            permission_type=ANY,
        )
        answer = (await self.ask(DeleteAclsRequest(filters=[wanted]), 3)).filter_results[0]
        if answer.error_code:
            self.refused(answer.error_code, acl, f"delete the ACL of {principal}")
        acl.answered(ABSENT)

    def refused(self, code, register, what):
        self.story.expect_retriable(code, what)
        if code == errors.RequestTimedOut.code:
            raise ConnectionLost  # it may still happen
        register.refused()
        raise ConnectionLost

    async def issue(self):
        response = await self.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 3)
        if response.error_code == 0:
            self.story.issued(response.producer_id, response.producer_epoch)
        else:
            self.story.expect_retriable(response.error_code, "InitProducerId")

    # A topic has no records but its own.

    async def write(self, topic):
        value = topic.id.value.hex().encode()
        code, offset = told(await self.ask(produce_request((topic.name, 0), batch(value), -1), 9))
        if code:
            self.story.expect_retriable(code, f"produce to {topic.name}")
            await self.pause(BACKOFF_MS)
            return
        wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
        topics = [FetchTopic(topic=topic.name, partitions=[wanted])]
        data = (await self.ask(FetchRequest(max_wait_ms=0, min_bytes=1, topics=topics), 12)).responses[0].partitions[0]
        if data.error_code:
            self.story.expect_retriable(data.error_code, f"fetch of {topic.name}")
            return
        values = [bytes(record.value) for each in batches(bytes(data.records)) for record in each.records()]
        if offset != 0 or values != [value]:
            self.story.violated("V2", f"{topic.name} is new and has {values}, its first record is at {offset}")

    # Looking, after a crash.

    async def look(self):
        """All that is ours. What the broker shows after a crash must be one of what could be."""
        response = await self.ask(MetadataRequest(topics=None), 12)
        if self.life == self.settled_life:
            return
        ids = {topic.name: bytes(topic.topic_id) for topic in response.topics}
        for topic in self.topics:
            self.settle(topic.id, ids.get(topic.name, ABSENT), f"topic {topic.name}")
        await self.look_at_configs([topic for topic in self.topics if topic.id.value != ABSENT])
        await self.look_at_acls()
        self.settled_life = self.life

    async def look_at_configs(self, topics):
        if not topics:
            return
        resources = [
            DescribeConfigsResource(resource_type=TOPIC, resource_name=topic.name, configuration_keys=[CONFIG])
            for topic in topics
        ]
        response = await self.ask(DescribeConfigsRequest(resources=resources), 4)
        for topic, result in zip(topics, response.results, strict=True):
            assert (result.error_code, result.resource_name) == (0, topic.name)
            value = result.configs[0].value
            found = value if int(value) >= RETENTION_MS else None
            self.settle(topic.config, found, f"{CONFIG} of {topic.name}")

    async def look_at_acls(self):
        wanted = DescribeAclsRequest(
            resource_type_filter=ANY,
            resource_name_filter=None,
            pattern_type_filter=ANY,
            principal_filter=None,
            host_filter=None,
            operation=ANY,
            permission_type=ANY,
        )
        response = await self.ask(wanted, 3)
        principals = {acl.principal for resource in response.resources for acl in resource.acls}
        for principal, acl in self.acls.items():
            self.settle(acl, "there" if principal in principals else ABSENT, f"ACL of {principal}")

    def settle(self, register, found, what):
        if not register.allows(found):
            self.story.violated("C7", f"{what} is {found}, not {register.value} or one of {register.unanswered}")
        register.settle(found)
        self.checks += 1
