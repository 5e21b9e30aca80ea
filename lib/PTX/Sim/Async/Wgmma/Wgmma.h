//===- Wgmma.h - One wgmma of the four warps of a warpgroup -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Asynchronous warpgroup level matrix instructions". A wgmma begins
// when all four warps have issued it. Its accumulator leaves the registers at
// the first wgmma of a chain and returns when each warp has waited for the last
// one; in between the registers hold poison.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WGMMA_H
#define FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WGMMA_H

#include "Mma/MmaOperands.h"

#include "fmha/PTX/Sim/Units/MmaArithmetic.h"

namespace ptxsim {

constexpr unsigned warpgroupWarps = 4, warpgroupRows = 64, rowsPerWarp = 16;

/// The decoded form of the opcode and the immediates.
struct WgmmaForm {
  ElementType a = ElementType::F16, b = ElementType::F16, d = ElementType::F32;
  uint32_t n = 0, k = 0;
  bool aInRegisters = false;
  Major majorA = Major::K, majorB = Major::K;
  bool negateA = false, negateB = false, saturate = false;

  /// Returns the number of 32-bit accumulator registers per thread.
  uint32_t registers() const { return d == ElementType::F16 ? n / 4 : n / 2; }
  /// Returns true if two wgmma that share accumulator registers execute in
  /// order.
  bool chainsWith(const WgmmaForm &other) const {
    return d == other.d && n == other.n && k == other.k;
  }
};

struct WgmmaOperands {
  WgmmaForm form;
  Operand a, b, enable;
};

/// D of a chain in flight, 64 rows of n: bits of f32 (or of f16, widened) or
/// s32.
struct WgmmaAccumulator {
  ElementType type = ElementType::F32;
  uint32_t n = 0;
  std::vector<uint32_t> cells;

  /// Load one warp's part of D from its registers, and store it back. `rows[i]`
  /// is register i of D.
  void load(unsigned part, const std::vector<Row *> &rows);
  void store(unsigned part, const std::vector<Row *> &rows) const;
};

/// A wgmma, from the first warp's issue to its completion.
struct Wgmma {
  Wgmma(const Site &first, const WgmmaForm &form) : first(first), form(form) {}
  const Site first;
  const WgmmaForm form;
  uint64_t rawA = 0, rawB = 0;
  bool accumulate = false;
  SmemOperand a, b;
  /// Registers of A of each warp, read when the wgmma executes.
  std::array<std::array<const Row *, 4>, warpgroupWarps> registersA{};
  std::shared_ptr<WgmmaAccumulator> d;
  /// Bit mask of the warps that have issued it, and what preceded their issues:
  /// it completes for none of them before all have issued it.
  unsigned issued = 0;
  SyncPoint issues;
  AsyncOpId id = 0;
  bool done = false;
};

/// Executes a wgmma that all warps have issued, then notifies `key`.
class WgmmaOp : public AsyncOp {
public:
  WgmmaOp(const Site &site, std::shared_ptr<Wgmma> work, const void *key);
  void complete(Cluster &cluster) override;
  std::string describe() const override;
  bool touches(const Cta &cta, uint32_t offset, uint32_t bytes,
               Access access) const override;

private:
  void gatherRegisters(float *a) const;
  void multiply(const float *a, const float *b);
  std::shared_ptr<Wgmma> work;
  const void *key;
};

/// Returns "wgmma m64n128k16 of line 40".
std::string nameOf(const Wgmma &work);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_WGMMA_WGMMA_H
