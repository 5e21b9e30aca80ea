//===- Target.cpp - The devices that the driver API reports ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Host/Target.h"

#include <array>
#include <cctype>

namespace ptxsim {

std::optional<TargetName> TargetName::parse(std::string_view text) {
  text = text.substr(0, text.find_first_of(", \t"));
  if (text.substr(0, 3) != "sm_")
    return std::nullopt;
  text.remove_prefix(3);
  TargetName name;
  size_t digits = 0;
  while (digits < text.size() && digits < 4 && std::isdigit(text[digits]))
    name.cc = name.cc * 10 + unsigned(text[digits++] - '0');
  text.remove_prefix(digits);
  if (digits < 2 || text.size() > 1)
    return std::nullopt;
  if (!text.empty()) {
    name.suffix = text[0];
    if (name.suffix != 'a' && name.suffix != 'f')
      return std::nullopt;
  }
  return name;
}

std::string TargetName::text() const {
  std::string result = "sm_" + std::to_string(cc);
  if (suffix)
    result += suffix;
  return result;
}

bool TargetName::runsOn(unsigned device) const {
  if (suffix == 'a')
    return device == cc;
  if (suffix == 'f')
    return device / 10 == cc / 10 && device >= cc;
  return device >= cc;
}

namespace {

constexpr uint64_t gib = uint64_t(1) << 30;
constexpr unsigned kib = 1024, mib = 1024 * 1024;

// The CUDA programming guide's table of technical specifications per compute
// capability, and the public data sheets of A100, RTX 4090, H200, B200, B300
// and RTX PRO 6000.
constexpr std::array<DeviceFacts, 7> devices = {{
    {80, 108, 163 * kib, 164 * kib, 2048, 32, 80 * gib, 40 * mib, 1410000,
     1593000, 5120},
    {86, 84, 99 * kib, 100 * kib, 1536, 16, 48 * gib, 6 * mib, 1740000, 8001000,
     384},
    {89, 128, 99 * kib, 100 * kib, 1536, 24, 24 * gib, 72 * mib, 2520000,
     10501000, 384},
    {90, 132, 227 * kib, 228 * kib, 2048, 32, 140 * gib, 60 * mib, 1980000,
     3201000, 6144},
    {100, 148, 227 * kib, 228 * kib, 2048, 32, 178 * gib, 126 * mib, 1965000,
     3996000, 8192},
    {103, 148, 227 * kib, 228 * kib, 2048, 32, 268 * gib, 126 * mib, 1965000,
     3996000, 8192},
    {120, 188, 99 * kib, 100 * kib, 1536, 24, 96 * gib, 128 * mib, 2617000,
     14001000, 512},
}};

} // namespace

const DeviceFacts &factsOf(unsigned cc) {
  const DeviceFacts *best = &devices.front();
  for (const DeviceFacts &facts : devices)
    if (facts.cc <= cc)
      best = &facts;
  return *best;
}

} // namespace ptxsim
