//===- Collectors.h - Buffers that keep A or B between MMAs -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, collector_usage of tcgen05.mma. The buffers only permit the tensor
// core to reuse what it has read, so that products do not depend on them; a use
// must therefore see the matrix that the fill saw.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_COLLECTORS_H
#define FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_COLLECTORS_H

#include "fmha/PTX/Sim/Core/Machine/Machine.h"

#include <array>
#include <memory>
#include <optional>
#include <string_view>

namespace ptxsim {

enum class CollectorUse : uint8_t { Fill, Use, LastUse, Discard };

/// The buffer that an instruction names, and what it does with it.
struct CollectorText {
  uint8_t buffer = 0;
  CollectorUse use = CollectorUse::Discard;
};

/// Parses "collector::b2::fill"; the buffers are a, then b0 to b3.
std::optional<CollectorText> parseCollector(std::string_view part);

/// What a buffer was filled with.
struct CollectorFill {
  /// Address or descriptor, type and shape of the matrix.
  std::string operand;
  Site site;
  /// The hash of each CTA's elements, once they have been read.
  std::array<std::optional<uint64_t>, 2> hashes;
};

/// The buffers of a CTA.
class Collectors : public UnitState {
public:
  /// Follows the issue of an MMA with this matrix. Reports a use without a
  /// valid fill of the same matrix. Returns the fill that the MMA shares, or
  /// null.
  std::shared_ptr<CollectorFill> issue(const Site &site,
                                       const CollectorText &text,
                                       const std::string &operand);

private:
  std::array<std::shared_ptr<CollectorFill>, 5> buffers;
};

/// Records the hash of the elements that a fill read in the CTA of a pair, or
/// reports another hash of a use.
void checkCollected(const Site &site, CollectorFill &fill, CollectorUse use,
                    unsigned cta, uint64_t hash);

} // namespace ptxsim

#endif // FMHA_LIB_PTX_SIM_ASYNC_TCGEN05_COLLECTORS_H
