"""What `kafka-configs.sh --describe` prints."""

from collections.abc import Iterable, Mapping, Sequence

from odradek.cli.failure import Refusal
from odradek.cli.kafka.configs import (
    BROKER_LOGGERS,
    BROKERS,
    CLIENT_METRICS,
    CLIENTS,
    GROUPS,
    IPS,
    TOPICS,
    USERS,
    Entity,
)
from odradek.cli.kafka.java_order import in_java_order
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.configs import ConfigEntry, ConfigResource
from odradek.client.admin.quotas import (
    CLIENT_ID,
    IP,
    USER,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ClientQuotaFilterComponent,
)
from odradek.config import vocabulary
from odradek.protocol.errors import ResourceNotFound
from odradek.protocol.vocabulary import QuotaMatch

KINDS = {
    TOPICS: vocabulary.TOPIC,
    BROKERS: vocabulary.BROKER,
    BROKER_LOGGERS: vocabulary.BROKER_LOGGER,
    CLIENT_METRICS: vocabulary.CLIENT_METRICS,
    GROUPS: vocabulary.GROUP,
}
QUOTA_KINDS = {USERS: USER, CLIENTS: CLIENT_ID, IPS: IP}
_QUOTA_WORDS = {USER: "user-principal", CLIENT_ID: "client-id", IP: "ip"}
# Where a config of an entity's own comes from.
_SOURCES = {
    TOPICS: "DYNAMIC_TOPIC_CONFIG",
    BROKERS: "DYNAMIC_BROKER_CONFIG",
    CLIENT_METRICS: "DYNAMIC_CLIENT_METRICS_CONFIG",
    GROUPS: "DYNAMIC_GROUP_CONFIG",
}
_DEFAULT_SOURCE = "DYNAMIC_DEFAULT_BROKER_CONFIG"


def describe(admin: AdminClient, entities: Sequence[Entity], *, is_all: bool) -> None:
    kind = entities[0].kind
    if kind in KINDS:
        _describe_resources(admin, entities[0], is_all=is_all)
        return
    _describe_quotas(admin, entities)
    if kind == USERS and len(entities) == 1 and entities[0].name != "":
        _describe_credentials(admin, entities[0].name)


def _describe_resources(admin: AdminClient, entity: Entity, *, is_all: bool) -> None:
    kind, name = entity
    if kind == TOPICS and name == "":
        raise Refusal("Topic name is invalid: the empty string is not allowed")
    if name and not _is_there(admin, kind, name, is_all=is_all):
        print(f"The {kind[:-1]} '{name}' doesn't exist and doesn't have dynamic config.")
        return
    for each in _names(admin, kind) if name is None else [name]:
        _describe_resource(admin, kind, each, is_all=is_all)


def _is_there(admin: AdminClient, kind: str, name: str, *, is_all: bool) -> bool:
    if kind == TOPICS:
        return name in admin.list_topics(internal=True)
    if kind in (BROKERS, BROKER_LOGGERS):
        return any(str(node.id) == name for node in admin.describe_cluster().nodes)
    if kind == GROUPS and (is_all or name in admin.list_groups()):
        return True
    return name in _with_configs(admin, kind)


def _names(admin: AdminClient, kind: str) -> list[str]:
    if kind == TOPICS:
        return in_java_order(admin.list_topics(internal=True))
    if kind == BROKERS:
        return [*(str(node.id) for node in admin.describe_cluster().nodes), ""]
    if kind == BROKER_LOGGERS:
        return [str(node.id) for node in admin.describe_cluster().nodes]
    if kind == GROUPS:
        return in_java_order({**dict.fromkeys(_with_configs(admin, kind)), **dict.fromkeys(admin.list_groups())})
    return in_java_order(_with_configs(admin, kind))


def _with_configs(admin: AdminClient, kind: str) -> list[str]:
    return [each.name for each in admin.list_config_resources([KINDS[kind]])]


def _describe_resource(admin: AdminClient, kind: str, name: str, *, is_all: bool) -> None:
    resource = ConfigResource(KINDS[kind], name)
    configs = admin.describe_configs([resource], synonyms=True)[resource]
    if name:
        print(f"{'All' if is_all else 'Dynamic'} configs for {kind[:-1]} {name} are:")
    else:
        print(f"Default configs for {kind} in the cluster are:")
    for config in sorted(configs):
        entry = configs[config]
        if is_all or kind == BROKER_LOGGERS or entry.source == _own_source(kind, name):
            print(f"  {config}={_text(entry.value)} sensitive={_flag(entry.is_sensitive)} synonyms={_synonyms(entry)}")


def _own_source(kind: str, name: str) -> str:
    return _SOURCES[kind] if name else _DEFAULT_SOURCE


def _text(value: str | None) -> str:
    return "null" if value is None else value


def _flag(is_so: bool) -> str:
    return str(is_so).lower()


def _synonyms(entry: ConfigEntry) -> str:
    return "{" + ", ".join(f"{each.source}:{each.name}={_text(each.value)}" for each in entry.synonyms) + "}"


def found_quotas(admin: AdminClient, entities: Iterable[Entity]) -> dict[ClientQuotaEntity, dict[str, float]]:
    """Of exactly these entities, or of all of their types."""
    components = [
        ClientQuotaFilterComponent(
            QUOTA_KINDS[kind],
            QuotaMatch.SPECIFIED if name is None else QuotaMatch.EXACT if name else QuotaMatch.DEFAULT,
            name or None,
        )
        for kind, name in entities
    ]
    return admin.describe_client_quotas(ClientQuotaFilter(components, strict=True))


def _describe_quotas(admin: AdminClient, entities: Sequence[Entity]) -> None:
    found = found_quotas(admin, entities)
    for entity in in_java_order(found):
        quotas = found[entity]
        told = ", ".join(f"{name}={_number(quotas[name])}" for name in in_java_order(quotas))
        print(f"Quota configs for {_who(entity)} are {told}")


def _who(entity: Mapping[str, str | None]) -> str:
    parts = []
    for kind, word in _QUOTA_WORDS.items():
        if kind in entity:
            name = entity[kind]
            parts.append(f"the default {word}" if name is None else f"{word} '{name}'")
    return ", ".join(parts)


def _number(value: float) -> str:
    """As Java writes a double: with an exponent from ten millions on."""
    if abs(value) < 1e7:
        return repr(float(value))
    mantissa, _, power = _scientific(value).partition("e")
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}E{int(power)}"


def _scientific(value: float) -> str:
    """The shortest digits that read back as the value, with an exponent."""
    for digits in range(17):
        text = f"{value:.{digits}e}"
        if float(text) == value:
            return text
    return f"{value:e}"


def _describe_credentials(admin: AdminClient, name: str | None) -> None:
    found = admin.describe_user_scram_credentials(None if name is None else [name])
    for error in found.errors.values():
        if not isinstance(error, ResourceNotFound):  # a user without any
            raise error
    for user, infos in sorted(found.values_ok.items()):
        told = ", ".join(f"{info.mechanism.name.replace('_', '-')}=iterations={info.iterations}" for info in infos)
        print(f"SCRAM credential configs for user-principal '{user}' are {told}")
