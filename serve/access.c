// SPDX-License-Identifier: Apache-2.0
#include "serve/access.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_token_byte(char c) { return isalnum((unsigned char)c) || (c != 0 && strchr("-._~", c) != NULL); }

enum { RANDOM_BYTES = 32 };

// 256 random bits as 64 digits.
static int make_random(char text[2 * RANDOM_BYTES + 1]) {
    unsigned char random[RANDOM_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return -1;
    for (size_t i = 0; i < sizeof random; i++) snprintf(text + 2 * i, 3, "%02x", random[i]);
    return 0;
}

static int make_token(int fd, char token[IKET_TOKEN_MAX + 1]) {
    char line[2 * RANDOM_BYTES + 2];
    if (make_random(token) != 0) return -1;
    int length = snprintf(line, sizeof line, "%s\n", token);
    return write(fd, line, (size_t)length) == length ? 0 : -1;
}

int iket_access_read_token(iket_access *access, const char *path, iket_token_state *state, iket_error *err) {
    struct stat info;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        int failed = make_token(fd, access->token);
        if (close(fd) != 0) failed = -1;
        if (failed) {
            unlink(path);
            return iket_fail(err, "%s: a new token cannot be written", path);
        }
        *state = IKET_TOKEN_MADE;
        return 0;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return iket_fail(err, "%s: the token cannot be read: %s", path, strerror(errno));
    char text[IKET_TOKEN_MAX + 2];
    ssize_t n = read(fd, text, sizeof text - 1);
    *state = fstat(fd, &info) == 0 && (info.st_mode & 077) != 0 ? IKET_TOKEN_SHARED : IKET_TOKEN_KEPT;
    close(fd);
    if (n < 0) return iket_fail(err, "%s: the token cannot be read: %s", path, strerror(errno));
    text[n] = 0;
    size_t length = 0;
    while (is_token_byte(text[length])) length++;
    if (length < (size_t)n && text[length] != '\n' && text[length] != '\r') {
        return iket_fail(err, "%s: byte 0x%zx: a token is one line of letters, digits and -._~ (name a file that does not exist, and one is made)", path, length);
    }
    if (length < IKET_TOKEN_MIN || length > IKET_TOKEN_MAX) {
        return iket_fail(err, "%s: a token has %d to %d characters, not %zu (name a file that does not exist, and one is made)", path, IKET_TOKEN_MIN, IKET_TOKEN_MAX, length);
    }
    memcpy(access->token, text, length);
    access->token[length] = 0;
    return 0;
}

int iket_host_split(const char *field, char name[IKET_HOST_MAX]) {
    const char *end, *begin = field;
    if (*field == '[') {
        begin++;
        end = strchr(begin, ']');
        if (end == NULL) return 0;
    } else {
        end = begin + strcspn(begin, ":");
    }
    size_t length = (size_t)(end - begin);
    if (length == 0 || length >= IKET_HOST_MAX) return 0;
    for (size_t i = 0; i < length; i++) name[i] = (char)tolower((unsigned char)begin[i]);
    name[length] = 0;
    if (*end == ']') end++;
    if (*end == 0) return 1;
    if (*end++ != ':') return 0;
    size_t digits = strspn(end, "0123456789");
    return digits <= 5 && end[digits] == 0;
}

int iket_host_is_loopback(const char *name) {
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, name, &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, name, &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six);
    size_t length = strlen(name);
    return strcmp(name, "localhost") == 0 || (length > 10 && strcmp(name + length - 10, ".localhost") == 0);
}

static int is_address(const char *name) {
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

int iket_access_allows_host(const iket_access *access, const char *host) {
    char name[IKET_HOST_MAX];
    if (host == NULL) return 1;
    if (!iket_host_split(host, name)) return 0;
    if (iket_host_is_loopback(name) || (access->any_address && is_address(name))) return 1;
    for (size_t i = 0; i < access->host_count; i++) {
        if (strcasecmp(name, access->hosts[i]) == 0) return 1;
    }
    return 0;
}

iket_origin_verdict iket_access_judge_origin(const iket_access *access, const char *origin) {
    if (origin == NULL) return IKET_ORIGIN_OWN;
    for (size_t i = 0; i < access->origin_count; i++) {
        if (strcasecmp(origin, access->origins[i]) == 0) return IKET_ORIGIN_READER;
    }
    const char *host = strncasecmp(origin, "http://", 7) == 0 ? origin + 7 : strncasecmp(origin, "https://", 8) == 0 ? origin + 8 : NULL;
    return host != NULL && iket_access_allows_host(access, host) ? IKET_ORIGIN_OWN : IKET_ORIGIN_FOREIGN;
}

static int is_secret(const char *secret, const char *candidate, size_t length) {
    size_t wanted = strlen(secret);
    volatile unsigned char differs = length != wanted || wanted == 0;
    for (size_t i = 0; i < length && wanted > 0; i++) differs |= (unsigned char)(candidate[i] ^ secret[i % wanted]);
    return !differs;
}

int iket_access_is_token(const iket_access *access, const char *candidate, size_t length) { return is_secret(access->token, candidate, length); }

int iket_access_make_code(iket_access *access, iket_error *err) {
    return make_random(access->code) == 0 ? 0 : iket_fail(err, "there are no random numbers to be had");
}

int iket_access_take_code(iket_access *access, const char *candidate) {
    return is_secret(access->code, candidate, strlen(candidate)) && !atomic_exchange(&access->code_taken, 1);
}

int iket_access_has_token(const iket_access *access, const char *cookie, const char *authorization) {
    if (access->token[0] == 0) return 1;
    if (authorization != NULL && strncasecmp(authorization, "Bearer ", 7) == 0) {
        const char *given = authorization + 7 + strspn(authorization + 7, " ");
        return iket_access_is_token(access, given, strlen(given));
    }
    size_t name = strlen(access->cookie);
    while (cookie != NULL && *cookie != 0) {
        cookie += strspn(cookie, " ;");
        size_t length = strcspn(cookie, ";");
        if (length > name && memcmp(cookie, access->cookie, name) == 0 && cookie[name] == '=') {
            size_t given = length - name - 1;
            while (given > 0 && cookie[name + given] == ' ') given--;
            if (iket_access_is_token(access, cookie + name + 1, given)) return 1;
        }
        cookie += length;
    }
    return 0;
}
