/*===- Runtime.h - Launch compiled kernels from C ------------------*- C -*-===*
 *
 * Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*
 *
 * libfmha_rt.so loads a kernel that fmha-compile compiled and launches it on
 * tensors in device memory.
 *
 *   FmhaModule module;
 *   fmhaModuleLoad(ptx, ptx_bytes, manifest_json, &module);
 *   const DLTensor *tensors[] = {&q, &k, &v, &o};
 *   if (fmhaLaunch(module, tensors, 4, NULL, stream) != FMHA_SUCCESS)
 *     fprintf(stderr, "%s\n", fmhaLastError());
 *   fmhaModuleUnload(module);
 *
 * The driver library is the one that the environment variable FMHA_DRIVER
 * names; if it is unset, libcuda.so.1 if that has a device, else libptxsim.so
 * next to this library. All functions may be called concurrently.
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

/* The type that cuda.h declares. */
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
  /* A driver call failed. */
  FMHA_ERROR_DRIVER = 4,
  /* More or fewer tensors than the kernel takes. */
  FMHA_ERROR_TENSOR_COUNT = 5,
  /* A tensor is not in the memory of the module's device. */
  FMHA_ERROR_DEVICE = 6,
  FMHA_ERROR_DTYPE = 7,
  /* Wrong number of dimensions or extents, or a length beyond the kernel's
   * limits. */
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
 * context; if there is none, the primary context of device 0 becomes the
 * current one. `manifest_json` is the text that `fmha-compile --emit=manifest`
 * or fmhaCompile() produces for the same kernel, of attention, fmha.append or
 * fmha.merge. */
FMHA_EXPORT FmhaStatus fmhaModuleLoad(const void *image, size_t bytes,
                                      const char *manifest_json,
                                      FmhaModule *module);

/* Unloads `module`, which must not be in use by another thread. NULL is
 * allowed. */
FMHA_EXPORT FmhaStatus fmhaModuleUnload(FmhaModule module);

/* clang-format off */
/* fmhaTensorCount() returns the number of tensors of a launch, fmhaTensorName()
 * the name of tensor `i`, or NULL if there is no such tensor. A launch takes
 * those of the following tensors that the kernel has, in this order:
 *
 *   q, k, v, o, lse, row_max, row_sum, kv_lens, cu_seqlens_q, cu_seqlens_k,
 *   sink, o_parts, max_parts, sum_parts, k2, v2, source2_lens, block_tables,
 *   key_new, value_new, rotary_cos, rotary_sin, q_out, k_scale, v_scale, q_scale,
 *   topk, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices,
 *   capture0, capture1, ...
 *
 * o_parts, max_parts and sum_parts are inputs of fmha.merge; a kernel with splits
 * has them in its workspace instead. The shapes are as follows, with any strides
 * that keep the last dimension of q, k, v, o, k2, v2 and o_parts contiguous:
 *
 *   q, o                   [batch, q_len, q_heads, dim];
 *                          [rows, q_heads, dim] if the kernel has cu_seqlens_q
 *   k, v                   [batch, kv_len, kv_heads, dim];
 *                          [rows, kv_heads, dim] if the kernel has cu_seqlens_k,
 *                          [pages, page_size, kv_heads, dim] if it has block_tables
 *   k2, v2                 [sequences, kv_len2, kv_heads, dim]
 *   lse, row_max, row_sum  float32 [batch, q_heads, q_len];
 *                          [q_heads, rows] if the kernel has cu_seqlens_q
 *   kv_lens, source2_lens  int32 [sequences], contiguous
 *   cu_seqlens_q, _k       int32 [sequences + 1], contiguous
 *   block_tables           int32 [sequences, max_pages], contiguous: key j of a
 *                          sequence is row j % page_size of the page that entry
 *                          j / page_size of its row names
 *   topk                   int32 [batch, q_len, n], contiguous: the positions of
 *                          the keys that each query sees, up to the first -1
 *   kv_num_blocks, full_kv_num_blocks
 *                          int32 [batch or 1, q_heads or 1, row blocks],
 *                          contiguous: the counts of blocks of keys that each
 *                          block of block_rows queries sees
 *   kv_indices, full_kv_indices
 *                          int32 [.., n], contiguous: these blocks
 *   sink                   float32 [q_heads], contiguous
 *   k_scale, v_scale       float32 [1], [kv_heads] if the kernel has
 *                          scale_per_head, [pages] with scale_per_page; contiguous
 *   q_scale                float32 [1]
 *   key_new, value_new     [batch, n, kv_heads, dim], if the kernel appends
 *   rotary_cos, rotary_sin float32 [positions, rotary_dim / 2], if it rotates
 *   o_parts                float32 [parts, batch, q_len, q_heads, dim]
 *   max_parts, sum_parts   float32 [parts, batch, q_heads, q_len]
 *   captureN               as the op's score region reads it
 *
 * Elements of e4m3 are kDLFloat8_e4m3fn or, as their bytes, kDLUInt of 8 bits.
 *
 * A kernel of fmha.append takes its tensors with any strides that keep the last
 * dimension contiguous, aligned to their elements. It writes to k, v and q_out:
 *
 *   q, q_out               [batch, q_len, q_heads, dim]
 *   k, v                   [batch, length, kv_heads, dim];
 *                          [pages, page_size, kv_heads, dim] if it has block_tables
 *   key_new, value_new     [batch, n, kv_heads, dim]
 *   rotary_cos, rotary_sin float32 [positions, rotary_dim / 2]
 *
 * Varlen metadata is in device memory, so its entries are not checked:
 * invalid ones give wrong results but never out-of-bounds accesses. An append
 * leaves out tokens whose position, page or angles do not exist. */
