//===- Memory.cpp - Memory accesses that may be findings --------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryAccess.h"

#include "fmha/PTX/Sim/Core/Machine/OtherAccessors.h"

using namespace ptxsim;

static std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

static const char *verb(Access access) {
  return access == Access::Read    ? "read"
         : access == Access::Write ? "write"
                                   : "atomic";
}

static std::string what(Access access, uint64_t bytes, const char *space,
                        uint64_t address) {
  return std::string(verb(access)) + " of " + std::to_string(bytes) +
         " bytes of " + space + " memory at " + hex(address);
}

/// Reports a fault unless `address` is a multiple of `align`.
static bool checkAlign(Cluster &cluster, const Site &site, uint64_t address,
                       uint64_t bytes, uint32_t align, const char *space,
                       Access access) {
  if (!align || address % align == 0)
    return true;
  cluster.machine.fault(FindingId::Misaligned, site,
                        what(access, bytes, space, address) +
                            ": expected a multiple of " +
                            std::to_string(align) + ".");
  return false;
}

Cta *Cluster::ctaOf(const Site &site, uint32_t address) {
  uint32_t rank = address >> 24;
  if (rank >= ctas.size()) {
    machine.fault(FindingId::ReducedCluster, site,
                  "shared address " + hex(address) + " names CTA rank " +
                      std::to_string(rank) + " of a cluster of " +
                      std::to_string(ctas.size()) + ".");
    return nullptr;
  }
  return ctas[rank].get();
}

static void checkSharedMarks(Cluster &cluster, const Site &site, Cta &cta,
                             uint32_t offset, uint32_t bytes, Access access,
                             bool generic) {
  Report &report = cluster.machine.report;
  uint8_t *marks = cta.sharedMarks.data() + offset;
  uint8_t all = 0xFF, any = 0;
  for (uint32_t i = 0; i < bytes; ++i) {
    all &= marks[i];
    any |= marks[i];
  }
  std::string text = what(access, bytes, "shared", offset);
  if (access != Access::Write && !(all & kWritten))
    report.add(FindingId::UninitShared, site, text + ".");
  if (!generic)
    return;
  if (any & kBarrier)
    report.add(FindingId::MbarrierLiveAccess, site, text + ".",
               barrierAt(cta, offset, bytes));
  if (any & kAsyncWrite)
    report.add(FindingId::AsyncWriteInFlight, site, text + ".",
               inFlightAt(cta, offset, bytes, Access::Write));
  if (access != Access::Read && (any & kAsyncRead))
    report.add(FindingId::AsyncReadInFlight, site, text + ".",
               inFlightAt(cta, offset, bytes, Access::Read));
}

uint8_t *Cluster::shared(const Site &site, uint32_t address, uint32_t bytes,
                         uint32_t align, Access access, bool generic) {
  Cta *cta = ctaOf(site, address);
  if (!cta)
    return nullptr;
  uint32_t offset = address & 0xFFFFFF;
  if (offset < kSharedBase || uint64_t(offset) + bytes > cta->sharedEnd) {
    bool none = cta->sharedEnd == kSharedBase;
    machine.fault(FindingId::OutOfBounds, site,
                  what(access, bytes, "shared", address) +
                      (none ? ": the CTA has none; dynamic shared memory is "
                              "given at launch."
                            : ": expected " + hex(kSharedBase) + " to " +
                                  hex(cta->sharedEnd) + "."));
    return nullptr;
  }
  if (!checkAlign(*this, site, offset, bytes, align, "shared", access))
    return nullptr;
  machine.noteShared(*cta, offset, bytes, access != Access::Read);
  if (cta->exited() && site.warp && &site.warp->cta != cta)
    machine.report.add(FindingId::DsmemAfterExit, site,
                       what(access, bytes, "shared", address) + " of rank " +
                           std::to_string(cta->rank) + ".",
                       exitOf(*cta));
  if (!cta->sharedMarks.empty()) {
    checkSharedMarks(*this, site, *cta, offset, bytes, access, generic);
    uint8_t *marks = cta->sharedMarks.data() + offset;
    if (access != Access::Read)
      for (uint32_t i = 0; i < bytes; ++i)
        marks[i] |= kWritten;
  }
  return cta->shared.data() + offset;
}

