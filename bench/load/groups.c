/* groups PORT TOPIC PARTITIONS GROUPS MEMBERS HEARTBEAT_MS COMMITS_PER_SECOND SECONDS BROKER_PID

   Classic consumer groups: every member has a connection, joins, and heartbeats at its interval. Once all are in, the
   members together commit one offset at a time at the rate asked for, each at its own moment, whether or not the answers
   before have come; what an overloaded broker refuses is counted. What the broker's process costs meanwhile is read from
   /proc. */
#include "wire.h"

#include <fcntl.h>
#include <sys/epoll.h>

#define FLIGHT_MAX 64
#define INPUT_BYTES (16 * 1024)
#define NAME_BYTES_MAX 128
#define SESSION_MS 45000
#define REBALANCE_IN_PROGRESS 27
#define JOIN_SECONDS_MAX 120

enum { COMMIT = 8, JOIN = 11, HEARTBEAT = 12, SYNC = 14 };

struct member {
    int socket, number, generation, is_in;
    char group[32], id[NAME_BYTES_MAX];
    double heartbeat_due, commit_due;
    int kinds[FLIGHT_MAX];
    double sent_at[FLIGHT_MAX];
    long sent, answered;
    uint8_t input[INPUT_BYTES];
    size_t input_bytes;
    int64_t offset;
};

static const char *topic;
static int partitions, is_measuring;
static long joined, heartbeats, commits, refused;
static double heartbeat_seconds, commit_seconds;
static struct samples heartbeat_latencies, commit_latencies;

static void put_string(struct writer *out, const char *text) {
    put_16(out, strlen(text));
    put_bytes(out, text, strlen(text));
}

/* Versions before the flexible ones: a header without tagged fields. */
static struct writer begin(int key, int version) {
    struct writer out = {0};
    put_32(&out, 0);
    put_16(&out, key);
    put_16(&out, version);
    put_32(&out, 1);
    put_string(&out, CLIENT_ID);
    return out;
}

static void member_send(struct member *member, int kind, struct writer *request) {
    request_end(request);
    if (member->sent - member->answered >= FLIGHT_MAX) die("too many requests in flight: the broker stands still");
    member->kinds[member->sent % FLIGHT_MAX] = kind;
    member->sent_at[member->sent++ % FLIGHT_MAX] = now_seconds();
    send_all(member->socket, request->data, request->size);
    free(request->data);
}

static void send_join(struct member *member) {
    struct writer out = begin(JOIN, 3);
    member->is_in = 0;
    put_string(&out, member->group);
    put_32(&out, SESSION_MS);
    put_32(&out, SESSION_MS); /* rebalance timeout */
    put_string(&out, member->id);
    put_string(&out, "consumer");
    put_32(&out, 1);
    put_string(&out, "range");
    put_32(&out, 0); /* no metadata */
    member_send(member, JOIN, &out);
}

static void send_sync(struct member *member) {
    struct writer out = begin(SYNC, 2);
    put_string(&out, member->group);
    put_32(&out, member->generation);
    put_string(&out, member->id);
    put_32(&out, 0); /* nothing assigned to anybody */
    member_send(member, SYNC, &out);
}

static void send_heartbeat(struct member *member) {
    struct writer out = begin(HEARTBEAT, 2);
    put_string(&out, member->group);
    put_32(&out, member->generation);
    put_string(&out, member->id);
    member_send(member, HEARTBEAT, &out);
}

static void send_commit(struct member *member) {
    struct writer out = begin(COMMIT, 6);
    put_string(&out, member->group);
    put_32(&out, member->generation);
    put_string(&out, member->id);
    put_32(&out, 1);
    put_string(&out, topic);
    put_32(&out, 1);
    put_32(&out, member->number % partitions);
    put_64(&out, member->offset++);
    put_32(&out, -1); /* leader epoch */
    put_16(&out, 0);  /* empty metadata */
    member_send(member, COMMIT, &out);
}

/* What an answer without its length says. */
static void on_join(struct member *member, const uint8_t *at) {
    int error = get_integer(at + 8, 2); /* after correlation id and throttle time */
    if (is_coming(error)) return send_join(member);
    if (error) return fprintf(stderr, "join: error %d\n", error), exit(1);
    member->generation = get_integer(at + 10, 4);
    at += 14;
    at += 2 + get_integer(at, 2); /* protocol */
    at += 2 + get_integer(at, 2); /* leader */
    int id_bytes = get_integer(at, 2);
    if (id_bytes >= NAME_BYTES_MAX) die("a member id that is too long");
    memcpy(member->id, at + 2, id_bytes);
    member->id[id_bytes] = 0;
    send_sync(member);
}

static void on_sync(struct member *member, const uint8_t *at, double now) {
    int error = get_integer(at + 8, 2);
    if (error == REBALANCE_IN_PROGRESS) return send_join(member);
    if (error) return fprintf(stderr, "sync: error %d\n", error), exit(1);
    member->is_in = 1;
    joined++;
    member->heartbeat_due = now + heartbeat_seconds * (rand() % 1000) / 1000;
}

