// SPDX-License-Identifier: Apache-2.0
// announce.h: how the user's own machine reaches a server that runs elsewhere.
#ifndef IKET_SERVE_ANNOUNCE_H
#define IKET_SERVE_ANNOUNCE_H

#include <stddef.h>
#include <stdint.h>

// Writes the complete command into `text`: "ssh -L 8080:127.0.0.1:8080 ann@login1". In a Slurm job it leads to the compute
// node by way of the machine on which the job was submitted (-J). Ports that are 0 are left out.
void iket_announce_ssh(char *text, size_t room, const char *address, const uint16_t *ports, size_t port_count);

#endif
