// SPDX-License-Identifier: Apache-2.0
#include "serve/announce.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != 0 ? value : NULL;
}

static const char *user_name(void) {
    const char *name = variable("USER");
    if (name != NULL) return name;
    const struct passwd *entry = getpwuid(getuid());
    return entry != NULL ? entry->pw_name : "USER";
}

__attribute__((format(printf, 4, 5))) static size_t append(char *text, size_t room, size_t used, const char *format, ...) {
    if (used >= room) return used;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text + used, room - used, format, args);
    va_end(args);
    return n > 0 ? used + (size_t)n : used;
}

void iket_announce_ssh(char *text, size_t room, const char *address, const uint16_t *ports, size_t port_count) {
    char machine[256] = "";
    const char *user = user_name(), *node = NULL, *through = NULL;
    if (variable("SLURM_JOB_ID") != NULL) {
        node = variable("SLURMD_NODENAME");
        through = variable("SLURM_SUBMIT_HOST");
    }
    if (node == NULL && gethostname(machine, sizeof machine - 1) == 0) node = machine;
    // Submitted on this very machine: no jump.
    if (through != NULL && strcmp(through, node != NULL ? node : "") == 0) through = NULL;
    size_t used = append(text, room, 0, "ssh");
    if (through != NULL) used = append(text, room, used, " -J %s@%s", user, through);
    for (size_t i = 0; i < port_count; i++) {
        if (ports[i] == 0) continue;
        int six = strchr(address, ':') != NULL;
        used = append(text, room, used, " -L %u:%s%s%s:%u", (unsigned)ports[i], six ? "[" : "", address, six ? "]" : "", (unsigned)ports[i]);
    }
    append(text, room, used, " %s@%s", user, node != NULL && node[0] != 0 ? node : "HOST");
}
