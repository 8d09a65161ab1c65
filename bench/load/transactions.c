/* transactions PORT TOPIC PRODUCERS SECONDS BROKER_PID

   Each producer has a partition, a connection and a transactional id, and commits one transaction after the other: a record
   of 100 bytes, the commit, and the next as soon as the broker lets it begin. As clients of transaction version 2 do:
   Produce 12 adds its partition, EndTxn 5 raises the epoch. */
#include "wire.h"

#include <sys/epoll.h>

#define INPUT_BYTES (16 * 1024)
#define VALUE_BYTES 100
#define CONCURRENT_TRANSACTIONS 51
#define RETRY_SECONDS 0.002
#define PRODUCERS_MAX 256

enum { PRODUCE = 0, INIT = 22, END = 26 };

struct producer {
    int socket, partition, asked, epoch;
    char id[32];
    int64_t producer_id;
    double began, retry_at; /* 0: nothing to try again */
    uint8_t input[INPUT_BYTES];
    size_t input_bytes;
};

static const char *topic;
static int is_measuring;
static long committed, retried, ready;
static struct samples latencies;

static void producer_send(struct producer *producer, int key, struct writer *request) {
    request_end(request);
    producer->asked = key;
    producer->retry_at = 0;
    send_all(producer->socket, request->data, request->size);
    free(request->data);
}

static void send_init(struct producer *producer) {
    struct writer out = request_begin(INIT, 4);
    put_compact_string(&out, producer->id);
    put_32(&out, 60000); /* timeout in ms */
    put_64(&out, -1);
    put_16(&out, -1);
    put_8(&out, 0);
    producer_send(producer, INIT, &out);
}

/* Sequences begin anew with each epoch. */
static struct writer transactional_batch(const struct producer *producer) {
    struct writer out = record_batch(1, VALUE_BYTES), fields = {0};
    put_64(&fields, producer->producer_id);
    put_16(&fields, producer->epoch);
    put_32(&fields, 0);
    memcpy(out.data + 43, fields.data, fields.size);
    free(fields.data);
    out.data[22] = 0x10; /* transactional */
    patch_32(&out, 17, crc32c(out.data + 21, out.size - 21));
    return out;
}

static void send_produce(struct producer *producer) {
    struct writer batch = transactional_batch(producer), out = request_begin(PRODUCE, 12);
    put_compact_string(&out, producer->id);
    put_16(&out, -1);
    put_32(&out, 30000);
    put_unsigned(&out, 2);
    put_compact_string(&out, topic);
    put_unsigned(&out, 2);
    put_32(&out, producer->partition);
    put_unsigned(&out, batch.size + 1);
    put_bytes(&out, batch.data, batch.size);
    put_bytes(&out, "\0\0\0", 3);
    free(batch.data);
    producer_send(producer, PRODUCE, &out);
}

static void send_end(struct producer *producer) {
    struct writer out = request_begin(END, 5);
    put_compact_string(&out, producer->id);
    put_64(&out, producer->producer_id);
    put_16(&out, producer->epoch);
    put_8(&out, 1);
    put_8(&out, 0);
    producer_send(producer, END, &out);
}

static void send_again(struct producer *producer) {
    if (producer->asked == INIT) send_init(producer);
    if (producer->asked == PRODUCE) send_produce(producer);
    if (producer->asked == END) send_end(producer);
}

/* Of an answer with its length: what stands behind the header, the tags, and the throttle time if it comes first. */
static void on_producer_id(struct producer *producer, const uint8_t *at) {
    producer->producer_id = get_integer(at, 8);
    producer->epoch = get_integer(at + 8, 2);
}

static void on_answer(struct producer *producer, const uint8_t *answer, double now) {
    const uint8_t *body = answer + 4 + 4 + 1 + 4;
    int error = producer->asked == PRODUCE ? produce_error(answer, topic) : get_integer(body, 2);
    if (error == CONCURRENT_TRANSACTIONS || (producer->asked == INIT && is_coming(error))) {
        retried++;
        producer->retry_at = now + RETRY_SECONDS;
        return;
    }
    if (error) return fprintf(stderr, "request %d: error %d\n", producer->asked, error), exit(1);
    if (producer->asked == PRODUCE) return send_end(producer);
    on_producer_id(producer, body + 2);
    if (producer->asked == INIT) ready++;
    if (producer->asked == END && is_measuring) {
        committed++;
        samples_add(&latencies, now - producer->began);
    }
    producer->began = now;
    if (producer->asked == END || is_measuring) return send_produce(producer);
}

static void producer_receive(struct producer *producer) {
    ssize_t received = recv(producer->socket, producer->input + producer->input_bytes,
                            INPUT_BYTES - producer->input_bytes, MSG_DONTWAIT);
    if (received < 0 && errno == EAGAIN) return;
    if (received <= 0) die("the broker has closed the connection");
    producer->input_bytes += received;
    if (producer->input_bytes < 4) return;
    size_t whole = 4 + get_integer(producer->input, 4);
    if (whole > INPUT_BYTES) die("an answer that is too long");
    if (producer->input_bytes < whole) return;
    producer->input_bytes = 0; /* one request at a time */
    on_answer(producer, producer->input, now_seconds());
}

static void turn(int poller, struct producer *producers, int count) {
    struct epoll_event events[PRODUCERS_MAX];
    int found = epoll_wait(poller, events, PRODUCERS_MAX, 1);
    for (int index = 0; index < found; index++) producer_receive(events[index].data.ptr);
    double now = now_seconds();
    for (int index = 0; index < count; index++)
        if (producers[index].retry_at && now >= producers[index].retry_at) send_again(&producers[index]);
}

int main(int count, char **arguments) {
    if (count != 6) return fprintf(stderr, "transactions: five arguments, see the source\n"), 2;
    int port = atoi(arguments[1]), size = atoi(arguments[3]), pid = atoi(arguments[5]);
    topic = arguments[2];
    if (size > PRODUCERS_MAX) die("too many producers");
    struct producer *producers = calloc(size, sizeof *producers);
    int poller = epoll_create1(0);
    latencies = samples_new();
    for (int index = 0; index < size; index++) {
        struct producer *producer = &producers[index];
        snprintf(producer->id, sizeof producer->id, "producer-%d", index);
        producer->partition = index;
        producer->socket = connect_to(port);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = producer};
        epoll_ctl(poller, EPOLL_CTL_ADD, producer->socket, &event);
        send_init(producer);
    }
    while (ready < size) turn(poller, producers, size);
    double started = now_seconds(), cpu = cpu_seconds(), broker = process_cpu_seconds(pid);
    is_measuring = 1;
    for (int index = 0; index < size; index++) {
        producers[index].began = started;
        send_produce(&producers[index]);
    }
    while (now_seconds() < started + atof(arguments[4])) turn(poller, producers, size);
    double took = now_seconds() - started;
    broker = process_cpu_seconds(pid) - broker;
    cpu = cpu_seconds() - cpu;
    samples_sort(&latencies);
    printf("{\"failed\": 0, \"seconds\": %.3f, \"transactions\": %ld, \"retried\": %ld, \"client_cpu\": %.3f, ", took,
           committed, retried, cpu);
    printf("\"broker_cpu\": %.3f, \"p50_us\": %.0f, \"p99_us\": %.0f}\n", broker, samples_quantile(&latencies, .5),
           samples_quantile(&latencies, .99));
    return 0;
}
