"""A response that says only what went wrong, for the many APIs that have one error code at the top."""

from typing import TYPE_CHECKING, Any

from odradek.protocol import registry

if TYPE_CHECKING:
    from odradek.protocol.declare import Request, Response
    from odradek.protocol.errors import KafkaError


def refuse_by_code(request: "Request", error: "KafkaError", version: int) -> "Response":
    """`error_code`, and `error_message` where the version has it."""
    assert request.api_key is not None
    response = registry.response(request.api_key)
    carried = {field.name for field in response.fields if field.versions[0] <= version <= field.versions[1]}
    assert "error_code" in carried, f"{response.__name__} {version} needs a `refuse` of its own"
    values: dict[str, Any] = {"error_code": error.code}
    if "error_message" in carried:
        values["error_message"] = error.message
    return response(**values)
