"""What a TLS context is made of: plain values. Who reads configs and who calls OpenSSL need not know each other."""

from typing import NamedTuple


class TlsSettings(NamedTuple):
    """PEM texts are given as they are, or as the path of the file that holds them. An empty string stands for none."""

    is_server: bool = True
    certificate_chain: str = ""  # PEM, the own certificate first
    key: str = ""  # PEM
    keystore_path: str = ""  # a file with both
    certificate_path: str = ""  # a file with the certificates alone, or with the key, too
    key_path: str = ""  # a file with the key, if it is not with the certificates
    key_password: str = ""
    trusted_certificates: str = ""  # PEM
    truststore_path: str = ""
    client_auth: str = "none"
    protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    cipher_suites: tuple[str, ...] = ()
    checks_host_name: bool = True  # of a client

    def __repr__(self) -> str:  # never the key
        return f"TlsSettings(is_server={self.is_server}, client_auth={self.client_auth}, protocols={self.protocols})"
