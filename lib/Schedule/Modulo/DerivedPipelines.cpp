//===- DerivedPipelines.cpp - The table of derived pipelines --------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/DerivedPipelines.h"

#include "Model/Text.h"

#include <algorithm>
#include <charconv>
#include <sstream>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;

/// The last row ends the table, which may have no other.
static constexpr DerivedPipeline table[] = {
#define FMHA_PIPELINE(target, headDim, structure, title, interval, bound,      \
                      binding, places)                                         \
  {target, headDim, structure, title, interval, bound, binding, places},
#include "fmha/Schedule/Modulo/DerivedPipelines.def"
    {"", 0, 0, "", 0, 0, "", ""}};

std::span<const DerivedPipeline> fmha::schedule::modulo::derivedPipelines() {
  return {table, std::size(table) - 1};
}

const DerivedPipeline *
fmha::schedule::modulo::findPipeline(std::string_view target, unsigned headDim,
                                     uint64_t structure) {
  for (const DerivedPipeline &row : derivedPipelines())
    if (row.target == target && row.headDim == headDim &&
        row.structure == structure)
      return &row;
  return nullptr;
}

std::string
fmha::schedule::modulo::printPlaces(const std::vector<NamedPlace> &places) {
  std::string text;
  for (const auto &[op, place] : places)
    text += (text.empty() ? "" : " ") + op + "=" + place.role + "/" +
            str(place.stage) + "/" + str(place.order);
  return text;
}

/// Reads the number at the end of `word`, after a slash, and removes it.
static std::optional<unsigned> takeNumber(std::string &word) {
  size_t slash = word.rfind('/');
  if (slash == std::string::npos)
    return std::nullopt;
  unsigned number = 0;
  const char *end = word.data() + word.size();
  auto [last, error] = std::from_chars(word.data() + slash + 1, end, number);
  if (error != std::errc() || last != end)
    return std::nullopt;
  word.resize(slash);
  return number;
}

std::optional<std::vector<NamedPlace>>
fmha::schedule::modulo::readPlaces(std::string_view text) {
  std::vector<NamedPlace> places;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    std::optional<unsigned> order = takeNumber(word), stage = takeNumber(word);
    size_t equal = word.find('=');
    if (!order || !stage || equal == std::string::npos || equal == 0)
      return std::nullopt;
    places.push_back(
        {word.substr(0, equal), {word.substr(equal + 1), *stage, *order}});
  }
  return places;
}
