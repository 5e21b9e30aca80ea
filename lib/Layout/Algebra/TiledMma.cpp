//===- TiledMma.cpp - Products of a tile by many threads ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/TiledMma.h"

#include "fmha/Layout/Algebra/Compose.h"
#include "fmha/Layout/Algebra/Divide.h"
#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Invert.h"
#include "fmha/Layout/Algebra/Product.h"

namespace fmha::layout::algebra {
namespace {

/// The dimensions M = 0, N = 1, K = 2 of an operand, and the one that is summed
/// or repeated over its threads together with one of these.
struct Dimensions {
  size_t first, second, absent;
  /// The mode that absorbs the threads along `absent`.
  size_t absorbs;
};
constexpr Dimensions dimensions[] = {
    {0, 2, 1, 0}, // A
    {1, 2, 0, 0}, // B
    {0, 1, 2, 1}, // C
};

const Dimensions &of(Operand operand) { return dimensions[size_t(operand)]; }

/// Returns the coordinate, in the form of `layout`, whose offset is `index`.
IntTuple coordinateOf(int64_t index, const IntTuple &shape,
                      const IntTuple &stride) {
  if (shape.isLeaf())
    return stride.value() ? index / stride.value() % shape.value() : 0;
  std::vector<IntTuple> modes;
  for (size_t i = 0; i < shape.rank(); ++i)
    modes.push_back(coordinateOf(index, shape.mode(i), stride.mode(i)));
  return IntTuple::tuple(modes);
}

/// The most groups and elements, since the check visits each of them.
constexpr int64_t mostIndices = 1 << 20;

/// Throws unless the layout reaches each index below its size once.
void expectPermutation(const char *what, const Layout &layout) {
  if (layout.size() > mostIndices)
    throw LayoutError(std::string("tiled_mma: expected ") + what +
                      " of at most " + std::to_string(mostIndices) + ", got " +
                      layout.str());
  bool isNegative = false;
  for (int64_t stride : layout.stride().leaves())
    isNegative |= stride < 0;
  if (isNegative || layout.cosize() != layout.size() || !isInjective(layout))
    throw LayoutError(std::string("tiled_mma: expected ") + what +
                      " that reach each index below their size once, got " +
                      layout.str());
}

/// Throws unless each of M, N and K has an extent, a permutation, or neither.
void expectPermutations(const Tiler &tiler) {
  if (tiler.kind() != Tiler::Kind::ByMode || tiler.modes().size() != 3)
    throw LayoutError("tiled_mma: expected a permutation of M, N and K, such "
                      "as (64,16,_), got " +
                      tiler.str());
  for (const Tiler &mode : tiler.modes()) {
    if (mode.kind() == Tiler::Kind::ByMode)
      throw LayoutError("tiled_mma: expected an extent, a layout or _ in each "
                        "mode of the permutation, got " +
                        mode.str());
    if (mode.kind() == Tiler::Kind::Whole)
      expectPermutation("permutations", mode.layout());
  }
}

/// Returns the permutation that leaves M, N and K to the atoms.
Tiler anyOrder() { return Tiler::byMode({{}, {}, {}}); }

} // namespace

TiledMma::TiledMma(MmaAtom atom, const Layout &atoms, Tiler permutation)
    : instruction(std::move(atom)), groups(atoms),
      permutation(std::move(permutation)) {
  if (atoms.isLeaf() || atoms.rank() != 3)
    throw LayoutError("tiled_mma: expected a layout of atoms along M, N and K, "
                      "such as (4,1,1), got " +
                      atoms.str());
  expectPermutation("atoms", atoms);
  const Tiler &tiler = this->permutation;
  expectPermutations(tiler);
  threadMap = tiledProduct(instruction.threads, Tiler(atoms));
  for (size_t i = 0; i < 3; ++i)
    if (tileSize(i) % (instruction.shape[i] * threadMap.size(i + 1)))
      throw LayoutError(
          "tiled_mma: expected a permutation of multiples of " +
          std::to_string(instruction.shape[i] * threadMap.size(i + 1)) +
          " in mode " + std::to_string(i) + ", got " + tiler.str());
}

int64_t TiledMma::tileSize(size_t dimension) const {
  const Tiler &tiler = permutation.modes()[dimension];
  if (tiler.kind() == Tiler::Kind::Whole)
    return tiler.layout().size();
  return checkedMul(instruction.shape[dimension],
                    threadMap.size(dimension + 1));
}

IntTuple TiledMma::tile(Operand operand) const {
  return IntTuple::tuple(
      {tileSize(of(operand).first), tileSize(of(operand).second)});
}

Layout TiledMma::threadFragments(Operand operand, const Layout &tensor) const {
  auto [first, second, absent, absorbs] = of(operand);
  if (tensor.isLeaf() || tensor.rank() != 2)
    throw LayoutError("expected a matrix, such as (64,128), got " +
                      tensor.str());
  Layout permuted = logicalDivide(
      tensor,
      Tiler::byMode({permutation.modes()[first], permutation.modes()[second]}));
  Layout inAtoms = zippedDivide(
      permuted, Tiler::byMode({Layout(instruction.shape[first], 1),
                               Layout(instruction.shape[second], 1)}));
  Layout byThread =
      Layout::tuple({composition(inAtoms.mode(0), instruction.operand(operand)),
                     inAtoms.mode(1)});
  Tiler groups = Tiler::byMode({Layout(threadMap.size(first + 1), 1),
                                Layout(threadMap.size(second + 1), 1)});
  return zippedDivide(byThread, Tiler::byMode({Tiler(), groups}));
}

ThreadValue TiledMma::map(Operand operand) const {
  auto [first, second, absent, absorbs] = of(operand);
  Layout fragments =
      threadFragments(operand, Layout::columnMajor(tile(operand)));
  // Threads along the absent dimension hold the same.
  int64_t repeats = threadMap.size(absent + 1);
  std::array<size_t, 2> own = {first, second};
  int64_t extent = threadMap.size(own[absorbs] + 1);
  std::vector<IntTuple> shape = {extent, repeats}, stride = {1, 0};
  if (absent < own[absorbs]) {
    std::swap(shape[0], shape[1]);
    std::swap(stride[0], stride[1]);
  }
  std::vector<Tiler> repeat(2);
  repeat[absorbs] = Layout(IntTuple::tuple(shape), IntTuple::tuple(stride));
  Layout all = composition(fragments.mode(0),
                           Tiler::byMode({Tiler(), Tiler::byMode(repeat)}));
  Layout threads = composition(all, rightInverse(threadMap));
  return {Layout::tuple({threads, fragments.mode(1)}), tile(operand)};
}

Partition TiledMma::partition(Operand operand, const Layout &tensor,
                              int64_t thread) const {
  if (thread < 0 || thread >= threads())
    throw LayoutError("expected a thread below " + std::to_string(threads()) +
                      ", got " + std::to_string(thread));
  Layout fragments = threadFragments(operand, tensor);
  IntTuple at = coordinateOf(thread, threadMap.shape(), threadMap.stride());
  IntTuple own =
      IntTuple::tuple({crd2idx(at.mode(0), threadMap.shape().mode(0)),
                       IntTuple::tuple({at.mode(of(operand).first + 1),
                                        at.mode(of(operand).second + 1)})});
  Layout values = fragments.mode(1);
  return {Layout::tuple(
              {values.mode(0), values.mode(1).mode(0), values.mode(1).mode(1)}),
          fragments.mode(0)(own)};
}

TiledCopy TiledMma::copyOf(Operand operand, const CopyAtom &atom,
                           int64_t valueBits) const {
  return {atom, valueBits, map(operand)};
}

std::string TiledMma::str() const {
  bool plain = groups == Layout::columnMajor(groups.shape());
  std::string text =
      instruction.name + ", " + (plain ? groups.shape().str() : groups.str());
  if (permutation == anyOrder())
    return text;
  const char *separator = ", (";
  for (const Tiler &tiler : permutation.modes()) {
    bool whole =
        tiler ==
        Tiler(Layout(tileSize(size_t(&tiler - permutation.modes().data())), 1));
    text += separator + (whole ? tiler.layout().shape().str() : tiler.str());
    separator = ",";
  }
  return text + ")";
}

} // namespace fmha::layout::algebra
