/** Java's consumers and producers as members and copiers: takes and says what `python/members.py` tells of. */

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Members {
    static final int ABORTED_EVERY = 3;
    static final int POLLED_MAX = 5;
    static final int SECONDS_MAX = 60;
    static final String PACKAGE = "org.apache.kafka.clients.consumer.";
    static final Map<String, String> ASSIGNORS = Map.of(
        "range", PACKAGE + "RangeAssignor",
        "roundrobin", PACKAGE + "RoundRobinAssignor",
        "sticky", PACKAGE + "StickyAssignor",
        "cooperative-sticky", PACKAGE + "CooperativeStickyAssignor");

    static String bootstrap;
    static final Map<String, Task> tasks = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        bootstrap = arguments[0];
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            List<String> words = Arrays.asList(line.split("\t"));
            String verb = words.get(0);
            if (verb.equals("leave") || verb.equals("go")) tasks.get(words.get(1)).told.countDown();
            else start(verb, words.get(1), words.subList(2, words.size()));
        }
        Runtime.getRuntime().halt(0); // whoever started this is gone
    }

    static void start(String verb, String name, List<String> pairs) {
        Task task = new Task(name);
        for (String pair : pairs) task.options.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        tasks.put(name, task);
        Thread thread = new Thread(() -> task.run(verb));
        thread.setDaemon(true);
        thread.start();
    }

    /** One member or copier, in a thread of its own. */
    static class Task implements ConsumerRebalanceListener {
        final String name;
        final Map<String, String> options = new HashMap<>();
        final CountDownLatch told = new CountDownLatch(1);
        boolean hasRebalanced;

        Task(String name) {
            this.name = name;
        }

        void say(String... words) {
            synchronized (System.out) {
                System.out.println(name + "\t" + String.join("\t", words));
                System.out.flush();
            }
        }

        void run(String verb) {
            try {
                if (verb.equals("join")) join();
                else if (verb.equals("copy")) copy();
                else read();
            } catch (Throwable error) {
                error.printStackTrace();
                say("failed", error.toString().replaceAll("\\s+", " "));
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
            hasRebalanced = true;
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
            hasRebalanced = true;
        }

        KafkaConsumer<String, String> consumer() {
            Map<String, Object> config = new HashMap<>();
            config.put("bootstrap.servers", bootstrap);
            config.put("auto.offset.reset", "earliest");
            config.put("enable.auto.commit", "false");
            config.put("isolation.level", "read_committed");
            config.put("max.poll.records", options.containsKey("id") ? POLLED_MAX : 100);
            config.put("metadata.max.age.ms", "1000");
            if (options.containsKey("group")) config.put("group.id", options.get("group"));
            if (options.containsKey("instance")) config.put("group.instance.id", options.get("instance"));
            if (options.containsKey("protocol")) {
                config.put("group.protocol", options.get("protocol"));
                if (options.containsKey("assignor")) config.put("group.remote.assignor", options.get("assignor"));
            } else if (options.containsKey("assignor")) {
                config.put("partition.assignment.strategy", ASSIGNORS.get(options.get("assignor")));
                config.put("session.timeout.ms", options.get("session_ms"));
                config.put("heartbeat.interval.ms", "500");
            }
            return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        }

        void join() throws Exception {
            KafkaConsumer<String, String> consumer = consumer();
            subscribe(consumer);
            while (told.getCount() > 0) {
                List<ConsumerRecord<String, String>> found = polled(consumer);
                if (!found.isEmpty()) commit(consumer);
                for (ConsumerRecord<String, String> each : found)
                    say("read", each.topic() + ":" + each.partition() + ":" + each.offset());
                if (hasRebalanced) sayAssigned(consumer);
            }
            consumer.close();
            say("left");
        }

        /** A pattern that the broker is asked to match is a class of 4.x. */
        void subscribe(KafkaConsumer<String, String> consumer) throws Exception {
            if (options.containsKey("topic")) {
                consumer.subscribe(List.of(options.get("topic")), this);
                return;
            }
            Class<?> kind = Class.forName(PACKAGE + "SubscriptionPattern");
            Object pattern = kind.getConstructor(String.class).newInstance(options.get("pattern"));
            KafkaConsumer.class
                .getMethod("subscribe", kind, ConsumerRebalanceListener.class)
                .invoke(consumer, pattern, this);
        }

        void commit(KafkaConsumer<String, String> consumer) {
            try {
                consumer.commitSync();
            } catch (CommitFailedException | RebalanceInProgressException error) {
                System.err.println(error); // whoever has the partition now reads it again
            }
        }

        void sayAssigned(KafkaConsumer<String, String> consumer) {
            hasRebalanced = false;
            List<String> words = new ArrayList<>(List.of("assigned"));
            TreeSet<String> places = new TreeSet<>();
            for (TopicPartition each : consumer.assignment()) places.add(each.topic() + ":" + each.partition());
            words.addAll(places);
            say(words.toArray(new String[0]));
        }

        List<ConsumerRecord<String, String>> polled(KafkaConsumer<String, String> consumer) {
            List<ConsumerRecord<String, String>> found = new ArrayList<>();
            consumer.poll(Duration.ofMillis(100)).forEach(found::add);
            return found;
        }

        void copy() throws Exception {
            KafkaProducer<String, String> producer = producer();
            producer.initTransactions();
            KafkaConsumer<String, String> consumer = consumer();
            consumer.subscribe(List.of(options.get("source")));
            int number = 0;
            while (committed(consumer) < Long.parseLong(options.get("records"))) {
                List<ConsumerRecord<String, String>> found = polled(consumer);
                if (!found.isEmpty()) copyOnce(producer, consumer, found, ++number);
            }
            consumer.close();
            say("done");
        }

        void copyOnce(
                KafkaProducer<String, String> producer,
                KafkaConsumer<String, String> consumer,
                List<ConsumerRecord<String, String>> found,
                int number) throws Exception {
            producer.beginTransaction();
            for (ConsumerRecord<String, String> each : found) send(producer, each.value());
            if (number == Integer.parseInt(options.getOrDefault("stall", "0"))) {
                producer.flush();
                say("open");
                told.await();
                send(producer, "from a zombie");
            }
            if (number % ABORTED_EVERY == 0) {
                producer.abortTransaction();
                rewind(consumer);
                say("aborted");
            } else {
                producer.sendOffsetsToTransaction(positions(consumer), consumer.groupMetadata());
                producer.commitTransaction();
                say("committed");
            }
        }

        void send(KafkaProducer<String, String> producer, String value) {
            producer.send(new ProducerRecord<>(options.get("target"), value));
        }

        KafkaProducer<String, String> producer() {
            Map<String, Object> config = new HashMap<>();
            config.put("bootstrap.servers", bootstrap);
            config.put("transactional.id", options.get("id"));
            return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        }

        Map<TopicPartition, OffsetAndMetadata> positions(KafkaConsumer<String, String> consumer) {
            Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
            for (TopicPartition each : consumer.assignment())
                positions.put(each, new OffsetAndMetadata(consumer.position(each)));
            return positions;
        }

        long committed(KafkaConsumer<String, String> consumer) {
            long sum = 0;
            for (OffsetAndMetadata each : consumer.committed(places(options.get("source"))).values())
                sum += each == null ? 0 : each.offset();
            return sum;
        }

        void rewind(KafkaConsumer<String, String> consumer) {
            consumer.committed(consumer.assignment()).forEach((place, offset) ->
                consumer.seek(place, offset == null ? 0 : offset.offset()));
        }

        Set<TopicPartition> places(String topic) {
            Set<TopicPartition> places = new HashSet<>();
            for (int n = 0; n < Integer.parseInt(options.get("partitions")); n++)
                places.add(new TopicPartition(topic, n));
            return places;
        }

        void read() {
            KafkaConsumer<String, String> consumer = consumer();
            Set<TopicPartition> places = places(options.get("topic"));
            consumer.assign(places);
            consumer.seekToBeginning(places);
            Map<TopicPartition, Long> ends = consumer.endOffsets(places);
            List<String> words = new ArrayList<>(List.of("values"));
            long deadline = System.nanoTime() + SECONDS_MAX * 1_000_000_000L;
            while (places.stream().anyMatch(each -> consumer.position(each) < ends.get(each))) {
                if (System.nanoTime() > deadline) throw new KafkaException("not at the end: " + ends);
                for (ConsumerRecord<String, String> each : polled(consumer)) words.add(each.value());
            }
            consumer.close();
            say(words.toArray(new String[0]));
        }
    }
}
