//===- InstrDescriptor.h - Instruction descriptors of tcgen05.mma ---------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "tcgen05: Instruction descriptor" and the table of shapes of
// tcgen05.mma. Block-scaled kinds are not decoded.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_INSTRDESCRIPTOR_H
#define FMHA_PTX_SIM_UNITS_INSTRDESCRIPTOR_H

#include "fmha/PTX/Sim/Units/SmallFloat.h"
#include "fmha/PTX/Sim/Units/SmemDescriptor.h"

namespace ptxsim {

enum class MmaKind : uint8_t { F16, TF32, F8F6F4, I8 };
const char *nameOf(MmaKind kind);

/// The spelling of the instruction around its descriptor.
struct MmaForm {
  MmaKind kind = MmaKind::F16;
  unsigned ctaGroup = 1;
  bool aInTmem = false;
  bool weightStationary = false;
};

struct InstrDescriptor {
  ElementType a = ElementType::F16, b = ElementType::F16, d = ElementType::F32;
  bool negateA = false, negateB = false;
  Major majorA = Major::K, majorB = Major::K;
  bool sparse = false, saturate = false;
  uint32_t maxShift = 0;
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
