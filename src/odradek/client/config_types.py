"""The keywords of each client with their types, for editors and type checkers.

Made by `make pages` from the tables in `src/odradek/config/`; do not edit it. Nobody imports it at run time.
"""

from collections.abc import Callable, Sequence
from ssl import SSLContext
from typing import Protocol, TypedDict


class TokenProvider(Protocol):
    """Gives the token to log in with by OAUTHBEARER."""

    def token(self) -> str: ...


class FilePath(Protocol):
    """What `pathlib` gives."""

    def __fspath__(self) -> str: ...


class CommonConfig(TypedDict, total=False):
    """What every client takes."""

    bootstrap_servers: str | Sequence[str]
    client_dns_lookup: str
    client_id: str
    config_providers: str | Sequence[str]
    connections_max_idle_ms: int
    enable_metrics_push: bool
    metadata_max_age_ms: int
    metadata_recovery_rebootstrap_trigger_ms: int
    metadata_recovery_strategy: str
    metric_reporters: str | Sequence[object]
    metrics_num_samples: int
    metrics_recording_level: str
    metrics_sample_window_ms: int
    receive_buffer_bytes: int
    reconnect_backoff_max_ms: int
    reconnect_backoff_ms: int
    request_timeout_ms: int
    retry_backoff_max_ms: int
    retry_backoff_ms: int
    sasl_client_callback_handler_class: object
    sasl_jaas_config: str
    sasl_kerberos_kinit_cmd: str
    sasl_kerberos_min_time_before_relogin: int
    sasl_kerberos_service_name: str
    sasl_kerberos_ticket_renew_jitter: float
    sasl_kerberos_ticket_renew_window_factor: float
    sasl_login_callback_handler_class: object
    sasl_login_class: object
    sasl_login_connect_timeout_ms: int
    sasl_login_read_timeout_ms: int
    sasl_login_refresh_buffer_seconds: int
    sasl_login_refresh_min_period_seconds: int
    sasl_login_refresh_window_factor: float
    sasl_login_refresh_window_jitter: float
    sasl_login_retry_backoff_max_ms: int
    sasl_login_retry_backoff_ms: int
    sasl_mechanism: str
    sasl_oauth_token_provider: Callable[[], str] | TokenProvider
    sasl_oauthbearer_assertion_algorithm: str
    sasl_oauthbearer_assertion_claim_aud: str
    sasl_oauthbearer_assertion_claim_exp_seconds: int
    sasl_oauthbearer_assertion_claim_iss: str
    sasl_oauthbearer_assertion_claim_jti_include: bool
    sasl_oauthbearer_assertion_claim_nbf_seconds: int
    sasl_oauthbearer_assertion_claim_sub: str
    sasl_oauthbearer_assertion_file: str
    sasl_oauthbearer_assertion_private_key_file: str
    sasl_oauthbearer_assertion_private_key_passphrase: str
    sasl_oauthbearer_assertion_template_file: str
    sasl_oauthbearer_client_credentials_client_id: str
    sasl_oauthbearer_client_credentials_client_secret: str
    sasl_oauthbearer_clock_skew_seconds: int
    sasl_oauthbearer_expected_audience: str | Sequence[str]
    sasl_oauthbearer_expected_issuer: str
    sasl_oauthbearer_header_urlencode: bool
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int
    sasl_oauthbearer_jwks_endpoint_url: str
    sasl_oauthbearer_jwt_retriever_class: object
    sasl_oauthbearer_jwt_validator_class: object
    sasl_oauthbearer_scope: str
    sasl_oauthbearer_scope_claim_name: str
    sasl_oauthbearer_sub_claim_name: str
    sasl_oauthbearer_token_endpoint_url: str
    sasl_password: str
    sasl_plain_password: str
    sasl_plain_username: str
    sasl_username: str
    security_protocol: str
    security_providers: str
    send_buffer_bytes: int
    socket_connection_setup_timeout_max_ms: int
    socket_connection_setup_timeout_ms: int
    ssl_cafile: str | FilePath
    ssl_certfile: str | FilePath
    ssl_check_hostname: bool
    ssl_cipher_suites: str | Sequence[str]
    ssl_context: SSLContext
    ssl_enabled_protocols: str | Sequence[str]
    ssl_endpoint_identification_algorithm: str
    ssl_engine_factory_class: object
    ssl_key_password: str
    ssl_keyfile: str | FilePath
    ssl_keymanager_algorithm: str
    ssl_keystore_certificate_chain: str
    ssl_keystore_key: str
    ssl_keystore_location: str
    ssl_keystore_password: str
    ssl_keystore_type: str
    ssl_password: str
    ssl_protocol: str
    ssl_provider: str
    ssl_secure_random_implementation: str
    ssl_trustmanager_algorithm: str
    ssl_truststore_certificates: str
    ssl_truststore_location: str
    ssl_truststore_password: str
    ssl_truststore_type: str


