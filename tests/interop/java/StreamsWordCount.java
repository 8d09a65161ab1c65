/** Counts words with Kafka Streams in a streams group (KIP-1071), told what to do a line at a time: see
 *  `test_streams_group.py`. Each instance is a process of its own to the broker: it has its own state directory. */

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Produced;

public class StreamsWordCount {
    static final Map<String, KafkaStreams> instances = new HashMap<>();
    static String bootstrap;

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            System.out.println("> " + done(line.split(" ")));
            System.out.flush();
        }
        Runtime.getRuntime().halt(0); // whoever started this is gone
    }

    static String done(String[] words) {
        try {
            switch (words[0]) {
                case "start": return start(words[1], words[2]);
                case "state": return instances.get(words[1]).state().toString();
                case "close": instances.remove(words[1]).close(Duration.ofSeconds(20)); return "closed";
                case "write": return write(Arrays.copyOfRange(words, 1, words.length));
                case "counts": return counts();
                default: return described(words[1]);
            }
        } catch (Exception error) {
            return "failed " + error;
        }
    }

    static String start(String name, String application) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("application.id", application);
        properties.put("group.protocol", "streams");
        properties.put("commit.interval.ms", "100");
        properties.put("processing.guarantee", "exactly_once_v2");
        properties.put("state.dir", Files.createTempDirectory("word-count").toString());
        properties.put("default.key.serde", Serdes.StringSerde.class.getName());
        properties.put("default.value.serde", Serdes.StringSerde.class.getName());
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("words")
            .groupBy((key, word) -> word)
            .count()
            .toStream()
            .to("counts", Produced.with(Serdes.String(), Serdes.Long()));
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        instances.put(name, streams);
        streams.start();
        return "started";
    }

    static String write(String[] words) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        try (var producer = new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            for (String word : words) producer.send(new ProducerRecord<>("words", word, word)).get();
        }
        return "written";
    }

    /** The last count of each word. */
    static String counts() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("isolation.level", "read_committed");
        Map<String, Long> last = new TreeMap<>();
        try (var consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new LongDeserializer())) {
            var partitions = consumer.partitionsFor("counts").stream()
                .map(each -> new org.apache.kafka.common.TopicPartition(each.topic(), each.partition())).toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            for (int looks = 0; looks < 5; looks++)
                for (ConsumerRecord<String, Long> each : consumer.poll(Duration.ofMillis(200)))
                    last.put(each.key(), each.value());
        }
        return last.toString();
    }

    static String described(String application) throws Exception {
        try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap))) {
            StreamsGroupDescription group =
                admin.describeStreamsGroups(List.of(application)).all().get().get(application);
            int tasks = group.members().stream()
                .flatMap(member -> member.assignment().activeTasks().stream())
                .mapToInt(ids -> ids.partitions().size()).sum();
            return group.groupState() + " " + group.members().size() + " members " + tasks + " tasks";
        }
    }
}
