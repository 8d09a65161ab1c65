"""Why a config has no effect: one sentence per part that is not there, read by the page, by the start and by the log.

A reason is a table's `not_served`, and of one of three kinds. WARNED: the config has no effect, and the server log says
so when it is set to something else than its default. REFUSED: it asks for protection that is not there, and whoever
has set it would believe to be safe; the node does not start. AT_START: honoured in the file, but not when it changes.
"""

WARNED, REFUSED, AT_START_ONLY = "warned", "refused", "at start"

# Where a protection would be at work: if no listener is of the kind, nothing is left unprotected.
ANYWHERE, ON_TLS, ON_SASL = "anywhere", "on TLS", "on SASL"


class Reason:
    """`text` goes on from "NAME=VALUE has no effect: "; `where` is for those that are refused."""

    __slots__ = ("kind", "text", "where")

    def __init__(self, text: str, kind: str = WARNED, where: str = ANYWHERE) -> None:
        self.text = text
        self.kind = kind
        self.where = where

    def __repr__(self) -> str:
        return f"Reason({self.text!r}, {self.kind})"


def _protection(text: str, where: str = ANYWHERE) -> Reason:
    return Reason(text, REFUSED, where)


# Protection that is not there.

AUTHORIZER = _protection("access control is not built, and everybody would be allowed everything")
PRINCIPAL_BUILDER = _protection("classes of Java cannot be loaded, and callers would go by other names than it gives")
POLICY = _protection("classes of Java cannot be loaded, and what it is to forbid would be allowed")
QUOTA_CALLBACK = _protection("classes of Java cannot be loaded, and nobody would be slowed down")
TOKEN_SECRET = _protection("delegation tokens are not built, and nobody could log in with one")
TLS_PLUGIN = _protection("TLS is OpenSSL's here: classes and providers of Java cannot be loaded", ON_TLS)
LOGIN_PLUGIN = _protection("classes of Java cannot be loaded, and logins would be decided without it", ON_SASL)

# What one node has no use for.

REPLICATION = Reason("one node replicates nothing; several come with the cluster, which is not built")
CONNECTS_TO_NOBODY = Reason("one node connects to no other; several come with the cluster, which is not built")
MOVES_BY_JOBS = Reason("moves between log dirs share the workers of num.io.threads")

# Parts that are not built.

CLUSTER_QUORUM = Reason("a quorum of several voters comes with the cluster, which is not built")
TIERED = Reason("tiered storage is not built")
QUOTAS = Reason("quotas are stored, and not enforced yet")
TOKENS = Reason("delegation tokens are not built")
SCRAM = Reason("credentials are stored, but logins with SASL/SCRAM are not built")
KERBEROS = Reason("SASL/GSSAPI (Kerberos) is not built: SASL/PLAIN is")
OAUTHBEARER = Reason("SASL/OAUTHBEARER is not built: SASL/PLAIN is")
LOGIN_REFRESH = Reason("SASL/PLAIN, the one mechanism that is built, has no login to refresh")
TWO_PHASE_COMMIT = Reason("transactions of two phases are not built")
SUBSCRIPTIONS = Reason("subscriptions are stored, and no client's metrics are asked for yet")
CLIENT = Reason("the producer and the consumer are not built")
PRODUCER = Reason("the producer does not have this yet")
ADMIN = Reason("the admin client does not have this yet")
CONSUMER = Reason("the consumer does not have this yet")
SHARE_ONLY = Reason("it is for share consumers only")
SHARE_CONSUMER = Reason("the share consumer does not have this")
WITHOUT_AUTHORIZER = Reason("without authorizer.class.name nobody reads it, and everybody may do everything")

# What this broker does in another way.

ZOOKEEPER = Reason("there is no ZooKeeper: the metadata is kept by the node itself")
JVM = Reason("it is about the inside of a Java process")
JAVA_REPORTERS = Reason("classes of Java cannot be loaded; metrics are served with --metrics HOST:PORT")
PLUGIN = Reason("classes of Java cannot be loaded")
OPENSSL = Reason("TLS is OpenSSL's here, and ssl.enabled.protocols says which versions are spoken")
PEM_HAS_NONE = Reason("only PEM stores are read, which have no password; that of a key is ssl.key.password")
ANY_NAME = Reason("a certificate that is read anew may always have other names")
OLD_FORMAT = Reason("records are always stored in the newest format")
METADATA_VERSION = Reason("the feature metadata.version in the metadata log decides")
ONLY_3_9 = Reason("listed only so that a file of 3.9 is understood")
WITHOUT_OBJECT = Reason("what it sizes does not exist here")
PREALLOCATION = Reason("no file is reserved before it is written")
OPENS_TOGETHER = Reason("all listeners open together, when the node is ready")
WRITES_AT_ONCE = Reason("what is decided is written at once")
COMMITS_AT_ONCE = Reason("an offset is committed as soon as the leader has it, and nobody waits for it")
ALWAYS_BALANCED = Reason("leadership goes back to the preferred replicas whenever it can, whatever the share")
SEGMENT_BYTES = Reason("metadata.log.segment.bytes alone decides")
DIR_FAILURE = Reason("the controller is told of a failed log dir at once, and asked until it answers")
NO_START_LIMIT = Reason("a start takes as long as it takes, and says every now and then what it waits for")
STABLE_ONLY = Reason("no version that may still change is served")
FIXED_WINDOWS = Reason("metrics have windows of their own: see docs/metrics.md")

AT_START = Reason("a change at run time waits for the next start", AT_START_ONLY)
