"""The broker configs that are honoured. Whatever is not here says in its row what it waits for.

A config that can be changed at run time is here only if the change takes effect; a test goes through all of them
(tests/unit/broker/test_dynamic_configs.py). Those that count only in the file, at the start, say so in `AT_START`;
those that size what does not exist here, a queue of requests or a buffer of records to be written, `WITHOUT_OBJECT`.
"""

_SERVED = """
    process.roles node.id broker.id broker.rack num.io.threads num.partitions default.replication.factor
    auto.create.topics.enable delete.topic.enable message.max.bytes max.request.partition.size.limit
    controlled.shutdown.enable

    inter.broker.listener.name security.inter.broker.protocol num.network.threads
    queued.max.request.bytes socket.request.max.bytes socket.listen.backlog.size max.connections.per.ip
    max.connections.per.ip.overrides max.connections max.connection.creation.rate connections.max.idle.ms
    connection.failed.authentication.delay.ms connections.max.reauth.ms max.incremental.fetch.session.cache.slots
    fetch.max.bytes socket.send.buffer.bytes socket.receive.buffer.bytes

    ssl.principal.mapping.rules sasl.server.max.receive.size
    ssl.client.auth ssl.cipher.suites ssl.enabled.protocols ssl.keystore.type ssl.keystore.location
    ssl.keystore.key ssl.keystore.certificate.chain ssl.key.password ssl.truststore.type ssl.truststore.location
    ssl.truststore.certificates sasl.enabled.mechanisms sasl.jaas.config

    controller.quorum.voters controller.quorum.bootstrap.servers controller.listener.names
    controller.quorum.election.timeout.ms controller.quorum.fetch.timeout.ms
    controller.quorum.election.backoff.max.ms controller.quorum.request.timeout.ms
    controller.quorum.retry.backoff.ms controller.quorum.fetch.max.bytes controller.quorum.fetch.snapshot.max.bytes
    broker.heartbeat.interval.ms broker.session.timeout.ms initial.broker.registration.timeout.ms
    metadata.log.dir metadata.log.segment.bytes internal.metadata.log.segment.bytes
    internal.metadata.max.batch.size.in.bytes internal.metadata.delete.delay.millis metadata.log.segment.ms
    metadata.log.max.record.bytes.between.snapshots metadata.log.max.snapshot.interval.ms
    metadata.max.idle.interval.ms metadata.max.retention.bytes metadata.max.retention.ms

    log.dirs log.dir cordoned.log.dirs log.segment.bytes log.roll.ms log.roll.hours log.roll.jitter.ms
    log.roll.jitter.hours log.retention.ms log.retention.minutes log.retention.hours log.retention.bytes
    log.retention.check.interval.ms log.initial.task.delay.ms log.cleanup.policy log.cleaner.enable
    log.cleaner.threads log.cleaner.io.max.bytes.per.second log.cleaner.dedupe.buffer.size
    log.cleaner.io.buffer.size log.cleaner.io.buffer.load.factor log.cleaner.backoff.ms
    log.cleaner.min.cleanable.ratio log.cleaner.delete.retention.ms log.cleaner.min.compaction.lag.ms
    log.cleaner.max.compaction.lag.ms log.index.size.max.bytes log.index.interval.bytes
    log.flush.interval.messages log.flush.interval.ms log.flush.scheduler.interval.ms
    log.flush.offset.checkpoint.interval.ms log.flush.start.offset.checkpoint.interval.ms
    log.segment.delete.delay.ms log.message.timestamp.type log.message.timestamp.difference.max.ms
    log.message.timestamp.before.max.ms log.message.timestamp.after.max.ms num.recovery.threads.per.data.dir
    compression.type compression.gzip.level compression.lz4.level compression.zstd.level
    log.message.downconversion.enable producer.id.expiration.ms producer.id.expiration.check.interval.ms

    min.insync.replicas replica.high.watermark.checkpoint.interval.ms

    group.min.session.timeout.ms group.max.session.timeout.ms group.initial.rebalance.delay.ms group.max.size
    group.coordinator.rebalance.protocols group.consumer.migration.policy group.consumer.max.size
    group.consumer.assignors group.consumer.regex.refresh.interval.ms
    group.consumer.session.timeout.ms group.consumer.min.session.timeout.ms group.consumer.max.session.timeout.ms
    group.consumer.heartbeat.interval.ms group.consumer.min.heartbeat.interval.ms
    group.consumer.max.heartbeat.interval.ms group.consumer.assignment.interval.ms
    group.consumer.min.assignment.interval.ms group.consumer.max.assignment.interval.ms
    group.streams.session.timeout.ms group.streams.min.session.timeout.ms group.streams.max.session.timeout.ms
    group.streams.heartbeat.interval.ms group.streams.min.heartbeat.interval.ms
    group.streams.max.heartbeat.interval.ms group.streams.assignment.interval.ms
    group.streams.min.assignment.interval.ms group.streams.max.assignment.interval.ms group.streams.max.size
    group.streams.num.standby.replicas group.streams.max.standby.replicas group.streams.initial.rebalance.delay.ms
    offset.metadata.max.bytes offsets.retention.minutes offsets.retention.check.interval.ms
    offsets.topic.compression.codec offsets.topic.num.partitions offsets.topic.replication.factor
    offsets.topic.segment.bytes

    group.share.session.timeout.ms group.share.min.session.timeout.ms group.share.max.session.timeout.ms
    group.share.heartbeat.interval.ms group.share.min.heartbeat.interval.ms group.share.max.heartbeat.interval.ms
    group.share.assignment.interval.ms group.share.min.assignment.interval.ms group.share.max.assignment.interval.ms
    group.share.max.size group.share.initialize.retry.interval.ms
    group.share.delivery.count.limit group.share.min.delivery.count.limit group.share.max.delivery.count.limit
    group.share.record.lock.duration.ms group.share.min.record.lock.duration.ms
    group.share.max.record.lock.duration.ms group.share.partition.max.record.locks
    group.share.min.partition.max.record.locks group.share.max.partition.max.record.locks
    group.share.max.share.sessions share.coordinator.state.topic.num.partitions
    share.coordinator.state.topic.replication.factor share.coordinator.state.topic.min.isr
    share.coordinator.state.topic.segment.bytes share.coordinator.state.topic.compression.codec
    share.coordinator.state.topic.prune.interval.ms share.coordinator.snapshot.update.records.per.snapshot
    share.coordinator.cold.partition.snapshot.interval.ms

    transaction.max.timeout.ms transaction.state.log.num.partitions transaction.state.log.replication.factor
    transaction.state.log.min.isr transaction.state.log.segment.bytes
    transaction.abort.timed.out.transaction.cleanup.interval.ms transactional.id.expiration.ms
    transaction.remove.expired.transaction.cleanup.interval.ms
    transaction.partition.verification.enable
    add.partitions.to.txn.retry.backoff.ms add.partitions.to.txn.retry.backoff.max.ms
"""


_WITHOUT_OBJECT = """
    queued.max.requests fetch.purgatory.purge.interval.requests producer.purgatory.purge.interval.requests
    delete.records.purgatory.purge.interval.requests group.coordinator.append.linger.ms
    group.coordinator.cached.buffer.max.bytes offsets.load.buffer.size transaction.state.log.load.buffer.size
    controller.performance.sample.period.ms controller.performance.always.log.threshold.ms
    share.coordinator.load.buffer.size share.coordinator.append.linger.ms share.coordinator.cached.buffer.max.bytes
    share.fetch.purgatory.purge.interval.requests
"""

_AT_START = """
    config.providers listeners advertised.listeners listener.security.protocol.map
"""

SERVED = frozenset(_SERVED.split())
AT_START = frozenset(_AT_START.split())
WITHOUT_OBJECT = frozenset(_WITHOUT_OBJECT.split())
