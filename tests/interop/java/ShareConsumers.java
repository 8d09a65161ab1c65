/** Kafka's share consumer, told what to do a line at a time: see `test_share_consumers.py`. */

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

public class ShareConsumers {
    static final Map<String, KafkaShareConsumer<String, String>> consumers = new HashMap<>();
    static final Map<String, Map<String, ConsumerRecord<String, String>>> held = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            System.out.println(done(arguments[0], words));
            System.out.flush();
        }
        Runtime.getRuntime().halt(0); // whoever started this is gone
    }

    static String done(String bootstrap, String[] words) {
        try {
            switch (words[0]) {
                case "open": return open(bootstrap, words[1], words[2], words[3]);
                case "poll": return poll(words[1], Integer.parseInt(words[2]));
                case "close": consumers.remove(words[1]).close(Duration.ofSeconds(10)); return "closed";
                default: return acknowledge(words[1], AcknowledgeType.valueOf(words[0].toUpperCase()), words);
            }
        } catch (Exception error) {
            return "failed " + error;
        }
    }

    static String open(String bootstrap, String name, String group, String topic) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("group.id", group);
        properties.put("share.acknowledgement.mode", "explicit");
        KafkaShareConsumer<String, String> consumer =
            new KafkaShareConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(topic));
        consumers.put(name, consumer);
        held.put(name, new HashMap<>());
        return "open";
    }

    /** Until something comes: values with their delivery counts. */
    static String poll(String name, int seconds) {
        long until = System.nanoTime() + seconds * 1_000_000_000L;
        List<String> got = new ArrayList<>();
        while (got.isEmpty() && System.nanoTime() < until) {
            for (ConsumerRecord<String, String> record : consumers.get(name).poll(Duration.ofMillis(500))) {
                held.get(name).put(record.value(), record);
                got.add(record.value() + ":" + record.deliveryCount().get());
            }
        }
        return "got " + String.join(" ", got);
    }

    static String acknowledge(String name, AcknowledgeType type, String[] words) {
        KafkaShareConsumer<String, String> consumer = consumers.get(name);
        for (int at = 2; at < words.length; at++) consumer.acknowledge(held.get(name).get(words[at]), type);
        StringBuilder errors = new StringBuilder();
        consumer.commitSync().forEach((partition, error) -> error.ifPresent(errors::append));
        return "acknowledged " + errors;
    }
}
