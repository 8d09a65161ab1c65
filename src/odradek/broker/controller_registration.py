"""A controller tells the active one where it listens and what it supports (KIP-919), as soon as it is up.

A publisher of the loader: from the image it learns when the metadata level knows such registrations, and whether its
own is there already.
"""

from odradek.broker.server_log import Logger
from odradek.broker.shared import Shared
from odradek.config.listeners import PROTOCOLS, Endpoint
from odradek.handlers.broker_parts import ACTIVE_CONTROLLER
from odradek.metadata import versions
from odradek.metadata.delta import MetadataDelta
from odradek.metadata.image import MetadataImage
from odradek.protocol.errors import KafkaError, raise_for
from odradek.protocol.releases import CONTROLLER

RETRY_MS = 1000
_ALL_FEATURES = 4  # as ApiVersions 4 lists them


class ControllerRegistration:
    __slots__ = ("_endpoints", "_incarnation_id", "_is_asking", "_log", "_shared")

    def __init__(self, shared: Shared, endpoints: list[Endpoint], log: Logger) -> None:
        self._shared = shared
        self._endpoints = endpoints
        self._log = log
        self._incarnation_id = shared.loop.ports.rng.stream("controller incarnation").bytes(16)
        self._is_asking = False

    def publish(self, delta: MetadataDelta, image: MetadataImage) -> None:
        if not self._is_asking and self._is_missing(image):
            self._is_asking = True
            self._shared.loop.spawn(self._register())

    def _is_missing(self, image: MetadataImage) -> bool:
        if image.metadata_version < versions.CONTROLLER_REGISTRATIONS:
            return False
        own = image.cluster.controllers.get(self._shared.node_id)
        return own is None or own.incarnation_id != self._incarnation_id

    async def _register(self) -> None:
        from odradek.protocol.messages import k70_controller_registration as k70

        listeners = [
            k70.Listener(name=at.listener, host=at.host, port=at.port, security_protocol=PROTOCOLS.index(at.protocol))
            for at in self._endpoints
        ]
        supported = self._shared.release.supported_features(_ALL_FEATURES, CONTROLLER)
        features = [
            k70.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in supported.items()
        ]
        request = k70.ControllerRegistrationRequest(
            controller_id=self._shared.node_id,
            incarnation_id=self._incarnation_id,
            listeners=listeners,
            features=features,
        )
        try:
            response = await self._shared.inter_broker.send(ACTIVE_CONTROLLER, request)
            raise_for(response.error_code, response.error_message)
        except KafkaError as error:
            self._log.warn(f"The registration of the controller failed: {error.message}")
            await self._shared.loop.sleep(RETRY_MS)
        finally:
            self._is_asking = False
