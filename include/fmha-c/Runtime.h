/*===- Runtime.h - Launch compiled kernels from C ------------------*- C -*-===*
 *
 * Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*
 *
 * libfmha_rt.so: loads a kernel of fmha-compile and launches it on tensors in
 * device memory.
 *
 *   FmhaModule module;
 *   fmhaModuleLoad(ptx, ptx_bytes, manifest_json, &module);
 *   const DLTensor *tensors[] = {&q, &k, &v, &o};
 *   if (fmhaLaunch(module, tensors, 4, NULL, stream) != FMHA_SUCCESS)
 *     fprintf(stderr, "%s\n", fmhaLastError());
 *   fmhaModuleUnload(module);
 *
 * The driver library is the one that the environment variable FMHA_DRIVER
 * names; unset, libcuda.so.1 if it has a device, else libptxsim.so next to this
 * library. All functions may be called from several threads at once.
 *
 *===------------------------------------------------------------------------===*/

#ifndef FMHA_C_RUNTIME_H
#define FMHA_C_RUNTIME_H

#include "fmha-c/DLPack.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef FMHA_EXPORT
#define FMHA_EXPORT __attribute__((visibility("default")))
#endif

/* As cuda.h declares it. */
typedef struct CUstream_st *CUstream;

typedef struct FmhaModuleImpl *FmhaModule;

typedef enum {
  FMHA_SUCCESS = 0,
  /* A required pointer is NULL, or a number is out of range. */
  FMHA_ERROR_INVALID_ARGUMENT = 1,
  /* The manifest is malformed, or does not describe a launch. */
  FMHA_ERROR_MANIFEST = 2,
  /* No driver library could be opened. */
  FMHA_ERROR_NO_DRIVER = 3,
  /* A call of the driver failed. */
  FMHA_ERROR_DRIVER = 4,
  /* More or fewer tensors than the kernel has. */
  FMHA_ERROR_TENSOR_COUNT = 5,
  /* A tensor is not in memory of the device of the module. */
  FMHA_ERROR_DEVICE = 6,
  FMHA_ERROR_DTYPE = 7,
  /* Number of dimensions, extents, or a length beyond the kernel's limits. */
  FMHA_ERROR_SHAPE = 8,
  FMHA_ERROR_STRIDES = 9,
  FMHA_ERROR_ALIGNMENT = 10,
  /* An output shares memory with another tensor or with the workspace. */
  FMHA_ERROR_OVERLAP = 11,
  /* The grid is larger than the hardware allows. */
  FMHA_ERROR_GRID = 12,
  /* The workspace is missing, too small or misaligned. */
  FMHA_ERROR_WORKSPACE = 13,
  FMHA_ERROR_OUT_OF_MEMORY = 14
} FmhaStatus;

/* Loads `image`, PTX text or a cubin of `bytes` bytes, into the current
 * context; where there is none the primary context of device 0 becomes the
 * current one. `manifest_json` is the text that `fmha-compile --emit=manifest`
 * or fmhaCompile() gives for the same kernel, of attention or of fmha.merge. */
FMHA_EXPORT FmhaStatus fmhaModuleLoad(const void *image, size_t bytes,
                                      const char *manifest_json,
                                      FmhaModule *module);

/* Unloads `module`, which must not be in use by another thread. NULL is
 * allowed. */
FMHA_EXPORT FmhaStatus fmhaModuleUnload(FmhaModule module);

/* clang-format off */
/* Returns the number of tensors of a launch, and the name of tensor `i`, or
 * NULL if there is no such tensor. A launch takes those that the kernel has,
 * in this order:
 *
 *   q, k, v, o, lse, row_max, row_sum, kv_lens, cu_seqlens_q, cu_seqlens_k,
 *   sink, o_parts, max_parts, sum_parts, k2, v2, source2_lens,
 *   capture0, capture1, ...
 *
 * The workspace tensors of a split (o_parts, max_parts, sum_parts) are not among
 * them; for fmha.merge they are inputs. Shapes, with any strides that keep the
 * last dimension of q, k, v, o, k2, v2 and o_parts contiguous:
 *
 *   q, o                   [batch, q_len, q_heads, dim];
 *                          [rows, q_heads, dim] if the kernel has cu_seqlens_q
 *   k, v                   [batch, kv_len, kv_heads, dim];
 *                          [rows, kv_heads, dim] if the kernel has cu_seqlens_k
 *   k2, v2                 [sequences, kv_len2, kv_heads, dim]
 *   lse, row_max, row_sum  float32 [batch, q_heads, q_len];
 *                          [q_heads, rows] if the kernel has cu_seqlens_q
 *   kv_lens, source2_lens  int32 [sequences], contiguous
 *   cu_seqlens_q, _k       int32 [sequences + 1], contiguous
 *   sink                   float32 [q_heads], contiguous
 *   o_parts                float32 [parts, batch, q_len, q_heads, dim]
 *   max_parts, sum_parts   float32 [parts, batch, q_heads, q_len]
 *   captureN               as the op's score region reads it
 *
 * kv_lens and the like are in device memory, so their entries are not checked:
 * invalid ones give wrong results but never out-of-bounds accesses. */
/* clang-format on */
FMHA_EXPORT size_t fmhaTensorCount(FmhaModule module);
FMHA_EXPORT const char *fmhaTensorName(FmhaModule module, size_t i);

/* Writes to `bytes` the device memory that a launch on these tensors needs as
 * its workspace; 0 for a kernel without splits. Data pointers and strides do
 * not matter. */
FMHA_EXPORT FmhaStatus fmhaWorkspaceBytes(FmhaModule module,
                                          const DLTensor *const *tensors,
                                          size_t n, uint64_t *bytes);

/* Launches the kernel on `stream` and returns without waiting for it. Neither
 * allocates nor synchronizes, and can be captured into a graph. `workspace` is
 * device memory of fmhaWorkspaceBytes(), at a multiple of 16 bytes, which the
 * kernel uses until it ends; NULL if that is 0. If a tensor does not fit, the
 * call fails before anything is launched. A thread without a
 * current context gets that of the module. */
FMHA_EXPORT FmhaStatus fmhaLaunch(FmhaModule module,
                                  const DLTensor *const *tensors, size_t n,
                                  void *workspace, CUstream stream);

typedef struct {
  /* sizeof(FmhaLaunchOptions). */
  size_t struct_bytes;
  CUstream stream;
  void *workspace;
  /* The bytes at `workspace`, or 0 to have them not checked. */
  uint64_t workspace_bytes;
  /* The longest sequence of packed queries, which bounds the grid; 0 for q_len.
   * Rows beyond it are not written. */
  int64_t max_q_len;
} FmhaLaunchOptions;

/* Launches as fmhaLaunch() does. `options` NULL means all zero. */
FMHA_EXPORT FmhaStatus fmhaLaunchWith(FmhaModule module,
                                      const DLTensor *const *tensors, size_t n,
                                      const FmhaLaunchOptions *options);

/* Returns the message of the last failure in this thread: the argument, what
 * was expected, what was given, and how to fix it. Valid until the next call of
 * this thread that fails; never NULL. */
FMHA_EXPORT const char *fmhaLastError(void);

#ifdef __cplusplus
}
#endif

#endif /* FMHA_C_RUNTIME_H */
