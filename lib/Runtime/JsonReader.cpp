//===- JsonReader.cpp - JSON with errors that name the path ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace fmha::runtime {

void JsonNode::complain(const std::string &expected,
                        const std::string &got) const {
  if (problem->empty())
    *problem = path + ": expected " + expected + ", got " + got;
}

void JsonNode::complain(const std::string &expected) const {
  if (!value)
    return;
  std::string got = llvm::formatv("{0}", *value).str();
  if (got.size() > 40)
    got = got.substr(0, 37) + "...";
  complain(expected, got);
}

JsonNode JsonNode::field(llvm::StringRef name) const {
  std::string inner = path + "." + name.str();
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  const llvm::json::Value *member = object ? object->get(name) : nullptr;
  if (value && !object)
    complain("an object");
  else if (value && !member)
    complain("a member '" + name.str() + "'", "none");
  return JsonNode(member, inner, *problem);
}

void JsonNode::fields(llvm::ArrayRef<llvm::StringLiteral> known) const {
  const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object)
    return complain("an object");
  for (const auto &member : *object)
    if (!llvm::is_contained(known, llvm::StringRef(member.first)))
      complain("only the members " + llvm::join(known, ", "),
               "'" + member.first.str() + "'");
}

std::vector<JsonNode> JsonNode::elements(std::optional<size_t> count) const {
  const llvm::json::Array *array = value ? value->getAsArray() : nullptr;
  std::vector<JsonNode> nodes;
  if (!array) {
    complain("an array");
    return nodes;
  }
  for (size_t i = 0; i < array->size(); ++i)
    nodes.emplace_back(&(*array)[i], path + "[" + std::to_string(i) + "]",
                       *problem);
  if (count && nodes.size() != *count)
    complain("an array of " + std::to_string(*count),
             "one of " + std::to_string(nodes.size()));
  return nodes;
}

std::string JsonNode::string() const {
  if (isString())
    return value->getAsString()->str();
  complain("a string");
  return "";
}

bool JsonNode::boolean() const {
  if (value && value->getAsBoolean())
    return *value->getAsBoolean();
  complain("true or false");
  return false;
}

double JsonNode::number() const {
  if (value && value->getAsNumber())
    return *value->getAsNumber();
  complain("a number");
  return 0;
}

uint32_t JsonNode::unsignedInteger(uint32_t low, uint32_t high) const {
  std::optional<int64_t> integer = value ? value->getAsInteger() : std::nullopt;
  if (integer && *integer >= low && *integer <= high)
    return uint32_t(*integer);
  complain(low == high ? std::to_string(low)
                       : "an integer from " + std::to_string(low) + " to " +
                             std::to_string(high));
  return low;
}

size_t JsonNode::choose(llvm::ArrayRef<llvm::StringLiteral> names) const {
  if (isString())
    for (size_t i = 0; i < names.size(); ++i)
      if (*value->getAsString() == names[i])
        return i;
  complain("one of " + llvm::join(names, ", "));
  return 0;
}

} // namespace fmha::runtime
