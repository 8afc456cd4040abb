// SPDX-License-Identifier: Apache-2.0
// consumer.cu: a program that uses the installed header and runtime; without a device it says so and ends with 0.
#include <iket/iket.cuh>
#include <iket/recorder.h>

#include <cstdio>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(hello, marker)
IKET_EVENTS_END

__global__ void kernel() {
    IKET_KERNEL(trace);
    trace.mark(ev::hello);
}

int main() {
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    iket_session *session;
    iket_recorder_error error;
    options.output_dir = ".";
    if (iket_session_create(&session, &options, &error) != 0) {
        std::printf("no session: %s\n", error.message);
        return error.message[0] == 0;
    }
    kernel<<<1, 32>>>();
    return cudaDeviceSynchronize() != cudaSuccess || iket_session_destroy(session, &error) != 0;
}
