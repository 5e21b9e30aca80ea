//===- Banks.cpp - Bank conflicts of shared memory ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Layout/Algebra/Banks.h"

#include "fmha/Layout/Algebra/Error.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace fmha::layout::algebra {
namespace {

constexpr int64_t phaseBits = banks * bankBytes * 8, warpThreads = 32;
/// Larger layouts are an error, since every element is looked at.
constexpr int64_t mostElements = 1 << 20, mostThreads = 1024;

int64_t byteOf(const BankReport &report, int64_t element) {
  return checkedMul(report.layout(element), report.elementBits) / 8;
}

/// Checks sizes and returns a report without phases.
BankReport begin(const ComposedLayout &layout, int64_t elementBits,
                 int64_t accessBits) {
  bool access = accessBits >= 8 && accessBits <= 128 &&
                std::has_single_bit(uint64_t(accessBits));
  bool element = elementBits == 8 || elementBits == 16 || elementBits == 32 ||
                 elementBits == 64;
  if (!access || !element || accessBits % elementBits)
    throw LayoutError("banks: expected elements of 8, 16, 32 or 64 bits and "
                      "accesses of 8 to 128 bits, a power of two, got " +
                      std::to_string(elementBits) + " and " +
                      std::to_string(accessBits));
  if (layout.size() > mostElements)
    throw LayoutError("banks: expected at most " +
                      std::to_string(mostElements) + " elements, got " +
                      std::to_string(layout.size()) + "; use one tile");
  BankReport report{layout, elementBits, accessBits, {}, {}};
  report.elements.resize(layout.size());
  for (int64_t i = 0; i < layout.size(); ++i) {
    report.elements[i].offset = layout(i);
    if (report.elements[i].offset < 0)
      throw LayoutError("banks: expected offsets of at least 0, got " +
                        layout.str());
    report.elements[i].bank = byteOf(report, i) / bankBytes % banks;
  }
  return report;
}

/// Throws unless the elements of one access are contiguous and aligned.
void expectContiguous(const BankReport &report,
                      const std::vector<int64_t> &elements) {
  int64_t first = report.layout(elements[0]);
  bool fits = first * report.elementBits % report.accessBits == 0;
  for (size_t i = 0; i < elements.size(); ++i)
    fits &= report.layout(elements[i]) == first + int64_t(i);
  if (!fits)
    throw LayoutError("banks: expected accesses of " +
                      std::to_string(report.accessBits) +
                      " contiguous and aligned bits in " + report.layout.str() +
                      ", got one from offset " + std::to_string(first) +
                      "; use a narrower access or another order");
}

/// Adds a phase and its conflicts.
void addPhase(BankReport &report, Phase phase) {
  std::map<int64_t, std::set<int64_t>> words;
  for (const auto &elements : phase.threads) {
    expectContiguous(report, elements);
    for (int64_t byte = byteOf(report, elements[0]), i = 0;
         i < report.accessBits / 8; i += bankBytes)
      words[(byte + i) / bankBytes % banks].insert((byte + i) / bankBytes);
  }
  for (const auto &[bank, different] : words)
    phase.passes = std::max(phase.passes, int64_t(different.size()));
  for (const auto &elements : phase.threads)
    for (int64_t element : elements) {
      BankOfElement &at = report.elements[element];
      at.phase = int64_t(report.phases.size());
      at.conflicts |= words[at.bank].size() > 1;
    }
  report.phases.push_back(std::move(phase));
}

/// Divides the accesses of consecutive threads into phases.
void addAccesses(BankReport &report,
                 const std::vector<std::vector<int64_t>> &accesses) {
  size_t together =
      size_t(std::min(phaseBits / report.accessBits, warpThreads));
  for (size_t i = 0; i < accesses.size(); i += together) {
    size_t end = std::min(i + together, accesses.size());
    addPhase(report, {{accesses.begin() + i, accesses.begin() + end}, 1});
  }
}

/// Returns the number of the mode, 0 or the rest, whose elements are
/// contiguous.
size_t contiguousMode(const ComposedLayout &layout, int64_t rows) {
  return layout.size() > rows && layout(rows) - layout(0) == 1 ? 1 : 0;
}

} // namespace

int64_t BankReport::passes() const {
  int64_t sum = 0;
  for (const Phase &phase : phases)
    sum += phase.passes;
  return sum;
}

int64_t BankReport::worst() const {
  int64_t most = 0;
  for (const Phase &phase : phases)
    most = std::max(most, phase.passes);
  return most;
}

BankReport bankReport(const ComposedLayout &layout, int64_t elementBits,
                      int64_t accessBits) {
  BankReport report = begin(layout, elementBits, accessBits);
  int64_t rows = layout.layout.size(0), columns = layout.size() / rows;
  bool byRow = contiguousMode(layout, rows) == 1;
  int64_t along = byRow ? columns : rows, across = byRow ? rows : columns;
  int64_t vector = accessBits / elementBits;
  if (along % vector)
    throw LayoutError("banks: expected a multiple of " +
                      std::to_string(vector) + " contiguous elements in " +
                      layout.str() + ", got " + std::to_string(along) +
                      "; use a narrower access");
  std::vector<std::vector<int64_t>> accesses;
  for (int64_t first = 0; first < along; first += vector)
    for (int64_t i = 0; i < across; ++i) {
      std::vector<int64_t> elements;
      for (int64_t j = first; j < first + vector; ++j)
        elements.push_back(byRow ? i + j * rows : j + i * rows);
      accesses.push_back(std::move(elements));
    }
  addAccesses(report, accesses);
  return report;
}

BankReport bankReport(const ComposedLayout &layout, const TiledCopy &copy,
                      Side side) {
  const CopyAtom &atom = copy.atom();
  int64_t bits =
      (side == Side::Source ? atom.source : atom.destination).size(1);
  BankReport report = begin(layout, copy.valueBits(), bits);
  int64_t vector = bits / copy.valueBits();
  if (copy.threads() > mostThreads)
    throw LayoutError("banks: expected at most " + std::to_string(mostThreads) +
                      " threads, got " + std::to_string(copy.threads()));
  // The domain of the layout, so that a partition gives indices into it.
  Layout domain = Layout::columnMajor(layout.layout.shape());
  std::vector<Partition> parts;
  for (int64_t thread = 0; thread < copy.threads(); ++thread)
    parts.push_back(side == Side::Source ? copy.partitionS(domain, thread)
                                         : copy.partitionD(domain, thread));
  for (int64_t first = 0; first < parts[0].layout.size(); first += vector)
    for (int64_t warp = 0; warp < copy.threads(); warp += warpThreads) {
      std::vector<std::vector<int64_t>> accesses;
      for (int64_t lane = warp;
           lane < std::min(warp + warpThreads, copy.threads()); ++lane) {
        std::vector<int64_t> elements;
        for (int64_t i = first; i < first + vector; ++i)
          elements.push_back(parts[lane].offset + parts[lane].layout(i));
        if (elements.back() >= layout.size())
          throw LayoutError("banks: expected tiles of " + copy.tile().str() +
                            " that divide " + layout.str());
        accesses.push_back(std::move(elements));
      }
      addAccesses(report, accesses);
    }
  return report;
}

} // namespace fmha::layout::algebra
