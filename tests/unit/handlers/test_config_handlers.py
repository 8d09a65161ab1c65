"""DescribeConfigs, ListConfigResources, and what a broker itself does with alterations. Expected: a 4.3.0's answers."""

import pytest

from handler_kit import Handlers, broker, register, topic
from odradek.protocol import errors, releases
from odradek.protocol.messages import k33_alter_configs as legacy
from odradek.protocol.messages import k44_incremental_alter_configs as incremental
from odradek.protocol.messages.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.protocol.messages.k74_list_config_resources import ListConfigResourcesRequest
from odradek.protocol.messages.metadata_topics import ConfigRecord

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def config(kind, name, key, value):
    return ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)


def describe(handlers, kind, name, keys=None, version=4, **flags):
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    (result,) = handlers.ask(DescribeConfigsRequest(resources=[resource], **flags), version).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result


def one(handlers, kind, name, key, **flags):
    (entry,) = describe(handlers, kind, name, [key], include_synonyms=True, **flags).configs
    return entry


def chain(entry):
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


@pytest.mark.parametrize(("release", "topics", "brokers"), [("4.3", 33, 340), ("3.3", 26, 265)])
def test_everything_that_a_release_tells_is_told(release, topics, brokers):
    handlers = Handlers(broker(), *topic("t"), release=releases.by_name(release))
    assert len(describe(handlers, TOPIC, "t").configs) == topics
    assert len(describe(handlers, BROKER, "1").configs) == brokers
    assert chain(one(handlers, BROKER, "1", "broker.id"))[0] == ("broker.id", "1", 4)  # as node.id says


@pytest.mark.parametrize("keys", [None, []])
def test_no_keys_are_all_keys_and_unknown_ones_none(keys):
    handlers = Handlers(broker(), *topic("t"))
    assert len(describe(handlers, TOPIC, "t", keys).configs) == 33
    assert describe(handlers, TOPIC, "t", ["no.such"]).configs == []


def test_where_a_topics_value_comes_from():
    handlers = Handlers(
        broker(),
        *topic("t"),
        config(TOPIC, "t", "retention.ms", "5000"),
        config(BROKER, "", "log.retention.ms", "6000"),
        config(BROKER, "1", "log.retention.ms", "7000"),
        static={"log.retention.ms": "8000"},
    )
    entry = one(handlers, TOPIC, "t", "retention.ms")
    assert (entry.value, entry.config_source, entry.config_type, entry.read_only) == ("5000", 1, 5, False)
    assert chain(entry) == [
        ("retention.ms", "5000", 1),
        ("log.retention.ms", "7000", 2),
        ("log.retention.ms", "6000", 3),
        ("log.retention.ms", "8000", 4),
        ("log.retention.hours", "168", 5),
    ]
    assert describe(handlers, TOPIC, "t", ["retention.ms"]).configs[0].synonyms == []


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_every_version_carries_what_it_can(version):
    handlers = Handlers(broker(), *topic("t"))
    flags = {"include_synonyms": True, **({"include_documentation": True} if version >= 3 else {})}
    (entry,) = describe(handlers, TOPIC, "t", ["segment.bytes"], version, **flags).configs
    assert (entry.value, entry.config_source) == ("1073741824", 5)
    assert chain(entry) == [("log.segment.bytes", "1073741824", 5)]
    assert entry.config_type == (3 if version >= 3 else 0)
    assert bool(entry.documentation) is (version >= 3)


def test_version_0_of_a_3_3():
    handlers = Handlers(broker(), *topic("t"), release=releases.RELEASE_3_3)
    (entry,) = describe(handlers, TOPIC, "t", ["segment.bytes"], 0).configs
    assert (entry.value, entry.is_default, entry.config_source) == ("1073741824", False, -1)


def test_a_secret_and_a_name_that_is_not_the_brokers_have_no_value():
    given = {"ssl.keystore.password": "s3cret", "my.own": "y", "super.users": "User:a"}
    handlers = Handlers(broker(), config(BROKER, "1", "no.such", "x"), static=given)
    secret = one(handlers, BROKER, "1", "ssl.keystore.password")
    assert (secret.value, secret.is_sensitive, secret.config_type) == (None, True, 9)
    assert [value for _, value, _ in chain(secret)] == [None]
    for name, source in (("no.such", 2), ("my.own", 4), ("super.users", 4)):
        unknown = one(handlers, BROKER, "1", name)
        assert (unknown.value, unknown.is_sensitive, unknown.read_only) == (None, True, True)
        assert (unknown.config_source, unknown.config_type, unknown.documentation) == (source, 0, None)
        assert chain(unknown) == [(name, None, source)]


