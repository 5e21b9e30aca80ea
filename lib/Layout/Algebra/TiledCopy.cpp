//===- TiledCopy.cpp - Copies of a tile by many threads -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/TiledCopy.h"

#include "fmha/Layout/Algebra/Compose.h"
#include "fmha/Layout/Algebra/Divide.h"
#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Invert.h"
#include "fmha/Layout/Algebra/Product.h"
#include "fmha/Layout/Algebra/Recast.h"
#include "fmha/Layout/Algebra/Simplify.h"

namespace fmha::layout::algebra {

TiledCopy TiledCopy::make(const CopyAtom &atom, int64_t valueBits,
                          const Layout &threads, const Layout &values) {
  Layout tile = rakedProduct(threads, values);
  Layout map = withShape(rightInverse(tile),
                         IntTuple::tuple({threads.size(), values.size()}));
  return {atom, valueBits, {map, productEach(tile.shape())}};
}

TiledCopy::TiledCopy(CopyAtom atom, int64_t valueBits, ThreadValue map)
    : instruction(std::move(atom)), bits(valueBits), tiled(std::move(map)) {
  if (bits < 1 || instruction.bits() % bits)
    throw LayoutError(instruction.name + ": expected values of a size that " +
                      "divides " + std::to_string(instruction.bits()) +
                      " bits, got " + std::to_string(bits));
  if (tiled.values() % atomValues())
    throw LayoutError(instruction.name + ": expected a multiple of " +
                      std::to_string(atomValues()) + " values of " +
                      std::to_string(bits) + " bits for each thread, got " +
                      std::to_string(tiled.values()) +
                      "; use a narrower copy or more values");
  if (tiled.threads() % instruction.threads())
    throw LayoutError(instruction.name + ": expected a multiple of " +
                      std::to_string(instruction.threads()) + " threads, got " +
                      std::to_string(tiled.threads()));
}

Layout TiledCopy::inValues(const Layout &layout) const {
  return upcast(layout, bits);
}

Layout TiledCopy::arrange(const Layout &target) const {
  Layout reference = inValues(instruction.reference);
  // ((thread, value) of an atom, (atoms of threads, atoms of values)) -> tile
  Tiler atoms =
      Tiler::ofShape(IntTuple::tuple({instruction.threads(), atomValues()}));
  Layout divided = zippedDivide(tiled.layout, atoms);
  Layout inAtom = composition(
      divided.mode(0), composition(rightInverse(reference), inValues(target)));
  Layout zipped =
      Layout::tuple({Layout::tuple({inAtom.mode(0), divided.mode(1).mode(0)}),
                     Layout::tuple({inAtom.mode(1), divided.mode(1).mode(1)})});
  return coalesce(zipped, IntTuple::tuple({1, IntTuple::tuple({1, 1})}));
}

ThreadValue TiledCopy::source() const {
  return {arrange(instruction.source), tiled.tile};
}

ThreadValue TiledCopy::destination() const {
  return {arrange(instruction.destination), tiled.tile};
}

Partition TiledCopy::partition(const Layout &tensor, int64_t thread,
                               const Layout &target) const {
  if (thread < 0 || thread >= threads())
    throw LayoutError("expected a thread below " + std::to_string(threads()) +
                      ", got " + std::to_string(thread));
  Layout divided = zippedDivide(tensor, Tiler::ofShape(tiled.tile));
  Layout inTile = composition(divided.mode(0), arrange(target));
  std::vector<Layout> modes = {inTile.mode(1)};
  for (const Layout &rest : divided.mode(1).modes())
    modes.push_back(rest);
  return {Layout::tuple(modes), inTile.mode(0)(thread)};
}

Partition TiledCopy::partitionS(const Layout &tensor, int64_t thread) const {
  return partition(tensor, thread, instruction.source);
}

Partition TiledCopy::partitionD(const Layout &tensor, int64_t thread) const {
  return partition(tensor, thread, instruction.destination);
}

Layout TiledCopy::retile(const Layout &registers) const {
  int64_t values = registers.size(0);
  // (m, n) of the tile -> which vector of `values` values of a thread.
  Layout vectors = upcast(withShape(rightInverse(tiled.layout), tiled.tile),
                          checkedMul(threads(), values));
  // (values of an atom, atoms) -> (value, m, n)
  Layout order = zippedDivide(
      logicalProduct(Layout(values, 1), Tiler(rightInverse(vectors))),
      Tiler(Layout(atomValues(), 1)));
  std::vector<IntTuple> tile = {values};
  for (const IntTuple &extent : productEach(vectors.shape()).modes())
    tile.push_back(extent);
  Layout divided =
      zippedDivide(registers, Tiler::ofShape(IntTuple::tuple(tile)));
  std::vector<Layout> modes = {composition(divided.mode(0), order)},
                      rests = divided.mode(1).modes();
  modes.insert(modes.end(), rests.begin() + 1, rests.end());
  return Layout::tuple(modes);
}

std::string TiledCopy::str() const {
  constexpr int64_t usual = 16;
  return instruction.name + ", " + tiled.str() +
         (bits == usual ? "" : ", " + std::to_string(bits));
}

} // namespace fmha::layout::algebra
