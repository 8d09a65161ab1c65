"""Who the quorum is, as `server.properties` says it.

A fixed quorum names its voters with their ids (`controller.quorum.voters=1@localhost:9093`), as every KRaft before 3.9
does. One whose voters may change names addresses to ask (`controller.quorum.bootstrap.servers=localhost:9093`); its
voters stand in the metadata log, where formatting puts the first ones.
"""

from typing import NamedTuple

from odradek.config.errors import ConfigError
from odradek.config.listeners import Endpoint, controller_names, endpoints, has_role, log_dirs
from odradek.config.parsed import Config
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.control_records import Endpoint as VoterEndpoint
from odradek.protocol.messages.control_records import KRaftVersionFeature, VotersRecord, VotersRecordVoter
from odradek.protocol.uuids import parse_uuid

METADATA_LOG = "__cluster_metadata-0"  # the directory of the quorum's log

_NOWHERE = "localhost"  # what an address without a host is to the node itself
_KRAFT_VERSION_MAX = 1


class Voter(NamedTuple):
    id: int
    host: str
    port: int


class DynamicVoter(NamedTuple):
    """A voter of a quorum that may change: its directory tells it from a node with the same id and an empty disk."""

    id: int
    host: str
    port: int
    directory_id: bytes


class QuorumConfig(NamedTuple):
    voters: tuple[Voter, ...]
    bootstrap_servers: tuple[tuple[str, int], ...]

    @property
    def is_dynamic(self) -> bool:
        return not self.voters


def quorum_of(config: Config) -> QuorumConfig:
    voters = []
    for entry in config["controller.quorum.voters"]:
        voter_id, _, address = entry.partition("@")
        voters.append(Voter(int(voter_id), *_host_port(address)))
    servers = config.get("controller.quorum.bootstrap.servers") or ()
    return QuorumConfig(tuple(voters), tuple(_host_port(server) for server in servers))


def is_controller(config: Config) -> bool:
    return has_role(config, "controller")


def metadata_dir(config: Config) -> str:
    """Where the metadata log lies: `metadata.log.dir`, else the first log dir."""
    return _clean(str(config["metadata.log.dir"] or log_dirs(config)[0]))


def all_dirs(config: Config) -> tuple[str, ...]:
    """Every directory that has a meta.properties, the metadata log's first."""
    return tuple(dict.fromkeys((metadata_dir(config), *map(_clean, log_dirs(config)))))


def _clean(directory: str) -> str:
    return directory.rstrip("/") or "/"


def controller_endpoints(config: Config) -> list[Endpoint]:
    """Where this node's controller can be reached: its advertised addresses, else those it listens on."""
    names = controller_names(config)
    found: dict[str, Endpoint] = {}
    for source in ("listeners", "advertised.listeners"):
        if config[source]:
            found.update((e.listener, e) for e in endpoints(config, source) if e.listener in names)
    return [found[name] for name in names if name in found]


def own_voter(config: Config, directory_id: bytes) -> VotersRecordVoter:
    """This node as the only voter of its quorum."""
    points = [
        VoterEndpoint(name=e.listener, host=e.host or _NOWHERE, port=e.port) for e in controller_endpoints(config)
    ]
    return _voter(config["node.id"], directory_id, points)


def voters_record(voters: list[VotersRecordVoter]) -> VotersRecord:
    return VotersRecord(voters=sorted(voters, key=lambda voter: voter.voter_id))


def listed_voter(voter: DynamicVoter, listener: str) -> VotersRecordVoter:
    return _voter(voter.id, voter.directory_id, [VoterEndpoint(name=listener, host=voter.host, port=voter.port)])


def parse_dynamic_voters(text: str) -> list[DynamicVoter]:
    """The argument of `--initial-controllers`: `id@host:port:directory`, separated by commas."""
    voters = [_dynamic_voter(entry.strip()) for entry in text.split(",")]
    if len({voter.id for voter in voters}) != len(voters):
        raise ConfigError(f"a node id comes twice in {text}")
    return voters


def _voter(voter_id: int, directory_id: bytes, points: list[VoterEndpoint]) -> VotersRecordVoter:
    return VotersRecordVoter(
        voter_id=voter_id,
        voter_directory_id=Uuid(directory_id),
        endpoints=points,
        k_raft_version_feature=KRaftVersionFeature(max_supported_version=_KRAFT_VERSION_MAX),
    )


def _dynamic_voter(entry: str) -> DynamicVoter:
    voter_id, at, rest = entry.partition("@")
    address, colon, directory = rest.rpartition(":")
    if not at:
        raise ConfigError(f"No @ found in dynamic voter string: {entry}")
    if not voter_id.isascii() or not voter_id.isdecimal() or not colon:
        raise ConfigError(f"a dynamic voter is id@host:port:directory, not {entry}")
    try:
        return DynamicVoter(int(voter_id), *_host_port(address), parse_uuid(directory))
    except ValueError as error:
        raise ConfigError(f"Failed to parse directory ID or port in dynamic voter string {entry}: {error}") from None


def _host_port(address: str) -> tuple[str, int]:
    host, _, port = address.strip().rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"no port from 0 to 65535 in {address}")
    return host.removeprefix("[").removesuffix("]"), int(port)