def test_a_broker_tells_what_can_change():
    handlers = Handlers(broker())
    assert one(handlers, BROKER, "1", "node.id").read_only
    assert not one(handlers, BROKER, "1", "log.cleaner.threads").read_only
    entry = one(handlers, BROKER, "1", "log.retention.ms")
    assert (entry.value, entry.config_source, chain(entry)) == (None, 5, [])


def test_what_is_set_for_all_brokers():
    handlers = Handlers(broker(), config(BROKER, "", "log.cleaner.threads", "1"))
    (entry,) = describe(handlers, BROKER, "", include_synonyms=True).configs
    assert (entry.name, entry.config_source, entry.config_type) == ("log.cleaner.threads", 3, 3)
    assert chain(entry) == [("log.cleaner.threads", "1", 3)]
    assert chain(one(handlers, BROKER, "1", "log.cleaner.threads")) == [
        ("log.cleaner.threads", "1", 3),
        ("log.cleaner.threads", "1", 5),
    ]


def test_client_metrics_and_groups():
    handlers = Handlers(
        broker(),
        config(METRICS, "sub", "interval.ms", "1000"),
        config(GROUP, "g", "consumer.session.timeout.ms", "50000"),
    )
    entry = one(handlers, METRICS, "sub", "interval.ms")
    assert (entry.value, entry.config_source, chain(entry)) == ("1000", 7, [("interval.ms", "1000", 7)])
    entry = one(handlers, METRICS, "other", "interval.ms")
    assert (entry.value, entry.config_source, chain(entry)) == ("300000", 5, [])
    entry = one(handlers, GROUP, "g", "consumer.session.timeout.ms")
    assert (entry.value, entry.config_source) == ("50000", 8)
    assert chain(entry) == [
        ("consumer.session.timeout.ms", "50000", 8),
        ("group.consumer.session.timeout.ms", "45000", 5),
    ]
    assert chain(one(handlers, GROUP, "g", "share.auto.offset.reset")) == [("share.auto.offset.reset", "latest", 5)]
    assert len(describe(handlers, GROUP, "h").configs) == 17


@pytest.mark.parametrize(
    ("kind", "name", "code", "message"),
    [
        (TOPIC, "nope", 3, ""),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "42", 42, "Unexpected broker id, expected 1 or empty string, but received 42"),
        (BROKER, "abc", 42, "Broker id must be an integer, but it is: abc"),
        (LOGGER, "", 42, "Broker id must not be empty"),
        (LOGGER, "2", 42, "Unexpected broker id, expected 1 but received 2"),
        (METRICS, "", 42, "Client metrics subscription name must not be empty"),
        (GROUP, "", 42, "Group name must not be empty"),
        (77, "x", 42, None),
        (0, "x", 42, None),
    ],
)
def test_resources_that_are_refused(kind, name, code, message):
    result = describe(Handlers(broker()), kind, name)
    assert (result.error_code, result.configs) == (code, [])
    assert message is None or result.error_message == message


def test_a_3_3_knows_no_groups_or_metrics():
    handlers = Handlers(broker(), release=releases.RELEASE_3_3)
    assert [describe(handlers, kind, "x").error_code for kind in (METRICS, GROUP)] == [42, 42]


def test_lists_of_resources():
    handlers = Handlers(
        broker(), broker(2, fenced=True), *topic("t"), config(GROUP, "g", "consumer.session.timeout.ms", "1")
    )

    def listed(types, version=1):
        request = ListConfigResourcesRequest(resource_types=types) if version else ListConfigResourcesRequest()
        response = handlers.ask(request, version)
        return response.error_code or [(r.resource_type, r.resource_name) for r in response.config_resources]

    assert listed([]) == [(GROUP, "g"), (LOGGER, "1"), (BROKER, "1"), (TOPIC, "t")]
    assert listed([TOPIC]) == [(TOPIC, "t")]
    assert listed([TOPIC, 99]) == listed([0]) == 35
    assert listed([], 0) == []


# Alterations


