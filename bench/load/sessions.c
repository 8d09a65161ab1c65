/* sessions PORT SESSIONS PARTITIONS MAX_WAIT_MS SECONDS BROKER_PID TOPIC_ID...

   Incremental fetch sessions (KIP-227) over all partitions of the topics, whose ids are given in hex: every session has
   a connection, names its partitions once, and from then on asks for what is new as soon as it has its answer, as a
   consumer does. Whoever is told of records asks for the ones behind them with its next request.

   Before the measurement every session asks WARM_FETCHES times with a short wait, or as often as the time for it allows,
   so that no connection is new any more and a JVM has compiled what it runs; then they begin one after the other, evenly
   over one wait. What the broker's process costs meanwhile is read from /proc. */
#include "wire.h"

#include <sys/epoll.h>

#define FETCH 1
#define VERSION 17
#define ID_BYTES 16
#define OPEN_AT_ONCE 4
#define OPEN_SECONDS_MAX 300
#define WARM_FETCHES 80
#define WARM_WAIT_MS 50
#define WARM_SECONDS_MAX 15

struct session {
    int socket, id, epoch;
    double sent_at;
    int is_open, has_news, partition; /* of the last answer */
    uint8_t topic[ID_BYTES];
    int64_t offset;
};

static uint8_t topics[64][ID_BYTES];
static int topic_count, partitions, max_wait_ms, wait_ms, is_measuring;
static long opened, warm, answered, told;
static double warm_until; /* 0 before and after */
static struct samples latencies;
static uint8_t *input;
static size_t input_capacity;

static void put_partition(struct writer *out, int partition, int64_t offset) {
    put_32(out, partition);
    put_32(out, -1); /* leader epoch */
    put_64(out, offset);
    put_32(out, -1); /* last fetched epoch */
    put_64(out, -1); /* log start offset */
    put_32(out, 1024 * 1024);
    put_8(out, 0); /* no tagged fields */
}

static void put_every_topic(struct writer *out) {
    put_unsigned(out, topic_count + 1);
    for (int topic = 0; topic < topic_count; topic++) {
        put_bytes(out, topics[topic], ID_BYTES);
        put_unsigned(out, partitions + 1);
        for (int partition = 0; partition < partitions; partition++) put_partition(out, partition, 1);
        put_8(out, 0);
    }
}

static void put_news(struct writer *out, const struct session *session) {
    put_unsigned(out, 2);
    put_bytes(out, session->topic, ID_BYTES);
    put_unsigned(out, 2);
    put_partition(out, session->partition, session->offset);
    put_8(out, 0);
}

static void session_send(struct session *session) {
    struct writer out = request_begin(FETCH, VERSION);
    put_32(&out, session->is_open ? wait_ms : 0);
    put_32(&out, 1); /* at least a byte */
    put_32(&out, 50 * 1024 * 1024);
    put_8(&out, 0); /* read uncommitted */
    put_32(&out, session->id);
    put_32(&out, session->epoch);
    if (!session->is_open)
        put_every_topic(&out);
    else if (session->has_news)
        put_news(&out, session);
    else
        put_unsigned(&out, 1);
    put_unsigned(&out, 1); /* nothing is forgotten */
    put_unsigned(&out, 1); /* no rack */
    put_8(&out, 0);
    request_end(&out);
    send_all(session->socket, out.data, out.size);
    free(out.data);
    session->sent_at = now_seconds();
}

/* Of an answer with a topic in it: of one partition, as long as records come to one. */
static void read_news(struct session *session, const uint8_t *at) {
    memcpy(session->topic, at, ID_BYTES);
    at += ID_BYTES;
    if (get_unsigned(&at) != 2) die("news of several partitions");
    session->partition = get_integer(at, 4);
    if (get_integer(at + 4, 2)) die("an error of a partition");
    session->offset = get_integer(at + 6, 8); /* the high watermark: whoever polls reads all there is */
    session->has_news = 1;
}

