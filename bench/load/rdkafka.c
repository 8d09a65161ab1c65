/* rdkafka produce PORT TOPIC RECORDS VALUE_BYTES | consume PORT TOPIC RECORDS VALUE_BYTES | end_to_end PORT TOPIC RECORDS PER_SECOND

   The same through librdkafka with its default batching, as most clients outside Java use it. */
#define _GNU_SOURCE
#include <librdkafka/rdkafka.h>
#include <stdatomic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long delivered, failed;
static atomic_long consumed;
static double *latencies;

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque) {
    (void)client, (void)opaque;
    delivered++;
    failed += message->err != RD_KAFKA_RESP_ERR_NO_ERROR;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(conf, name, value, error, sizeof error) != RD_KAFKA_CONF_OK) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
}

static rd_kafka_t *client(rd_kafka_type_t type, const char *port, int is_prompt) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    char address[64], error[512];
    snprintf(address, sizeof address, "127.0.0.1:%s", port);
    set(conf, "bootstrap.servers", address);
    set(conf, "broker.address.family", "v4");
    if (type == RD_KAFKA_PRODUCER) {
        set(conf, "acks", "1");
        set(conf, "queue.buffering.max.messages", "2000000");
        if (is_prompt) set(conf, "linger.ms", "0");
        rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    } else {
        set(conf, "fetch.wait.max.ms", "500");
    }
    rd_kafka_t *made = rd_kafka_new(type, conf, error, sizeof error);
    if (!made) fprintf(stderr, "%s\n", error), exit(1);
    return made;
}

static void produce_one(rd_kafka_t *producer, const char *topic, const void *value, size_t size) {
    for (;;) {
        rd_kafka_resp_err_t error =
            rd_kafka_producev(producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
                              RD_KAFKA_V_VALUE((void *)value, size), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
        if (!error) return;
        if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) fprintf(stderr, "%s\n", rd_kafka_err2str(error)), exit(1);
        rd_kafka_poll(producer, 5);
    }
}

/* Delivered before the clock runs: finding the leader has timers of its own. */
static void first_record(rd_kafka_t *producer, const char *topic, const void *value, size_t size) {
    produce_one(producer, topic, value, size);
    while (!delivered) rd_kafka_poll(producer, 10);
}

/* Partition 0 from an offset on, without a group. */
static rd_kafka_queue_t *reading(rd_kafka_t *consumer, const char *topic, int64_t offset) {
    rd_kafka_queue_t *queue = rd_kafka_queue_new(consumer);
    rd_kafka_consume_start_queue(rd_kafka_topic_new(consumer, topic, NULL), 0, offset, queue);
    return queue;
}

static void report(long records, double seconds, double mb) {
    printf("{\"requests\": %ld, \"failed\": %ld, \"seconds\": %.4f, \"mb\": %.3f, \"client_cpu\": 0, ", records, failed, seconds, mb);
}

static int produce(char **arguments) {
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, arguments[2], 0);
    long records = atol(arguments[4]);
    int size = atoi(arguments[5]);
    char *value = malloc(size);
    for (int at = 0; at < size; at++) value[at] = 'a' + at * 17 % 26;
    first_record(producer, arguments[3], value, size);
    double started = now_seconds();
    for (long index = 1; index < records; index++) {
        produce_one(producer, arguments[3], value, size);
        if (index % 1024 == 0) rd_kafka_poll(producer, 0);
    }
    while (delivered < records) rd_kafka_poll(producer, 100);
    report(records, now_seconds() - started, records * (double)size / 1e6);
    printf("\"p50_us\": 0, \"p99_us\": 0}\n");
    return 0;
}

static int consume(char **arguments) {
    rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, arguments[2], 0);
    rd_kafka_queue_t *queue = reading(consumer, arguments[3], RD_KAFKA_OFFSET_BEGINNING);
    rd_kafka_message_t *messages[4096];
    long records = atol(arguments[4]);
    double started = 0; /* when the first records come: finding the leader has timers of its own */
    while (consumed < records) {
        long count = rd_kafka_consume_batch_queue(queue, 1000, messages, 4096);
        if (count && !started) started = now_seconds();
        for (long index = 0; index < count; index++) {
            if (!messages[index]->err) consumed++;
            else failed += messages[index]->err != RD_KAFKA_RESP_ERR__PARTITION_EOF;
            rd_kafka_message_destroy(messages[index]);
        }
    }
    report(consumed, now_seconds() - started, consumed * atof(arguments[5]) / 1e6);
    printf("\"p50_us\": 0, \"p99_us\": 0}\n");
    return 0;
}

struct reader {
    rd_kafka_queue_t *queue;
    long records;
};

static void *read_latencies(void *opaque) {
    struct reader *reader = opaque;
    while (consumed < reader->records) {
        rd_kafka_message_t *message = rd_kafka_consume_queue(reader->queue, 1000);
        double sent;
        if (!message) continue;
        if (!message->err && message->len >= sizeof sent) {
            memcpy(&sent, message->payload, sizeof sent);
            latencies[consumed++] = now_seconds() - sent;
        }
        rd_kafka_message_destroy(message);
    }
    return NULL;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int end_to_end(char **arguments) {
    long records = atol(arguments[4]);
    rd_kafka_t *producer = client(RD_KAFKA_PRODUCER, arguments[2], 1), *consumer = client(RD_KAFKA_CONSUMER, arguments[2], 1);
    struct reader reader = {reading(consumer, arguments[3], RD_KAFKA_OFFSET_END), records};
    char value[100] = {0};
    pthread_t thread;
    latencies = malloc(records * sizeof(double));
    first_record(producer, arguments[3], value, 1); /* too short for a time stamp: it does not count */
    nanosleep(&(struct timespec){2, 0}, NULL); /* the consumer finds the end of the log */
    pthread_create(&thread, NULL, read_latencies, &reader);
    double started = now_seconds(), period = 1 / atof(arguments[5]);
    for (long index = 0; index < records; index++) {
        double due = started + index * period;
        struct timespec time = {(time_t)due, (long)((due - (time_t)due) * 1e9)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
        double sent = now_seconds();
        memcpy(value, &sent, sizeof sent);
        produce_one(producer, arguments[3], value, sizeof value);
        rd_kafka_poll(producer, 0);
    }
    pthread_join(thread, NULL);
    qsort(latencies, records, sizeof(double), compare);
    report(records, now_seconds() - started, 0);
    printf("\"p50_us\": %.0f, \"p99_us\": %.0f}\n", latencies[records / 2] * 1e6, latencies[records * 99 / 100] * 1e6);
    return 0;
}

int main(int count, char **arguments) {
    if (count != 6) return fprintf(stderr, "rdkafka: five arguments, see the source\n"), 2;
    int status = !strcmp(arguments[1], "produce") ? produce(arguments)
                 : !strcmp(arguments[1], "consume") ? consume(arguments)
                                                    : end_to_end(arguments);
    fflush(stdout);
    _Exit(status); /* closing the clients in order would only cost time */
}
