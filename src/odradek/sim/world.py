"""A simulation: its timeline, the nodes on it, and the network between them."""

from odradek.sim.fabric import Fabric
from odradek.sim.node import Node
from odradek.sim.timeline import Timeline


class World(Timeline):
    __slots__ = ("fabric", "nodes")

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.nodes: dict[str, Node] = {}
        self.fabric = Fabric(self, self.rng.stream("fabric"))

    def node(self, name: str) -> Node:
        """The node of this name, made at the first call. It has ports at once, and a loop when it is booted."""
        if name not in self.nodes:
            address = f"10.0.0.{len(self.nodes) + 1}"
            self.nodes[name] = Node(self, self.fabric, name, address)
            self.fabric.addresses[name] = address
        return self.nodes[name]
