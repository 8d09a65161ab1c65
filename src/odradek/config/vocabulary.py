"""What has configs, and where a config's value comes from, in the numbers of DescribeConfigs."""

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


class ConfigSource:
    __slots__ = ("code", "name")

    def __init__(self, name: str, code: int) -> None:
        self.name = name
        self.code = code

    def __repr__(self) -> str:
        return self.name


DYNAMIC_TOPIC_CONFIG = ConfigSource("DYNAMIC_TOPIC_CONFIG", 1)
DYNAMIC_BROKER_CONFIG = ConfigSource("DYNAMIC_BROKER_CONFIG", 2)
DYNAMIC_DEFAULT_BROKER_CONFIG = ConfigSource("DYNAMIC_DEFAULT_BROKER_CONFIG", 3)
STATIC_BROKER_CONFIG = ConfigSource("STATIC_BROKER_CONFIG", 4)
DEFAULT_CONFIG = ConfigSource("DEFAULT_CONFIG", 5)
DYNAMIC_BROKER_LOGGER_CONFIG = ConfigSource("DYNAMIC_BROKER_LOGGER_CONFIG", 6)
DYNAMIC_CLIENT_METRICS_CONFIG = ConfigSource("DYNAMIC_CLIENT_METRICS_CONFIG", 7)
DYNAMIC_GROUP_CONFIG = ConfigSource("DYNAMIC_GROUP_CONFIG", 8)

SOURCES = {
    source.code: source
    for source in (
        DYNAMIC_TOPIC_CONFIG,
        DYNAMIC_BROKER_CONFIG,
        DYNAMIC_DEFAULT_BROKER_CONFIG,
        STATIC_BROKER_CONFIG,
        DEFAULT_CONFIG,
        DYNAMIC_BROKER_LOGGER_CONFIG,
        DYNAMIC_CLIENT_METRICS_CONFIG,
        DYNAMIC_GROUP_CONFIG,
    )
}
