// SPDX-License-Identifier: Apache-2.0
// main.cpp: runs the recorder's GPU test: iket-gpu-test DIRECTORY [NAME…]. Each case leaves its dump in a folder of its
// own name under DIRECTORY. The last line counts; the status is 0 when all passed.
#include "harness.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

static bool wanted(const char *name, int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        if (std::strstr(name, argv[i]) != nullptr) return true;
    return argc == 2;
}

int main(int argc, char **argv) {
    if (argc == 4 && std::strcmp(argv[1], "--trap-child") == 0) return run_trap_child(argv[2], std::strcmp(argv[3], "pinned") == 0);
    if (argc == 3 && std::strcmp(argv[1], "--ring-trap-child") == 0) return run_ring_trap_child(argv[2]);
    if (argc < 2) {
        std::fprintf(stderr, "usage: iket-gpu-test DIRECTORY [NAME...]\n");
        return 2;
    }
    std::vector<test_case> cases;
    for (const auto &group : {name_cases(), payload_cases(), extended_payload_cases(), divergence_cases(), form_b_cases(), launch_cases(),
                              keep_last_wide_cases(), keep_last_even_cases(), keep_last_extended_cases(), keep_last_form_b_cases(),
                              keep_last_life_cases(), pool_cases(), life_cases()})
        cases.insert(cases.end(), group.begin(), group.end());
    int passed = 0, failed = 0;
    for (const auto &test : cases) {
        if (!wanted(test.name, argc, argv)) continue;
        const std::string directory = std::string(argv[1]) + "/" + test.name;
        mkdir(directory.c_str(), 0777);
        const auto start = std::chrono::steady_clock::now();
        std::string failure;
        try {
            test.run(directory);
        } catch (const std::exception &error) {
            failure = error.what();
        }
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        if (failure.empty()) std::printf("ok   %-28s %.2f s\n", test.name, seconds);
        else std::printf("FAIL %-28s %.2f s: %s\n", test.name, seconds, failure.c_str());
        std::fflush(stdout);
        failure.empty() ? passed++ : failed++;
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
