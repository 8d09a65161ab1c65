// The Java client of Apache Kafka through every scenario that it has; compiles against 3.3 and against 4.x.
//
//     java -cp 'LIBS/*' JavaClient.java release=4.3 plaintext=127.0.0.1:9092 ssl=... sasl=... sasl_ssl=... ca=ca.pem
//         only=tls,tail,...
//
// One line per scenario: its name, ok or FAILED, the seconds it took, why it failed; with tabs between.

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourcePatternFilter;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.AppInfoParser;

public class JavaClient {
    static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};
    static final long START = 1_600_000_000_000L;
    static final int SECONDS_MAX = 15;
    static final int LONG_WAIT_MS = 10_000;

    static final Map<String, String> where = new HashMap<>();
    static Admin admin;

    interface Story {
        void run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        for (String each : arguments) {
            int equals = each.indexOf('=');
            where.put(each.substring(0, equals), each.substring(equals + 1));
        }
        admin = Admin.create(at("plaintext", "alice-secret"));
        Set<String> only = new HashSet<>(Arrays.asList(where.get("only").split(",")));
        for (Map.Entry<String, Story> each : scenarios().entrySet())
            if (only.contains(each.getKey())) runOne(each.getKey(), each.getValue());
        System.out.flush();
        Runtime.getRuntime().halt(0); // whatever a client has left open
    }

    static String told = ""; // the scenario

    static void runOne(String name, Story story) {
        told = name;
        long started = System.nanoTime();
        String outcome = "ok";
        String detail = "";
        try {
            story.run();
        } catch (Throwable error) {
            error.printStackTrace();
            outcome = "FAILED";
            detail = error.toString().replaceAll("\\s+", " ");
        }
        System.out.printf("%s\t%s\t%.2f\t%s%n", name, outcome, (System.nanoTime() - started) / 1e9, detail);
    }

    static Map<String, Story> scenarios() {
        Map<String, Story> all = new LinkedHashMap<>();
        for (String codec : CODECS) all.put("codec-" + codec, () -> codec(codec));
        all.put("broker-recompresses", JavaClient::brokerRecompresses);
        all.put("idempotent", () -> thereAndBack(some(200), Map.of("enable.idempotence", "true"), Map.of()));
        all.put("headers", JavaClient::headers);
        all.put("timestamps", JavaClient::timestamps);
        all.put("log-append-time", JavaClient::logAppendTime);
        all.put("keys", JavaClient::keys);
        all.put("null-values", JavaClient::nullValues);
        all.put("acks-0", JavaClient::acks0);
        all.put("acks-1", () -> thereAndBack(some(20), Map.of("acks", "1"), Map.of()));
        all.put("acks-all", () -> thereAndBack(some(20), Map.of("acks", "all"), Map.of()));
        all.put("large-record", JavaClient::largeRecord);
        all.put("too-large", JavaClient::tooLarge);
        all.put("many-partitions", JavaClient::manyPartitions);
        all.put("from-beginning", () -> offsets(consume(filled(200), 0, 200), 0, 200));
        all.put("from-end", JavaClient::fromEnd);
        all.put("by-offset", () -> offsets(consume(filled(200), 150, 50), 150, 200));
        all.put("by-timestamp", JavaClient::byTimestamp);
        all.put("tail", JavaClient::tail);
        all.put("read-committed", JavaClient::readCommitted);
        all.put("out-of-range", JavaClient::outOfRange);
        all.put("create-topic", JavaClient::createTopic);
        all.put("describe-topic", JavaClient::describeTopic);
        all.put("delete-topic", JavaClient::deleteTopic);
        all.put("create-partitions", JavaClient::createPartitions);
        all.put("describe-configs", JavaClient::describeConfigs);
        all.put("alter-configs", JavaClient::alterConfigs);
        all.put("delete-records", JavaClient::deleteRecords);
        all.put("list-offsets", JavaClient::listOffsets);
        all.put("describe-cluster", JavaClient::describeCluster);
        all.put("log-dirs", JavaClient::logDirs);
        all.put("acls", JavaClient::acls);
        all.put("quotas", JavaClient::quotas);
        all.put("scram-credentials", JavaClient::scramCredentials);
        all.put("quorum", JavaClient::quorum);
        all.put("features", JavaClient::features);
        all.put("producers", JavaClient::producers);
        all.put("elect-leaders", JavaClient::electLeaders);
        all.put("reassignments", JavaClient::reassignments);
        all.put("groups", JavaClient::groups);
        all.put("transactions", JavaClient::transactions);
        all.put("tls", () -> through("ssl"));
        all.put("sasl-plain", () -> through("sasl"));
        all.put("sasl-plain-over-tls", () -> through("sasl_ssl"));
        all.put("sasl-plain-wrong", JavaClient::saslPlainWrong);
        return all;
    }

    // What the stories share

    static final Map<String, String> PROTOCOLS =
        Map.of("plaintext", "PLAINTEXT", "ssl", "SSL", "sasl", "SASL_PLAINTEXT", "sasl_ssl", "SASL_SSL");
    static final String LOGIN =
        "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"alice\" password=\"%s\";";

    static Map<String, Object> at(String listener, String password) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", where.get(listener));
        config.put("security.protocol", PROTOCOLS.get(listener));
        if (listener.contains("ssl")) {
            config.put("ssl.truststore.type", "PEM");
            config.put("ssl.truststore.location", where.get("ca"));
        }
        if (listener.contains("sasl")) {
            config.put("sasl.mechanism", "PLAIN");
            config.put("sasl.jaas.config", String.format(LOGIN, password));
        }
        return config;
    }

    static void equal(Object found, Object expected) {
        if (!Objects.equals(found, expected))
            throw new AssertionError("found " + shortly(found) + ", expected " + shortly(expected));
    }

    static String shortly(Object value) {
        String text = String.valueOf(value);
        return text.length() > 300 ? text.substring(0, 300) : text;
    }

    static void fails(Class<?> expected, Story story) throws Exception {
        try {
            story.run();
        } catch (Exception error) {
            Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
            if (expected.isInstance(cause)) return;
            throw new AssertionError("found " + cause + ", expected " + expected.getSimpleName(), cause);
        }
        throw new AssertionError(expected.getSimpleName() + " was expected");
    }

    static String create(int partitions, Map<String, String> configs) throws Exception {
        String name = "java-" + AppInfoParser.getVersion() + "." + told + "." + UUID.randomUUID().toString().substring(0, 13);
        createNamed(name, partitions, configs);
        return name;
    }

    static void createNamed(String name, int partitions, Map<String, String> configs) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(configs))).all().get();
    }

    static String filled(int count) throws Exception {
        String topic = create(1, Map.of("retention.ms", "-1"));
        List<ProducerRecord<String, String>> records = new ArrayList<>();
        for (int n = 0; n < count; n++) records.add(new ProducerRecord<>(topic, null, START + 1000L * n, "k", "" + n));
        produce(records, Map.of());
        return topic;
    }

    static List<String[]> some(int count) {
        List<String[]> pairs = new ArrayList<>();
        for (int n = 0; n < count; n++) pairs.add(new String[] {"key " + n % 7, "value " + n + " " + "x".repeat(30)});
        return pairs;
    }

    static KafkaProducer<String, String> producer(Map<String, ?> more, String listener, String password) {
        Map<String, Object> config = at(listener, password);
        config.put("linger.ms", "5");
        config.put("max.request.size", "10000000");
        config.put("enable.idempotence", "false");
        config.put("max.in.flight.requests.per.connection", "1"); // what is sent again keeps its place
        config.putAll(more);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    static List<RecordMetadata> produce(List<ProducerRecord<String, String>> records, Map<String, ?> more)
            throws Exception {
        return produce(records, more, "plaintext", "alice-secret");
    }

    static List<RecordMetadata> produce(
            List<ProducerRecord<String, String>> records, Map<String, ?> more, String listener, String password)
            throws Exception {
        try (KafkaProducer<String, String> producer = producer(more, listener, password)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (ProducerRecord<String, String> each : records) sent.add(producer.send(each));
            List<RecordMetadata> done = new ArrayList<>();
            for (Future<RecordMetadata> each : sent) done.add(each.get());
            return done;
        }
    }

    static List<ProducerRecord<String, String>> to(String topic, List<String[]> pairs) {
        List<ProducerRecord<String, String>> records = new ArrayList<>();
        for (String[] pair : pairs) records.add(new ProducerRecord<>(topic, pair[0], pair[1]));
        return records;
    }

    static KafkaConsumer<String, String> consumer(Map<String, ?> more, String listener) {
        Map<String, Object> config = at(listener, "alice-secret");
        config.put("auto.offset.reset", "none");
        config.put("enable.auto.commit", "false");
        config.putAll(more);
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    static List<ConsumerRecord<String, String>> consume(String topic, long offset, int count) {
        return consume(topic, offset, count, Map.of(), "plaintext");
    }

    static List<ConsumerRecord<String, String>> consume(
            String topic, long offset, int count, Map<String, ?> more, String listener) {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (KafkaConsumer<String, String> consumer = consumer(more, listener)) {
            consumer.assign(List.of(partition));
            if (offset == 0) consumer.seekToBeginning(List.of(partition));
            else consumer.seek(partition, offset);
            return polled(consumer, count);
        }
    }

    static List<ConsumerRecord<String, String>> polled(KafkaConsumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        long deadline = System.nanoTime() + SECONDS_MAX * 1_000_000_000L;
        while (found.size() < count && System.nanoTime() < deadline)
            consumer.poll(Duration.ofMillis(200)).forEach(found::add);
        return found;
    }

    static void offsets(List<ConsumerRecord<String, String>> found, long from, long to) {
        equal((long) found.size(), to - from);
        for (int n = 0; n < found.size(); n++) equal(found.get(n).offset(), from + n);
    }

    static List<ConsumerRecord<String, String>> thereAndBack(
            List<String[]> pairs, Map<String, ?> how, Map<String, String> configs) throws Exception {
        String topic = create(1, configs);
        List<RecordMetadata> sent = produce(to(topic, pairs), how);
        for (int n = 0; n < sent.size(); n++) equal(sent.get(n).offset(), (long) n);
        List<ConsumerRecord<String, String>> found = consume(topic, 0, pairs.size());
        offsets(found, 0, pairs.size());
        for (int n = 0; n < found.size(); n++) {
            equal(found.get(n).key(), pairs.get(n)[0]);
            equal(found.get(n).value(), pairs.get(n)[1]);
        }
        return found;
    }

    // Producing

    static void codec(String codec) throws Exception {
        thereAndBack(some(200), Map.of("compression.type", codec), Map.of());
        List<String[]> large = some(20);
        large.add(0, new String[] {"k", "z".repeat(200_000)});
        thereAndBack(large, Map.of("compression.type", codec), Map.of());
    }

    static void brokerRecompresses() throws Exception {
        thereAndBack(some(200), Map.of("compression.type", "gzip"), Map.of("compression.type", "zstd"));
        thereAndBack(some(200), Map.of("compression.type", "gzip"), Map.of("compression.type", "uncompressed"));
    }

    static void headers() throws Exception {
        String topic = create(1, Map.of());
        Header nothing = new RecordHeader("null", (byte[]) null);
        List<Header> headers = List.of(header("first", "1"), header("second", ""), header("first", "ünïcode"), nothing);
        produce(List.of(new ProducerRecord<>(topic, null, null, "k", "v", headers)), Map.of());
        equal(Arrays.asList(consume(topic, 0, 1).get(0).headers().toArray()), headers);
    }

    static Header header(String name, String value) {
        return new RecordHeader(name, value.getBytes(java.nio.charset.StandardCharsets.UTF_8));
    }

    static void timestamps() throws Exception {
        String topic = create(1, Map.of("retention.ms", "-1"));
        List<Long> stamps = List.of(START, START + 5000, START - 100_000_000);
        List<ProducerRecord<String, String>> records = new ArrayList<>();
        for (long stamp : stamps) records.add(new ProducerRecord<>(topic, null, stamp, "k", "v"));
        produce(records, Map.of());
        List<Long> found = new ArrayList<>();
        for (ConsumerRecord<String, String> each : consume(topic, 0, 3)) found.add(each.timestamp());
        equal(found, stamps);
    }

    static void logAppendTime() throws Exception {
        long before = System.currentTimeMillis();
        String topic = create(1, Map.of("message.timestamp.type", "LogAppendTime"));
        RecordMetadata sent = produce(List.of(new ProducerRecord<>(topic, null, START, "k", "v")), Map.of()).get(0);
        ConsumerRecord<String, String> found = consume(topic, 0, 1).get(0);
        equal(found.timestampType().toString(), "LogAppendTime");
        equal(found.timestamp(), sent.timestamp());
        if (found.timestamp() < before) throw new AssertionError(found.timestamp() + " is before " + before);
    }

    static void keys() throws Exception {
        String topic = create(3, Map.of());
        Set<String> homes = new TreeSet<>();
        for (RecordMetadata each : produce(to(topic, some(200)), Map.of())) homes.add("" + each.partition());
        if (homes.size() < 2) throw new AssertionError("every key went to partition " + homes);
        TreeSet<String> pairs = new TreeSet<>();
        try (KafkaConsumer<String, String> consumer = consumer(Map.of(), "plaintext")) {
            List<TopicPartition> all = new ArrayList<>();
            for (int n = 0; n < 3; n++) all.add(new TopicPartition(topic, n));
            consumer.assign(all);
            consumer.seekToBeginning(consumer.assignment());
            for (ConsumerRecord<String, String> each : polled(consumer, 200))
                pairs.add(each.key() + " " + each.partition());
        }
        equal(pairs.size(), 7);
    }

    static void nullValues() throws Exception {
        String[][] pairs = {{"gone", null}, {"empty", ""}, {null, "unkeyed"}};
        thereAndBack(Arrays.asList(pairs), Map.of(), Map.of());
    }

    static void acks0() throws Exception {
        String topic = create(1, Map.of());
        produce(to(topic, some(1)), Map.of());
        produce(to(topic, some(20)), Map.of("acks", "0"));
        equal(consume(topic, 0, 21).size(), 21);
    }

    static void largeRecord() throws Exception {
        List<String[]> pairs = some(5);
        pairs.add(0, new String[] {"k", "0123456789".repeat(100_000)});
        thereAndBack(pairs, Map.of(), Map.of());
    }

    static void tooLarge() throws Exception {
        String topic = filled(1);
        ProducerRecord<String, String> record = new ProducerRecord<>(topic, "x".repeat(2_000_000));
        fails(RecordTooLargeException.class, () -> produce(List.of(record), Map.of()));
    }

    static void manyPartitions() throws Exception {
        String topic = create(100, Map.of());
        List<ProducerRecord<String, String>> records = new ArrayList<>();
        List<TopicPartition> all = new ArrayList<>();
        for (int n = 0; n < 100; n++) {
            records.add(new ProducerRecord<>(topic, n, "k", "" + n));
            all.add(new TopicPartition(topic, n));
        }
        produce(records, Map.of());
        try (KafkaConsumer<String, String> consumer = consumer(Map.of(), "plaintext")) {
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Set<Integer> seen = new HashSet<>();
            for (ConsumerRecord<String, String> each : polled(consumer, 100)) {
                equal(each.value(), "" + each.partition());
                seen.add(each.partition());
            }
            equal(seen.size(), 100);
        }
    }

    // Consuming

    static void fromEnd() throws Exception {
        String topic = filled(10);
        TopicPartition partition = new TopicPartition(topic, 0);
        try (KafkaConsumer<String, String> consumer = consumer(Map.of(), "plaintext")) {
            consumer.assign(List.of(partition));
            consumer.seekToEnd(List.of(partition));
            equal(consumer.position(partition), 10L);
            produce(List.of(new ProducerRecord<>(topic, "k", "new")), Map.of());
            offsets(polled(consumer, 1), 10, 11);
        }
    }

    static void byTimestamp() throws Exception {
        String topic = filled(200);
        TopicPartition partition = new TopicPartition(topic, 0);
        try (KafkaConsumer<String, String> consumer = consumer(Map.of(), "plaintext")) {
            consumer.assign(List.of(partition));
            Map<TopicPartition, Long> asked = Map.of(partition, START + 99_500);
            consumer.seek(partition, consumer.offsetsForTimes(asked).get(partition).offset());
            equal(polled(consumer, 10).get(0).offset(), 100L);
        }
    }

    // A fetch that waits is answered when the record comes, not when its time is up.
    static void tail() throws Exception {
        String topic = filled(1);
        long[] sent = new long[1];
        Thread later = new Thread(() -> {
            try {
                Thread.sleep(1000); // by now the consumer waits; nothing tells when it does
                sent[0] = System.nanoTime();
                produce(List.of(new ProducerRecord<>(topic, "k", "at last")), Map.of());
            } catch (Exception error) {
                error.printStackTrace();
            }
        });
        later.start();
        TopicPartition partition = new TopicPartition(topic, 0);
        KafkaConsumer<String, String> consumer = consumer(Map.of("fetch.max.wait.ms", "" + LONG_WAIT_MS), "plaintext");
        consumer.assign(List.of(partition));
        consumer.seek(partition, 1);
        offsets(polled(consumer, 1), 1, 2);
        double took = (System.nanoTime() - sent[0]) / 1e9;
        consumer.close(Duration.ZERO); // later clients wait here for the fetch that they have sent ahead
        if (took > 4) throw new AssertionError("the record was there after " + took + " s");
    }

    static void readCommitted() throws Exception {
        equal(consume(filled(20), 0, 20, Map.of("isolation.level", "read_committed"), "plaintext").size(), 20);
    }

    static void outOfRange() throws Exception {
        String topic = filled(5);
        offsets(consume(topic, 1_000_000, 5, Map.of("auto.offset.reset", "earliest"), "plaintext"), 0, 5);
        fails(org.apache.kafka.clients.consumer.OffsetOutOfRangeException.class, () -> consume(topic, 1_000_000, 5));
    }

    // Administering

    static TopicDescription described(String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
    }

    static void createTopic() throws Exception {
        String topic = create(2, Map.of());
        equal(described(topic).partitions().size(), 2);
        fails(TopicExistsException.class, () -> createNamed(topic, 2, Map.of()));
        fails(InvalidTopicException.class, () -> createNamed("no spaces please", 1, Map.of()));
        fails(InvalidConfigurationException.class, () -> createNamed("bad-config", 1, Map.of("retention.ms", "soon")));
        String more = topic + "-more";
        NewTopic byDefault = new NewTopic(more, Optional.empty(), Optional.empty());
        CreateTopicsResult result = admin.createTopics(List.of(byDefault));
        equal(result.numPartitions(more).get(), 3);
        equal(result.config(more).get().get("cleanup.policy").value(), "delete");
        equal(result.topicId(more).get(), described(more).topicId());
    }

    static void describeTopic() throws Exception {
        TopicDescription found = described(create(2, Map.of()));
        equal(found.partitions().get(1).leader().id(), 1);
        equal(found.partitions().get(1).isr().size(), 1);
        fails(UnknownTopicOrPartitionException.class, () -> described("no-such-topic"));
    }

    static void deleteTopic() throws Exception {
        String topic = create(1, Map.of());
        admin.deleteTopics(List.of(topic)).all().get();
        equal(admin.listTopics().names().get().contains(topic), false);
        fails(UnknownTopicOrPartitionException.class, () -> admin.deleteTopics(List.of(topic)).all().get());
    }

    static void createPartitions() throws Exception {
        String topic = create(1, Map.of());
        increase(topic, 4);
        equal(described(topic).partitions().size(), 4);
        fails(InvalidPartitionsException.class, () -> increase(topic, 2));
    }

    static void increase(String topic, int total) throws Exception {
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(total))).all().get();
    }

    static Config configs(ConfigResource.Type type, String name) throws Exception {
        ConfigResource resource = new ConfigResource(type, name);
        DescribeConfigsOptions options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        return admin.describeConfigs(List.of(resource), options).all().get().get(resource);
    }

    static void describeConfigs() throws Exception {
        Config found = configs(ConfigResource.Type.TOPIC, create(1, Map.of("retention.ms", "60000")));
        equal(found.get("retention.ms").value(), "60000");
        equal(found.get("retention.ms").source(), ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG);
        equal(found.get("cleanup.policy").source(), ConfigEntry.ConfigSource.DEFAULT_CONFIG);
        equal(found.get("retention.ms").type(), ConfigEntry.ConfigType.LONG);
        Config broker = configs(ConfigResource.Type.BROKER, "1");
        equal(broker.get("node.id").value(), "1");
        equal(broker.get("num.partitions").source(), ConfigEntry.ConfigSource.STATIC_BROKER_CONFIG);
    }

    static void alterConfigs() throws Exception {
        String topic = create(1, Map.of("retention.ms", "60000"));
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        alter(resource, AlterConfigOp.OpType.APPEND, "cleanup.policy", "compact");
        Config found = configs(ConfigResource.Type.TOPIC, topic);
        equal(found.get("cleanup.policy").value(), "delete,compact");
        equal(found.get("retention.ms").value(), "60000");
        Story wrong = () -> alter(resource, AlterConfigOp.OpType.SET, "retention.ms", "soon");
        fails(InvalidConfigurationException.class, wrong);
    }

    static void alter(ConfigResource resource, AlterConfigOp.OpType how, String name, String value) throws Exception {
        Collection<AlterConfigOp> change = List.of(new AlterConfigOp(new ConfigEntry(name, value), how));
        admin.incrementalAlterConfigs(Map.of(resource, change)).all().get();
    }

    static void deleteRecords() throws Exception {
        String topic = filled(20);
        TopicPartition partition = new TopicPartition(topic, 0);
        DeleteRecordsResult result = admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(15)));
        equal(result.lowWatermarks().get(partition).get().lowWatermark(), 15L);
        offsets(consume(topic, 0, 5), 15, 20);
    }

    static void listOffsets() throws Exception {
        TopicPartition partition = new TopicPartition(filled(20), 0);
        List<Long> found = new ArrayList<>();
        OffsetSpec byTime = OffsetSpec.forTimestamp(START + 4500);
        for (OffsetSpec spec : List.of(OffsetSpec.earliest(), OffsetSpec.latest(), byTime, OffsetSpec.maxTimestamp()))
            found.add(admin.listOffsets(Map.of(partition, spec)).partitionResult(partition).get().offset());
        equal(found, List.of(0L, 20L, 5L, 19L));
    }

    static void describeCluster() throws Exception {
        DescribeClusterOptions options = new DescribeClusterOptions().includeAuthorizedOperations(true);
        DescribeClusterResult found = admin.describeCluster(options);
        equal(found.clusterId().get().length(), 22);
        equal(found.controller().get().id(), 1);
        equal(found.nodes().get().size(), 1);
        equal(found.authorizedOperations().get().contains(AclOperation.CREATE), true);
    }

    static void logDirs() throws Exception {
        String topic = filled(20);
        long size = 0;
        for (LogDirDescription each : admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).values()) {
            ReplicaInfo replica = each.replicaInfos().get(new TopicPartition(topic, 0));
            if (replica != null) size += replica.size();
        }
        if (size <= 0) throw new AssertionError("the log of " + topic + " has no bytes");
    }

    static void acls() throws Exception {
        String topic = "acl-" + UUID.randomUUID();
        ResourcePattern pattern = new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL);
        AclBinding rule = new AclBinding(
            pattern, new AccessControlEntry("User:bob", "*", AclOperation.READ, AclPermissionType.ALLOW));
        AclBindingFilter any = new AclBindingFilter(
            new ResourcePatternFilter(ResourceType.TOPIC, topic, PatternType.ANY), AccessControlEntryFilter.ANY);
        admin.createAcls(List.of(rule)).all().get();
        equal(new ArrayList<>(admin.describeAcls(any).values().get()), List.of(rule));
        equal(admin.deleteAcls(List.of(any)).all().get().size(), 1);
        equal(admin.describeAcls(any).values().get().size(), 0);
    }

    static void quotas() throws Exception {
        ClientQuotaEntity entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "user-" + UUID.randomUUID()));
        ClientQuotaAlteration.Op rate = new ClientQuotaAlteration.Op("producer_byte_rate", 1024.0);
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(rate)))).all().get();
        String name = entity.entries().get(ClientQuotaEntity.USER);
        ClientQuotaFilterComponent user = ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.USER, name);
        Object found = admin.describeClientQuotas(ClientQuotaFilter.containsOnly(List.of(user))).entities().get();
        equal(found, Map.of(entity, Map.of("producer_byte_rate", 1024.0)));
    }

    static void scramCredentials() throws Exception {
        String user = "user-" + UUID.randomUUID();
        ScramCredentialInfo info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096);
        admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion(user, info, "secret"))).all().get();
        DescribeUserScramCredentialsResult found = admin.describeUserScramCredentials(List.of(user));
        equal(found.description(user).get().credentialInfos(), List.of(info));
    }

    static void quorum() throws Exception {
        QuorumInfo found = admin.describeMetadataQuorum().quorumInfo().get();
        equal(found.leaderId(), 1);
        equal(found.voters().size(), 1);
    }

    static void features() throws Exception {
        FeatureMetadata found = admin.describeFeatures().featureMetadata().get();
        short level = found.finalizedFeatures().get("metadata.version").maxVersionLevel();
        if (where.get("release").equals("3.3")) equal((int) level, 7);
        else if (level <= 7) throw new AssertionError("metadata.version is " + level);
    }

    static void producers() throws Exception {
        String topic = create(1, Map.of());
        produce(to(topic, some(5)), Map.of("enable.idempotence", "true"));
        TopicPartition partition = new TopicPartition(topic, 0);
        DescribeProducersResult asked = admin.describeProducers(List.of(partition));
        List<ProducerState> found = asked.partitionResult(partition).get().activeProducers();
        equal(found.size(), 1);
        equal(found.get(0).lastSequence(), 4);
    }

    static void electLeaders() throws Exception {
        TopicPartition partition = new TopicPartition(create(1, Map.of()), 0);
        ElectLeadersResult asked = admin.electLeaders(ElectionType.PREFERRED, Set.of(partition));
        Throwable answer = asked.partitions().get().get(partition).orElse(null);
        if (!(answer instanceof ElectionNotNeededException)) throw new AssertionError("found " + answer);
    }

    static void reassignments() throws Exception {
        TopicPartition partition = new TopicPartition(create(1, Map.of()), 0);
        reassign(partition, 1);
        equal(admin.listPartitionReassignments().reassignments().get(), Collections.emptyMap());
        fails(InvalidReplicaAssignmentException.class, () -> reassign(partition, 9));
    }

    static void reassign(TopicPartition partition, int node) throws Exception {
        NewPartitionReassignment target = new NewPartitionReassignment(List.of(node));
        admin.alterPartitionReassignments(Map.of(partition, Optional.of(target))).all().get();
    }

    static void groups() throws Exception {
        String group = "group-" + UUID.randomUUID();
        TopicPartition first = new TopicPartition(create(2, Map.of()), 0);
        TopicPartition second = new TopicPartition(first.topic(), 1);
        Map<TopicPartition, OffsetAndMetadata> offsets =
            Map.of(first, new OffsetAndMetadata(3, "metadata"), second, new OffsetAndMetadata(2));
        admin.alterConsumerGroupOffsets(group, offsets).all().get();
        equal(committed(group), offsets);
        equal(listed(group), true);
        admin.deleteConsumerGroupOffsets(group, Set.of(second)).all().get();
        equal(committed(group), Map.of(first, offsets.get(first)));
        member(group, first.topic(), () -> {
            ConsumerGroupDescription found = describedGroup(group);
            equal(found.state().toString(), "Stable");
            equal(found.members().iterator().next().assignment().topicPartitions(), Set.of(first, second));
            fails(GroupNotEmptyException.class, () -> admin.deleteConsumerGroups(List.of(group)).all().get());
            fails(UnknownMemberIdException.class, () -> admin.alterConsumerGroupOffsets(group, offsets).all().get());
            fails(
                GroupSubscribedToTopicException.class,
                () -> admin.deleteConsumerGroupOffsets(group, Set.of(first)).all().get());
        });
        equal(describedGroup(group).members().size(), 1); // a static member that is closed stays
        MemberToRemove gone = new MemberToRemove(group);
        RemoveMembersFromConsumerGroupOptions these = new RemoveMembersFromConsumerGroupOptions(List.of(gone));
        admin.removeMembersFromConsumerGroup(group, these).all().get();
        equal(describedGroup(group).state().toString(), "Empty");
        admin.deleteConsumerGroups(List.of(group)).all().get();
        equal(listed(group), false);
    }

    static void member(String group, String topic, Story story) throws Exception {
        Map<String, String> config =
            Map.of("group.id", group, "group.instance.id", group, "auto.offset.reset", "earliest");
        try (KafkaConsumer<String, String> consumer = consumer(config, "plaintext")) {
            consumer.subscribe(List.of(topic));
            long deadline = System.nanoTime() + SECONDS_MAX * 1_000_000_000L;
            while (consumer.assignment().isEmpty() && System.nanoTime() < deadline)
                consumer.poll(Duration.ofMillis(50));
            story.run();
        }
    }

    static Map<TopicPartition, OffsetAndMetadata> committed(String group) throws Exception {
        return admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
    }

    static boolean listed(String group) throws Exception {
        return admin.listConsumerGroups().all().get().stream().anyMatch(each -> each.groupId().equals(group));
    }

    static ConsumerGroupDescription describedGroup(String group) throws Exception {
        return admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
    }

    static void transactions() throws Exception {
        TopicPartition partition = new TopicPartition(create(1, Map.of()), 0);
        String id = "id-" + UUID.randomUUID();
        try (KafkaProducer<String, String> producer = opened(id, partition)) {
            equal(transactionState(id), "Ongoing");
            Object listed = admin.listTransactions().all().get().stream()
                .filter(each -> each.transactionalId().equals(id))
                .map(each -> each.state().toString())
                .collect(Collectors.toList());
            equal(listed, List.of("Ongoing"));
            equal(admin.describeTransactions(List.of(id)).description(id).get().topicPartitions(), Set.of(partition));
            fence(id);
            fails(ProducerFencedException.class, producer::commitTransaction);
        }
        equal(transactionState(id), "Empty"); // the open one was aborted for the producer that would come next
        abortOne(partition);
    }

    /** A 3.3 client gives up when it is told that the open transaction is being aborted. */
    static void fence(String id) throws Exception {
        long deadline = System.nanoTime() + SECONDS_MAX * 1_000_000_000L;
        while (true) {
            try {
                admin.fenceProducers(List.of(id)).all().get();
                return;
            } catch (ExecutionException error) {
                boolean mayRetry = error.getCause() instanceof ConcurrentTransactionsException;
                if (!mayRetry || System.nanoTime() > deadline) throw error;
            }
        }
    }

    static KafkaProducer<String, String> opened(String id, TopicPartition partition) throws Exception {
        Map<String, String> config = Map.of("transactional.id", id, "enable.idempotence", "true");
        KafkaProducer<String, String> producer = producer(config, "plaintext", "alice-secret");
        producer.initTransactions();
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(partition.topic(), partition.partition(), "k", "v")).get();
        return producer;
    }

    /** Of a transaction that holds a partition up: its marker is written there, whatever its coordinator knows. */
    static void abortOne(TopicPartition partition) throws Exception {
        try (KafkaProducer<String, String> producer = opened("id-" + UUID.randomUUID(), partition)) {
            ProducerState open = openIn(partition).get(0);
            int coordinatorEpoch = open.coordinatorEpoch().orElse(0);
            short epoch = (short) open.producerEpoch();
            admin.abortTransaction(new AbortTransactionSpec(partition, open.producerId(), epoch, coordinatorEpoch))
                .all().get();
            equal(openIn(partition), List.of());
        }
    }

    static List<ProducerState> openIn(TopicPartition partition) throws Exception {
        List<ProducerState> open =
            admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers();
        return open.stream()
            .filter(each -> each.currentTransactionStartOffset().isPresent())
            .collect(Collectors.toList());
    }

    static String transactionState(String id) throws Exception {
        return admin.describeTransactions(List.of(id)).description(id).get().state().toString();
    }

    // Security

    static void through(String listener) throws Exception {
        String topic = create(1, Map.of());
        produce(to(topic, some(50)), Map.of(), listener, "alice-secret");
        equal(consume(topic, 0, 50, Map.of(), listener).size(), 50);
    }

    static void saslPlainWrong() throws Exception {
        String topic = create(1, Map.of());
        fails(SaslAuthenticationException.class, () -> produce(to(topic, some(1)), Map.of(), "sasl", "wrong"));
    }
}
