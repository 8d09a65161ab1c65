"""The controller of this node, which refuses with NOT_CONTROLLER while it is not the active one."""

from odradek.controller.quorum_controller import QuorumController
from odradek.handlers.call import Call


def controller_of(call: Call) -> QuorumController:
    controller: QuorumController = call.services.controller
    return controller
