/* storm PORT TOPIC PARTITIONS CONNECTIONS DEPTH RECORDS VALUE_BYTES ACKS SECONDS REQUESTS_MAX

   Produce requests of one batch each, as fast as the broker takes them: each connection keeps DEPTH of them in flight.
   All requests of a connection are the same bytes, so what it sends is one endless repetition of them. */
#include "wire.h"

#include <fcntl.h>
#include <sys/epoll.h>

#define RESPONSES_BYTES (64 * 1024)

struct client {
    int socket;
    uint8_t *repeated;   /* the request, so often that one send may hold several */
    size_t request_bytes, repeated_bytes;
    uint64_t sent_bytes; /* in all */
    long answered;
    double *sent_at;     /* of the last DEPTH requests */
    uint8_t input[RESPONSES_BYTES];
    size_t input_bytes;
};

static const char *topic;
static int depth;
static long answered, failed;
static struct samples latencies;

static void client_open(struct client *client, int port, int partition, int acks, int records, int value_bytes) {
    struct writer request = produce_request(topic, partition, acks, records, value_bytes), repeated = {0};
    for (int copy = 0; copy <= depth; copy++) put_bytes(&repeated, request.data, request.size);
    client->repeated = repeated.data;
    client->repeated_bytes = repeated.size;
    client->request_bytes = request.size;
    client->sent_at = calloc(depth, sizeof(double));
    client->socket = connect_to(port);
    fcntl(client->socket, F_SETFL, O_NONBLOCK);
    free(request.data);
}

static void client_send(struct client *client) {
    for (;;) {
        uint64_t allowed = (uint64_t)(client->answered + depth) * client->request_bytes;
        size_t from = client->sent_bytes % client->request_bytes;
        size_t size = allowed - client->sent_bytes;
        if (size > client->repeated_bytes - from) size = client->repeated_bytes - from;
        if (!size) return;
        ssize_t sent = send(client->socket, client->repeated + from, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) return;
        if (sent <= 0) die("send");
        long first = (client->sent_bytes + client->request_bytes - 1) / client->request_bytes;
        client->sent_bytes += sent;
        double now = now_seconds();
        for (long index = first; index * client->request_bytes < client->sent_bytes; index++)
            client->sent_at[index % depth] = now;
    }
}

static void client_receive(struct client *client) {
    for (;;) {
        ssize_t received =
            recv(client->socket, client->input + client->input_bytes, RESPONSES_BYTES - client->input_bytes, 0);
        if (received < 0 && errno == EAGAIN) return;
        if (received <= 0) die("the broker has closed the connection");
        client->input_bytes += received;
        double now = now_seconds();
        size_t at = 0;
        while (client->input_bytes - at >= 4) {
            size_t whole = 4 + get_integer(client->input + at, 4);
            if (client->input_bytes - at < whole) break;
            failed += produce_error(client->input + at, topic) != 0;
            samples_add(&latencies, now - client->sent_at[client->answered % depth]);
            client->answered++;
            answered++;
            at += whole;
        }
        memmove(client->input, client->input + at, client->input_bytes - at);
        client->input_bytes -= at;
    }
}

int main(int count, char **arguments) {
    if (count != 11) return fprintf(stderr, "storm: ten arguments, see the source\n"), 2;
    int port = atoi(arguments[1]), partitions = atoi(arguments[3]), connections = atoi(arguments[4]);
    topic = arguments[2];
    depth = atoi(arguments[5]);
    int records = atoi(arguments[6]), value_bytes = atoi(arguments[7]), acks = atoi(arguments[8]);
    double seconds = atof(arguments[9]);
    long requests_max = atol(arguments[10]);
    struct client *clients = calloc(connections, sizeof *clients);
    int poller = epoll_create1(0);
    latencies = samples_new();
    for (int index = 0; index < connections; index++) {
        client_open(&clients[index], port, index % partitions, acks, records, value_bytes);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = &clients[index]};
        epoll_ctl(poller, EPOLL_CTL_ADD, clients[index].socket, &event);
    }
    double started = now_seconds(), cpu = cpu_seconds(), end = started + seconds;
    struct epoll_event events[256];
    while (now_seconds() < end && (!requests_max || answered < requests_max)) {
        int ready = epoll_wait(poller, events, 256, 100);
        for (int index = 0; index < ready; index++) {
            client_receive(events[index].data.ptr);
            client_send(events[index].data.ptr);
        }
    }
    double took = now_seconds() - started;
    cpu = cpu_seconds() - cpu;
    samples_sort(&latencies);
    printf("{\"requests\": %ld, \"failed\": %ld, \"seconds\": %.4f, \"mb\": %.3f, \"client_cpu\": %.3f, ", answered,
           failed, took, answered * (double)records * value_bytes / 1e6, cpu);
    printf("\"p50_us\": %.0f, \"p99_us\": %.0f}\n", samples_quantile(&latencies, .5), samples_quantile(&latencies, .99));
    return 0;
}
