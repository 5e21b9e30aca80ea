//===- JsonReader.h - JSON with errors that name the path -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cursor over a parsed JSON value. The first thing that is not as expected is
// written to `problem` with its path; from then on readers return harmless
// values, so that a caller reads everything and looks at `problem` once.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_RUNTIME_LAUNCH_JSONREADER_H
#define FMHA_LIB_RUNTIME_LAUNCH_JSONREADER_H

#include "fmha/Runtime/Launch/Names.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace fmha::launch {

/// Parses `text`. Returns nothing if it is malformed or nested deeper than 32,
/// with a sentence in `problem`.
std::optional<nlohmann::json> parseJson(std::string_view text,
                                        std::string &problem);

class JsonNode {
public:
  /// `value` null means: not there, and already complained about.
  JsonNode(const nlohmann::json *value, std::string path, std::string &problem)
      : value(value), path(std::move(path)), problem(&problem) {}

  bool isString() const { return value && value->is_string(); }
  bool isNumber() const { return value && value->is_number(); }

  /// Whether an object has a member `name`.
  bool has(std::string_view name) const {
    return value && value->is_object() && value->contains(name);
  }
  /// The member `name` of an object; its absence is a problem.
  JsonNode field(std::string_view name) const;
  /// Complains about members that are not in `known`.
  void fields(std::span<const std::string_view> known) const;
  void fields(std::initializer_list<std::string_view> known) const {
    fields(std::span(known.begin(), known.size()));
  }
  /// The elements of an array, of exactly `count` if given.
  std::vector<JsonNode> elements(std::optional<size_t> count = {}) const;

  std::string string() const;
  bool boolean() const;
  double number() const;
  /// An integer in [low, high]; `low` if there is none.
  uint32_t unsignedInteger(uint32_t low = 0, uint32_t high = 0xffffffff) const;
  /// The enumerator that the string spells.
  template <typename Enum> Enum choice() const {
    return Enum(choose(namesOf<Enum>()));
  }
  /// The string, which is one of `names`.
  std::string choice(std::span<const std::string_view> names) const {
    return std::string(names[choose(names)]);
  }
  /// The string's place in `names`.
  size_t choose(std::span<const std::string_view> names) const;

  void complain(const std::string &expected, const std::string &got) const;

private:
  void complain(const std::string &expected) const;

  const nlohmann::json *value;
  std::string path;
  std::string *problem;
};

} // namespace fmha::launch

#endif // FMHA_LIB_RUNTIME_LAUNCH_JSONREADER_H