static void on_answer(struct session *session, const uint8_t *at) {
    at += 4 + 1 + 4; /* correlation id, tags, throttle time */
    if (get_integer(at, 2)) die("a fetch was refused");
    int id = get_integer(at + 2, 4);
    at += 6;
    session->has_news = 0;
    if (!session->is_open) {
        if (!id) die("no session was given");
        session->id = id;
        session->is_open = 1;
        opened++;
    } else if (get_unsigned(&at) > 1) {
        read_news(session, at);
        told += is_measuring;
    } else if (is_measuring) {
        samples_add(&latencies, now_seconds() - session->sent_at - max_wait_ms / 1000.0);
    }
    answered += is_measuring;
    session->epoch++;
}

static void session_receive(struct session *session) {
    receive_frame(session->socket, &input, &input_capacity);
    on_answer(session, input);
    if (warm_until && (session->epoch >= WARM_FETCHES || now_seconds() > warm_until))
        warm++;
    else if (session->epoch > 1) /* else it has just opened */
        session_send(session);
}

static void turn(int poller) {
    struct epoll_event events[512];
    int ready = epoll_wait(poller, events, 512, 1);
    for (int index = 0; index < ready; index++) session_receive(events[index].data.ptr);
}

static void session_open(struct session *session, int port, int poller) {
    session->socket = connect_to(port);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = session};
    epoll_ctl(poller, EPOLL_CTL_ADD, session->socket, &event);
    session_send(session);
}

/* A few at a time: an answer that names every partition is large. */
static void open_all(struct session *sessions, int count, int port, int poller) {
    double began = now_seconds();
    for (int index = 0; index < count; index++) {
        session_open(&sessions[index], port, poller);
        while (index + 1 - opened >= OPEN_AT_ONCE || (index + 1 == count && opened < count)) {
            turn(poller);
            if (now_seconds() > began + OPEN_SECONDS_MAX) die("not every session could be opened");
        }
    }
}

static void begin_all(struct session *sessions, int count, int poller) {
    warm_until = now_seconds() + WARM_SECONDS_MAX;
    for (int index = 0; index < count; index++) session_send(&sessions[index]);
    while (warm < count) turn(poller);
    warm_until = 0;
    wait_ms = max_wait_ms;
    double began = now_seconds();
    for (int index = 0; index < count; index++) {
        while (now_seconds() < began + max_wait_ms / 1000.0 * index / count) turn(poller);
        session_send(&sessions[index]);
    }
}

static void read_topic(uint8_t *id, const char *hex) {
    for (int at = 0; at < ID_BYTES; at++) {
        unsigned byte;
        if (sscanf(hex + 2 * at, "%2x", &byte) != 1) die("an id of a topic is 32 hex digits");
        id[at] = byte;
    }
}

int main(int count, char **arguments) {
    if (count < 8 || count > 7 + 64) return fprintf(stderr, "sessions: at least seven arguments, see the source\n"), 2;
    int port = atoi(arguments[1]), size = atoi(arguments[2]), pid = atoi(arguments[6]);
    partitions = atoi(arguments[3]);
    max_wait_ms = atoi(arguments[4]);
    wait_ms = WARM_WAIT_MS;
    double seconds = atof(arguments[5]);
    topic_count = count - 7;
    for (int topic = 0; topic < topic_count; topic++) read_topic(topics[topic], arguments[7 + topic]);
    struct session *sessions = calloc(size, sizeof *sessions);
    int poller = epoll_create1(0);
    latencies = samples_new();
    double began = now_seconds();
    open_all(sessions, size, port, poller);
    double opening = now_seconds() - began;
    begin_all(sessions, size, poller);
    double settled = now_seconds() + 2 * max_wait_ms / 1000.0;
    while (now_seconds() < settled) turn(poller);
    double started = now_seconds(), cpu = cpu_seconds(), broker = process_cpu_seconds(pid);
    is_measuring = 1;
    while (now_seconds() < started + seconds) turn(poller);
    double took = now_seconds() - started;
    broker = process_cpu_seconds(pid) - broker;
    cpu = cpu_seconds() - cpu;
    samples_sort(&latencies);
    printf("{\"failed\": 0, \"seconds\": %.3f, \"open_seconds\": %.3f, \"client_cpu\": %.3f, \"broker_cpu\": %.3f, ",
           took, opening, cpu, broker);
    printf("\"answered\": %ld, \"told\": %ld, \"late_p50_us\": %.0f, \"late_p99_us\": %.0f}\n", answered, told,
           samples_quantile(&latencies, .5), samples_quantile(&latencies, .99));
    return 0;
}
