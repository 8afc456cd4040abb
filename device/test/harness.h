// SPDX-License-Identifier: Apache-2.0
// harness.h: the GPU test's cases and what they share. A case throws on failure; main prints and counts.
#ifndef IKET_TEST_HARNESS_H
#define IKET_TEST_HARNESS_H

#include "dump_reader.h"

#include <iket/recorder.h>

#include <cuda_runtime.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

struct test_case {
    const char *name;
    std::function<void(const std::string &directory)> run;
};

// The cases of each file.
std::vector<test_case> name_cases();
std::vector<test_case> payload_cases();
std::vector<test_case> extended_payload_cases();
std::vector<test_case> divergence_cases();
std::vector<test_case> form_b_cases();
std::vector<test_case> keep_last_wide_cases();
std::vector<test_case> keep_last_even_cases();
std::vector<test_case> keep_last_extended_cases();
std::vector<test_case> keep_last_form_b_cases();
std::vector<test_case> keep_last_life_cases();
std::vector<test_case> pool_cases();
std::vector<test_case> launch_cases();
std::vector<test_case> life_cases();

// What main runs in a process of its own, because it ends with a device that can do nothing more; the exit status.
int run_trap_child(const std::string &directory, bool pinned);
int run_ring_trap_child(const std::string &directory);
// Runs this program with other arguments; its status.
int run_self(const std::vector<const char *> &arguments, const char *environment = nullptr);

inline void expect(bool condition, const std::string &what) {
    if (!condition) throw std::runtime_error(what);
}
template <typename A, typename B>
void expect_equal(const A &got, const B &want, const std::string &what) {
    if (!(got == want)) throw std::runtime_error(what + ": got " + std::to_string(got) + ", want " + std::to_string(want));
}
inline void cuda(cudaError_t status, const char *call) { expect(status == cudaSuccess, std::string(call) + ": " + cudaGetErrorString(status)); }
// The error is read after the call that the status comes from.
inline void done(int status, const iket_recorder_error &error, const char *what = "call") {
    if (status != 0) throw std::runtime_error(std::string(what) + ": " + error.message);
}
#define CUDA(call) cuda((call), #call)

// A session that ends with its case, also when that fails.
class session_guard {
public:
    session_guard(const std::string &directory, iket_session_options options = IKET_SESSION_OPTIONS_INIT) {
        options.output_dir = directory.c_str();
        iket_recorder_error error;
        done(iket_session_create(&session_, &options, &error), error, "create");
        done(iket_session_begin(session_, &error), error, "begin");
    }
    ~session_guard() {
        cudaDeviceSynchronize();
        iket_session_destroy(session_, nullptr);
    }
    session_guard(const session_guard &) = delete;
    session_guard &operator=(const session_guard &) = delete;

    iket_session *get() { return session_; }
    void filter(const iket_filter &filter) {
        iket_recorder_error error;
        done(iket_session_filter(session_, &filter, &error), error, "filter");
    }
    iket_session_report drain() {
        iket_session_report report;
        iket_recorder_error error;
        done(iket_session_drain(session_, &report, &error), error, "drain");
        return report;
    }
    iket_session_report finish(unsigned flags = 0, bool wait = true) {
        iket_session_report report;
        iket_recorder_error error;
        if (wait) CUDA(cudaDeviceSynchronize());
        done(iket_session_finish(session_, flags, &report, &error), error, "finish");
        return report;
    }

private:
    iket_session *session_ = nullptr;
};

#endif
