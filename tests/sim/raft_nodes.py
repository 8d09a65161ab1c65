"""Voters of a quorum that speak with each other over real connections: client's channel, socket server, dispatcher.

Each node of the world has a RaftClient, a listener that serves it with the controller's own handlers, and a
VoterChannel to the others: everything that a node has for its quorum, and nothing else.
"""

from handler_kit import CLUSTER_ID, common_services
from network_kit import BASE, broker_config
from odradek.broker.dynamic_config import DynamicBrokerConfig
from odradek.broker.server_log import ServerLog
from odradek.config.listeners import Endpoint
from odradek.handlers.dispatch import Dispatcher
from odradek.handlers.services import ControllerServices
from odradek.metadata.cache import MetadataCache
from odradek.metrics import Registry
from odradek.network.socket_server import SocketServer
from odradek.protocol import releases
from odradek.raft.client import RaftClient
from odradek.raft.core.voters import Voter, VoterEndpoint, VoterSet
from odradek.raft.driver.voter_channel import VoterChannel
from odradek.raft.keys import ReplicaKey
from odradek.raft.settings import RaftSettings
from odradek.reactor.jobs import JobQueue
from odradek.sim.crash import MIXED
from odradek.sim.world import World
from raft_kit import DIRECTORY, Recorder, raft_config, record

PORT = 9093


class RaftNode:
    def __init__(self, quorum, node_id, release):
        self.quorum = quorum
        self.id = node_id
        self.release = release
        self.config = quorum.config
        self.node = quorum.world.node(f"n{node_id}")
        self.node.disk.mkdir("data")
        self.node.disk.fsync_dir("")
        self.client = None
        self.listener = None
        self.failures = []

    @property
    def is_up(self):
        return self.client is not None and self.client.is_running

    def boot(self):
        loop = self.node.boot(self._unexpected)
        versions = self.release.api_versions(releases.CONTROLLER)
        settings = RaftSettings(
            DIRECTORY,
            ReplicaKey(self.id),
            CLUSTER_ID,
            self.quorum.voters,
            self.config,
            has_pre_vote=versions[52][1] >= 2,
            fetch_version=versions[1][1],
        )
        self.client = RaftClient(
            loop,
            JobQueue(loop),
            settings,
            connect=lambda: VoterChannel(loop, self.id, self.config),
            on_fatal=self.failures.append,
        )
        self.listener = Recorder()
        self.client.register(self.listener)
        self._listen(loop)
        loop.spawn(self.client.start())

    def _listen(self, loop):
        log = ServerLog(lambda: 0, lambda *line: None).logger("kafka.server.DynamicBrokerConfig")
        config = broker_config(release=self.release.name)
        services = common_services(
            loop,
            node_id=self.id,
            release=self.release,
            configs=DynamicBrokerConfig(BASE, self.release.name, log),
            metadata=MetadataCache(),
            raft=self.client,
        )
        dispatcher = Dispatcher(ControllerServices(services, controller=None))
        self.server = SocketServer(loop, config, Registry(loop.ports.clock.mono_ms), poisons=True)
        endpoint = Endpoint("CONTROLLER", "PLAINTEXT", self.node.address, PORT)
        self.server.add_listener(endpoint, dispatcher.serve, plane="control")
        self.server.enable()

    def crash(self, *, silent=True):
        self.node.crash(MIXED, silent=silent)
        self.client = None

    def _unexpected(self, error, source):
        raise error


class Quorum:
    def __init__(self, seed=1, count=3, all_releases=(releases.RELEASE_4_3,) * 3, **changes):
        self.world = World(seed)
        ids = range(1, count + 1)
        addresses = {node_id: self.world.node(f"n{node_id}").address for node_id in ids}
        self.voters = VoterSet(
            Voter(node_id, endpoints=(VoterEndpoint("CONTROLLER", addresses[node_id], PORT),)) for node_id in ids
        )
        self.config = raft_config(**changes)
        self.nodes = {
            node_id: RaftNode(self, node_id, release) for node_id, release in zip(ids, all_releases, strict=True)
        }

    def boot(self):
        for node in self.nodes.values():
            node.boot()
        return self

    def until(self, condition, limit_ms=60_000):
        assert self.world.run_until(condition, limit_ms), self.describe()

    def leader(self):
        """The one node that leads, of the newest epoch; None if there is none."""
        leading = [node for node in self.nodes.values() if node.is_up and node.client.is_leader]
        return max(leading, key=lambda node: node.client.epoch, default=None)

    def elect(self):
        self.until(lambda: self.leader() is not None)
        return self.leader()

    def append(self, name):
        """Through the leader; returns when every node that is up has been told of it."""
        leader = self.elect()
        leader.node.after(0, lambda: leader.client.append(leader.client.epoch, [record(name)]))
        self.until(lambda: all(name in node.listener.values for node in self.nodes.values() if node.is_up))

    def describe(self):
        return {
            node.id: (node.client.core.role, node.client.log.end) if node.is_up else "down"
            for node in self.nodes.values()
        }
