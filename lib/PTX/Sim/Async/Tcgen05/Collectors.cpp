//===- Collectors.cpp - Buffers that keep A or B between MMAs -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Collectors.h"

#include "SharedAccess.h"

namespace ptxsim {
namespace {

constexpr std::array<std::string_view, 5> bufferNames = {"a", "b0", "b1", "b2",
                                                         "b3"};
constexpr std::array<std::string_view, 4> useNames = {"fill", "use", "lastuse",
                                                      "discard"};

bool needsFill(CollectorUse use) {
  return use == CollectorUse::Use || use == CollectorUse::LastUse;
}

} // namespace

std::optional<CollectorText> parseCollector(std::string_view part) {
  constexpr std::string_view prefix = "collector::";
  if (!part.starts_with(prefix))
    return std::nullopt;
  part.remove_prefix(prefix.size());
  for (uint8_t b = 0; b < bufferNames.size(); ++b)
    for (uint8_t u = 0; u < useNames.size(); ++u)
      if (part == std::string(bufferNames[b]) + "::" + std::string(useNames[u]))
        return CollectorText{b, CollectorUse(u)};
  return std::nullopt;
}

std::shared_ptr<CollectorFill> Collectors::issue(const Site &site,
                                                 const CollectorText &text,
                                                 const std::string &operand) {
  std::shared_ptr<CollectorFill> &held = buffers[text.buffer];
  if (text.use == CollectorUse::Fill) {
    held = std::make_shared<CollectorFill>(CollectorFill{operand, site, {}});
    return held;
  }
  std::shared_ptr<CollectorFill> fill = needsFill(text.use) ? held : nullptr;
  std::string name =
      "collector buffer " + std::string(bufferNames[text.buffer]);
  Report &report = site.warp->machine.report;
  if (needsFill(text.use) && !fill)
    report.add(FindingId::MmaCollector, site, name + " has not been filled");
  if (fill && fill->operand != operand) {
    report.add(FindingId::MmaCollector, site,
               name + " holds " + fill->operand + ", expected " + operand,
               otherAt("filled by", fill->site));
    fill = nullptr;
  }
  if (text.use != CollectorUse::Use)
    held = nullptr;
  return fill;
}

void checkCollected(const Site &site, CollectorFill &fill, CollectorUse use,
                    unsigned cta, uint64_t hash) {
  std::optional<uint64_t> &filled = fill.hashes[cta];
  if (use == CollectorUse::Fill) {
    filled = hash;
    return;
  }
  if (filled && *filled != hash)
    site.warp->machine.report.add(
        FindingId::MmaCollector, site,
        "the matrix has changed since the fill of the collector buffer",
        otherAt("filled by", fill.site));
}

} // namespace ptxsim