@pytest.fixture
def altering(monkeypatch):
    """A broker whose controller notes what it gets, and refuses the topic "bad"."""
    forwarded = []

    def answer(call, request):
        module = incremental if request.api_key == 44 else legacy
        forwarded.append([(r.resource_type, r.resource_name) for r in request.resources])
        if forwarded[-1] == [(TOPIC, "down")]:
            raise errors.NotController
        results = [
            module.AlterConfigsResourceResponse(
                error_code=40 if resource.resource_name == "bad" else 0,
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in reversed(request.resources)
        ]
        response = module.IncrementalAlterConfigsResponse if module is incremental else module.AlterConfigsResponse
        return response(responses=results)

    def refuse(request, error, version):
        raise error  # so that it reaches the one who forwarded, as the loss of a controller would

    for request in (incremental.IncrementalAlterConfigsRequest, legacy.AlterConfigsRequest):
        register(monkeypatch, request, answer, kind=releases.CONTROLLER, refuse=refuse)

    def make(*records, **options):
        handlers = Handlers(broker(), *topic("t"), *records, **options)
        handlers.inter_broker.attach(releases.CONTROLLER, handlers.controller, "CONTROLLER")
        handlers.forwarded = forwarded
        return handlers

    return make


def inc(handlers, *resources, validate_only=False, version=1):
    request = incremental.IncrementalAlterConfigsRequest(
        resources=[
            incremental.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[incremental.AlterableConfig(name=n, config_operation=o, value=v) for n, o, v in configs],
            )
            for kind, name, *configs in resources
        ],
        validate_only=validate_only,
    )
    return [(r.error_code, r.error_message) for r in handlers.ask(request, version).responses]


def alt(handlers, *resources):
    request = legacy.AlterConfigsRequest(
        resources=[
            legacy.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[legacy.AlterableConfig(name=n, value=v) for n, v in configs],
            )
            for kind, name, *configs in resources
        ]
    )
    return [(r.error_code, r.error_message) for r in handlers.ask(request, 1).responses]


OK = (0, None)


def test_results_come_back_in_the_order_of_the_request(altering):
    handlers = altering()
    results = inc(
        handlers,
        (TOPIC, "t", ("retention.ms", SET, "1")),
        (LOGGER, "1", ("root", SET, "WARN")),
        (BROKER, "9", ("log.cleaner.threads", SET, "1")),
        (TOPIC, "bad", ("retention.ms", SET, "1")),
    )
    assert results == [OK, OK, (42, "Unexpected broker id, expected 1, but received 9"), (40, None)]
    assert handlers.forwarded == [[(TOPIC, "t"), (TOPIC, "bad")]]


def test_nothing_left_is_not_forwarded(altering):
    handlers = altering()
    assert inc(handlers, (LOGGER, "1", ("root", SET, "WARN"))) == [OK]
    assert handlers.forwarded == []


def test_a_controller_that_refuses_everything_refuses_each(altering):
    handlers = altering()
    ((code, _),) = inc(handlers, (TOPIC, "down", ("retention.ms", SET, "1")))
    assert code == 41


@pytest.mark.parametrize(
    ("resource", "code", "message"),
    [
        ((LOGGER, "1", ("root", SET, "BAD")), 40, "Cannot set the log level of root to BAD"),
        ((LOGGER, "1", ("root", DELETE, None)), 42, "Removing the log level of the root logger is not allowed"),
        ((LOGGER, "1", ("root", APPEND, "A")), 42, "APPEND operation is not allowed for the BROKER_LOGGER resource"),
        ((LOGGER, "1", ("kafka.server", SET, "LOUD")), 40, "Logger kafka.server does not exist!"),
        ((LOGGER, "2", ("root", SET, "INFO")), 42, "Unexpected"),
        ((LOGGER, "", ("root", SET, "INFO")), 42, "Node id must be an integer, but it is: "),
        ((LOGGER, "1", ("root", SET, None)), 42, "Null value not supported for : root"),
        ((LOGGER, "1", ("root", SET, "INFO"), ("root", SET, "WARN")), 42, "Error due to duplicate config keys"),
        ((BROKER, "1", ("log.dirs", SET, "/x")), 42, "Cannot update these configs dynamically: [log.dirs]"),
        (
            (BROKER, "1", ("log.cleaner.threads", SET, "x")),
            42,
            "Invalid value x for configuration log.cleaner.threads: Not a number of type INT",
        ),
        (
            (BROKER, "", ("listeners", SET, "INT://:1")),
            42,
            "Cannot update these configs at default cluster level, broker id must be specified: [listeners]",
        ),
        (
            (BROKER, "1", ("principal.builder.class", SET, "org.example.Names")),
            42,
            "principal.builder.class=org.example.Names asks for protection that is not there: classes of Java",
        ),
        ((BROKER, "1", ("log.cleaner.threads", APPEND, "1")), 40, "Can't APPEND to key log.cleaner.threads"),
        ((BROKER, "1", ("log.cleaner.threads", 9, "1")), -1, None),
        ((0, "x", ("a", SET, "1")), 42, "Unknown resource type 0"),
        ((99, "x", ("a", SET, "1")), 42, "Unknown resource type 99"),
    ],
)
def test_what_the_broker_refuses_itself(altering, resource, code, message):
    handlers = altering()
    ((error_code, error_message),) = inc(handlers, resource)
    assert error_code == code
    assert error_message == message if message is None else error_message.startswith(message)
    assert handlers.forwarded == []
    assert handlers.services.log_levels.levels == {"root": "INFO"}


