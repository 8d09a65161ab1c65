"""The assignors of the server, by name: from what members subscribe to and have, to what each shall have."""

from odradek.coordinator.group.consumer.subscriber import Assignor


def assignor(name: str) -> Assignor:
    if name == "range":
        from odradek.coordinator.group.consumer.range_assignor import assign
    else:
        from odradek.coordinator.group.consumer.uniform_assignor import assign
    return assign
