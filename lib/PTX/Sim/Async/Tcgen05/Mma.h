//===- Mma.h - One tensor core instruction in flight ------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMA_H
#define FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMA_H

#include "Mma/MmaOperands.h"

#include "fmha/PTX/Sim/Units/MmaArithmetic.h"

namespace ptxsim {

/// An MMA with its operands resolved.
struct MmaWork {
  MmaForm form;
  InstrDescriptor instr;
  TmemLayout layout = TmemLayout::D;
  /// The participating CTAs, the even CTA of a pair first.
  std::vector<Cta *> ctas;
  /// A of each CTA; all share one descriptor or address.
  SmemOperand a, b;
  TmemOperand aTmem;
  TmemCell d;
  bool accumulate = false;
  /// D is multiplied by 2^-scale before the sum.
  uint32_t scale = 0;
  /// Lanes of D that are not written, 128 bits per CTA.
  std::array<uint32_t, 8> disabledLanes{};

  /// Returns accumulator, shape and kind as one number.
  uint64_t key() const;
  TmemRange accumulator() const;
};

/// Checks the rules that hold at issue: alignment of lanes, columns,
/// descriptors, and ready bytes. Returns false after a fault.
bool checkIssue(const Site &site, MmaWork &work);

class MmaOp : public AsyncOp {
public:
  MmaOp(const Site &site, MmaWork work);
  void complete(Cluster &cluster) override;
  std::string describe() const override;
  bool touches(const Cta &cta, uint32_t offset, uint32_t bytes,
               Access access) const override;

private:
  void gatherB(std::vector<float> &b) const;
  void run(Cta &cta, unsigned part, const std::vector<float> &b);
  /// Computes d += a * b in the launch's mode.
  void multiply(const float *a, const float *b, uint32_t *d,
                const MmaBlock &block) const;
  MmaWork work;
};

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_MMA_H
