//===- Call.h - A custom call of XLA ----------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PYTHON_SRC_JAX_CALL_H
#define FMHA_PYTHON_SRC_JAX_CALL_H

#include "Abi.h"

#include <string>
#include <string_view>
#include <vector>

namespace fmha::jax {

/// A call that XLA passes to a handler, as python/fmha/jax/_call.py makes it:
/// the attributes `inputs` and `outputs` have the names of the buffers.
class Call {
public:
  /// Throws std::runtime_error if XLA is of a version that Abi.h does not
  /// describe, and std::invalid_argument for another call than ours.
  explicit Call(const abi::CallFrame &frame);

  /// Returns the text of an attribute, which is valid during the call.
  std::string_view attribute(std::string_view name) const;
  /// Returns the buffer of that name, or null.
  const abi::Buffer *find(std::string_view name) const;
  /// Returns the buffer of that name, or throws std::invalid_argument.
  const abi::Buffer &buffer(std::string_view name) const;

  /// Returns the CUstream of the call.
  void *stream() const;
  /// Returns the number of the device, or 0 if XLA does not give it.
  int device() const;

private:
  struct Named {
    std::string_view name;
    const abi::Buffer *buffer;
  };
  void read(const abi::Operands &operands, std::string_view names);
  /// Throws std::runtime_error if XLA answered with an error.
  void check(abi::Error *error, const char *what) const;

  const abi::CallFrame &frame;
  std::vector<Named> buffers;
};

/// Answers a call of XLA: one that asks for the version, or one that `run`
/// serves. Exceptions become errors of XLA.
abi::Error *answer(abi::CallFrame *frame, void (*run)(const Call &)) noexcept;

/// Runs the kernel of a call in the simulator, on host memory.
void runOnHost(const Call &call);
/// Launches the kernel of a call on its stream.
void launchOnDevice(const Call &call);

} // namespace fmha::jax

#endif // FMHA_PYTHON_SRC_JAX_CALL_H
