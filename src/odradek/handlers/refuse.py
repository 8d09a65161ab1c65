"""A response that says only what went wrong, for the many APIs that have one error code at the top."""

from typing import TYPE_CHECKING

from odradek.broken_rule import present, require
from odradek.protocol import registry

if TYPE_CHECKING:
    from odradek.protocol.declare import Request, Response
    from odradek.protocol.errors import KafkaError


def refuse_by_code(request: "Request", error: "KafkaError", version: int) -> "Response":
    """A response with `error_code`, and `error_message` where the version has it, and nothing else."""
    response = registry.response(present(request.api_key, "every request has an API key"))
    carried = {field.name for field in response.fields if field.versions[0] <= version <= field.versions[1]}
    require("error_code" in carried, f"{response.__name__} {version} has an error code, or a `refuse` of its own")
    values: dict[str, int | str | None] = {"error_code": error.code}
    if "error_message" in carried:
        values["error_message"] = error.message
    return response(**values)
