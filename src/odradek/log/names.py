"""The names of files and directories in a log dir: Kafka's own, so that either broker opens what the other wrote.

topic-3/00000000000000000042.log        a segment, named by the first offset it may hold, in twenty digits
topic-3/00000000000000000042.log.deleted   a file on its way out; .cleaned and .swap: on its way in, by compaction
topic-3.<32 hex digits>-delete          a whole partition on its way out; -future: a copy that moves between dirs
"""

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TRANSACTION_INDEX = ".txnindex"
PRODUCER_SNAPSHOT = ".snapshot"
SEGMENT_FILES = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
INDEX_FILES = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)

DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"

DELETE_DIR = "-delete"
FUTURE_DIR = "-future"
STRAY_DIR = "-stray"

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
REPLICATION_OFFSETS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
META_PROPERTIES = "meta.properties"
LOCK = ".lock"


OFFSET_DIGITS = 20
UNIQUE_ID_DIGITS = 32
DIR_NAME_MAX = 255


def file_name(offset: int, suffix: str) -> str:
    return f"{offset:020d}{suffix}"


def log_path(directory: str, base_offset: int) -> str:
    """The records of a segment that has its final name."""
    return f"{directory}/{file_name(base_offset, LOG)}"


def offset_of(name: str) -> int | None:
    """The offset that a file is named by; None for every other file. A snapshot of the quorum is not ours."""
    digits, dot, _ = name.partition(".")
    if not dot or len(digits) < OFFSET_DIGITS or not digits.isdigit() or not digits.isascii():
        return None
    return int(digits)


def split(name: str) -> tuple[int, str, str] | None:
    """(offset, kind, state): of "…42.log.swap" it is (42, ".log", ".swap"); None for other files."""
    offset = offset_of(name)
    if offset is None:
        return None
    _, _, rest = name.partition(".")
    kind, dot, state = rest.partition(".")
    return offset, f".{kind}", f".{state}" if dot else ""


def dir_name(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"


def unique_dir_name(topic: str, partition: int, unique_id: str, suffix: str) -> str:
    """`topic-partition.unique_id-delete` and the like; a long topic name is cut, as a file name has its limit."""
    tail = f"-{partition}.{unique_id}{suffix}"
    return topic[: DIR_NAME_MAX - len(tail)] + tail


def parse_dir_name(name: str) -> tuple[str, int, str] | None:
    """(topic, partition, suffix), where suffix is "", -delete, -future or -stray; None for what is no partition."""
    suffix = next((known for known in (DELETE_DIR, FUTURE_DIR, STRAY_DIR) if name.endswith(known)), "")
    if suffix:
        name, dot, unique_id = name.removesuffix(suffix).rpartition(".")
        if not dot or not unique_id:
            return None
    topic, dash, partition = name.rpartition("-")
    if not dash or not topic or not (partition.isascii() and partition.isdigit()):
        return None
    return topic, int(partition), suffix
