"""What `kafka-configs.sh --alter` changes: configs, quotas, credentials."""

import re
from collections.abc import Iterable, Sequence

from odradek.cli.failure import Failure, Refusal
from odradek.cli.kafka.config_reports import KINDS, QUOTA_KINDS, found_quotas
from odradek.cli.kafka.configs import BROKER_LOGGERS, CLIENTS, IPS, USERS, Entity
from odradek.cli.kafka.options import Given
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.configs import DELETE, SET, ConfigChange, ConfigResource
from odradek.client.admin.credentials import (
    DEFAULT_ITERATIONS,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from odradek.client.admin.quotas import ClientQuotaEntity
from odradek.protocol.vocabulary import ScramMechanism

CLIENT_QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_QUOTAS = ("connection_creation_rate",)
MECHANISMS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
ITERATIONS = {"SCRAM-SHA-256": range(4096, 16385), "SCRAM-SHA-512": range(4096, 16385)}
# `name=value` with commas between; in brackets a value may have commas of its own.
_COMMA = re.compile(r",(?=[^\]]*(?:\[|$))")


def alter(admin: AdminClient, entities: Sequence[Entity], given: Given) -> None:
    added = _added(given)
    deleted = [name.strip() for name in given.text("delete-config").split(",") if name.strip()]
    kind = entities[-1].kind if len(entities) > 1 else entities[0].kind
    kinds = {entity.kind for entity in entities}
    if kinds <= set(KINDS):
        _alter_configs(admin, entities[0], added, deleted)
    elif kinds == {USERS} and {*added, *deleted} & set(MECHANISMS):
        _alter_credentials(admin, entities[0], added, deleted)
    else:
        _alter_quotas(admin, entities, added, deleted)
    shown = next((entity for entity in entities if entity.kind == CLIENTS), entities[0])
    if shown.name:
        print(f"Completed updating config for {shown.kind[:-1]} {shown.name}.")
    else:
        print(f"Completed updating default config for {shown.kind or kind} in the cluster.")


def _added(given: Given) -> dict[str, str]:
    if given.has("add-config-file"):
        from odradek.cli.server_properties import read_properties

        return read_properties(given.text("add-config-file"))
    added = {}
    for text in _COMMA.split(given.text("add-config")) if given.has("add-config") else ():
        name, equals, setting = text.partition("=")
        if not equals:
            raise Refusal(
                'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val" '
                'or  "key=[val1,val2]" to group values which contain commas.'
            )
        added[name.strip()] = setting.strip().replace("[", "").replace("]", "")
    return added


def _alter_configs(admin: AdminClient, entity: Entity, added: dict[str, str], deleted: list[str]) -> None:
    resource = ConfigResource(KINDS[entity.kind], entity.name or "")
    if entity.kind == BROKER_LOGGERS:
        _check_loggers(admin, resource, [*added, *deleted])
    changes = [ConfigChange(name, setting, SET) for name, setting in added.items()]
    changes += [ConfigChange(name, None, DELETE) for name in deleted]
    admin.incremental_alter_configs({resource: changes}).raise_any()


def _check_loggers(admin: AdminClient, resource: ConfigResource, names: Iterable[str]) -> None:
    known = admin.describe_configs([resource])[resource]
    strange = [name for name in names if name not in known]
    if strange:
        raise Refusal(f"Invalid broker logger(s): {','.join(strange)}")


def _alter_quotas(admin: AdminClient, entities: Sequence[Entity], added: dict[str, str], deleted: list[str]) -> None:
    kinds = [entity.kind for entity in entities]
    known = IP_QUOTAS if IPS in kinds else CLIENT_QUOTAS
    strange = [name for name in added if name not in known]
    if strange:
        where = IPS if IPS in kinds else CLIENTS if CLIENTS in kinds else USERS
        raise Refusal(
            f"Only quota configs can be added for '{where}' using --bootstrap-server. "
            f"Unexpected config names: Set({', '.join(strange)})"
        )
    there = {name for quotas in found_quotas(admin, entities).values() for name in quotas}
    absent = [name for name in deleted if name not in there]
    if absent:
        raise Refusal(f"Invalid config(s): {','.join(absent)}")
    changes: dict[str, float | None] = dict.fromkeys(deleted)
    changes |= {name: _quota(name, setting) for name, setting in added.items()}
    who = ClientQuotaEntity({QUOTA_KINDS[kind]: name or None for kind, name in entities})
    admin.alter_client_quotas({who: changes}).raise_any()


def _quota(name: str, setting: str) -> float:
    try:
        return float(setting)
    except ValueError:
        raise Refusal(f"Cannot parse quota configuration value for {name}: {setting}") from None


def _alter_credentials(admin: AdminClient, entity: Entity, added: dict[str, str], deleted: list[str]) -> None:
    if not entity.name:
        raise Refusal(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server."
        )
    names = {*added, *deleted}
    if names - set(MECHANISMS):
        if names & set(CLIENT_QUOTAS):
            raise Refusal(
                "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using "
                "--bootstrap-server."
            )
        raise Refusal(
            f"Only quota or SCRAM credential configs can be altered for 'users' using --bootstrap-server. {names}"
        )
    changes: list[UserScramCredentialUpsertion | UserScramCredentialDeletion] = [
        UserScramCredentialDeletion(entity.name, MECHANISMS[name]) for name in deleted
    ]
    changes += [_credential(entity.name, name, setting) for name, setting in added.items()]
    for error in admin.alter_user_scram_credentials(changes).errors.values():
        raise error


def _credential(user: str, mechanism: str, setting: str) -> UserScramCredentialUpsertion:
    """`iterations=8192,password=secret`."""
    parts = dict(part.strip().partition("=")[::2] for part in setting.split(","))
    if "password" not in parts:
        raise Refusal(f"Invalid credential property {mechanism.replace('-', '_')}={setting}")
    try:
        iterations = int(parts.get("iterations", DEFAULT_ITERATIONS))
    except ValueError:
        raise Failure(f"iterations of {mechanism} is a whole number, not {parts['iterations']}") from None
    iterations = DEFAULT_ITERATIONS if iterations == -1 else iterations
    allowed = ITERATIONS[mechanism]
    if iterations < allowed.start:
        raise Refusal(f"Iterations {iterations} is less than the minimum {allowed.start} required for {mechanism}")
    if iterations not in allowed:
        raise Refusal(
            f"Iterations {iterations} is greater than the maximum {allowed.stop - 1} required for {mechanism}"
        )
    return UserScramCredentialUpsertion(user, MECHANISMS[mechanism], parts["password"], iterations)
