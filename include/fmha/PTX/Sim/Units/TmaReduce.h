//===- TmaReduce.h - Reductions of bulk copies ------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, cp.reduce.async.bulk and cp.reduce.async.bulk.tensor.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_TMAREDUCE_H
#define FMHA_PTX_SIM_UNITS_TMAREDUCE_H

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ptxsim {

enum class ReduceOp : uint8_t { Add, Min, Max, Inc, Dec, And, Or, Xor };
enum class ReduceType : uint8_t {
  U32,
  S32,
  U64,
  S64,
  F16,
  BF16,
  F32,
  F64,
  B32,
  B64
};

std::optional<ReduceOp> parseReduceOp(std::string_view name);
/// Returns the type of "u32", "bf16", ...; "noftz" is not a type.
std::optional<ReduceType> parseReduceType(std::string_view name);
unsigned bytesOf(ReduceType type);
/// Returns false for unsupported combinations, such as inc of a float.
bool isReduction(ReduceOp op, ReduceType type);

/// Computes memory[i] = op(memory[i], operand[i]) for whole elements.
/// Floating-point add rounds to nearest even and keeps subnormals; min and max
/// drop one NaN; NaN results are canonical except for f64, which keeps the
/// operand's NaN.
void reduceInto(ReduceOp op, ReduceType type, std::span<uint8_t> memory,
                std::span<const uint8_t> operand);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_TMAREDUCE_H
