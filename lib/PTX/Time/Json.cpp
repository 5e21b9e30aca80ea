//===- Json.cpp - The modeled time in reports -----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Time/Json.h"

#include <cmath>

using Json = nlohmann::ordered_json;

Json ptxsim::timing::toJson(const Estimate *time) {
  Json json;
  for (const char *absent :
       {"clocks", "front_end", "bound", "mma_utilisation", "copied_bytes"})
    json[absent] = nullptr;
  if (!time)
    return json;
  json["clocks"] = {{"low", std::llround(time->clocks.low)},
                    {"middle", std::llround(time->clocks.middle)},
                    {"high", std::llround(time->clocks.high)}};
  json["front_end"] = time->frontEnd == FrontEnd::Sass ? "sass" : "ptx";
  json["bound"] = time->bound;
  json["mma_utilisation"] = time->mmaUtilisation;
  json["copied_bytes"] = time->copiedBytes;
  for (double clocks : time->drawn)
    json["drawn_clocks"].push_back(std::llround(clocks));
  return json;
}
