//===- Calls.h - The CUDA driver API, loaded by name ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver calls of every host of this project, as function pointers found
// with dlsym in the library that was opened, and the choice of that library:
//
//   std::string why;
//   std::optional<driver::Calls> calls = driver::openDefault(why);
//   if (!calls)
//     return fail(why);
//   calls->init(0);
//
// Neither LLVM nor a CUDA toolkit is needed, to build or to run.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_DRIVER_CALLS_H
#define FMHA_RUNTIME_DRIVER_CALLS_H

#include "fmha/Runtime/Driver/Types.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fmha::runtime::driver {

/// The calls that every kernel needs: member name, symbol, signature. A library
/// that lacks one of them is not opened.
#define FMHA_DRIVER_CALLS(CALL)                                                \
  CALL(init, cuInit, (unsigned))                                               \
  CALL(getErrorName, cuGetErrorName, (Result, const char **))                  \
  CALL(getErrorString, cuGetErrorString, (Result, const char **))              \
  CALL(deviceGetCount, cuDeviceGetCount, (int *))                              \
  CALL(deviceGet, cuDeviceGet, (DeviceId *, int))                              \
  CALL(deviceGetName, cuDeviceGetName, (char *, int, DeviceId))                \
  CALL(deviceGetAttribute, cuDeviceGetAttribute, (int *, int, DeviceId))       \
  CALL(retainContext, cuDevicePrimaryCtxRetain, (Context *, DeviceId))         \
  CALL(releaseContext, cuDevicePrimaryCtxRelease_v2, (DeviceId))               \
  CALL(setContext, cuCtxSetCurrent, (Context))                                 \
  CALL(synchronize, cuCtxSynchronize, ())                                      \
  CALL(moduleLoad, cuModuleLoadDataEx,                                         \
       (Module *, const void *, unsigned, int *, void **))                     \
  CALL(moduleUnload, cuModuleUnload, (Module))                                 \
  CALL(moduleGetFunction, cuModuleGetFunction,                                 \
       (Function *, Module, const char *))                                     \
  CALL(functionSetAttribute, cuFuncSetAttribute, (Function, int, int))         \
  CALL(memAlloc, cuMemAlloc_v2, (DevicePointer *, size_t))                     \
  CALL(memFree, cuMemFree_v2, (DevicePointer))                                 \
  CALL(copyToDevice, cuMemcpyHtoD_v2, (DevicePointer, const void *, size_t))   \
  CALL(copyToHost, cuMemcpyDtoH_v2, (void *, DevicePointer, size_t))           \
  CALL(encodeTiled, cuTensorMapEncodeTiled,                                    \
       (TensorMap *, int, uint32_t, void *, const uint64_t *,                  \
        const uint64_t *, const uint32_t *, const uint32_t *, int, int, int,   \
        int))                                                                  \
  CALL(launchKernel, cuLaunchKernelEx,                                         \
       (const LaunchConfig *, Function, void **, void **))

