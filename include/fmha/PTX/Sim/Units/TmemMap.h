//===- TmemMap.h - Locations of elements in tensor memory -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Tensor Memory": 128 lanes by 512 columns of 32 bits. The data
// movement shapes of tcgen05.ld and .st, and the layouts A to G of accumulators
// and of A in tensor memory.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_UNITS_TMEMMAP_H
#define FMHA_PTX_SIM_UNITS_TMEMMAP_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptxsim {

constexpr uint32_t tmemLanes = 128, tmemColumns = 512;

/// A cell relative to an operand's base, or absolute.
struct TmemCell {
  uint32_t lane = 0, column = 0;
  bool operator==(const TmemCell &) const = default;
};

/// Address = lane << 16 | column.
constexpr TmemCell cellOf(uint32_t address) {
  return {address >> 16, address & 0xffff};
}

enum class TmemShape : uint8_t {
  L32x32b,
  L16x64b,
  L16x128b,
  L16x256b,
  L16x32bx2
};

/// Returns the shape named in the instruction, for example "16x256b".
std::optional<TmemShape> parseTmemShape(std::string_view name);

/// One form of tcgen05.ld or .st.
struct TmemAccess {
  TmemShape shape = TmemShape::L32x32b;
  uint32_t num = 1;
  /// .pack::16b of a load, .unpack::16b of a store: a register holds the low
  /// halves of two adjacent columns.
  bool packed = false;
  /// The immediate of .16x32bx2, added to the address for lanes 16..31.
  uint32_t halfSplit = 0;

  /// Returns the number of registers of each thread; the maximum is 128.
  uint32_t registers() const;
  /// Returns 32 or 16: the alignment of the address's lane.
  uint32_t lanes() const;
  /// Returns the cell of register `r` of thread `t`, relative to the address
  /// (including the immediate's lane bits). A packed register continues in the
  /// next column.
  TmemCell cell(uint32_t t, uint32_t r) const;
};

/// Layouts of one CTA's part of the accumulator.
enum class TmemLayout : uint8_t { A, B, C, D, E, F, G };

TmemLayout layoutOf(unsigned ctaGroup, uint32_t m, bool weightStationary,
                    bool sparse);

/// Returns the cell of element (m, n) of one CTA's part of D, relative to the
/// base; the instruction has `nTotal` columns.
TmemCell accumulatorCell(TmemLayout layout, uint32_t m, uint32_t n,
                         uint32_t nTotal);
/// Returns the number of columns that D takes.
uint32_t accumulatorColumns(TmemLayout layout, uint32_t nTotal);
/// Returns the number of rows of D in one CTA.
uint32_t rowsPerCta(TmemLayout layout);

/// The start of element (m, k) of A in tensor memory; `elementBits` is the size
/// of its container. `bit` is the lowest bit inside the column.
struct OperandCell {
  TmemCell cell;
  uint32_t bit = 0;
};
OperandCell operandCell(TmemLayout layout, uint32_t m, uint32_t k,
                        unsigned elementBits);

/// Returns the rows of A, and of its metadata, in the tensor memory of one CTA.
/// Where parts of the lanes hold parts of the columns of D, each part has its
/// own rows: row m of part p is row m + p * rowsPerCta(layout). They are copies
/// of one A, or different matrices.
uint32_t operandRows(TmemLayout layout);

/// Locations of sparsity metadata, four bits for each group of elements of a
/// row. For 16- and 32-bit elements a row has eight groups, and rows m and m +
/// 8 share the cells of two lanes; for others it has 16 groups in two columns.
struct MetadataMap {
  TmemLayout layout = TmemLayout::D;
  bool paired = true;

  uint32_t groups() const { return paired ? 8 : 16; }
  uint32_t columns() const { return paired ? 1 : 2; }
  /// Returns the bits of one group of row m.
  OperandCell cell(uint32_t m, uint32_t group) const;
};

/// Locations of scale factors: row mn of A or column mn of B has one cell,
/// which holds up to four factors and is repeated every 32 lanes.
struct ScaleMap {
  static constexpr uint32_t copyLanes = 32;
  /// Half the columns of B in layout B, where each half of the lanes holds the
  /// factors of its half of the columns; else 0.
  uint32_t split = 0;

  uint32_t copies() const { return split ? 2 : 4; }
  /// Returns the first copy.
  TmemCell cell(uint32_t mn) const;
  /// Returns the columns that `count` rows of A or columns of B take.
  uint32_t columns(uint32_t count) const {
    return ((split ? split : count) + copyLanes - 1) / copyLanes;
  }
};

/// One shape of tcgen05.cp: `rows` rows of shared memory, `columns` columns of
/// tensor memory each.
struct TmemCopyShape {
  std::string_view shape, multicast;
  uint32_t rows = 0, columns = 0;
  /// Row i goes to lanes i % rowsPerStep + i / rowsPerStep * stepLanes, and to
  /// copies of them every copyLanes lanes.
  uint32_t rowsPerStep = 0, stepLanes = 0, copies = 1, copyLanes = 0;

  uint32_t lane(uint32_t row, uint32_t copy) const {
    return row % rowsPerStep + row / rowsPerStep * stepLanes + copy * copyLanes;
  }
};

/// Returns the shape named in the instruction, for example "64x128b" with
/// "warpx2::02_13", or null.
const TmemCopyShape *findTmemCopy(std::string_view shape,
                                  std::string_view multicast);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_UNITS_TMEMMAP_H
