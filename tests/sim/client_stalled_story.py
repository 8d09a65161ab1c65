"""One story that is told and not drawn: a connection stalls in the middle of a request, and its batch expires.

Memory belongs to a request as long as a byte of it is unsent, whatever has become of its batch: when the connection
goes on, what arrives is what was built (R6), although the memory of the batch is free to its producer by then.
"""

from client_producer import ProducerLink, SimProducer
from client_producer_history import ProducerHistory
from client_story import ClientStory, violated

from odradek.client.producer.errors import DeliveryTimeout

FIRST, STALLED, AFTER = ("t", 0), ("t", 0), ("u", 0)
SLOW_FSYNC_US = 200_000
BUFFER_BYTES = 8000
RECORDS = 12  # in one batch, which does not fit into the connection, and is too large to be copied there
VALUE_BYTES = 4000


class StalledRequest(ClientStory):
    topics = {"t": 1, "u": 1}
    name = "p"

    def __init__(self, seed):
        super().__init__(seed)
        self.history = ProducerHistory()

    def bury(self):
        self.client.host.crash()

    def tell(self):
        self.broker.wait_until_ready()
        self.make_topics()
        self.world.fabric.buffer_bytes = BUFFER_BYTES
        self.link = ProducerLink(self.world, self.name, self.broker.address, on_error=self.failed)
        self.link.history = self.history
        configs = {"batch.size": 60_000, "linger.ms": 0, "delivery.timeout.ms": 1500, "max.block.ms": 1500}
        self.client = SimProducer(self.link, self.name, configs)
        self.wait_for(self.send(AFTER))
        stalled = self.stall()
        self.wait_for(stalled)
        if not isinstance(stalled.error, DeliveryTimeout):
            violated("R4", f"{stalled} should have expired: {stalled.error}")
        self.go_on()
        self.bury()
        self.broker.stop()

    def stall(self):
        """The first batch of a partition goes alone; the second one goes when that is answered, and gets stuck."""
        self.broker.node.disk.slow("fsync", SLOW_FSYNC_US)
        first = self.send(FIRST)
        self.pass_ms(20)
        stalled = [self.send(STALLED) for _ in range(RECORDS)][-1]
        self.wait_for(first)
        assert first.error is None, first.error
        self.world.fabric.partition(self.link.node.address, self.link.way.node.address)
        return stalled

    def go_on(self):
        """New records take the memory; then the connection goes on, before the request has timed out."""
        passed = self.history.passed
        for _ in range(RECORDS):
            self.send(AFTER)
        self.world.fabric.heal()
        self.pass_ms(1000)
        if self.history.passed == passed:
            violated("R6", "the request that was stalled has never arrived: nothing was shown")

    def send(self, place):
        value = b"%d/" % self.next_number() + bytes(VALUE_BYTES)
        note = self.history.sends(self, place, value)

        def told(future):
            self.history.told(note, None, future.exception(0))

        self.link.loop.spawn(self.client.send(*place, value, told))
        self.history.taken(note)
        return note

    def wait_for(self, note):
        assert self.pass_until(lambda: note.outcomes, 5000), f"{note} has no outcome"
