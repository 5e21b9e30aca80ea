//===- MmaAtoms.cpp - Instructions that multiply matrices -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, mma and wgmma: lane 4*g + t of a warp holds elements adjacent in k
// of rows g and g + 8 of A, of column g of B, and columns 2*t, 2*t + 1 of rows
// g and g + 8 of C. In wgmma each of the four warps has 16 rows.
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/MmaAtoms.h"

#include "fmha/Layout/Algebra/Error.h"
#include "fmha/Layout/Algebra/Text.h"

#include <charconv>

namespace fmha::layout::algebra {
namespace {

/// The types of one row of a table: D and C, A and B, bits of A.
struct Types {
  const char *result, *source;
  int64_t bits;
};

/// The fragments of mma.sync m16n8kK for elements of a size. C is the same for
/// all.
struct Fragment {
  int64_t bits, k;
  const char *a, *b;
};
constexpr const char *resultOfWarp = "((4,8),(2,2)):((32,1),(16,8))";
constexpr Fragment fragments[] = {
    {8, 16, "((4,8),(4,2)):((64,1),(16,8))", "((4,8),4):((32,1),8)"},
    {8, 32, "((4,8),(4,2,2)):((64,1),(16,8,256))",
     "((4,8),(4,2)):((32,1),(8,128))"},
    {16, 8, "((4,8),(2,2)):((32,1),(16,8))", "((4,8),2):((16,1),8)"},
    {16, 16, "((4,8),(2,2,2)):((32,1),(16,8,128))",
     "((4,8),(2,2)):((16,1),(8,64))"},
    {32, 4, "((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)"},
    {32, 8, "((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)"},
};

constexpr Types types[] = {
    {"f32", "f16", 16},  {"f32", "bf16", 16}, {"f16", "f16", 16},
    {"f32", "tf32", 32}, {"f32", "e4m3", 8},  {"f32", "e5m2", 8},
    {"s32", "s8", 8},    {"s32", "u8", 8},
};

/// The fragment of A in registers of wgmma, by the size of elements. An
/// instruction takes 256 bits of K.
struct GroupFragment {
  int64_t bits, k;
  const char *a;
};
constexpr GroupFragment groupFragments[] = {
    {8, 32, "((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))"},
    {16, 16, "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))"},
    {32, 8, "((4,8,4),(2,2)):((64,1,16),(8,256))"},
};
constexpr int64_t groupRows = 64, groupThreads = 128, mostColumns = 256;

std::string typesOf(const Types &type) {
  return std::string("_") + type.result + "_" + type.source;
}

MmaAtom warpAtom(const Fragment &fragment, const Types &type) {
  std::string k = std::to_string(fragment.k), source = type.source;
  std::string shape = "m16n8k" + k;
  return {"mma_" + shape + typesOf(type),
          "mma.sync.aligned." + shape + ".row.col." + type.result + "." +
              source + "." + source + "." + type.result,
          {16, 8, fragment.k},
          Layout(32, 1),
          {parseLayout(fragment.a), parseLayout(fragment.b),
           parseLayout(resultOfWarp)},
          type.bits};
}

/// Returns the layout of an operand in shared memory, which all threads see.
Layout sharedOperand(int64_t rows, int64_t k) {
  return Layout::tuple({Layout(groupThreads, 0),
                        Layout::columnMajor(IntTuple::tuple({rows, k}))});
}

MmaAtom groupAtom(const GroupFragment &fragment, const Types &type, int64_t n,
                  bool registers) {
  std::string shape =
      "m64n" + std::to_string(n) + "k" + std::to_string(fragment.k);
  Layout c = parseLayout("((4,8,4),(2,2," + std::to_string(n / 8) +
                         ")):((128,1,16),(64,8,512))");
  return {"wgmma_" + shape + typesOf(type) + (registers ? "_rs" : ""),
          "wgmma.mma_async.sync.aligned." + shape + "." + type.result + "." +
              type.source + "." + type.source,
          {groupRows, n, fragment.k},
          Layout(groupThreads, 1),
          {registers ? parseLayout(fragment.a)
                     : sharedOperand(groupRows, fragment.k),
           sharedOperand(n, fragment.k), c},
          type.bits};
}

/// Returns N of "wgmma_m64n<N>k...", 0 if it has none.
int64_t columnsOf(std::string_view name) {
  constexpr std::string_view prefix = "wgmma_m64n";
  int64_t n = 0;
  if (!name.starts_with(prefix))
    return 0;
  std::from_chars(name.data() + prefix.size(), name.data() + name.size(), n);
  return n % 8 == 0 && n > 0 && n <= mostColumns ? n : 0;
}

/// Calls `visit` with each atom of N columns until it returns true.
template <typename Visit> void forAtoms(int64_t n, const Visit &visit) {
  for (const Types &type : types) {
    for (const Fragment &fragment : fragments)
      if (fragment.bits == type.bits && visit(warpAtom(fragment, type)))
        return;
    for (const GroupFragment &fragment : groupFragments)
      for (bool registers : {false, true})
        if (fragment.bits == type.bits && n &&
            visit(groupAtom(fragment, type, n, registers)))
          return;
  }
}

} // namespace

std::vector<std::string> mmaAtomNames() {
  std::vector<std::string> names;
  forAtoms(mostColumns, [&](const MmaAtom &atom) {
    std::string name = atom.name;
    if (size_t at = name.find("n256k"); at != name.npos)
      name.replace(at, 4, "nN");
    names.push_back(name);
    return false;
  });
  return names;
}

MmaAtom mmaAtom(std::string_view name) {
  std::optional<MmaAtom> found;
  forAtoms(columnsOf(name), [&](const MmaAtom &atom) {
    if (atom.name == name)
      found = atom;
    return found.has_value();
  });
  if (found)
    return *found;
  std::string known;
  for (const std::string &other : mmaAtomNames())
    known += (known.empty() ? "" : ", ") + other;
  throw LayoutError("expected a product, one of " + known +
                    " with N a multiple of 8 up to 256, got '" +
                    std::string(name) + "'");
}

} // namespace fmha::layout::algebra
