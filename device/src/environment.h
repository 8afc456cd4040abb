// SPDX-License-Identifier: Apache-2.0
// environment.h: the sessions that IKET_OUTPUT_DIR asks for, without a line of code in the program.
#ifndef IKET_DEVICE_ENVIRONMENT_H
#define IKET_DEVICE_ENVIRONMENT_H

#ifdef __cplusplus
extern "C" {
#endif

// A module was registered: makes the sessions at the first, attaches the module to them at each.
void environment_module_loaded(void);

// The runtime's own kernels are registered with CUDA: until then sessions have to wait.
void environment_runtime_loaded(void);

// The program makes a session of its own on the device: the environment's, if there is one, gives way with what it has.
void environment_give_way(int device);

// The program made a session: nothing to say at exit about having none.
void environment_session_made(void);

#ifdef __cplusplus
}
#endif
#endif
