//===- Uniform.cpp - What ptxas computes in uniform registers -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptors of wgmma are operands in uniform registers. ptxas computes them,
// and what only they are computed from, in the uniform pipe (USHF, ULOP3,
// UIADD3.64), and so takes nothing of the pipe that maxima of other warps need.
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/Recording.h"

#include <algorithm>
#include <map>

namespace ptxsim::timing {
namespace {

bool isWgmma(const Code &code) { return code.of->action == Action::Wgmma; }

/// Returns whether wgmma takes such a result as a descriptor or as the flag for
/// accumulation, not as elements of a matrix.
bool isDescriptor(const Code &code) {
  std::string_view opcode = code.opcode;
  return opcode.ends_with("64") || opcode.starts_with("setp");
}

/// Returns whether ptxas has an instruction of the uniform pipe for it.
bool isSimple(const Code &code) {
  return code.of->order == Order::Any && code.of->action == Action::Plain &&
         (code.of->pipe == Pipe::Alu || code.of->pipe == Pipe::None ||
          code.opcode.starts_with("mul.wide.u32")) &&
         !code.writes.empty();
}

/// The codes that read each row of each function.
using Readers =
    std::map<std::pair<const void *, uint32_t>, std::vector<uint32_t>>;

Readers readersOf(const std::vector<Code> &codes) {
  Readers readers;
  for (uint32_t i = 0; i < codes.size(); ++i)
    for (uint32_t row : codes[i].reads)
      readers[{codes[i].function, row}].push_back(i);
  return readers;
}

/// Returns whether only descriptors are computed from all that a code writes.
bool servesDescriptors(const std::vector<Code> &codes, uint32_t index,
                       const Readers &readers,
                       const std::vector<bool> &isUniform) {
  const Code &code = codes[index];
  return std::ranges::all_of(code.writes, [&](uint32_t row) {
    auto found = readers.find({code.function, row});
    return found != readers.end() &&
           std::ranges::all_of(found->second, [&](uint32_t reader) {
             return isUniform[reader] ||
                    (isWgmma(codes[reader]) && isDescriptor(code));
           });
  });
}

} // namespace

void moveToUniformPipe(std::vector<Code> &codes) {
  Readers readers = readersOf(codes);
  std::vector<bool> isUniform(codes.size());
  for (bool changes = true; changes;) {
    changes = false;
    for (uint32_t i = 0; i < codes.size(); ++i) {
      if (isUniform[i] || !isSimple(codes[i]) ||
          !servesDescriptors(codes, i, readers, isUniform))
        continue;
      changes = isUniform[i] = true;
      if (codes[i].of->slots)
        codes[i].of = &uniformClass();
    }
  }
}

} // namespace ptxsim::timing