bool Cluster::hasGlobal(uint64_t address) const {
  return findGlobal(machine, address, 1);
}

uint8_t *Cluster::global(const Site &site, uint64_t address, uint64_t bytes,
                         uint32_t align, Access access) {
  // Check alignment first, as an H200 does: a misaligned access outside every
  // allocation is reported as misaligned.
  if (!checkAlign(*this, site, address, bytes, align, "global", access))
    return nullptr;
  Allocation *found = findGlobal(machine, address, bytes);
  if (!found) {
    Device::Impl &device = machine.device.impl();
    std::string near = "no allocation is near";
    auto after = device.allocations.upper_bound(address);
    if (after != device.allocations.begin()) {
      const Allocation &before = std::prev(after)->second;
      near = "the allocation before it is " + hex(before.base) + " to " +
             hex(before.base + before.size);
    }
    machine.fault(FindingId::OutOfBounds, site,
                  what(access, bytes, "global", address) + ": " + near + ".");
    return nullptr;
  }
  machine.noteGlobal(address, bytes, access != Access::Read);
  if (machine.ownership)
    machine.ownership->claim(*found, address - found->base, bytes, access,
                             uint32_t(number));
  uint8_t *written = found->written.get() + (address - found->base);
  if (machine.report.marksMemory() && access != Access::Write &&
      !found->untracked && !marksAre(written, bytes, 1, 1))
    machine.report.add(FindingId::UninitGlobal, site,
                       what(access, bytes, "global", address) + ".");
  if (access != Access::Read) {
    if (machine.report.marksMemory())
      std::memset(written, 1, bytes);
    else
      markUntracked(*found);
  }
  return found->bytes.get() + (address - found->base);
}

const uint8_t *Cluster::parameter(uint64_t address, uint32_t bytes) const {
  uint64_t offset = address & 0xFFFFFFFFu;
  if (offset + bytes > machine.parameters.size())
    return nullptr;
  return machine.parameters.data() + offset;
}

/// Returns local memory of the lane that `site` names.
static uint8_t *localBytes(Cluster &cluster, const Site &site, uint64_t address,
                           uint32_t bytes, uint32_t align, Access access) {
  Warp &warp = const_cast<Warp &>(*site.warp);
  uint8_t *found = warp.local(unsigned(site.lane), address, bytes);
  if (!found) {
    cluster.machine.fault(FindingId::OutOfBounds, site,
                          what(access, bytes, "local", address) + ".");
    return nullptr;
  }
  if (!checkAlign(cluster, site, address, bytes, align, "local", access))
    return nullptr;
  if (uint8_t *marks = warp.localMarks(unsigned(site.lane), address)) {
    if (access != Access::Write && !marksAre(marks, bytes, 1, 1))
      cluster.machine.report.add(FindingId::UninitLocal, site,
                                 what(access, bytes, "local", address) + ".");
    if (access != Access::Read)
      std::memset(marks, 1, bytes);
  }
  return found;
}

uint8_t *Cluster::generic(const Site &site, uint64_t address, uint32_t bytes,
                          uint32_t align, Access access) {
  uint64_t low = address & 0xFFFFFFFFu;
  switch (address & kWindowMask) {
  case kSharedWindow:
    return shared(site, uint32_t(low), bytes, align, access, true);
  case kLocalWindow:
    return localBytes(*this, site, low, bytes, align, access);
  case kParamWindow:
    break;
  default:
    return global(site, address, bytes, align, access);
  }
  if (access != Access::Read) {
    machine.fault(FindingId::WriteToConstant, site,
                  what(access, bytes, "parameter", low) + ".");
    return nullptr;
  }
  const uint8_t *found = parameter(address, bytes);
  if (!found) {
    machine.fault(FindingId::OutOfBounds, site,
                  what(access, bytes, "parameter", low) +
                      ": expected at most " +
                      std::to_string(machine.parameters.size()) + " bytes.");
    return nullptr;
  }
  if (!checkAlign(*this, site, low, bytes, align, "parameter", access))
    return nullptr;
  return const_cast<uint8_t *>(found);
}
