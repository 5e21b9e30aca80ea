//===- Snippet.h - Runs straight-line PTX on recorded arrays ----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recorded entry quotes the instructions under test. With only scalar forms
// in it, it runs without a machine: 32 samples are the lanes of one warp.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_SIM_SCALAR_SNIPPET_H
#define FMHA_TEST_PTX_SIM_SCALAR_SNIPPET_H

#include "fmha/PTX/Sim/Scalar/Scalar.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim::scalar::test {

/// One instruction: opcode and operands, "%d|%p" counting as two.
struct Instruction {
  std::string opcode;
  std::vector<std::string> operands;
};

/// Splits "add.cc.u32 %d, %a, %b; addc.u32 %k, 0, 0;".
std::vector<Instruction> parseSnippet(std::string_view text);

using Registers = std::map<std::string, Row>;

/// Runs one instruction over the lanes; false where there is no such form.
/// `widths` holds the width in bits of registers that are wider than a result.
bool execute(const Instruction &instruction, const Context &context,
             Registers &registers,
             const std::map<std::string, unsigned> &widths,
             LaneMask active = ~LaneMask(0));

} // namespace ptxsim::scalar::test

#endif // FMHA_TEST_PTX_SIM_SCALAR_SNIPPET_H
