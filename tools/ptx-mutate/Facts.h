//===- Facts.h - Facts about the registers of a function --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TOOLS_PTXMUTATE_FACTS_H
#define FMHA_TOOLS_PTXMUTATE_FACTS_H

#include "fmha/PTX/Syntax/AST.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace ptxsim::mutate {

/// Returns every instruction of `block` and of its nested scopes, in text
/// order.
std::vector<const syntax::Instruction *>
instructionsOf(const syntax::Block &block);

/// Returns the index of the operand that names a barrier. cp.async.bulk.tensor
/// has (to, from, barrier), without .tensor (to, from, bytes, barrier), and
/// clusterlaunchcontrol.try_cancel (to, barrier).
size_t barrierOperand(const syntax::Instruction &instruction);

/// Facts about registers that are written in only one place, and about the
/// order of instructions.
class Facts {
public:
  explicit Facts(const syntax::Block &body);

  /// Returns the value of an operand that is a constant or a register that
  /// holds one.
  std::optional<uint64_t> constant(const syntax::Operand &operand) const;
  /// Returns whether the operand is a thread number: %tid.x, %laneid, or bits
  /// of these.
  bool numbersThreads(const syntax::Operand &operand) const;
  /// Returns whether the thread that arrives here then copies to the same
  /// barrier, with only arithmetic and other copies in between:
  ///   mbarrier.arrive.expect_tx _, [%bar], 4096;
  ///   cp.async.bulk... [%to], [%from], 4096, [%bar];
  /// The copy's signal releases everything that the thread knows (PTX ISA
  /// 9.7.9.25.4), and no phase completes without it.
  bool announcesCopy(const syntax::Instruction &arrive) const {
    return announcing.count(&arrive);
  }
  /// Returns the bytes of a ring's slot: those of the last expect_tx up to
  /// here, else those of the largest in the function, else 1024.
  uint64_t stageBytes() const { return stage ? stage : largest; }
  /// Same, for an instruction that may use any slot.
  uint64_t largestStage() const { return largest; }
  /// Advances the walk to `instruction`.
  void reach(const syntax::Instruction &instruction);

private:
  void follow(const syntax::Block &block);
  void follow(const syntax::Instruction &instruction);
  void learn(const syntax::Instruction &instruction);
  std::optional<uint64_t>
  expected(const syntax::Instruction &instruction) const;

  std::map<std::string_view, unsigned> writes;
  std::map<std::string_view, uint64_t> constants;
  std::set<std::string_view> threads;
  /// Arrivals whose copy may still follow, and those whose copy was found.
  std::vector<const syntax::Instruction *> open;
  std::set<const syntax::Instruction *> announcing;
  uint64_t stage = 0, largest = 0;
};

} // namespace ptxsim::mutate

#endif // FMHA_TOOLS_PTXMUTATE_FACTS_H
