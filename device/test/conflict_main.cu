// SPDX-License-Identifier: Apache-2.0
// conflict_main.cu: two modules with one event name of two types are refused: iket-gpu-test-conflict DIR.
#include <iket/iket.cuh>
#include <iket/recorder.h>

#include <cstdio>
#include <cstring>

IKET_EVENTS_BEGIN(ev)
IKET_EVENT(contested, marker, int)
IKET_EVENTS_END

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    iket_session_options options = IKET_SESSION_OPTIONS_INIT;
    iket_recorder_error error;
    iket_session *session;
    options.output_dir = argv[1];
    const bool refused = iket_session_create(&session, &options, &error) != 0 && std::strstr(error.message, "contested") != nullptr;
    std::printf("%s one name of two types: %s\n", refused ? "ok  " : "FAIL", refused ? error.message : "not refused");
    return refused ? 0 : 1;
}
