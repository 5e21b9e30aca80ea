/*===- DLPack.h - The tensors of DLPack ----------------------------*- C -*-===*
 *
 * Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*
 *
 * DLTensor with the ABI of DLPack 1.x, for programs without a dlpack.h. If a
 * program includes its own dlpack.h before this header, this header declares
 * nothing.
 *
 *===------------------------------------------------------------------------===*/

#ifndef FMHA_C_DLPACK_H
#define FMHA_C_DLPACK_H

#include <stdint.h>

/* The include guard of dlpack.h. */
#ifndef DLPACK_DLPACK_H_

/* The kind of memory that holds a tensor. */
typedef enum {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLCUDAManaged = 13
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  /* The ordinal of the device. */
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10
} DLDataTypeCode;

typedef struct {
  /* A DLDataTypeCode. */
  uint8_t code;
  uint8_t bits;
  /* 1 for scalars. */
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  /* Strides in elements; NULL for a dense tensor in row-major order. */
  int64_t *strides;
  /* Bytes from `data` to the first element. */
  uint64_t byte_offset;
} DLTensor;

#endif /* DLPACK_DLPACK_H_ */

#endif /* FMHA_C_DLPACK_H */
