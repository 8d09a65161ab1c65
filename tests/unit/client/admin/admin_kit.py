"""What tests of the admin client do besides calling it."""

import time

from odradek.channel.core import ANY_BROKER

SECONDS_MAX = 30


def until(question, is_good=bool):
    """The first good answer."""
    deadline = time.monotonic() + SECONDS_MAX
    while not is_good(answer := question()):
        assert time.monotonic() < deadline, f"still {answer}"
        time.sleep(0.02)
    return answer


def told(admin, request, response):
    """What a broker answers to a request that no operation of the client sends."""
    return admin._host.run(lambda asker: asker.send(ANY_BROKER, request, response, SECONDS_MAX * 1000))


def kinds(results):
    """By key, the class of its error."""
    return {key: type(error) for key, error in results.errors.items()}
