"""An echo server and its clients, written once against the ports and the loop.

They know nothing of where they run. A message is a length byte and that many bytes; the server answers each with
the same bytes. A client sends its messages one by one; when its connection breaks it connects again and sends the
message anew.
"""

import sys

from odradek.reactor.ports import READABLE, WRITABLE
from odradek.sim.crash import MIXED
from odradek.sim.world import World

PORT = 9092
ANSWER_MS_MAX = 5000


class Connection:
    """Awaitable reads and writes on one socket."""

    def __init__(self, loop, socket):
        self.loop = loop
        self.socket = socket
        self.waiting = None
        loop.register(socket, 0, self.ready)

    def ready(self, readiness):
        self.loop.set_interest(self.socket, 0)
        if self.waiting is not None:
            self.waiting.resolve(readiness)

    def wait(self, interest):
        self.waiting = self.loop.pending()
        self.loop.set_interest(self.socket, interest)
        return self.waiting

    async def read(self, count):
        got = b""
        while len(got) < count:
            buffer = bytearray(count - len(got))
            try:
                size = self.socket.recv_into(memoryview(buffer))
            except BlockingIOError:
                await self.wait(READABLE)
                continue
            if not size:
                raise ConnectionError("closed")
            got += bytes(buffer[:size])
        return got

    async def read_message(self):
        head = await self.read(1)
        return await self.read(head[0])

    async def write_message(self, message):
        rest = bytes((len(message),)) + message
        while rest:
            try:
                rest = rest[self.socket.send([rest]) :]
            except BlockingIOError:
                await self.wait(WRITABLE)

    def close(self):
        if self.socket.fileno() >= 0:
            self.loop.unregister(self.socket)
            self.socket.close()


class EchoServer:
    def __init__(self, loop, host, port):
        self.loop = loop
        self.listener = loop.ports.network.listen(host, port)
        loop.register(self.listener, READABLE, self.accept)

    def accept(self, _):
        try:
            socket = self.listener.accept()
        except BlockingIOError:
            return
        self.loop.spawn(self.serve(Connection(self.loop, socket)))

    async def serve(self, connection):
        try:
            while True:
                await connection.write_message(await connection.read_message())
        except OSError:
            pass
        finally:
            connection.close()


class EchoClient:
    """`log` is the application's trace: what it was answered, in order."""

    def __init__(self, loop, address, name, count):
        self.loop = loop
        self.address = address
        self.messages = [f"{name}-{number}-".encode() * (1 + number % 9) for number in range(count)]
        self.log = []
        self.connects = 0

    async def run(self):
        connection = None
        for message in self.messages:
            answer = None
            while answer is None:
                connection = connection or await self.connect()
                answer = await self.ask(connection, message)
                if answer is None:
                    connection.close()
                    connection = None
            self.log.append(answer)
        if connection is not None:
            connection.close()

    async def connect(self):
        while True:
            connection = Connection(self.loop, self.loop.ports.network.connect(*self.address))
            timer = self.loop.after(ANSWER_MS_MAX, lambda c=connection: give_up(c))
            try:
                await connection.wait(WRITABLE)
                connection.socket.finish_connect()
                self.connects += 1
                return connection
            except OSError:
                connection.close()
                await self.loop.sleep(100)
            finally:
                timer.cancel()

    async def ask(self, connection, message):
        """The answer, or None if the connection broke or nothing came in time."""
        timer = self.loop.after(ANSWER_MS_MAX, lambda: give_up(connection))
        try:
            await connection.write_message(message)
            return await connection.read_message()
        except OSError:
            return None
        finally:
            timer.cancel()


def give_up(connection):
    if connection.waiting is not None:
        connection.waiting.fail(TimeoutError("no answer in time"))


def faulty_run(seed, clients=4, messages=30):
    """A server that crashes and is cut off now and then, and its clients. Returns the world and the clients."""
    world = World(seed)
    world.fabric.split_percent = 30
    world.fabric.short_percent = 30
    world.fabric.reset_percent = 1
    server = world.node("server")
    EchoServer(server.boot(), "", PORT)
    made = []
    for number in range(clients):
        loop = world.node(f"client-{number}").boot()
        made.append(EchoClient(loop, (server.address, PORT), f"c{number}", messages))
    tasks = [client.loop.spawn(client.run()) for client in made]
    stream = world.rng.stream("faults")
    for _ in range(6):
        world.run_for(stream.between(1, 40))
        fault(world, server, stream)
    world.fabric.reset_percent = 0
    assert world.run_until(lambda: all(task.is_done for task in tasks)), "the clients did not end"
    for task in tasks:
        task.value()
    return world, made


def fault(world, server, stream):
    kind = stream.below(4)
    if kind == 0:
        server.crash(MIXED, silent=stream.chance(50))
        world.run_for(stream.between(1, 2000))
        EchoServer(server.boot(), "", PORT)
    elif kind == 1:
        client = f"10.0.0.{stream.between(2, 5)}"
        world.fabric.cut(*((client, server.address) if stream.chance(50) else (server.address, client)))
        world.run_for(stream.between(1, 8000))
        world.fabric.heal()
    elif kind == 2:
        server.pause()
        world.run_for(stream.between(1, 8000))
        server.resume()
    else:
        world.fabric.reset_connections(server.address, f"10.0.0.{stream.between(2, 5)}")


if __name__ == "__main__":
    sys.stdout.write(faulty_run(int(sys.argv[1]))[0].trace.digest())
