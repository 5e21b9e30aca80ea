//===- InstrDescriptor.h - Instruction descriptors of tcgen05.mma ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "tcgen05: Instruction descriptor" and the table of shapes of
// tcgen05.mma. K = 96 of sm_103a is not decoded.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_INSTRDESCRIPTOR_H
#define FMHA_PTX_SIM_UNITS_INSTRDESCRIPTOR_H

#include "fmha/PTX/Sim/Units/SmallFloat.h"
#include "fmha/PTX/Sim/Units/SmemDescriptor.h"

namespace ptxsim {

enum class MmaKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MXF8F6F4,
  MXF4,
  MXF4NVF4
};
const char *nameOf(MmaKind kind);
/// Returns the kind of an opcode's part, for example "kind::f16".
std::optional<MmaKind> parseMmaKind(std::string_view part);
/// Returns true if scale factors multiply blocks of A and B.
bool isBlockScaled(MmaKind kind);

/// The spelling of the instruction around its descriptor.
struct MmaForm {
  MmaKind kind = MmaKind::F16;
  unsigned ctaGroup = 1;
  bool aInTmem = false;
  bool weightStationary = false;
  /// .sp: A holds half of K, and metadata says which half.
  bool sparse = false;
  /// Scale factors of each row of A and each column of B: 1, 2 or 4 for
  /// block-scaled kinds, else 0.
  uint32_t scaleVector = 0;
  /// .ashift: A in tensor memory moves by one row after the product.
  bool shiftsA = false;
};

struct InstrDescriptor {
  ElementType a = ElementType::F16, b = ElementType::F16, d = ElementType::F32;
  bool negateA = false, negateB = false;
  Major majorA = Major::K, majorB = Major::K;
  bool sparse = false, saturate = false;
  uint32_t maxShift = 0;
  /// The column of the sparsity metadata within its pair.
  uint32_t selector = 0;
  /// The type of scale factors, and the first byte of those of A and B in a
  /// column.
  ElementType scale = ElementType::UE8M0;
  uint32_t scaleIdA = 0, scaleIdB = 0;
  /// Shape of the whole instruction (of both CTAs in a pair).
  uint32_t m = 0, n = 0, k = 0;
};

struct DecodedInstr {
  InstrDescriptor descriptor;
  /// An illegal field for this form: undefined behavior.
  std::optional<std::string> error;
  /// Legal by the manual, but rejected by the vendor's library.
  std::optional<std::string> warning;
};
DecodedInstr decodeInstrDescriptor(uint32_t word, const MmaForm &form);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_INSTRDESCRIPTOR_H
