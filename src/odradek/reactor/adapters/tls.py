"""TLS contexts of this machine's OpenSSL. Key files are read here; nothing else of the product touches them."""

import os
from typing import TYPE_CHECKING

from odradek.reactor.tls_settings import TlsSettings

if TYPE_CHECKING:
    import ssl

    from odradek.reactor.tls import TlsContext


_SUITES_OF_TLS_1_3 = (
    "TLS_AES_256_GCM_SHA384",
    "TLS_AES_128_GCM_SHA256",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_CCM_SHA256",
    "TLS_AES_128_CCM_8_SHA256",
)


class TlsSettingsError(ValueError):
    """The settings give no context: one line that says which of them is wrong."""


def tls_context(settings: TlsSettings) -> "TlsContext":
    """May block, on files: for the start and for jobs."""
    import ssl  # only a node that speaks TLS pays for it

    from odradek.reactor.tls import TlsContext

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if settings.is_server else ssl.PROTOCOL_TLS_CLIENT)
    _limit_versions(context, settings.protocols)
    _set_ciphers(context, settings.cipher_suites)
    _load_own(context, settings)
    _load_trusted(context, settings)
    if settings.is_server:
        modes = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
        context.verify_mode = modes[settings.client_auth]
    else:
        context.check_hostname = settings.checks_host_name
    return TlsContext(context, is_server=settings.is_server)


def _limit_versions(context: "ssl.SSLContext", protocols: tuple[str, ...]) -> None:
    import ssl

    known = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
    wanted = [known[name] for name in known if name in protocols]
    if not wanted:
        raise TlsSettingsError(f"ssl.enabled.protocols: none of {', '.join(protocols)} is one of {', '.join(known)}")
    context.minimum_version, context.maximum_version = wanted[0], wanted[-1]


def _set_ciphers(context: "ssl.SSLContext", suites: tuple[str, ...]) -> None:
    """Java's names: those of TLS 1.3 cannot be chosen here, the others are OpenSSL's with other separators."""
    import ssl

    strange = [suite for suite in suites if "_WITH_" not in suite and suite not in _SUITES_OF_TLS_1_3]
    if strange:
        raise TlsSettingsError(f"ssl.cipher.suites: {strange[0]} is none; names look like {_SUITES_OF_TLS_1_3[0]}")
    older = [_openssl_name(suite) for suite in suites if "_WITH_" in suite]
    if not older:
        return
    try:
        context.set_ciphers(":".join(older))
    except ssl.SSLError:
        raise TlsSettingsError(f"ssl.cipher.suites: OpenSSL knows none of {', '.join(suites)}") from None


def _openssl_name(suite: str) -> str:
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    exchange = "" if exchange == "RSA" else exchange.replace("_", "-") + "-"
    return exchange + cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_", "-").replace(
        "CHACHA20-POLY1305-SHA256", "CHACHA20-POLY1305"
    ).replace("-CBC-", "-")


def _load_own(context: "ssl.SSLContext", settings: TlsSettings) -> None:
    if settings.certificate_path or settings.key_path:
        _load_pair(context, settings)
        return
    if not (settings.keystore_path or settings.certificate_chain):
        if settings.is_server:
            raise TlsSettingsError("a TLS listener needs a certificate: set ssl.keystore.location or its PEM texts")
        return
    text = _read(settings.keystore_path, "ssl.keystore.location") or f"{settings.key}\n{settings.certificate_chain}\n"
    where = f"ssl.keystore.location={settings.keystore_path}: " if settings.keystore_path else ""
    _load_chain(context, text, settings.key_password, where)


def _load_pair(context: "ssl.SSLContext", settings: TlsSettings) -> None:
    """The two files that programs of Python are used to; one may hold both."""
    if not settings.certificate_path:
        raise TlsSettingsError("ssl_keyfile is given without ssl_certfile: a key is of no use without its certificate")
    text = _read(settings.key_path, "ssl_keyfile") + "\n" + _read(settings.certificate_path, "ssl_certfile")
    files = settings.certificate_path + (f" and {settings.key_path}" if settings.key_path else "")
    _load_chain(context, text, settings.key_password, f"{files}: ")


def client_context(context: "ssl.SSLContext") -> "TlsContext":
    """What a program has made itself."""
    from odradek.reactor.tls import TlsContext

    return TlsContext(context, is_server=False)


def _load_chain(context: "ssl.SSLContext", text: str, password: str, where: str) -> None:
    """OpenSSL wants a file; one in memory alone keeps the key off every disk."""
    import ssl

    fd = os.memfd_create("keystore", os.MFD_CLOEXEC)
    try:
        os.write(fd, text.encode())
        # a function, so that OpenSSL does not ask on the terminal for a password that is not there
        context.load_cert_chain(f"/proc/self/fd/{fd}", password=lambda: password)
    except (ssl.SSLError, ValueError) as error:
        raise TlsSettingsError(f"{where}{_not_loaded(error, text, password)}") from None
    finally:
        os.close(fd)


def _not_loaded(error: Exception, text: str, password: str) -> str:
    """Why a key store cannot be used, and what to do."""
    reason = getattr(error, "reason", None) or str(error)
    if "ENCRYPTED" not in text or reason == "KEY_VALUES_MISMATCH":
        what = _missing_of(text) or reason
        return f"the PEM key store cannot be used: {what}; it takes a private key and the certificates for it"
    wrong = "does not open it" if password else "is not set"
    return (
        f"the private key of the PEM key store is encrypted, and ssl.key.password {wrong}: set it to the key's "
        "password, or store the key without one (openssl pkey -in KEY -out KEY.plain)"
    )


def _missing_of(text: str) -> str | None:
    if "PRIVATE KEY-----" not in text:
        return "there is no private key in it"
    return "there is no certificate in it" if "BEGIN CERTIFICATE-----" not in text else None


def _load_trusted(context: "ssl.SSLContext", settings: TlsSettings) -> None:
    import ssl

    text = _read(settings.truststore_path, "ssl.truststore.location") or settings.trusted_certificates
    if not text:
        if not settings.is_server:
            context.load_default_certs()
        return
    try:
        context.load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise TlsSettingsError(f"the PEM trust store cannot be used: {reason}") from None


def _read(path: str, name: str) -> str:
    if not path:
        return ""
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise TlsSettingsError(f"{name}: cannot read {path}: {error.strerror}") from None
