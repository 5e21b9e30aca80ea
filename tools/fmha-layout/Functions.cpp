//===- Functions.cpp - The functions of expressions -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

#include "fmha/Layout/Algebra/Divide.h"
#include "fmha/Layout/Algebra/Invert.h"
#include "fmha/Layout/Algebra/Product.h"
#include "fmha/Layout/Algebra/Recast.h"
#include "fmha/Layout/Algebra/Simplify.h"
#include "fmha/Layout/Algebra/TmemFragments.h"

namespace fmha::layouttool {
namespace {

using Values = std::vector<Value>;
constexpr int64_t halfBits = 16;

Value plain(const Layout &layout) { return ComposedLayout{{}, 0, layout}; }

/// The function of one layout.
template <Layout (*operation)(const Layout &)> Value unary(const Values &a) {
  return plain(operation(asLayout(a[0])));
}
/// The function of two layouts.
template <Layout (*operation)(const Layout &, const Layout &)>
Value binary(const Values &a) {
  return plain(operation(asLayout(a[0]), asLayout(a[1])));
}
/// The function of a layout and a tiler.
template <Layout (*operation)(const Layout &, const Tiler &)>
Value tiled(const Values &a) {
  return plain(operation(asLayout(a[0]), asTiler(a[1])));
}
/// The function of a layout and an integer.
template <Layout (*operation)(const Layout &, int64_t)>
Value scaled(const Values &a) {
  return plain(operation(asLayout(a[0]), asInteger(a[1])));
}

Value coalesced(const Values &a) {
  return plain(a.size() == 1 ? coalesce(asLayout(a[0]))
                             : coalesce(asLayout(a[0]), asIntTuple(a[1])));
}

/// A shape as second argument is a tiler by mode, as in divisions.
Value composed(const Values &a) {
  if (const auto *layout = std::get_if<ComposedLayout>(&a[1]);
      layout && !layout->swizzle.bits())
    return composition(asComposed(a[0]), asLayout(a[1]));
  return plain(composition(asLayout(a[0]), asTiler(a[1])));
}

Value complemented(const Values &a) {
  Layout layout = asLayout(a[0]);
  int64_t cotarget =
      a.size() == 1 ? layout.cosize() : product(asIntTuple(a[1]));
  return plain(complement(layout, cotarget));
}

Value recasted(const Values &a) {
  return recast(asComposed(a[0]), asInteger(a[1]), asInteger(a[2]));
}

Value reshaped(const Values &a) {
  return plain(withShape(asLayout(a[0]), asIntTuple(a[1])));
}

Value swizzled(const Values &a) {
  auto number = [&](size_t i) {
    int64_t value = asInteger(a[i]);
    return int(std::clamp<int64_t>(value, -1000, 1000));
  };
  int64_t offset = a.size() == 5 ? asInteger(a[4]) : 0;
  return ComposedLayout{Swizzle(number(0), number(1), number(2)), offset,
                        asLayout(a[3])};
}

Value offsetAt(const Values &a) {
  return IntTuple(asComposed(a[0])(asIntTuple(a[1])));
}

Value coordinateAt(const Values &a) {
  return idx2crd(asInteger(a[0]), asIntTuple(a[1]));
}

Value copyOfThreads(const Values &a) {
  int64_t bits = a.size() == 4 ? asInteger(a[3]) : halfBits;
  return TiledCopy::make(asCopyAtom(a[0]), bits, asLayout(a[1]),
                         asLayout(a[2]));
}

Value productOfAtoms(const Values &a) {
  if (a.size() == 2)
    return TiledMma(asMmaAtom(a[0]), asLayout(a[1]));
  return TiledMma(asMmaAtom(a[0]), asLayout(a[1]), asTiler(a[2]));
}

template <Operand operand> Value mapOf(const Values &a) {
  return asTiledMma(a[0]).map(operand);
}

template <Operand operand> Value loadOf(const Values &a) {
  TiledMma mma = asTiledMma(a[0]);
  int64_t bits = a.size() == 3           ? asInteger(a[2])
                 : operand == Operand::C ? 2 * halfBits
                                         : mma.atom().bits;
  return mma.copyOf(operand, asCopyAtom(a[1]), bits);
}

/// Returns the part as a layout with the offset of its first element.
Value partOf(const Partition &part) {
  return ComposedLayout{{}, part.offset, part.layout};
}

template <Operand operand> Value shareOf(const Values &a) {
  return partOf(
      asTiledMma(a[0]).partition(operand, asLayout(a[1]), asInteger(a[2])));
}

Value mapOfCopy(const Values &a) { return asTiledCopy(a[0]).map(); }
Value sourceOf(const Values &a) { return asTiledCopy(a[0]).source(); }
Value destinationOf(const Values &a) { return asTiledCopy(a[0]).destination(); }

Value readsOf(const Values &a) {
  return partOf(asTiledCopy(a[0]).partitionS(asLayout(a[1]), asInteger(a[2])));
}
Value writesOf(const Values &a) {
  return partOf(asTiledCopy(a[0]).partitionD(asLayout(a[1]), asInteger(a[2])));
}

Value retiled(const Values &a) {
  return plain(asTiledCopy(a[0]).retile(asLayout(a[1])));
}

Value banksOf(const Values &a) {
  if (std::holds_alternative<TiledCopy>(a[0])) {
    TiledCopy copy = asTiledCopy(a[0]);
    bool stores = copy.atom().name.starts_with("stmatrix") ||
                  copy.atom().name.starts_with("cp_async");
    return bankReport(asComposed(a[1]), copy,
                      stores ? Side::Destination : Side::Source);
  }
  int64_t element = a.size() > 1 ? asInteger(a[1]) : halfBits;
  return bankReport(asComposed(a[0]), element,
                    a.size() > 2 ? asInteger(a[2]) : 128);
}

Value ownersIn(const Values &a) {
  return ThreadValue{asLayout(a[0]), asIntTuple(a[1])};
}

Value rowMajor(const Values &a) {
  return plain(Layout::rowMajor(asIntTuple(a[0])));
}
Value columnMajor(const Values &a) {
  return plain(Layout::columnMajor(asIntTuple(a[0])));
}
Value sizeOf(const Values &a) { return IntTuple(asComposed(a[0]).size()); }
Value cosizeOf(const Values &a) { return IntTuple(asComposed(a[0]).cosize()); }
Value rankOf(const Values &a) {
  return IntTuple(int64_t(asComposed(a[0]).layout.rank()));
}
Value depthOf(const Values &a) {
  return IntTuple(int64_t(asComposed(a[0]).layout.depth()));
}
Value shapeOf(const Values &a) { return asComposed(a[0]).layout.shape(); }
Value strideOf(const Values &a) { return asComposed(a[0]).layout.stride(); }
Value modeOf(const Values &a) {
  int64_t i = asInteger(a[1]);
  return plain(asLayout(a[0]).mode(i < 0 ? SIZE_MAX : size_t(i)));
}
Value threadsOf(const Values &a) {
  return plain(asTiledMma(a[0]).threadLayout());
}

using enum Operand;
constexpr Function table[] = {
    {"size", "L", "number of elements", 1, 1, sizeOf},
    {"cosize", "L", "one more than the greatest offset", 1, 1, cosizeOf},
    {"rank", "L", "number of modes", 1, 1, rankOf},
    {"depth", "L", "depth of the shape", 1, 1, depthOf},
    {"shape", "L", "its shape", 1, 1, shapeOf},
    {"stride", "L", "its strides", 1, 1, strideOf},
    {"mode", "L, I", "mode I as a layout", 2, 2, modeOf},
    {"offset", "L, C", "offset of coordinate or index C", 2, 2, offsetAt},
    {"coordinate", "I, SHAPE", "coordinate of index I", 2, 2, coordinateAt},
    {"column_major", "SHAPE", "first mode contiguous", 1, 1, columnMajor},
    {"row_major", "SHAPE", "last mode contiguous", 1, 1, rowMajor},
    {"coalesce", "L [, PROFILE]", "the same map with fewer modes", 1, 2,
     coalesced},
    {"flatten", "L", "one level of modes", 1, 1, unary<flatten>},
    {"filter", "L", "without modes of stride 0 and extent 1", 1, 1,
     unary<filter>},
    {"filter_zeros", "L", "extent 1 where the stride is 0", 1, 1,
     unary<filterZeros>},
    {"composition", "A, B", "A o B; B may be a tiler", 2, 2, composed},
    {"with_shape", "L, SHAPE", "the same offsets in another shape", 2, 2,
     reshaped},
    {"complement", "L [, N]", "what L leaves out below N", 1, 2, complemented},
    {"right_inverse", "L", "R with L(R(i)) = i", 1, 1, unary<rightInverse>},
    {"left_inverse", "L", "R with R(L(i)) = i", 1, 1, unary<leftInverse>},
    {"logical_divide", "L, TILER", "((tile,rest),(tile,rest))", 2, 2,
     tiled<logicalDivide>},
    {"zipped_divide", "L, TILER", "((tile,tile),(rest,rest))", 2, 2,
     tiled<zippedDivide>},
    {"tiled_divide", "L, TILER", "((tile,tile),rest,rest)", 2, 2,
     tiled<tiledDivide>},
    {"flat_divide", "L, TILER", "(tile,tile,rest,rest)", 2, 2,
     tiled<flatDivide>},
    {"logical_product", "L, TILER", "(L, repetitions of L)", 2, 2,
     tiled<logicalProduct>},
    {"zipped_product", "L, TILER", "as zipped_divide", 2, 2,
     tiled<zippedProduct>},
    {"tiled_product", "L, TILER", "as tiled_divide", 2, 2, tiled<tiledProduct>},
    {"flat_product", "L, TILER", "as flat_divide", 2, 2, tiled<flatProduct>},
    {"blocked_product", "L, M", "M blocks of L", 2, 2, binary<blockedProduct>},
    {"raked_product", "L, M", "L spread over M", 2, 2, binary<rakedProduct>},
    {"swizzle", "B, M, S, L [, OFFSET]", "Sw<B,M,S> o OFFSET o L", 4, 5,
     swizzled},
    {"upcast", "L, N", "elements N times as wide", 2, 2, scaled<upcast>},
    {"downcast", "L, N", "elements N times as narrow", 2, 2, scaled<downcast>},
    {"recast", "L, OLD, NEW", "elements of NEW bits for OLD", 3, 3, recasted},
    {"banks", "L [, BITS [, ACCESS]]",
     "bank conflicts of rows; 16 and 128 bits", 1, 3, banksOf},
    {"banks", "COPY, L", "bank conflicts of a copy in shared memory", 1, 3,
     banksOf},
    {"owners", "TV, TILE", "which thread holds what of a tile", 2, 2, ownersIn},
    {"tiled_copy", "COPY, THREADS, VALUES [, BITS]",
     "a copy by threads of values each; 16 bits", 3, 4, copyOfThreads},
    {"map", "COPY", "its thread-value layout", 1, 1, mapOfCopy},
    {"source", "COPY", "what each thread reads", 1, 1, sourceOf},
    {"destination", "COPY", "what each thread writes", 1, 1, destinationOf},
    {"partition_s", "COPY, L, T", "what thread T reads of L", 3, 3, readsOf},
    {"partition_d", "COPY, L, T", "what thread T writes of L", 3, 3, writesOf},
    {"retile", "COPY, L", "registers (V,M,N) as the copy takes them", 2, 2,
     retiled},
    {"tiled_mma", "MMA, ATOMS [, PERMUTATION]", "a product by many warps", 2, 3,
     productOfAtoms},
    {"thread_layout", "MMA", "(thread of an atom, M, N, K) -> thread", 1, 1,
     threadsOf},
    {"map_a", "MMA", "which thread holds what of A; map_b, map_c", 1, 1,
     mapOf<A>},
    {"map_b", nullptr, nullptr, 1, 1, mapOf<B>},
    {"map_c", nullptr, nullptr, 1, 1, mapOf<C>},
    {"copy_a", "MMA, COPY [, BITS]",
     "the copy that fills A's registers; copy_b, copy_c", 2, 3, loadOf<A>},
    {"copy_b", nullptr, nullptr, 2, 3, loadOf<B>},
    {"copy_c", nullptr, nullptr, 2, 3, loadOf<C>},
    {"partition_a", "MMA, L, T",
     "what thread T has of A; partition_b, partition_c", 3, 3, shareOf<A>},
    {"partition_b", nullptr, nullptr, 3, 3, shareOf<B>},
    {"partition_c", nullptr, nullptr, 3, 3, shareOf<C>},
};

} // namespace

std::span<const Function> functions() { return table; }

const Function *findFunction(std::string_view name) {
  for (const Function &function : table)
    if (name == function.name)
      return &function;
  return nullptr;
}

std::optional<Value> findAtom(std::string_view name) {
  if (name.starts_with("mma_") || name.starts_with("wgmma_"))
    return mmaAtom(name);
  if (name.starts_with("tcgen05_"))
    return tmemFragment(name);
  for (const std::string &known : copyAtomNames())
    if (name == known)
      return copyAtom(name);
  return std::nullopt;
}

} // namespace fmha::layouttool
