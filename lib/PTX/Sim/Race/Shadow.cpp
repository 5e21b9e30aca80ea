//===- Shadow.cpp - The last accesses of each byte ------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cell that has split stores the address of its four parts in write.when, and
// a cell with a set of reads stores its number in read.when. Neither is a
// moment. They are marked by the line 0xFFFFFF, which no text has.
//
//===----------------------------------------------------------------------===//

#include "Supersedes.h"

#include <algorithm>
#include <bit>

using namespace ptxsim::race;
using Fault = Conflict::Fault;

static constexpr uint32_t kMark = 0xFFFFFF;

static bool isMarked(const Stamp &stamp) { return stamp.line == kMark; }

static Stamp marked(uint64_t value) {
  Stamp stamp;
  stamp.when = value;
  stamp.line = kMark;
  return stamp;
}

void CellRules::checkPair(const Access &access, const Stamp &other,
                          bool otherWrites, uint64_t address) const {
  if (!other.when)
    return;
  Fault fault = faultOf(access, other, otherWrites);
  if (fault != Fault::None) [[unlikely]]
    access.report(access, {fault, other, otherWrites, address});
}

void CellRules::check(const Cell &cell, const Access &access,
                      uint64_t address) const {
  checkPair(access, cell.write, true, address);
  if (!access.write)
    return;
  if (!isMarked(cell.read))
    return checkPair(access, cell.read, false, address);
  for (const Stamp &reader : sets.at(cell.read.when))
    checkPair(access, reader, false, address);
}

void CellRules::write(Cell &cell, const Access &access, uint64_t address) {
  check(cell, access, address);
  cell.write = access.stamp;
  cell.read = Stamp();
}

void CellRules::read(Cell &cell, const Access &access, uint64_t address) {
  checkPair(access, cell.write, true, address);
  bool many = isMarked(cell.read);
  if (!many && otherLane(cell.read, access.stamp)) {
    cell.read.lane = kManyLanes;
    return;
  }
  if (!cell.read.when || (!many && supersedes(access, cell.read))) {
    cell.read = access.stamp;
    return;
  }
  uint64_t set =
      sets.add(many ? cell.read.when : 0, many ? Stamp() : cell.read, access);
  cell.read = set ? marked(set) : access.stamp;
}

Shadow::Shadow(uint32_t cellBytes) : cellBytes(cellBytes) {}

Shadow::Page &Shadow::findPage(uint64_t number, Recent &recent) {
  std::unique_ptr<Page> &found = pages[number];
  if (!found)
    found = std::make_unique<Page>();
  recent = {number, found.get()};
  return *found;
}

size_t Shadow::bytesUsed() const {
  return pages.size() * sizeof(Page) + blocks.size() * sizeof(Block);
}

void Shadow::split(Cell &cell) {
  if (freeBlocks.empty()) {
    blocks.emplace_back();
    freeBlocks.push_back(&blocks.back());
  }
  Block *block = freeBlocks.back();
  freeBlocks.pop_back();
  block->fill(cell);
  cell.write = marked(reinterpret_cast<uint64_t>(block));
  cell.read = Stamp();
}

/// Merges the parts of a cell after a write to all of it.
void Shadow::unite(Cell &cell, const Access &access) {
  Block *block = reinterpret_cast<Block *>(cell.write.when);
  for (Cell &part : *block)
    if (isMarked(part.write))
      unite(part, access);
  freeBlocks.push_back(block);
  cell.write = access.stamp;
  cell.read = Stamp();
}

void Shadow::visit(Cell &cell, uint32_t span, uint64_t base, uint32_t offset,
                   uint32_t size, const Access &access) {
  if (!isMarked(cell.write)) {
    if (size == span)
      return rules.apply(cell, access, base);
    if (CellRules::changesNothing(cell, access))
      return;
    split(cell);
  }
  Block &parts = *reinterpret_cast<Block *>(cell.write.when);
  uint32_t part = span / 4, end = offset + size;
  for (uint32_t at = offset; at < end;) {
    uint32_t inside = at % part, count = std::min(part - inside, end - at);
    visit(parts[at / part], part, base + at - inside, inside, count, access);
    at += count;
  }
  if (access.write && size == span)
    unite(cell, access);
}

void Shadow::checkCell(const Cell &cell, uint32_t span, uint64_t base,
                       uint32_t offset, uint32_t size,
                       const Access &access) const {
  if (!isMarked(cell.write))
    return rules.check(cell, access, base + offset);
  const Block &parts = *reinterpret_cast<const Block *>(cell.write.when);
  uint32_t part = span / 4, end = offset + size;
  for (uint32_t at = offset; at < end;) {
    uint32_t inside = at % part, count = std::min(part - inside, end - at);
    checkCell(parts[at / part], part, base + at - inside, inside, count,
              access);
    at += count;
  }
}

template <typename Visit>
void Shadow::forCells(uint64_t address, uint64_t bytes, Visit visit) const {
  for (uint64_t end = address + bytes; address < end;) {
    uint64_t cell = address / cellBytes;
    uint32_t offset = uint32_t(address % cellBytes);
    uint32_t size =
        uint32_t(std::min<uint64_t>(cellBytes - offset, end - address));
    visit(cell, offset, size);
    address += size;
  }
}

void Shadow::apply(uint64_t address, uint64_t bytes, const Access &access) {
  forCells(address, bytes, [&](uint64_t cell, uint32_t offset, uint32_t size) {
    visit(page(cell / kPageCells)[cell % kPageCells], cellBytes,
          cell * cellBytes, offset, size, access);
  });
}

void Shadow::check(uint64_t address, uint64_t bytes,
                   const Access &access) const {
  forCells(address, bytes, [&](uint64_t cell, uint32_t offset, uint32_t size) {
    auto found = pages.find(cell / kPageCells);
    if (found != pages.end())
      checkCell((*found->second)[cell % kPageCells], cellBytes,
                cell * cellBytes, offset, size, access);
  });
}

void TensorShadow::apply(uint8_t groups, uint32_t column, uint32_t count,
                         const Access &access) {
  if (cells.empty())
    cells.resize(kGroups * kColumns);
  for (uint32_t group = 0; group < kGroups; ++group) {
    if (!(groups >> group & 1))
      continue;
    Cell *row = &cells[group * kColumns];
    for (uint32_t c = column; c < column + count; ++c)
      rules.apply(row[c], access, uint64_t(group) << 20 | c);
  }
}

void TensorShadow::forget(uint32_t column, uint32_t count) {
  if (cells.empty())
    return;
  for (uint32_t group = 0; group < kGroups; ++group)
    std::fill_n(&cells[group * kColumns + column], count, Cell());
}