/* clang-format on */
FMHA_EXPORT size_t fmhaTensorCount(FmhaModule module);
FMHA_EXPORT const char *fmhaTensorName(FmhaModule module, size_t i);

/* Sets `*bytes` to the size of the workspace, in device memory, that a launch
 * on these tensors needs; 0 for a kernel without splits and without a tile
 * counter. Ignores data pointers and strides. */
FMHA_EXPORT FmhaStatus fmhaWorkspaceBytes(FmhaModule module,
                                          const DLTensor *const *tensors,
                                          size_t n, uint64_t *bytes);

/* Launches the kernel on `stream` and returns without waiting for it. Does not
 * allocate or synchronize, and can be captured into a graph. `workspace` is
 * device memory of fmhaWorkspaceBytes() bytes, aligned to 16 bytes, with any
 * contents, which the kernel uses until it ends; NULL if the size is 0. If a
 * tensor does not fit, the call fails before anything is launched. A thread
 * without a current context gets the module's. */
FMHA_EXPORT FmhaStatus fmhaLaunch(FmhaModule module,
                                  const DLTensor *const *tensors, size_t n,
                                  void *workspace, CUstream stream);

typedef struct {
  /* sizeof(FmhaLaunchOptions). */
  size_t struct_bytes;
  CUstream stream;
  void *workspace;
  /* The size of `workspace` in bytes, or 0 to skip the check of the size. */
  uint64_t workspace_bytes;
  /* The longest sequence of packed queries, which bounds the grid; 0 for q_len.
   * Rows beyond it are not written. */
  int64_t max_q_len;
} FmhaLaunchOptions;

/* Launches the kernel as fmhaLaunch() does. If `options` is NULL, all of its
 * fields are zero. */
FMHA_EXPORT FmhaStatus fmhaLaunchWith(FmhaModule module,
                                      const DLTensor *const *tensors, size_t n,
                                      const FmhaLaunchOptions *options);

/* Returns the message of the last failure in this thread: the argument, what
 * was expected, what was given, and how to fix it. The text
 * is valid until the next failing call in this thread; never NULL. */
FMHA_EXPORT const char *fmhaLastError(void);

#ifdef __cplusplus
}
#endif

#endif /* FMHA_C_RUNTIME_H */
