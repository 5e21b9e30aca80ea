//===- Mgpu.h - The run-time library of MLIR's gpu dialect ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that the `gpu` dialect's lowering (gpu-to-llvm, and
// gpu.binary's translation to LLVM IR) calls at run time, with the names and
// signatures of MLIR 22's CUDA runtime wrappers, over any driver library
// (FMHA_DRIVER):
//
//   mlir-runner-22 program.mlir -e main --entry-point-result=void
//     --shared-libs=libfmha_mgpu.so
//
// A driver error prints one line on stderr and ends the process with status 1.
// If no context is current in the calling thread, the primary context of the
// default device becomes current. All functions are thread-safe. cuSPARSE's
// entry points are not included.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_RUNTIME_MGPU_MGPU_H
#define FMHA_RUNTIME_MGPU_MGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MGPU_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Modules. The image (PTX text that ends with a zero byte, a cubin or a fatbin)
 * must outlive the handle: it is loaded at the first mgpuModuleGetFunction in
 * each context, so that images for other GPUs cost nothing. */
MGPU_EXPORT void *mgpuModuleLoad(void *image, size_t bytes);
MGPU_EXPORT void *mgpuModuleLoadJIT(void *image, int32_t optLevel);
MGPU_EXPORT void mgpuModuleUnload(void *module);
MGPU_EXPORT void *mgpuModuleGetFunction(void *module, const char *name);

/* Launches. Dynamic shared memory above what a function may have by default is
 * allowed first. A grid without blocks is not launched. */
MGPU_EXPORT void mgpuLaunchKernel(void *function, intptr_t gridX,
                                  intptr_t gridY, intptr_t gridZ,
                                  intptr_t blockX, intptr_t blockY,
                                  intptr_t blockZ, int32_t smem, void *stream,
                                  void **params, void **extra,
                                  size_t paramsCount);
MGPU_EXPORT void
mgpuLaunchClusterKernel(void *function, intptr_t clusterX, intptr_t clusterY,
                        intptr_t clusterZ, intptr_t gridX, intptr_t gridY,
                        intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                        intptr_t blockZ, int32_t smem, void *stream,
                        void **params, void **extra, size_t paramsCount);

/* Streams, which do not wait for the default stream, and events without times.
 */
MGPU_EXPORT void *mgpuStreamCreate(void);
MGPU_EXPORT void mgpuStreamDestroy(void *stream);
MGPU_EXPORT void mgpuStreamSynchronize(void *stream);
MGPU_EXPORT void mgpuStreamWaitEvent(void *stream, void *event);
MGPU_EXPORT void *mgpuEventCreate(void);
MGPU_EXPORT void mgpuEventDestroy(void *event);
MGPU_EXPORT void mgpuEventSynchronize(void *event);
MGPU_EXPORT void mgpuEventRecord(void *event, void *stream);

/* Memory. Zero bytes are a null pointer; `isHostShared` is managed memory. */
MGPU_EXPORT void *mgpuMemAlloc(uint64_t bytes, void *stream, bool isHostShared);
MGPU_EXPORT void mgpuMemFree(void *pointer, void *stream);
MGPU_EXPORT void mgpuMemcpy(void *to, void *from, size_t bytes, void *stream);
MGPU_EXPORT void mgpuMemset32(void *to, uint32_t value, size_t count,
                              void *stream);
MGPU_EXPORT void mgpuMemset16(void *to, uint16_t value, size_t count,
                              void *stream);

/* Host memory for kernels. The memref forms take a descriptor of `rank`, which
 * must be dense. */
MGPU_EXPORT void mgpuMemHostRegister(void *pointer, uint64_t bytes);
MGPU_EXPORT void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor,
                                           int64_t elementBytes);
MGPU_EXPORT void mgpuMemHostUnregister(void *pointer);
MGPU_EXPORT void mgpuMemHostUnregisterMemRef(int64_t rank, void *descriptor,
                                             int64_t elementBytes);

/* The device of threads that have no context; 0 at first. */
MGPU_EXPORT void mgpuSetDefaultDevice(int32_t device);

/* Tensor maps. The arguments are those of cuTensorMapEncodeTiled. The memref
 * form returns the device address of a map of the whole memref; it stays valid
 * until the process ends, and equal maps share one. */
MGPU_EXPORT void
mgpuTensorMapEncodeTiled(void *map, int32_t dataType, uint32_t rank,
                         void *address, const uint64_t *dims,
                         const uint64_t *strides, const uint32_t *box,
                         const uint32_t *elementStrides, int32_t interleave,
                         int32_t swizzle, int32_t l2Promotion, int32_t oobFill);
MGPU_EXPORT void *mgpuTensorMapEncodeTiledMemref(
    int64_t rank, void *descriptor, int64_t dataType, int64_t interleave,
    int64_t swizzle, int64_t l2Promotion, int64_t oobFill, int64_t *box);

/* This project's own. `map` is 128 bytes, aligned to 64, in host memory;
 * dimension 0 is the innermost one, `strides` are the byte strides of the
 * others. L2 promotion is 256 bytes; there is no interleave, elements outside
 * are zeros, and element strides are 1. */
MGPU_EXPORT void mgpuFmhaEncodeTensorMap(void *map, int32_t dataType,
                                         int32_t rank, void *address,
                                         const uint64_t *dims,
                                         const uint64_t *strides,
                                         const uint32_t *box, int32_t swizzle);
/* Of the current context's device. The capability is major * 10 + minor. */
MGPU_EXPORT int32_t mgpuFmhaMultiprocessorCount(void);
MGPU_EXPORT int32_t mgpuFmhaComputeCapability(void);
/* Prints `message` as one line on stderr and ends the process with status 1:
 * what a failed assertion of a program does. */
MGPU_EXPORT void mgpuFmhaFail(const char *message);

#ifdef __cplusplus
}
#endif

#endif /* FMHA_RUNTIME_MGPU_MGPU_H */
