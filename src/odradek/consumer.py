"""What a program that uses the consumer may need beside it: `from odradek.consumer import RebalanceListener`."""

from odradek.channel.cluster import PartitionInfo
from odradek.client.consumer.commit_future import CommitFuture
from odradek.client.consumer.consumer_state import ConsumerState
from odradek.client.consumer.errors import CommitFailed, ConcurrentAccess, RetriableCommitFailed, Wakeup
from odradek.client.consumer.fetch_errors import (
    CorruptRecords,
    FetchOffsetOutOfRange,
    LogTruncation,
    NoOffsetForPartition,
    RecordDeserializationError,
    RecordTooLargeToFetch,
)
from odradek.client.consumer.interceptors import ConsumerInterceptor
from odradek.client.consumer.rebalance_listener import RebalanceListener
from odradek.client.consumer.records import ConsumerRecord, ConsumerRecords
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.offsets import OffsetAndMetadata, OffsetAndTimestamp
from odradek.client.share_consumer.acknowledgement import AcknowledgeType
from odradek.client.share_consumer.share_record import ShareRecord, ShareRecords

__all__ = [
    "AcknowledgeType",
    "CommitFailed",
    "CommitFuture",
    "ConcurrentAccess",
    "ConsumerGroupMetadata",
    "ConsumerInterceptor",
    "ConsumerRecord",
    "ConsumerRecords",
    "ConsumerState",
    "CorruptRecords",
    "FetchOffsetOutOfRange",
    "LogTruncation",
    "NoOffsetForPartition",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "PartitionInfo",
    "RebalanceListener",
    "RecordDeserializationError",
    "RecordTooLargeToFetch",
    "RetriableCommitFailed",
    "ShareRecord",
    "ShareRecords",
    "Wakeup",
]
