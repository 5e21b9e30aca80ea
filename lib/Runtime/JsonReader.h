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

#ifndef FMHA_LIB_RUNTIME_JSONREADER_H
#define FMHA_LIB_RUNTIME_JSONREADER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace fmha::runtime {

class JsonNode {
public:
  /// `value` null means: not there, and already complained about.
  JsonNode(const llvm::json::Value *value, std::string path,
           std::string &problem)
      : value(value), path(std::move(path)), problem(&problem) {}

  bool isString() const { return value && value->getAsString().has_value(); }
  bool isNumber() const { return value && value->getAsNumber().has_value(); }

  /// Whether an object has a member `name`.
  bool has(llvm::StringRef name) const {
    const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
    return object && object->get(name);
  }
  /// The member `name` of an object; its absence is a problem.
  JsonNode field(llvm::StringRef name) const;
  /// Complains about members that are not in `known`.
  void fields(llvm::ArrayRef<llvm::StringLiteral> known) const;
  /// The elements of an array, of exactly `count` if given.
  std::vector<JsonNode> elements(std::optional<size_t> count = {}) const;

  std::string string() const;
  bool boolean() const;
  double number() const;
  /// An integer in [low, high]; `low` if there is none.
  uint32_t unsignedInteger(uint32_t low = 0, uint32_t high = 0xffffffff) const;
  /// The string's place in `names`, as an enumerator.
  template <typename Enum>
  Enum choice(llvm::ArrayRef<llvm::StringLiteral> names) const {
    return Enum(choose(names));
  }

  void complain(const std::string &expected, const std::string &got) const;

private:
  size_t choose(llvm::ArrayRef<llvm::StringLiteral> names) const;
  void complain(const std::string &expected) const;

  const llvm::json::Value *value;
  std::string path;
  std::string *problem;
};

} // namespace fmha::runtime

#endif // FMHA_LIB_RUNTIME_JSONREADER_H
