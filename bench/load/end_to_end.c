/* end_to_end PORT TOPIC PER_SECOND SECONDS

   One record per tick: the time from the send of its Produce request until the consumer, which waits for it in a long
   poll on a connection of its own, has it. */
#include "wire.h"

#include <poll.h>

static void sleep_until(double due) {
    struct timespec time = {(time_t)due, (long)((due - (time_t)due) * 1e9)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void ask(int consumer, const char *topic, int64_t offset) {
    struct writer request = fetch_request(topic, 0, offset, 1 << 20);
    send_all(consumer, request.data, request.size);
    free(request.data);
}

int main(int count, char **arguments) {
    if (count != 5) return fprintf(stderr, "end_to_end: four arguments, see the source\n"), 2;
    int port = atoi(arguments[1]);
    int producer = connect_to(port), consumer = connect_to(port);
    const char *topic = arguments[2];
    double period = 1 / atof(arguments[3]);
    long ticks = atof(arguments[4]) * atof(arguments[3]), failed = 0;
    struct writer produce = produce_request(topic, 0, 1, 1, 100);
    struct samples latencies = samples_new(), acks = samples_new();
    uint8_t *buffer = NULL;
    size_t capacity = 0;
    ask(consumer, topic, 0);
    receive_frame(consumer, &buffer, &capacity);
    struct fetched found = read_fetch_response(buffer);
    int64_t offset = found.next_offset < 0 ? 0 : found.next_offset; /* behind what made the topic writable */
    double started = now_seconds(), cpu = cpu_seconds();
    for (long tick = 0; tick < ticks; tick++) {
        ask(consumer, topic, offset);
        sleep_until(started + tick * period);
        double sent = now_seconds();
        send_all(producer, produce.data, produce.size);
        struct pollfd ends[2] = {{consumer, POLLIN, 0}, {producer, POLLIN, 0}};
        for (int waiting = 2; waiting;) {
            if (poll(ends, 2, 5000) <= 0) die("no answer within 5 s");
            if (ends[1].revents) {
                receive_frame(producer, &buffer, &capacity);
                samples_add(&acks, now_seconds() - sent);
                failed += produce_error(buffer - 4, topic) != 0; /* which counts from the length */
                ends[1].fd = -1;
                waiting--;
            }
            if (ends[0].revents) {
                receive_frame(consumer, &buffer, &capacity);
                double came = now_seconds();
                found = read_fetch_response(buffer);
                failed += found.error != 0;
                if (found.next_offset < 0) { /* the wait was over before the record came */
                    ask(consumer, topic, offset);
                    continue;
                }
                samples_add(&latencies, came - sent);
                offset = found.next_offset;
                ends[0].fd = -1;
                waiting--;
            }
        }
    }
    cpu = cpu_seconds() - cpu;
    samples_sort(&latencies);
    samples_sort(&acks);
    printf("{\"requests\": %ld, \"failed\": %ld, \"seconds\": %.4f, \"mb\": 0, \"client_cpu\": %.3f, ", ticks, failed,
           now_seconds() - started, cpu);
    printf("\"p50_us\": %.0f, \"p99_us\": %.0f, ", samples_quantile(&latencies, .5), samples_quantile(&latencies, .99));
    printf("\"ack_p50_us\": %.0f, \"ack_p99_us\": %.0f}\n", samples_quantile(&acks, .5), samples_quantile(&acks, .99));
    return 0;
}
