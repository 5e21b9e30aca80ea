/*===- Embedded.h - Kernels inside C programs ---------------------*- C -*-===*\
|*                                                                            *|
|* Part of the fmha project, under the Apache License v2.0 with LLVM          *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* The structures that "fmha-compile --emit=object" and "--emit=header" put   *|
|* into a program, and the functions of libfmha_rt that launch their kernels. *|
|* Programs call the functions that fmha-compile declares, not these.         *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef FMHA_C_EMBEDDED_H
#define FMHA_C_EMBEDDED_H

#include "fmha-c/Runtime.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One kernel, for GPUs of one compute capability. */
typedef struct FmhaEmbeddedImage {
  uint32_t major, minor;
  const char *target;
  /* The output of ptxas; NULL if ptxas was not found. */
  const void *cubin;
  uint64_t cubin_bytes;
  /* NUL-terminated text; the size does not count the NUL. */
  const char *ptx;
  uint64_t ptx_bytes;
  const char *manifest;
} FmhaEmbeddedImage;

typedef struct FmhaEmbeddedKernel {
  const char *name;
  uint64_t count;
  const FmhaEmbeddedImage *images;
  /* NULL initially; owned by the functions below. */
  void *state;
} FmhaEmbeddedKernel;

/* Each function selects the image for the device of the current context and
   loads it if it is not loaded yet. Returns an FmhaStatus; fmhaLastError()
   returns the message. All may be called concurrently. */
FMHA_EXPORT int fmhaEmbeddedLoad(FmhaEmbeddedKernel *kernel);
FMHA_EXPORT int fmhaEmbeddedWorkspaceBytes(FmhaEmbeddedKernel *kernel,
                                           const DLTensor *const *tensors,
                                           size_t count, uint64_t *bytes);
FMHA_EXPORT int fmhaEmbeddedLaunch(FmhaEmbeddedKernel *kernel,
                                   const DLTensor *const *tensors, size_t count,
                                   void *workspace, CUstream stream);
/* Unloads the image from the current context. */
FMHA_EXPORT int fmhaEmbeddedUnload(FmhaEmbeddedKernel *kernel);
/* Returns the name of tensor `index` of a launch, or NULL if there is none. */
FMHA_EXPORT const char *fmhaEmbeddedTensorName(FmhaEmbeddedKernel *kernel,
                                               size_t index);
/* Returns the message of the last failure in this thread. */
FMHA_EXPORT const char *fmhaEmbeddedLastError(void);

#ifdef __cplusplus
}
#endif

#endif /* FMHA_C_EMBEDDED_H */