class ProducerConfig(CommonConfig, total=False):
    """The configs of a producer as keywords."""

    acks: str | int
    batch_size: int
    buffer_memory: int
    compression_gzip_level: int
    compression_lz4_level: int
    compression_type: str
    compression_zstd_level: int
    delivery_timeout_ms: int
    enable_idempotence: bool
    interceptor_classes: str | Sequence[object]
    linger_ms: int
    max_block_ms: int
    max_in_flight_requests_per_connection: int
    max_request_size: int
    metadata_max_idle_ms: int
    partitioner_adaptive_partitioning_enable: bool
    partitioner_availability_timeout_ms: int
    partitioner_class: object
    partitioner_ignore_keys: bool
    retries: int
    transaction_timeout_ms: int
    transaction_two_phase_commit_enable: bool
    transactional_id: str


class ConsumerConfig(CommonConfig, total=False):
    """The configs of a consumer as keywords."""

    allow_auto_create_topics: bool
    auto_commit_interval_ms: int
    auto_offset_reset: str
    check_crcs: bool
    client_rack: str
    default_api_timeout_ms: int
    enable_auto_commit: bool
    exclude_internal_topics: bool
    fetch_buffer_bytes: int
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    fetch_min_bytes: int
    group_id: str
    group_instance_id: str
    group_protocol: str
    group_remote_assignor: str
    heartbeat_interval_ms: int
    interceptor_classes: str | Sequence[object]
    internal_throw_on_fetch_stable_offset_unsupported: bool
    isolation_level: str
    max_partition_fetch_bytes: int
    max_poll_interval_ms: int
    max_poll_records: int
    partition_assignment_strategy: str | Sequence[object]
    session_timeout_ms: int
    share_acknowledgement_mode: str
    share_acquire_mode: str


class ShareConsumerConfig(CommonConfig, total=False):
    """The configs of a share consumer as keywords."""

    allow_auto_create_topics: bool
    auto_commit_interval_ms: int
    auto_offset_reset: str
    check_crcs: bool
    client_rack: str
    default_api_timeout_ms: int
    enable_auto_commit: bool
    exclude_internal_topics: bool
    fetch_buffer_bytes: int
    fetch_max_bytes: int
    fetch_max_wait_ms: int
    fetch_min_bytes: int
    group_id: str
    group_instance_id: str
    group_protocol: str
    group_remote_assignor: str
    heartbeat_interval_ms: int
    interceptor_classes: str | Sequence[object]
    internal_throw_on_fetch_stable_offset_unsupported: bool
    isolation_level: str
    max_partition_fetch_bytes: int
    max_poll_interval_ms: int
    max_poll_records: int
    partition_assignment_strategy: str | Sequence[object]
    session_timeout_ms: int
    share_acknowledgement_mode: str
    share_acquire_mode: str


class AdminConfig(CommonConfig, total=False):
    """The configs of an admin client as keywords."""

    bootstrap_controllers: str | Sequence[str]
    default_api_timeout_ms: int
    retries: int
