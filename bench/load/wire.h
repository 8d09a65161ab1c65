/* Kafka's wire format, as far as a load generator needs it: Produce 9, Fetch 12, and record batches of magic 2.

   Everything is sent on raw sockets, so that the generator costs little and its cost is known. */
#ifndef WIRE_H
#define WIRE_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENT_ID "bench"
#define SAMPLES_MAX (4 * 1000 * 1000)

static void die(const char *what) {
    fprintf(stderr, "%s: %s\n", what, errno ? strerror(errno) : "not what was expected");
    exit(1);
}

/* Time. */

static double now_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Of another process: the broker. */
static double process_cpu_seconds(int pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file) die(path);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    long user, system;
    if (sscanf(strrchr(text, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system) != 2)
        die("/proc");
    return (double)(user + system) / sysconf(_SC_CLK_TCK);
}

/* Latencies, in seconds; what is beyond the room for them is only counted. */

struct samples {
    double *values;
    long count;
};

static struct samples samples_new(void) { return (struct samples){malloc(SAMPLES_MAX * sizeof(double)), 0}; }

static void samples_add(struct samples *samples, double value) {
    if (samples->count < SAMPLES_MAX) samples->values[samples->count++] = value;
}

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void samples_sort(struct samples *samples) {
    qsort(samples->values, samples->count, sizeof(double), compare_doubles);
}

/* Of sorted samples, in microseconds. */
static double samples_quantile(const struct samples *samples, double quantile) {
    return samples->count ? samples->values[(long)(quantile * (samples->count - 1))] * 1e6 : 0;
}

/* Writing. */

struct writer {
    uint8_t *data;
    size_t size, capacity;
};

static void put_bytes(struct writer *out, const void *bytes, size_t count) {
    if (out->size + count > out->capacity) {
        out->capacity = 2 * (out->size + count);
        out->data = realloc(out->data, out->capacity);
        if (!out->data) die("memory");
    }
    memcpy(out->data + out->size, bytes, count);
    out->size += count;
}

static void put_integer(struct writer *out, int64_t value, int width) {
    uint8_t bytes[8];
    for (int index = 0; index < width; index++) bytes[index] = (uint8_t)(value >> 8 * (width - 1 - index));
    put_bytes(out, bytes, width);
}

static void put_8(struct writer *out, int64_t value) { put_integer(out, value, 1); }
static void put_16(struct writer *out, int64_t value) { put_integer(out, value, 2); }
static void put_32(struct writer *out, int64_t value) { put_integer(out, value, 4); }
static void put_64(struct writer *out, int64_t value) { put_integer(out, value, 8); }

static void put_unsigned(struct writer *out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) put_8(out, (value & 0x7f) | 0x80);
    put_8(out, value);
}

static void put_signed(struct writer *out, int64_t value) { put_unsigned(out, ((uint64_t)value << 1) ^ (value >> 63)); }

static void put_compact_string(struct writer *out, const char *text) {
    put_unsigned(out, strlen(text) + 1);
    put_bytes(out, text, strlen(text));
}

static void patch_32(struct writer *out, size_t at, uint32_t value) {
    value = htonl(value);
    memcpy(out->data + at, &value, 4);
}

/* Record batches. */

static uint32_t crc32c(const uint8_t *bytes, size_t count) {
    static uint32_t table[256];
    if (!table[1])
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t crc = byte;
            for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
            table[byte] = crc;
        }
    uint32_t crc = ~0u;
    while (count--) crc = table[(crc ^ *bytes++) & 0xff] ^ crc >> 8;
    return ~crc;
}

static void put_record(struct writer *out, int index, int value_bytes) {
    struct writer record = {0};
    put_8(&record, 0);                 /* attributes */
    put_signed(&record, 0);            /* timestamp delta */
    put_signed(&record, index);        /* offset delta */
    put_signed(&record, -1);           /* no key */
    put_signed(&record, value_bytes);
    for (int at = 0; at < value_bytes; at++) put_8(&record, 'a' + (index * 11 + at * 17) % 26);
    put_signed(&record, 0);            /* headers */
    put_signed(out, record.size);
    put_bytes(out, record.data, record.size);
    free(record.data);
}

static struct writer record_batch(int records, int value_bytes) {
    struct writer out = {0};
    int64_t timestamp = (int64_t)time(NULL) * 1000;
    put_64(&out, 0);                   /* base offset */
    put_32(&out, 0);                   /* length, below */
    put_32(&out, -1);                  /* partition leader epoch */
    put_8(&out, 2);                    /* magic */
    put_32(&out, 0);                   /* crc, below */
    put_16(&out, 0);                   /* attributes */
    put_32(&out, records - 1);         /* last offset delta */
    put_64(&out, timestamp);
    put_64(&out, timestamp);
    put_64(&out, -1);                  /* producer id, epoch, sequence */
    put_16(&out, -1);
    put_32(&out, -1);
    put_32(&out, records);
    for (int index = 0; index < records; index++) put_record(&out, index, value_bytes);
    patch_32(&out, 8, out.size - 12);
    patch_32(&out, 17, crc32c(out.data + 21, out.size - 21));
    return out;
}

/* Requests. */