def test_what_a_broker_has_of_its_own_does_not_hide_what_it_is_asked_to_take(altering):
    builder = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
    handlers = altering(config(BROKER, "1", "principal.builder.class", builder))
    assert inc(handlers, (BROKER, "1", ("log.cleaner.threads", SET, "2"))) == [OK]
    ((code, message),) = inc(handlers, (BROKER, "1", ("principal.builder.class", SET, "org.example.Names")))
    assert (code, handlers.forwarded) == (42, [[(BROKER, "1")]]) and "protection" in message


def test_3_3_words_and_types(altering):
    handlers = altering(release=releases.RELEASE_3_3)
    assert inc(handlers, (BROKER, "1", ("log.dirs", SET, "/x"))) == [
        (42, "Cannot update these configs dynamically: Set(log.dirs)")
    ]
    assert inc(handlers, (METRICS, "s", ("interval.ms", SET, "1"))) == [(42, "Unknown resource type 16")]


def test_broker_configs_that_may_change_go_to_the_controller(altering):
    handlers = altering(config(BROKER, "1", "log.cleanup.policy", "delete"))
    resources = [
        (BROKER, "1", ("log.cleaner.threads", SET, "2"), ("log.cleanup.policy", APPEND, "compact")),
        (BROKER, "", ("log.cleaner.threads", DELETE, None), ("no.such", SET, "x")),
    ]
    assert inc(handlers, *resources) == [OK, OK]
    assert handlers.forwarded == [[(BROKER, "1"), (BROKER, "")]]


def test_a_resource_named_twice(altering):
    handlers = altering()
    twice = (LOGGER, "1", ("root", SET, "WARN"))
    expected = [(42, "Each resource must appear at most once.")] * 2
    assert inc(handlers, twice, twice) == expected
    assert alt(handlers, (TOPIC, "t", ("retention.ms", "1")), (TOPIC, "t", ("retention.ms", "1"))) == expected


def test_logger_levels_change_and_fall_back(altering):
    handlers = altering()
    name = "kafka.server.KafkaApis"
    assert inc(handlers, (LOGGER, "1", (name, SET, "DEBUG")), validate_only=True) == [OK]
    assert one(handlers, LOGGER, "1", name).value == "INFO"
    assert inc(handlers, (LOGGER, "1", (name, SET, "DEBUG"), ("root", SET, "ERROR"))) == [OK]
    entry = one(handlers, LOGGER, "1", name)
    assert (entry.value, entry.config_source, entry.read_only, entry.config_type) == ("DEBUG", 6, False, 0)
    assert inc(handlers, (LOGGER, "1", (name, DELETE, None))) == [OK]
    assert one(handlers, LOGGER, "1", name).value == "ERROR"


def test_the_legacy_way(altering):
    handlers = altering()
    assert alt(handlers, (TOPIC, "t", ("retention.ms", "1")), (LOGGER, "1", ("root", "INFO"))) == [
        OK,
        (42, "Unknown resource type 8"),
    ]
    assert alt(handlers, (TOPIC, "t", ("retention.ms", None))) == [(42, "Null value not supported for : retention.ms")]
    assert alt(handlers, (BROKER, "1", ("node.id", "7")))[0][0] == 42
    assert handlers.forwarded == [[(TOPIC, "t")]]
