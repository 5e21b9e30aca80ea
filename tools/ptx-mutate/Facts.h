//===- Facts.h - What a function says of its registers ----------*- C++ -*-===//
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

/// Every instruction of `block` and of the scopes in it, in the text's order.
std::vector<const syntax::Instruction *>
instructionsOf(const syntax::Block &block);

/// Which operand of an instruction names a barrier. cp.async.bulk.tensor has
/// (to, from, barrier), without .tensor (to, from, bytes, barrier), and
/// clusterlaunchcontrol.try_cancel (to, barrier).
size_t barrierOperand(const syntax::Instruction &instruction);

/// What holds of registers that are written in one place only, and of the order
/// of instructions.
class Facts {
public:
  explicit Facts(const syntax::Block &body);

  /// The value of an operand that is a constant or a register of one.
  std::optional<uint64_t> constant(const syntax::Operand &operand) const;
  /// Whether the operand numbers threads: %tid.x, %laneid, or bits of these.
  bool numbersThreads(const syntax::Operand &operand) const;
  /// Whether the thread that arrives here goes on to copy to the same barrier,
  /// with nothing but arithmetic and other copies in between:
  ///   mbarrier.arrive.expect_tx _, [%bar], 4096;
  ///   cp.async.bulk... [%to], [%from], 4096, [%bar];
  /// The copy's signal hands on all that the thread knows (PTX ISA
  /// 9.7.9.25.4), and no phase completes without it.
  bool announcesCopy(const syntax::Instruction &arrive) const {
    return announcing.count(&arrive);
  }
  /// Bytes of a ring's slot: what the last expect_tx up to here counts, else
  /// what the largest of the function counts, else 1024.
  uint64_t stageBytes() const { return stage ? stage : largest; }
  /// The same for an instruction that may use any slot.
  uint64_t largestStage() const { return largest; }
  /// Tells that the walk has come to `instruction`.
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
  /// Arrivals whose copy may still come, and those that have found it.
  std::vector<const syntax::Instruction *> open;
  std::set<const syntax::Instruction *> announcing;
  uint64_t stage = 0, largest = 0;
};

} // namespace ptxsim::mutate

#endif // FMHA_TOOLS_PTXMUTATE_FACTS_H