static struct writer request_begin(int key, int version) {
    struct writer out = {0};
    put_32(&out, 0); /* length, by request_end */
    put_16(&out, key);
    put_16(&out, version);
    put_32(&out, 1); /* correlation id */
    put_16(&out, strlen(CLIENT_ID));
    put_bytes(&out, CLIENT_ID, strlen(CLIENT_ID));
    put_8(&out, 0); /* no tagged fields */
    return out;
}

static void request_end(struct writer *out) { patch_32(out, 0, out->size - 4); }

static struct writer produce_request(const char *topic, int partition, int acks, int records, int value_bytes) {
    struct writer batch = record_batch(records, value_bytes), out = request_begin(0, 9);
    put_unsigned(&out, 0); /* no transactional id */
    put_16(&out, acks);
    put_32(&out, 30000);
    put_unsigned(&out, 2);
    put_compact_string(&out, topic);
    put_unsigned(&out, 2);
    put_32(&out, partition);
    put_unsigned(&out, batch.size + 1);
    put_bytes(&out, batch.data, batch.size);
    put_bytes(&out, "\0\0\0", 3); /* tags of partition, topic, request */
    request_end(&out);
    free(batch.data);
    return out;
}

/* Of a response with its length: where the error code of its only partition lies. */
static int produce_error(const uint8_t *response, const char *topic) {
    const uint8_t *at = response + 4 + 4 + 1 + 1 + 1 + strlen(topic) + 1 + 4;
    return (int16_t)(at[0] << 8 | at[1]);
}

static struct writer fetch_request(const char *topic, int partition, int64_t offset, int bytes_max) {
    struct writer out = request_begin(1, 12);
    put_32(&out, -1);                /* replica id */
    put_32(&out, 500);               /* longest wait in ms */
    put_32(&out, 1);                 /* least bytes */
    put_32(&out, 50 * 1024 * 1024);  /* most bytes */
    put_8(&out, 0);                  /* isolation level */
    put_32(&out, 0);                 /* no session */
    put_32(&out, -1);
    put_unsigned(&out, 2);
    put_compact_string(&out, topic);
    put_unsigned(&out, 2);
    put_32(&out, partition);
    put_32(&out, -1);                /* current leader epoch */
    put_64(&out, offset);
    put_32(&out, -1);                /* last fetched epoch */
    put_64(&out, -1);                /* log start offset */
    put_32(&out, bytes_max);
    put_bytes(&out, "\0\0", 2);      /* tags of partition and topic */
    put_unsigned(&out, 1);           /* nothing forgotten */
    put_unsigned(&out, 1);           /* no rack */
    put_8(&out, 0);
    request_end(&out);
    return out;
}

/* Reading. */

static int64_t get_integer(const uint8_t *at, int width) {
    int64_t value = (int8_t)at[0];
    for (int index = 1; index < width; index++) value = (int64_t)((uint64_t)value << 8 | at[index]);
    return value;
}

static uint64_t get_unsigned(const uint8_t **at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
}

struct fetched {
    int error;
    int64_t high_watermark, next_offset; /* next_offset is -1 if no whole batch came */
    long batch_bytes;
};

/* Of a Fetch 12 response without its length, for one partition. */
static struct fetched read_fetch_response(const uint8_t *at) {
    struct fetched found = {0, 0, -1, 0};
    at += 4 + 1 + 4; /* correlation id, tags, throttle time */
    found.error = get_integer(at, 2);
    at += 2 + 4; /* session id */
    if (found.error || get_unsigned(&at) < 2) return found;
    at += get_unsigned(&at) - 1; /* topic */
    get_unsigned(&at);
    at += 4; /* partition */
    found.error = get_integer(at, 2);
    found.high_watermark = get_integer(at + 2, 8);
    at += 2 + 8 + 8 + 8; /* and last stable offset, log start offset */
    if (get_unsigned(&at) > 1) die("aborted transactions in an answer to a reader of everything");
    at += 4; /* preferred read replica */
    long size = (long)get_unsigned(&at) - 1;
    while (size >= 61) {
        long batch = 12 + get_integer(at + 8, 4);
        if (batch > size) break;
        found.next_offset = get_integer(at, 8) + get_integer(at + 23, 4) + 1;
        found.batch_bytes += batch;
        at += batch;
        size -= batch;
    }
    return found;
}

/* A coordinator that is not there yet: loading, not available, elsewhere. */
static int is_coming(int error) { return error >= 14 && error <= 16; }

/* Sockets. */

static int connect_to(int port) {
    int connection = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(connection, (struct sockaddr *)&address, sizeof address)) die("connect");
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return connection;
}

static void send_all(int connection, const uint8_t *data, size_t size) {
    while (size) {
        ssize_t sent = send(connection, data, size, MSG_NOSIGNAL);
        if (sent <= 0) die("send");
        data += sent;
        size -= sent;
    }
}

static void receive_all(int connection, uint8_t *data, size_t size) {
    while (size) {
        ssize_t received = recv(connection, data, size, 0);
        if (received <= 0) die("the broker has closed the connection");
        data += received;
        size -= received;
    }
}

/* A whole response without its length, into a buffer that grows. */
static size_t receive_frame(int connection, uint8_t **buffer, size_t *capacity) {
    uint8_t head[4];
    receive_all(connection, head, 4);
    size_t size = (uint32_t)get_integer(head, 4);
    if (size > *capacity) {
        *buffer = realloc(*buffer, *capacity = size);
        if (!*buffer) die("memory");
    }
    receive_all(connection, *buffer, size);
    return size;
}

#endif