/// Calls that only some hosts make. If a library lacks one, calling it returns
/// errorNotSupported, and describe() names the missing symbol.
#define FMHA_DRIVER_EXTRA_CALLS(CALL)                                          \
  CALL(getContext, cuCtxGetCurrent, (Context *))                               \
  CALL(pushContext, cuCtxPushCurrent_v2, (Context))                            \
  CALL(popContext, cuCtxPopCurrent_v2, (Context *))                            \
  CALL(contextGetDevice, cuCtxGetDevice, (DeviceId *))                         \
  CALL(contextGetId, cuCtxGetId, (Context, unsigned long long *))              \
  CALL(contextGetLimit, cuCtxGetLimit, (size_t *, int))                        \
  CALL(moduleGetGlobal, cuModuleGetGlobal_v2,                                  \
       (DevicePointer *, size_t *, Module, const char *))                      \
  CALL(functionGetAttribute, cuFuncGetAttribute, (int *, int, Function))       \
  CALL(memAllocAsync, cuMemAllocAsync, (DevicePointer *, size_t, Stream))      \
  CALL(memFreeAsync, cuMemFreeAsync, (DevicePointer, Stream))                  \
  CALL(memAllocManaged, cuMemAllocManaged,                                     \
       (DevicePointer *, size_t, unsigned))                                    \
  CALL(hostRegister, cuMemHostRegister_v2, (void *, size_t, unsigned))         \
  CALL(hostUnregister, cuMemHostUnregister, (void *))                          \
  CALL(hostGetDevicePointer, cuMemHostGetDevicePointer_v2,                     \
       (DevicePointer *, void *, unsigned))                                    \
  CALL(pointerGetAttribute, cuPointerGetAttribute,                             \
       (void *, int, DevicePointer))                                           \
  CALL(pointerGetAttributes, cuPointerGetAttributes,                           \
       (unsigned, int *, void **, DevicePointer))                              \
  CALL(copy, cuMemcpy, (DevicePointer, DevicePointer, size_t))                 \
  CALL(copyAsync, cuMemcpyAsync,                                               \
       (DevicePointer, DevicePointer, size_t, Stream))                         \
  CALL(copyToDeviceAsync, cuMemcpyHtoDAsync_v2,                                \
       (DevicePointer, const void *, size_t, Stream))                          \
  CALL(copyToHostAsync, cuMemcpyDtoHAsync_v2,                                  \
       (void *, DevicePointer, size_t, Stream))                                \
  CALL(set8Async, cuMemsetD8Async,                                             \
       (DevicePointer, unsigned char, size_t, Stream))                         \
  CALL(set16Async, cuMemsetD16Async,                                           \
       (DevicePointer, unsigned short, size_t, Stream))                        \
  CALL(set32Async, cuMemsetD32Async,                                           \
       (DevicePointer, unsigned, size_t, Stream))                              \
  CALL(streamCreate, cuStreamCreate, (Stream *, unsigned))                     \
  CALL(streamDestroy, cuStreamDestroy_v2, (Stream))                            \
  CALL(streamSynchronize, cuStreamSynchronize, (Stream))                       \
  CALL(streamQuery, cuStreamQuery, (Stream))                                   \
  CALL(streamWaitEvent, cuStreamWaitEvent, (Stream, Event, unsigned))          \
  CALL(streamGetContext, cuStreamGetCtx, (Stream, Context *))                  \
  CALL(streamIsCapturing, cuStreamIsCapturing, (Stream, int *))                \
  CALL(streamBeginCapture, cuStreamBeginCapture_v2, (Stream, int))             \
  CALL(streamEndCapture, cuStreamEndCapture, (Stream, Graph *))                \
  CALL(eventCreate, cuEventCreate, (Event *, unsigned))                        \
  CALL(eventDestroy, cuEventDestroy_v2, (Event))                               \
  CALL(eventRecord, cuEventRecord, (Event, Stream))                            \
  CALL(eventSynchronize, cuEventSynchronize, (Event))                          \
  CALL(eventQuery, cuEventQuery, (Event))                                      \
  CALL(graphInstantiate, cuGraphInstantiateWithFlags,                          \
       (GraphExec *, Graph, unsigned long long))                               \
  CALL(graphLaunch, cuGraphLaunch, (GraphExec, Stream))                        \
  CALL(graphExecDestroy, cuGraphExecDestroy, (GraphExec))                      \
  CALL(graphDestroy, cuGraphDestroy, (Graph))                                  \
  CALL(graphGetNodes, cuGraphGetNodes, (Graph, GraphNode *, size_t *))

struct Calls {
#define FMHA_MEMBER(member, symbol, signature)                                 \
  Result(*member) signature = nullptr;
  FMHA_DRIVER_CALLS(FMHA_MEMBER)
  FMHA_DRIVER_EXTRA_CALLS(FMHA_MEMBER)
#undef FMHA_MEMBER
  /// Functions of libptxsim.so beyond the driver API (its header PtxSim.h);
  /// null in a real driver.
  Result (*setOption)(const char *, const char *) = nullptr;
  void (*reset)() = nullptr;
  const char *(*lastReport)() = nullptr;
  const char *(*lastError)() = nullptr;
  /// The file that was opened.
  std::string library;

  bool isSimulator() const { return setOption && lastReport; }
  /// Returns "CUDA_ERROR_INVALID_VALUE: invalid argument", followed by the
  /// reason: `log`, of a driver's compiler, or the library's own reason.
  std::string describe(Result result, std::string_view log = {}) const;
};

/// Opens `library` and resolves its calls. Returns nullopt if it cannot be
/// loaded or lacks a required call, with a sentence in `why`. The library stays
/// open: a driver cannot be used after it is closed.
std::optional<Calls> open(const std::string &library, std::string &why);

/// Opens the library named by FMHA_DRIVER. If that is unset or empty:
/// libcuda.so.1 if it has a device, else libptxsim.so, located by
/// findNearLibrary(). A name without a slash is first searched for with
/// findNearLibrary().
std::optional<Calls> openDefault(std::string &why);

/// Returns the path of the file `name` in the folder of the shared library that
/// this code is linked into, or of the program, or in ../lib or lib of these.
/// If none of them has it, returns `name` for the loader to find.
std::string findNearLibrary(const std::string &name);

} // namespace fmha::runtime::driver

#endif // FMHA_RUNTIME_DRIVER_CALLS_H
