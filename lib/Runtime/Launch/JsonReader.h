//===- JsonReader.h - JSON with errors that name the path -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cursor over a parsed JSON value. The first unexpected item is written to
// `problem` with its path. From then on readers return harmless values, so that
// a caller reads everything and checks `problem` once.
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

/// Parses `text`. Returns nullopt if it is malformed or nested deeper than 32,
/// with a sentence in `problem`.
std::optional<nlohmann::json> parseJson(std::string_view text,
                                        std::string &problem);

class JsonNode {
public:
  /// A null `value` is absent, and its absence has already been reported.
  JsonNode(const nlohmann::json *value, std::string path, std::string &problem)
      : value(value), path(std::move(path)), problem(&problem) {}

  bool isString() const { return value && value->is_string(); }
  bool isNumber() const { return value && value->is_number(); }

  /// Returns whether an object has a member `name`.
  bool has(std::string_view name) const {
    return value && value->is_object() && value->contains(name);
  }
  /// Returns the member `name` of an object; reports its absence.
  JsonNode field(std::string_view name) const;
  /// Reports members that are not in `known`.
  void fields(std::span<const std::string_view> known) const;
  void fields(std::initializer_list<std::string_view> known) const {
    fields(std::span(known.begin(), known.size()));
  }
  /// Returns the elements of an array, which must be exactly `count` if given.
  std::vector<JsonNode> elements(std::optional<size_t> count = {}) const;

  std::string string() const;
  bool boolean() const;
  double number() const;
  /// Returns an integer in [low, high]; `low` if there is none.
  uint32_t unsignedInteger(uint32_t low = 0, uint32_t high = 0xffffffff) const;
  /// Returns the enumerator that the string spells.
  template <typename Enum> Enum choice() const {
    return Enum(choose(namesOf<Enum>()));
  }
  /// Returns the string, which must be one of `names`.
  std::string choice(std::span<const std::string_view> names) const {
    return std::string(names[choose(names)]);
  }
  /// Returns the string's index in `names`.
  size_t choose(std::span<const std::string_view> names) const;

  void fail(const std::string &expected, const std::string &got) const;

private:
  void fail(const std::string &expected) const;

  const nlohmann::json *value;
  std::string path;
  std::string *problem;
};

} // namespace fmha::launch

#endif // FMHA_LIB_RUNTIME_LAUNCH_JSONREADER_H
