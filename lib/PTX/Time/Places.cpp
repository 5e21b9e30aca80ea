//===- Places.cpp - What an instruction reaches ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Places.h"

#include "fmha/PTX/Sim/Core/Machine/Machine.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <ranges>
#include <set>

namespace ptxsim::timing {
namespace {

constexpr uint64_t kSector = 32, kBank = 4, kBanks = 32;

/// Returns the number that the text begins with, 0 if there is none.
uint32_t leadingNumber(std::string_view text) {
  uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Calls `visit` for the dotted parts of an opcode.
template <typename Visit> void eachPart(std::string_view opcode, Visit visit) {
  for (auto part : std::views::split(opcode, '.'))
    visit(std::string_view(part.begin(), part.end()));
}

/// Returns the bits of a type such as b32 or bf16x2, 0 if there is none.
uint32_t bitsOf(std::string_view type) {
  size_t digit = type.find_first_of("0123456789");
  if (digit == type.npos)
    return 0;
  uint32_t bits = leadingNumber(type.substr(digit));
  return type.ends_with("x2") ? 2 * bits : bits;
}

/// Returns the bytes that a lane accesses.
uint32_t laneBytes(const Instruction &inst) {
  std::string_view opcode = inst.opcode;
  if (opcode.starts_with("ldmatrix") || opcode.starts_with("stmatrix") ||
      opcode.starts_with("wmma"))
    return 16;
  uint32_t bits = bitsOf(opcode.substr(opcode.rfind('.') + 1));
  bool loads = opcode.starts_with("ld");
  bool stores = opcode.starts_with("st");
  size_t rows = loads ? inst.dst.size() : stores ? inst.src.size() : 1;
  // A value of 128 bits has two rows.
  uint32_t bytes = std::clamp(bits, 8u, 64u) / 8;
  return bytes * uint32_t(std::max<size_t>(rows, 1));
}

/// Returns the lanes whose addresses count: the rows of a matrix are those of
/// the first lanes.
LaneMask addressingLanes(const Instruction &inst, LaneMask active) {
  bool isMatrix = inst.opcode.starts_with("ldmatrix") ||
                  inst.opcode.starts_with("stmatrix");
  uint32_t matrices = 4;
  eachPart(inst.opcode, [&](std::string_view part) {
    if (part == "x1" || part == "x2")
      matrices = leadingNumber(part.substr(1));
  });
  return isMatrix && matrices < 4 ? active & ((1u << 8 * matrices) - 1)
                                  : active;
}

/// Returns the memory that contains an address.
Reached reachedBy(const Instruction &inst, uint64_t address) {
  uint64_t window = address & kWindowMask;
  Space space = inst.address.space;
  bool generic = space == Space::Generic;
  if (space == Space::Shared || (generic && window == kSharedWindow))
    return Reached::Shared;
  bool near = space == Space::Local || space == Space::Param ||
              window == kLocalWindow || window == kParamWindow;
  return near ? Reached::Nothing : Reached::Global;
}

/// Splits "m64n128k16" into its numbers; zeros if it is no shape.
std::array<uint32_t, 3> shapeOf(std::string_view part) {
  size_t n = part.find('n'), k = part.find('k');
  if (part.empty() || part[0] != 'm' || n == part.npos || k == part.npos)
    return {};
  return {leadingNumber(part.substr(1)), leadingNumber(part.substr(n + 1)),
          leadingNumber(part.substr(k + 1))};
}

} // namespace

uint64_t bankRows(const std::vector<uint64_t> &addresses, uint32_t bytes) {
  size_t together = std::max<size_t>(kBank * kBanks / std::max(bytes, 4u), 1);
  uint64_t rows = 0;
  for (size_t first = 0; first < addresses.size(); first += together) {
    std::map<uint64_t, std::set<uint64_t>> words;
    size_t end = std::min(first + together, addresses.size());
    for (size_t i = first; i < end; ++i)
      for (uint64_t at = 0; at < bytes; at += kBank) {
        uint64_t word = (addresses[i] + at) / kBank;
        words[word % kBanks].insert(word);
      }
    uint64_t most = 0;
    for (const auto &[bank, of] : words)
      most = std::max<uint64_t>(most, of.size());
    rows += most;
  }
  return rows;
}

Place placeOf(const Warp &warp, const Instruction &inst, LaneMask active) {
  Place place;
  uint32_t bytes = laneBytes(inst);
  // Only the payload of cp.async has its addresses: they are taken to be
  // without conflicts.
  if (inst.opcode.starts_with("cp.async"))
    return {Reached::Shared, (uint64_t(std::popcount(active)) + 7) / 8, {}};
  std::vector<uint64_t> addresses;
  for (LaneMask rest = addressingLanes(inst, active); rest; rest &= rest - 1)
    addresses.push_back(
        warp.addressOf(inst.address, unsigned(std::countr_zero(rest))));
  if (addresses.empty())
    return place;
  // One address without a register serves all lanes.
  if (!inst.address.base.valid())
    addresses.resize(1);
  place.reached = reachedBy(inst, addresses[0]);
  if (place.reached == Reached::Shared)
    place.amount = bankRows(addresses, bytes);
  if (place.reached != Reached::Global)
    return place;
  std::set<uint64_t> sectors;
  for (uint64_t address : addresses)
    for (uint64_t at = address / kSector; at * kSector < address + bytes; ++at)
      sectors.insert(at * kSector);
  place.sectors.assign(sectors.begin(), sectors.end());
  place.amount = sectors.size();
  return place;
}

double productSize(std::string_view opcode) {
  double operations = 0;
  uint32_t bits = 0;
  eachPart(opcode, [&](std::string_view part) {
    auto [m, n, k] = shapeOf(part);
    if (m && n && k)
      operations = 2.0 * m * n * k;
    else if (uint32_t width = bitsOf(part); width && operations)
      bits = bits ? std::min(bits, width) : width;
  });
  return operations / 4096 * (bits ? bits : 16) / 16;
}

double columnsOf(std::string_view opcode) {
  double columns = 0;
  eachPart(opcode, [&](std::string_view part) {
    if (uint32_t n = shapeOf(part)[1])
      columns = n;
  });
  return columns;
}

double copiedBytes(std::string_view opcode) {
  double bytes = 0;
  eachPart(opcode, [&](std::string_view part) {
    size_t x = part.find('x');
    if (x != part.npos && part.ends_with("b"))
      bytes =
          double(leadingNumber(part)) * leadingNumber(part.substr(x + 1)) / 8;
  });
  return bytes;
}

} // namespace ptxsim::timing
