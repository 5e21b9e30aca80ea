//===- SharedAccess.cpp - Asynchronous accesses to shared memory ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedAccess.h"

#include <cstdio>
#include <cstring>

namespace ptxsim {
namespace {

constexpr uint32_t chunkBytes = 16;
constexpr uint64_t everyByte = 0x0101010101010101;

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
  return text;
}

/// Number of operations that read each 16 bytes; the mark means "at
/// least one".
struct ReaderCounts : UnitState {
  std::vector<uint16_t> counts;
};

ReaderCounts &readersOf(Cta &cta) {
  ReaderCounts &readers = cta.states.get<ReaderCounts>();
  readers.counts.resize(cta.sharedEnd / chunkBytes + 2);
  return readers;
}

template <typename Visit>
void forChunks(uint32_t offset, uint32_t bytes, Visit visit) {
  if (bytes)
    for (uint32_t c = offset / chunkBytes;
         c <= (offset + bytes - 1) / chunkBytes; ++c)
      visit(c);
}

/// Checks one byte and reports at most one finding: the slow path of
/// checkAsyncSource.
bool checkByte(const Site &site, Cta &cta, uint32_t at) {
  Report &report = cta.machine.report;
  uint8_t marks = cta.sharedMarks[at];
  // Only a finding needs the text: most bytes checked here are clean.
  auto where = [&] { return "shared " + describeShared(cta, at); };
  if (marks & kAsyncWrite)
    report.add(FindingId::AsyncWriteInFlight, site,
               "reads " + where() + " while a copy to it is in flight",
               inFlightAt(cta, at, 1, Access::Write));
  else if (!(marks & kWritten))
    report.add(FindingId::UninitShared, site,
               "the async proxy reads " + where() +
                   ", which was never written");
  else
    return false;
  return true;
}

} // namespace

std::string describeShared(const Cta &cta, uint32_t offset) {
  std::string text = hex(offset);
  if (cta.cluster.ctas.size() > 1)
    text += " of the CTA of rank " + std::to_string(cta.rank);
  return text;
}

SharedRef resolveShared(Cluster &cluster, const Site &site, uint32_t address,
                        uint32_t bytes, uint32_t align) {
  Cta *cta = cluster.ctaOf(site, address);
  if (!cta)
    return {};
  uint32_t offset = address & 0xffffff;
  if (offset % align) {
    cluster.machine.fault(FindingId::Misaligned, site,
                          "shared address " + hex(offset) +
                              ", expected a multiple of " +
                              std::to_string(align));
    return {};
  }
  if (uint64_t(offset) + bytes > cta->sharedEnd || offset < kSharedBase) {
    cluster.machine.fault(FindingId::OutOfBounds, site,
                          std::to_string(bytes) + " bytes at shared address " +
                              hex(offset) + ", expected them inside " +
                              hex(kSharedBase) + " .. " + hex(cta->sharedEnd));
    return {};
  }
  cluster.machine.noteShared(*cta, offset, bytes, true);
  return {cta, offset};
}

std::optional<uint32_t> sharedAddress(Warp &warp, const Instruction &inst,
                                      const AddressOperand &operand,
                                      unsigned lane) {
  uint64_t address = warp.addressOf(operand, lane);
  bool inWindow = (address & kWindowMask) == kSharedWindow;
  if (operand.space != Space::Generic || inWindow)
    return uint32_t(address);
  warp.machine.fault(FindingId::OutOfBounds, warp.site(inst, int(lane)),
                     "generic address " + hex(address) +
                         ", expected one in shared memory");
  return std::nullopt;
}

void checkAsyncSource(const Site &site, Cta &cta, uint32_t offset,
                      uint32_t bytes) {
  cta.machine.noteShared(cta, offset, bytes, false);
  if (cta.sharedMarks.empty())
    return;
  constexpr uint64_t bad = everyByte * kAsyncWrite;
  uint32_t end = offset + bytes;
  for (uint32_t at = offset; at < end; at += 8) {
    if (end - at >= 8) {
      uint64_t marks;
      std::memcpy(&marks, &cta.sharedMarks[at], 8);
      if ((marks & everyByte) == everyByte && !(marks & bad))
        continue;
    }
    for (uint32_t byte = at; byte < std::min(at + 8, end); ++byte)
      if (checkByte(site, cta, byte))
        return;
  }
}

void beginAsyncRead(Cta &cta, uint32_t offset, uint32_t bytes) {
  cta.machine.noteShared(cta, offset, bytes, false);
  if (cta.sharedMarks.empty())
    return;
  ReaderCounts &readers = readersOf(cta);
  forChunks(offset, bytes, [&](uint32_t c) { ++readers.counts[c]; });
  for (uint32_t at = offset; at < offset + bytes; ++at)
    cta.sharedMarks[at] |= kAsyncRead;
}

void endAsyncRead(Cta &cta, uint32_t offset, uint32_t bytes) {
  cta.machine.noteShared(cta, offset, bytes, false);
  if (cta.sharedMarks.empty())
    return;
  ReaderCounts &readers = readersOf(cta);
  forChunks(offset, bytes, [&](uint32_t c) {
    if (--readers.counts[c])
      return;
    uint32_t end = std::min((c + 1) * chunkBytes, cta.sharedEnd);
    for (uint32_t at = c * chunkBytes; at < end; ++at)
      cta.sharedMarks[at] &= ~kAsyncRead;
  });
}

void beginAsyncWrite(const Site &site, Cta &cta, uint32_t offset,
                     uint32_t bytes) {
  cta.machine.noteShared(cta, offset, bytes, true);
  std::memset(&cta.shared[offset], 0xCB, bytes);
  if (cta.sharedMarks.empty())
    return;
  uint8_t seen = 0;
  for (uint32_t at = offset; at < offset + bytes; ++at) {
    seen |= cta.sharedMarks[at];
    cta.sharedMarks[at] = (cta.sharedMarks[at] & ~kWritten) | kAsyncWrite;
  }
  if (!(seen & (kAsyncRead | kAsyncWrite | kBarrier)))
    return;
  std::string where =
      std::to_string(bytes) + " bytes at shared " + describeShared(cta, offset);
  Report &report = cta.machine.report;
  if (seen & kAsyncRead)
    report.add(FindingId::AsyncReadInFlight, site, "a copy overwrites " + where,
               inFlightAt(cta, offset, bytes, Access::Read));
  if (seen & kAsyncWrite)
    report.add(FindingId::AsyncWriteInFlight, site,
               "a second copy writes " + where,
               inFlightAt(cta, offset, bytes, Access::Write));
  if (seen & kBarrier)
    report.add(FindingId::MbarrierLiveAccess, site, "a copy writes " + where,
               barrierAt(cta, offset, bytes));
}

void endAsyncWrite(Cta &cta, uint32_t offset, const uint8_t *bytes,
                   uint32_t count) {
  cta.machine.noteShared(cta, offset, count, true);
  std::memcpy(&cta.shared[offset], bytes, count);
  if (cta.sharedMarks.empty())
    return;
  for (uint32_t at = offset; at < offset + count; ++at)
    cta.sharedMarks[at] = (cta.sharedMarks[at] & ~kAsyncWrite) | kWritten;
}

} // namespace ptxsim
