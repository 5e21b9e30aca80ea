//===- Abi.h - The binary interface of XLA's custom calls -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of XLA's FFI that our handlers read, as xla/ffi/api/c_api.h lays it
// out; README.md says why it is declared here. The names on the right are those
// of that header. test/jax/test_abi.py compares the layouts with it.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PYTHON_SRC_JAX_ABI_H
#define FMHA_PYTHON_SRC_JAX_ABI_H

#include <cstddef>
#include <cstdint>

namespace fmha::jax::abi {

/// The versions in which the declarations of this file are the same.
constexpr int majorVersion = 0, firstMinorVersion = 1, lastMinorVersion = 5;

/// XLA_FFI_DataType, the types of our calls.
enum DataType : int {
  Bool = 1,
  I32 = 4,
  U8 = 6,
  F16 = 10,
  F32 = 11,
  BF16 = 16
};

/// XLA_FFI_AttrType_STRING.
constexpr int stringAttribute = 4;
/// XLA_FFI_ArgType_BUFFER and XLA_FFI_RetType_BUFFER.
constexpr int bufferArgument = 1;
/// XLA_FFI_ExecutionStage_EXECUTE.
constexpr int executeStage = 3;
/// XLA_FFI_Extension_Metadata.
constexpr int metadataExtension = 1;

/// XLA_FFI_Error_Code.
enum ErrorCode : int {
  InvalidArgument = 3,
  ResourceExhausted = 8,
  Internal = 13
};

struct Context; // XLA_FFI_ExecutionContext
struct Error;   // XLA_FFI_Error
struct Future;  // XLA_FFI_Future

struct Extension { // XLA_FFI_Extension_Base
  size_t structBytes;
  int type;
  Extension *next;
};

struct Version { // XLA_FFI_Api_Version
  size_t structBytes;
  Extension *extensions;
  int major, minor;
};

struct Buffer { // XLA_FFI_Buffer
  size_t structBytes;
  Extension *extensions;
  int type;
  void *data;
  int64_t rank;
  int64_t *dims;
};

struct Text { // XLA_FFI_ByteSpan
  const char *data;
  size_t bytes;
};

struct Operands { // XLA_FFI_Args, XLA_FFI_Rets
  size_t structBytes;
  Extension *extensions;
  int64_t count;
  int *types;
  void **values;
};

struct Attributes { // XLA_FFI_Attrs
  size_t structBytes;
  Extension *extensions;
  int64_t count;
  int *types;
  Text **names;
  void **values;
};

struct ErrorRequest { // XLA_FFI_Error_Create_Args
  size_t structBytes;
  Extension *extensions;
  const char *message;
  int code;
};

struct StreamRequest { // XLA_FFI_Stream_Get_Args
  size_t structBytes;
  Extension *extensions;
  Context *context;
  void *stream;
};

struct OrdinalRequest { // XLA_FFI_DeviceOrdinal_Get_Args
  size_t structBytes;
  Extension *extensions;
  Context *context;
  int32_t ordinal;
};

struct Api { // XLA_FFI_Api
  size_t structBytes;
  Extension *extensions;
  Version version;
  const void *internal;
  Error *(*createError)(ErrorRequest *);
  void *messageOfError, *destroyError, *registerHandler;
  Error *(*getStream)(StreamRequest *);
  void *registerType, *getContext, *setState, *getState, *allocate, *release,
      *schedule, *countThreads, *createFuture, *finishFuture, *failFuture,
      *getRun;
  Error *(*getOrdinal)(OrdinalRequest *);
};

struct CallFrame { // XLA_FFI_CallFrame
  size_t structBytes;
  Extension *extensions;
  const Api *api;
  Context *context;
  int stage;
  Operands arguments;
  Operands results;
  Attributes attributes;
  Future *future;
};

struct Metadata { // XLA_FFI_Metadata
  size_t structBytes;
  Version version;
  uint32_t traits;
};

struct MetadataExtension { // XLA_FFI_Metadata_Extension
  Extension base;
  Metadata *metadata;
};

} // namespace fmha::jax::abi

#endif // FMHA_PYTHON_SRC_JAX_ABI_H