static void on_heartbeat(struct member *member, const uint8_t *at, double took) {
    int error = get_integer(at + 8, 2);
    if (error == REBALANCE_IN_PROGRESS) {
        if (member->is_in) joined--, send_join(member);
        return;
    }
    if (!is_measuring) return;
    refused += error != 0;
    heartbeats++;
    samples_add(&heartbeat_latencies, took);
}

static void on_commit(const uint8_t *at, double took) {
    at += 8 + 4 + 2 + strlen(topic) + 4 + 4;
    refused += get_integer(at, 2) != 0;
    commits++;
    samples_add(&commit_latencies, took);
}

static void on_answer(struct member *member, const uint8_t *answer, double now) {
    int slot = member->answered++ % FLIGHT_MAX;
    double took = now - member->sent_at[slot];
    switch (member->kinds[slot]) {
        case JOIN: return on_join(member, answer);
        case SYNC: return on_sync(member, answer, now);
        case HEARTBEAT: return on_heartbeat(member, answer, took);
        case COMMIT: return on_commit(answer, took);
    }
}

static void member_receive(struct member *member) {
    ssize_t received =
        recv(member->socket, member->input + member->input_bytes, INPUT_BYTES - member->input_bytes, MSG_DONTWAIT);
    if (received < 0 && errno == EAGAIN) return;
    if (received <= 0) die("the broker has closed the connection");
    member->input_bytes += received;
    double now = now_seconds();
    size_t at = 0;
    while (member->input_bytes - at >= 4) {
        size_t whole = 4 + get_integer(member->input + at, 4);
        if (whole > INPUT_BYTES) die("an answer that is too long");
        if (member->input_bytes - at < whole) break;
        on_answer(member, member->input + at + 4, now);
        at += whole;
    }
    memmove(member->input, member->input + at, member->input_bytes - at);
    member->input_bytes -= at;
}

static void send_what_is_due(struct member *member, double now) {
    if (!member->is_in) return;
    if (now >= member->heartbeat_due) {
        send_heartbeat(member);
        member->heartbeat_due += heartbeat_seconds;
    }
    if (is_measuring && now >= member->commit_due) {
        send_commit(member);
        member->commit_due += commit_seconds;
    }
}

/* Answers for about a millisecond, then what has become due. */
static void turn(int poller, struct member *members, int count) {
    struct epoll_event events[512];
    int ready = epoll_wait(poller, events, 512, 1);
    for (int index = 0; index < ready; index++) member_receive(events[index].data.ptr);
    double now = now_seconds();
    for (int index = 0; index < count; index++) send_what_is_due(&members[index], now);
}

static void member_open(struct member *member, int index, int port, int members_per_group, int poller) {
    snprintf(member->group, sizeof member->group, "group-%d", index / members_per_group);
    member->number = index;
    member->socket = connect_to(port);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = member};
    epoll_ctl(poller, EPOLL_CTL_ADD, member->socket, &event);
    send_join(member);
}

int main(int count, char **arguments) {
    if (count != 10) return fprintf(stderr, "groups: nine arguments, see the source\n"), 2;
    int port = atoi(arguments[1]), members_per_group = atoi(arguments[5]), pid = atoi(arguments[9]);
    int size = atoi(arguments[4]) * members_per_group;
    topic = arguments[2];
    partitions = atoi(arguments[3]);
    heartbeat_seconds = atof(arguments[6]) / 1000;
    commit_seconds = size / atof(arguments[7]);
    double seconds = atof(arguments[8]);
    struct member *members = calloc(size, sizeof *members);
    int poller = epoll_create1(0);
    heartbeat_latencies = samples_new();
    commit_latencies = samples_new();
    double began = now_seconds();
    for (int index = 0; index < size; index++) {
        member_open(&members[index], index, port, members_per_group, poller);
        if (index % 64 == 63) turn(poller, members, 0);
    }
    while (joined < size) {
        turn(poller, members, size);
        if (now_seconds() > began + JOIN_SECONDS_MAX) die("not everybody could join");
    }
    double started = now_seconds(), joining = started - began, cpu = cpu_seconds(), broker = process_cpu_seconds(pid);
    is_measuring = 1;
    for (int index = 0; index < size; index++) members[index].commit_due = started + commit_seconds * index / size;
    while (now_seconds() < started + seconds) turn(poller, members, size);
    double took = now_seconds() - started;
    broker = process_cpu_seconds(pid) - broker;
    cpu = cpu_seconds() - cpu;
    samples_sort(&heartbeat_latencies);
    samples_sort(&commit_latencies);
    printf("{\"failed\": 0, \"refused\": %ld, \"seconds\": %.3f, \"join_seconds\": %.3f, \"client_cpu\": %.3f, ",
           refused, took, joining, cpu);
    printf("\"broker_cpu\": %.3f, \"heartbeats\": %ld, \"commits\": %ld, ", broker, heartbeats, commits);
    printf("\"heartbeat_p50_us\": %.0f, \"heartbeat_p99_us\": %.0f, ", samples_quantile(&heartbeat_latencies, .5),
           samples_quantile(&heartbeat_latencies, .99));
    printf("\"commit_p50_us\": %.0f, \"commit_p99_us\": %.0f}\n", samples_quantile(&commit_latencies, .5),
           samples_quantile(&commit_latencies, .99));
    return 0;
}
