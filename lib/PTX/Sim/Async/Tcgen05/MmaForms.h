//===- MmaForms.h - The decoded text of tcgen05.mma -------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMAFORMS_H
#define FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMAFORMS_H

#include "Collectors.h"
#include "Families.h"

#include "fmha/PTX/Sim/Units/InstrDescriptor.h"

namespace ptxsim {

/// The form of a tcgen05.mma, and its operands.
struct MmaText {
  MmaForm form;
  AddressOperand d, aTmem, scaleA, scaleB, metadata;
  /// `zeroColumns` is the mask of .ws, if there is one.
  Operand a, b, instr, enable, zeroColumns;
  CollectorText collector;
  /// The vector that disables lanes of D, or empty.
  std::vector<Operand> laneMask;
  uint32_t scale = 0;
};

/// Decodes everything but the handler. Throws if the form does not exist or is
/// not executed.
MmaText decodeMmaText(Decoder &decoder);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMAFORMS_H
