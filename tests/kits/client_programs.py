"""Programs that use a client, each in a process of its own: what they share, and how a test runs one.

done = run_program("admin = client(); admin.list_topics()", broker.bootstrap)
"""

import sys
import time

import outside

# `BOOTSTRAP` is the broker's address; `held()` are the sockets of the process and how many pollers it has,
# `settled()` the same once a client has all the connections that it needs; `in_child` forks, and has the child do some
# work and end with a status that the parent looks at.
PRELUDE = """
import os, random, signal, sys, threading, time, traceback
from odradek.client.admin.admin_client import AdminClient

BOOTSTRAP = sys.argv[1]

def client(**configs):
    return AdminClient(bootstrap_servers=BOOTSTRAP, **configs)

def links():
    for number in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            pass

def held():
    found = list(links())
    return {link for link in found if link.startswith("socket:")}, sum("[event" in link for link in found)

def settled(admin):
    # A client begins at the address that it was given, then it connects to the brokers that it is told of.
    before, seen = None, held()
    while seen != before:
        for _ in range(5):
            admin.list_topics()
            time.sleep(0.02)
        before, seen = seen, held()
    return seen

def io_threads():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("odradek-")]

def in_child(work):
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return child

def ended_well(*children):
    for child in children:
        assert os.waitpid(child, 0)[1] == 0, "a child has failed"
"""


def run_program(text, bootstrap, *options, seconds=120):
    """Runs it to its end; `options` are the interpreter's."""
    command = [sys.executable, *options, "-c", PRELUDE + text, bootstrap]
    return outside.run(command, seconds=seconds)


def runs_well(text, bootstrap, *options, seconds=120):
    """Runs it, and shows what it said if it did not end well and without a word of complaint."""
    done = run_program(text, bootstrap, *options, seconds=seconds)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-4000:]
    return done.stdout


def seconds_to_end(text, bootstrap, *options):
    """As `run_program`, and the seconds from its last line, which is `time.monotonic()` of then, to its end."""
    done = run_program(text, bootstrap, *options)
    ended = time.monotonic()
    return done, ended - float(done.stdout.split()[-1])
