/* fetch PORT TOPIC BYTES_MAX SECONDS

   Reads partition 0 from its beginning to its end, over and over, one request at a time. */
#include "wire.h"

int main(int count, char **arguments) {
    if (count != 5) return fprintf(stderr, "fetch: four arguments, see the source\n"), 2;
    int connection = connect_to(atoi(arguments[1])), bytes_max = atoi(arguments[3]);
    const char *topic = arguments[2];
    struct samples latencies = samples_new();
    uint8_t *buffer = NULL;
    size_t capacity = 0;
    long requests = 0;
    double bytes = 0, started = now_seconds(), cpu = cpu_seconds(), end = started + atof(arguments[4]);
    for (int64_t offset = 0; now_seconds() < end; requests++) {
        struct writer request = fetch_request(topic, 0, offset, bytes_max);
        double asked = now_seconds();
        send_all(connection, request.data, request.size);
        receive_frame(connection, &buffer, &capacity);
        samples_add(&latencies, now_seconds() - asked);
        free(request.data);
        struct fetched found = read_fetch_response(buffer);
        if (found.error) return fprintf(stderr, "fetch: error %d\n", found.error), 1;
        bytes += found.batch_bytes;
        offset = found.next_offset < 0 || found.next_offset >= found.high_watermark ? 0 : found.next_offset;
    }
    double took = now_seconds() - started;
    cpu = cpu_seconds() - cpu;
    samples_sort(&latencies);
    printf("{\"requests\": %ld, \"failed\": 0, \"seconds\": %.4f, \"mb\": %.3f, \"client_cpu\": %.3f, ", requests, took,
           bytes / 1e6, cpu);
    printf("\"p50_us\": %.0f, \"p99_us\": %.0f}\n", samples_quantile(&latencies, .5), samples_quantile(&latencies, .99));
    return 0;
}
