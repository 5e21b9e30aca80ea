//===- SassText.h - Functions of SASS for tests -----------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TEST_PTX_TIME_SASSTEXT_H
#define FMHA_TEST_PTX_TIME_SASSTEXT_H

#include "fmha/PTX/Sass/Program.h"

#include <string>
#include <vector>

namespace ptxsim::timing::test {

/// The line of the first instruction of a Kernel.
constexpr uint32_t kFirst = 11;

/// An instruction of SASS, at a line of the body of a kernel, from 0 on.
struct Sass {
  std::string text;
  uint32_t line = 0;
  sass::Control control = {.stall = 1};
  uint32_t target = sass::kNoTarget;
  std::vector<uint32_t> targets = {};
};

inline sass::Function functionOf(const std::vector<Sass> &list) {
  sass::Function function{"k", {}};
  for (const Sass &of : list) {
    sass::Instruction inst;
    std::string text = of.text;
    if (text.starts_with("@")) {
      inst.guard = text.substr(0, text.find(' '));
      text = text.substr(text.find(' ') + 1);
    }
    inst.opcode = text.substr(0, text.find(' '));
    inst.operands = text.size() > inst.opcode.size()
                        ? text.substr(inst.opcode.size() + 1)
                        : "";
    inst.address = uint32_t(function.instructions.size()) * 16;
    inst.line = kFirst + of.line;
    inst.control = of.control;
    inst.target = of.target;
    inst.targets = of.targets;
    sass::setRegisters(inst);
    function.instructions.push_back(inst);
  }
  return function;
}

} // namespace ptxsim::timing::test

#endif // FMHA_TEST_PTX_TIME_SASSTEXT_H
