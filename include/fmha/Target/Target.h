//===- Target.h - What is known of each GPU ---------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of Targets.td, where every field and the source of every odd number
// is described.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_TARGET_TARGET_H
#define FMHA_TARGET_TARGET_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fmha::target {

/// The same on every GPU.
inline constexpr unsigned warpThreads = 32, warpgroupWarps = 4,
                          warpgroupThreads = warpThreads * warpgroupWarps;

/// Capacities in bytes, registers, threads and columns; rates per SM and clock;
/// latencies in clocks.
struct Target {
  const char *name;
  const char *product;
  const char *features;
  bool supported;
  /// Why not, empty where it is.
  const char *reason;
  bool hasTcgen05, hasWgmma, hasTma, hasGridDependencies, hasE4M3Conversions;
  unsigned backEndLevel;
  bool hasOwnBases;
  unsigned tmemColumns, tmemAllocationUnit;
  unsigned smemBytesPerCta;
  unsigned maxRegistersPerThread;
  unsigned sms;
  unsigned namedBarriers;
  unsigned mmaFlopsPerClock, mmaRows, mmaStartTenths;
  unsigned mufuPerClock, fmaPerClock, aluPerClock, convertPerClock;
  unsigned smemBytesPerClock, tmemBytesPerClock, l2BytesPerClock;
  unsigned mmaLatency, scoreLatency, probabilityLatency;
  unsigned proxyFenceLatency, scaleCopyLatency, memoryLatency;
  unsigned clockMhz, memoryGigabytes;

  /// 32-bit registers; the same on every GPU.
  static constexpr unsigned registersPerSm = 65536, maxThreadsPerCta = 1024;
};

/// The row of that exact name ("sm_100a"), or null.
const Target *findTarget(std::string_view name);

/// All rows; `supported` only those that attention can be compiled for. The
/// compilable ones come first.
std::vector<std::string> names(bool supported = false);

/// "sm_100a, sm_103a": the names that attention can be compiled for, for
/// messages.
std::string supportedNames();
/// "; did you mean sm_90a?" of sm_90, "; did you mean sm_86?" of sm_86a: the
/// supported target of the same GPU, else "".
std::string hint(std::string_view name);

} // namespace fmha::target

#endif // FMHA_TARGET_TARGET_H
