//===- JsonReader.cpp - JSON with errors that name the path ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JsonReader.h"

#include <algorithm>
#include <cmath>

namespace fmha::launch {

/// Returns the message without the library's error number, as in
/// "[json.exception.parse_error.101] parse error at line 1, ...".
static std::string_view withoutNumber(std::string_view message) {
  size_t end =
      message.starts_with("[json.") ? message.find("] ") : message.npos;
  return end == message.npos ? message : message.substr(end + 2);
}

std::optional<nlohmann::json> parseJson(std::string_view text,
                                        std::string &problem) {
  // No manifest is nested deeper, and printing deeper values would recurse.
  constexpr int deepest = 32;
  using Json = nlohmann::json;
  struct TooDeep {};
  auto bounded = [](int depth, Json::parse_event_t, Json &) {
    if (depth > deepest)
      throw TooDeep();
    return true;
  };
  try {
    return Json::parse(text, bounded);
  } catch (const TooDeep &) {
    problem = "expected JSON of at most " + std::to_string(deepest) +
              " levels, got more";
  } catch (const Json::exception &error) {
    problem =
        "expected JSON, got a " + std::string(withoutNumber(error.what()));
  }
  return std::nullopt;
}

static std::string join(std::span<const std::string_view> names) {
  std::string text;
  for (std::string_view name : names)
    text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

void JsonNode::fail(const std::string &expected, const std::string &got) const {
  if (problem->empty())
    *problem = path + ": expected " + expected + ", got " + got;
}

void JsonNode::fail(const std::string &expected) const {
  if (!value)
    return;
  std::string got = value->dump();
  if (got.size() > 40)
    got = got.substr(0, 37) + "...";
  fail(expected, got);
}

JsonNode JsonNode::field(std::string_view name) const {
  std::string inner = path + "." + std::string(name);
  const nlohmann::json *member = has(name) ? &(*value)[name] : nullptr;
  if (value && !value->is_object())
    fail("an object");
  else if (value && !member)
    fail("a member '" + std::string(name) + "'", "none");
  return JsonNode(member, inner, *problem);
}

void JsonNode::fields(std::span<const std::string_view> known) const {
  if (!value || !value->is_object())
    return fail("an object");
  for (const auto &member : value->items())
    if (std::find(known.begin(), known.end(), member.key()) == known.end())
      fail("only the members " + join(known), "'" + member.key() + "'");
}

std::vector<JsonNode> JsonNode::elements(std::optional<size_t> count) const {
  std::vector<JsonNode> nodes;
  if (!value || !value->is_array()) {
    fail("an array");
    return nodes;
  }
  for (size_t i = 0; i < value->size(); ++i)
    nodes.emplace_back(&(*value)[i], path + "[" + std::to_string(i) + "]",
                       *problem);
  if (count && nodes.size() != *count)
    fail("an array of " + std::to_string(*count),
         "one of " + std::to_string(nodes.size()));
  return nodes;
}

std::string JsonNode::string() const {
  if (isString())
    return value->get<std::string>();
  fail("a string");
  return "";
}

bool JsonNode::boolean() const {
  if (value && value->is_boolean())
    return value->get<bool>();
  fail("true or false");
  return false;
}

double JsonNode::number() const {
  if (isNumber())
    return value->get<double>();
  fail("a number");
  return 0;
}

uint32_t JsonNode::unsignedInteger(uint32_t low, uint32_t high) const {
  // 32-bit numbers are exact as doubles, in any notation.
  if (isNumber()) {
    double real = value->get<double>();
    if (real >= low && real <= high && real == std::floor(real))
      return uint32_t(real);
  }
  fail(low == high ? std::to_string(low)
                   : "an integer from " + std::to_string(low) + " to " +
                         std::to_string(high));
  return low;
}

size_t JsonNode::choose(std::span<const std::string_view> names) const {
  if (isString())
    for (size_t i = 0; i < names.size(); ++i)
      if (value->get_ref<const std::string &>() == names[i])
        return i;
  fail("one of " + join(names));
  return 0;
}

} // namespace fmha::launch
