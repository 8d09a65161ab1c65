"""Which broker configs are honoured, which are not and why: every config of the table is in exactly one place here.

A config that can be changed at run time is in `SERVED` only if the change takes effect; a test goes through all of them
(tests/unit/broker/test_dynamic_configs.py), and another looks for whoever reads what is said to be served
(tests/unit/config/test_config_served.py). `PARTLY` says of some that are served which of their values are not.
"""

from odradek.config import reasons
from odradek.config.reasons import Reason

_SERVED = """
    process.roles node.id broker.id broker.rack num.io.threads num.partitions default.replication.factor
    auto.create.topics.enable delete.topic.enable message.max.bytes max.request.partition.size.limit
    controlled.shutdown.enable request.timeout.ms telemetry.max.bytes

    inter.broker.listener.name security.inter.broker.protocol num.network.threads
    queued.max.request.bytes socket.request.max.bytes socket.listen.backlog.size max.connections.per.ip
    max.connections.per.ip.overrides max.connections max.connection.creation.rate connections.max.idle.ms
    connection.failed.authentication.delay.ms connections.max.reauth.ms max.incremental.fetch.session.cache.slots
    fetch.max.bytes socket.send.buffer.bytes socket.receive.buffer.bytes

    ssl.principal.mapping.rules sasl.server.max.receive.size
    ssl.client.auth ssl.cipher.suites ssl.enabled.protocols ssl.keystore.type ssl.keystore.location
    ssl.keystore.key ssl.keystore.certificate.chain ssl.key.password ssl.truststore.type ssl.truststore.location
    ssl.truststore.certificates sasl.enabled.mechanisms sasl.jaas.config sasl.mechanism.inter.broker.protocol

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

    min.insync.replicas replica.high.watermark.checkpoint.interval.ms replica.lag.time.max.ms
    unclean.leader.election.enable unclean.leader.election.interval.ms auto.leader.rebalance.enable
    leader.imbalance.check.interval.seconds

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

_NOT_SERVED: dict[Reason, str] = {
    reasons.AUTHORIZER: "authorizer.class.name",
    reasons.WITHOUT_AUTHORIZER: "super.users allow.everyone.if.no.acl.found",
    reasons.PRINCIPAL_BUILDER: "principal.builder.class",
    reasons.POLICY: "create.topic.policy.class.name alter.config.policy.class.name",
    reasons.QUOTA_CALLBACK: "client.quota.callback.class",
    reasons.TOKEN_SECRET: "delegation.token.secret.key delegation.token.master.key",
    reasons.TLS_PLUGIN: "ssl.engine.factory.class security.providers ssl.provider ssl.trustmanager.algorithm",
    reasons.LOGIN_PLUGIN: "sasl.server.callback.handler.class sasl.login.callback.handler.class sasl.login.class",
    reasons.TOKENS: """
        delegation.token.max.lifetime.ms delegation.token.expiry.time.ms delegation.token.expiry.check.interval.ms
    """,
    reasons.OPENSSL: "ssl.protocol ssl.keymanager.algorithm ssl.secure.random.implementation",
    reasons.PEM_HAS_NONE: "ssl.keystore.password ssl.truststore.password",
    reasons.ANY_NAME: "ssl.allow.dn.changes ssl.allow.san.changes",
    reasons.KERBEROS: """
        sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name sasl.kerberos.kinit.cmd
        sasl.kerberos.ticket.renew.window.factor sasl.kerberos.ticket.renew.jitter
        sasl.kerberos.min.time.before.relogin
    """,
    reasons.LOGIN_REFRESH: """
        sasl.login.refresh.window.factor sasl.login.refresh.window.jitter sasl.login.refresh.min.period.seconds
        sasl.login.refresh.buffer.seconds
    """,
    reasons.OAUTHBEARER: """
        sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.retry.backoff.ms
        sasl.login.retry.backoff.max.ms sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.jwks.endpoint.url
        sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.clock.skew.seconds
        sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.scope
        sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
        sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
        sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
        sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
        sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.sub
        sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.nbf.seconds
        sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.file
        sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
        sasl.oauthbearer.assertion.template.file
    """,
    reasons.REPLICATION: """
        replica.socket.timeout.ms replica.socket.receive.buffer.bytes replica.fetch.max.bytes
        replica.fetch.wait.max.ms replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.backoff.ms
        num.replica.fetchers
    """,
    reasons.CONNECTS_TO_NOBODY: """
        socket.connection.setup.timeout.ms socket.connection.setup.timeout.max.ms controller.socket.timeout.ms
        sasl.mechanism.controller.protocol ssl.endpoint.identification.algorithm sasl.client.callback.handler.class
    """,
    reasons.MOVES_BY_JOBS: "num.replica.alter.log.dirs.threads",
    reasons.CLUSTER_QUORUM: "controller.quorum.auto.join.enable",
    reasons.QUOTAS: """
        quota.window.num quota.window.size.seconds replication.quota.window.num
        replication.quota.window.size.seconds alter.log.dirs.replication.quota.window.num
        alter.log.dirs.replication.quota.window.size.seconds controller.quota.window.num
        controller.quota.window.size.seconds
    """,
    reasons.TIERED: """
        follower.fetch.last.tiered.offset.enable remote.log.storage.system.enable
        remote.log.storage.manager.class.name remote.log.storage.manager.class.path
        remote.log.storage.manager.impl.prefix remote.log.metadata.manager.class.name
        remote.log.metadata.manager.class.path remote.log.metadata.manager.impl.prefix
        remote.log.metadata.manager.listener.name remote.log.metadata.custom.metadata.max.bytes
        remote.log.index.file.cache.total.size.bytes remote.log.index.file.cache.ttl.ms
        remote.log.manager.thread.pool.size remote.log.manager.copier.thread.pool.size
        remote.log.manager.expiration.thread.pool.size remote.log.manager.follower.thread.pool.size
        remote.log.manager.task.interval.ms remote.log.manager.task.retry.backoff.ms
        remote.log.manager.task.retry.backoff.max.ms remote.log.manager.task.retry.jitter
        remote.log.manager.copy.max.bytes.per.second remote.log.manager.copy.quota.window.num
        remote.log.manager.copy.quota.window.size.seconds remote.log.manager.fetch.max.bytes.per.second
        remote.log.manager.fetch.quota.window.num remote.log.manager.fetch.quota.window.size.seconds
        remote.log.reader.threads remote.log.reader.max.pending.tasks remote.fetch.max.wait.ms
        remote.list.offsets.request.timeout.ms log.local.retention.ms log.local.retention.bytes
    """,
    reasons.ZOOKEEPER: """
        broker.id.generation.enable reserved.broker.max.id controlled.shutdown.max.retries
        controlled.shutdown.retry.backoff.ms control.plane.listener.name zookeeper.connect
        zookeeper.session.timeout.ms zookeeper.connection.timeout.ms zookeeper.set.acl
        zookeeper.max.in.flight.requests zookeeper.ssl.client.enable zookeeper.clientCnxnSocket
        zookeeper.ssl.keystore.location zookeeper.ssl.keystore.password zookeeper.ssl.keystore.type
        zookeeper.ssl.truststore.location zookeeper.ssl.truststore.password zookeeper.ssl.truststore.type
        zookeeper.ssl.protocol zookeeper.ssl.enabled.protocols zookeeper.ssl.cipher.suites
        zookeeper.ssl.endpoint.identification.algorithm zookeeper.ssl.crl.enable zookeeper.ssl.ocsp.enable
        password.encoder.secret password.encoder.old.secret password.encoder.keyfactory.algorithm
        password.encoder.cipher.algorithm password.encoder.key.length password.encoder.iterations
        authorizer.zookeeper.url authorizer.zookeeper.connection.timeout.ms
        authorizer.zookeeper.session.timeout.ms authorizer.zookeeper.max.in.flight.requests
    """,
    reasons.JVM: """
        background.threads group.coordinator.threads group.coordinator.background.threads share.coordinator.threads
    """,
    reasons.JAVA_REPORTERS: "metric.reporters kafka.metrics.reporters kafka.metrics.polling.interval.secs",
    reasons.PLUGIN: "replica.selector.class group.share.assignors group.share.persister.class.name",
    reasons.FIXED_WINDOWS: "metrics.num.samples metrics.sample.window.ms metrics.recording.level",
    reasons.WITHOUT_OBJECT: """
        queued.max.requests fetch.purgatory.purge.interval.requests producer.purgatory.purge.interval.requests
        delete.records.purgatory.purge.interval.requests group.coordinator.append.linger.ms
        group.coordinator.cached.buffer.max.bytes offsets.load.buffer.size transaction.state.log.load.buffer.size
        controller.performance.sample.period.ms controller.performance.always.log.threshold.ms
        share.coordinator.load.buffer.size share.coordinator.append.linger.ms
        share.coordinator.cached.buffer.max.bytes share.fetch.purgatory.purge.interval.requests
    """,
    reasons.PREALLOCATION: "log.preallocate",
    reasons.OLD_FORMAT: "log.message.format.version",
    reasons.METADATA_VERSION: "inter.broker.protocol.version",
    reasons.OPENS_TOGETHER: "early.start.listeners",
    reasons.WRITES_AT_ONCE: "controller.quorum.append.linger.ms",
    reasons.COMMITS_AT_ONCE: """
        offsets.commit.timeout.ms offsets.commit.required.acks share.coordinator.write.timeout.ms
    """,
    reasons.TWO_PHASE_COMMIT: "transaction.two.phase.commit.enable",
    reasons.ALWAYS_BALANCED: "leader.imbalance.per.broker.percentage",
    reasons.SEGMENT_BYTES: "metadata.log.segment.min.bytes",
    reasons.DIR_FAILURE: "log.dir.failure.timeout.ms",
    reasons.NO_START_LIMIT: "server.max.startup.time.ms",
    reasons.STABLE_ONLY: "unstable.api.versions.enable unstable.feature.versions.enable",
    reasons.ONLY_3_9: """
        eligible.leader.replicas.enable group.coordinator.new.enable group.share.enable group.share.max.groups
        auto.include.jmx.reporter zookeeper.metadata.migration.enable zookeeper.metadata.migration.min.batch.size
    """,
    reasons.AT_START: "config.providers listeners advertised.listeners listener.security.protocol.map",
}

SERVED = frozenset(_SERVED.split())
NOT_SERVED = {name: reason for reason, names in _NOT_SERVED.items() for name in names.split()}

PARTLY = {
    "process.roles": "broker,controller only: nodes with one of the two come with the cluster",
    "controller.quorum.voters": "one voter, this node: several refuse to start",
    "controller.quorum.bootstrap.servers": "nobody is asked: the one voter is this node",
    "default.replication.factor": "1 only, on one node",
    "offsets.topic.replication.factor": "1 only, on one node: with more, groups wait, and the start warns of it",
    "transaction.state.log.replication.factor": "1 only, on one node: with more, transactions wait",
    "share.coordinator.state.topic.replication.factor": "1 only, on one node: with more, share groups wait",
    "ssl.keystore.type": "PEM only: JKS and PKCS12 refuse to start, and the line says how to convert the store",
    "ssl.truststore.type": "PEM only: JKS and PKCS12 refuse to start, and the line says how to convert it",
    "ssl.client.auth": "whoever asks for certificates must set a trust store: there is no default one",
    "ssl.cipher.suites": "the suites of TLS 1.3 are all there or none: name OpenSSL's three, or speak only TLSv1.2",
    "ssl.enabled.protocols": "TLSv1.2 and TLSv1.3: older ones are not spoken",
    "sasl.enabled.mechanisms": "PLAIN only: a listener without it refuses to start, others beside it are warned of",
    "sasl.jaas.config": "for SASL/PLAIN",
    "sasl.mechanism.inter.broker.protocol": "checked against sasl.enabled.mechanisms; one node connects to no other",
}
