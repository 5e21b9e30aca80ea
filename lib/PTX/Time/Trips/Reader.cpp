//===- Reader.cpp - Reads a trips file ------------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expression.h"

#include "fmha/PTX/Sim/Simulator.h"
#include "fmha/PTX/Time/Trips.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

namespace ptxsim::timing {
namespace {

using Json = nlohmann::ordered_json;

/// Nested objects and lists.
constexpr int kMostDepth = 64;

/// A value and the place in the file where it is: "/roles/0/warps".
struct Value {
  const Json &json;
  std::string place;
  Value at(const std::string &name) const {
    return {json.at(name), place + "/" + name};
  }
};

[[noreturn]] void fail(const Value &value, const std::string &expected) {
  std::string got =
      value.json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (got.size() > 60)
    got = got.substr(0, 57) + "...";
  throw Error(Error::Kind::Launch,
              "trips file, " + (value.place.empty() ? "/" : value.place) +
                  ": expected " + expected + ", got " + got);
}

/// The warps that an SM of each target holds.
constexpr size_t kMostWarps = 64;

/// Parses the text. Its depth is limited, since errors print values by
/// recursion.
Json parsed(std::string_view text) {
  auto isKept = [](int depth, Json::parse_event_t, Json &) {
    if (depth > kMostDepth)
      throw Error(Error::Kind::Launch,
                  "trips file: expected at most " + std::to_string(kMostDepth) +
                      " nested objects and lists, got more");
    return true;
  };
  try {
    return Json::parse(text, isKept);
  } catch (const Json::exception &error) {
    throw Error(Error::Kind::Launch,
                std::string("trips file: expected JSON, got ") + error.what());
  }
}

class Reader {
public:
  explicit Reader(const std::map<std::string, int64_t> &given)
      : given(given), names(given) {}
  Trips run(std::string_view text);

private:
  void checkMembers(const Value &value,
                    std::initializer_list<std::string_view> members) const;
  void readParameters(const Value &value);
  int64_t number(const Value &value, int64_t least = 0,
                 int64_t most = UINT32_MAX) const;
  std::string name(const Value &value) const;
  uint32_t address(const std::string &text, const Value &value) const;
  std::vector<uint32_t> warps(const Value &value) const;
  Arm arm(const Value &value) const;
  BranchRule branch(const Value &value) const;
  BarrierRule barrier(const Value &value) const;
  StepRule step(const Value &value) const;
  void readPlace(const Value &value, StepRule &rule) const;
  ProductShape shape(const Value &value) const;
  Rules rules(const Value &value) const;
  TripsRole role(const Value &value) const;

  const std::map<std::string, int64_t> &given;
  std::map<std::string, int64_t> names;
};

/// Checks that the value is an object of these members, or of text that is not
/// read.
void Reader::checkMembers(
    const Value &value, std::initializer_list<std::string_view> members) const {
  std::string list = "note, text";
  for (std::string_view member : members)
    list += ", " + std::string(member);
  if (!value.json.is_object())
    fail(value, "an object of " + list);
  for (const auto &[key, of] : value.json.items()) {
    bool isText = key == "note" || key == "text";
    if (!isText && std::ranges::find(members, key) == members.end())
      fail({Json(key), value.place}, "a member of " + list);
  }
}

int64_t Reader::number(const Value &value, int64_t least, int64_t most) const {
  std::string expected = "a number from " + std::to_string(least) + " to " +
                         std::to_string(most) +
                         ", or an expression of parameters";
  int64_t result = 0;
  bool isTooLarge = value.json.is_number_unsigned() &&
                    value.json.get<uint64_t>() > uint64_t(INT64_MAX);
  if (value.json.is_number_integer() && !isTooLarge) {
    result = value.json.get<int64_t>();
  } else if (value.json.is_string()) {
    try {
      result = valueOf(value.json.get<std::string>(), names);
    } catch (const ExpressionError &error) {
      throw Error(Error::Kind::Launch,
                  "trips file, " + value.place + ": " + error.what());
    }
  } else {
    fail(value, expected);
  }
  if (result < least || result > most)
    fail({Json(result), value.place}, expected);
  return result;
}

std::string Reader::name(const Value &value) const {
  if (!value.json.is_string() || value.json.get<std::string>().empty())
    fail(value, "a name");
  return value.json.get<std::string>();
}

void Reader::readParameters(const Value &value) {
  if (!value.json.is_object())
    fail(value, "an object of names and numbers");
  for (const auto &[key, of] : value.json.items())
    if (!given.contains(key))
      names[key] = number({of, value.place + "/" + key}, INT32_MIN);
  for (const auto &[key, of] : given)
    if (!value.json.contains(key))
      fail({Json(key), value.place}, "a parameter of the file to set");
}

uint32_t Reader::address(const std::string &text, const Value &value) const {
  uint32_t result = 0;
  const char *begin = text.data(), *end = begin + text.size();
  bool isHex = text.starts_with("0x");
  auto [last, error] = std::from_chars(begin + 2 * isHex, end, result, 16);
  if (!isHex || error != std::errc() || last != end)
    fail({Json(text), value.place}, "an address such as \"0x1a0\"");
  return result;
}

/// Reads "0-3,8", or a list of numbers.
std::vector<uint32_t> Reader::warps(const Value &value) const {
  const std::string expected = "warps below 32, such as \"0-3,8\"";
  std::vector<uint32_t> result;
  if (!value.json.is_string())
    fail(value, expected);
  std::string list = value.json.get<std::string>();
  const char *at = list.data(), *end = at + list.size();
  do {
    uint32_t first = 0, last = 0;
    auto [next, error] = std::from_chars(at, end, first);
    last = first;
    if (error == std::errc() && next != end && *next == '-')
      std::tie(next, error) =
          std::pair(std::from_chars(next + 1, end, last).ptr,
                    std::from_chars(next + 1, end, last).ec);
    if (error != std::errc() || first > last || last >= 32 ||
        (next != end && *next != ','))
      fail(value, expected);
    for (uint32_t warp = first; warp <= last; ++warp)
      result.push_back(warp);
    at = next + (next != end);
    if (next == end)
      break;
  } while (true);
  return result;
}

constexpr const char *kExpectedArm =
    "an arm: \"taken\", \"falls\" or an address";

/// Reads "taken", "falls", an address, or {"arm": one of these, "times": N}.
Arm Reader::arm(const Value &value) const {
  if (value.json.is_object()) {
    checkMembers(value, {"arm", "times"});
    for (const char *member : {"arm", "times"})
      if (!value.json.contains(member))
        fail(value, "an arm with times");
    if (value.at("arm").json.is_object())
      fail(value.at("arm"), kExpectedArm);
    Arm of = arm(value.at("arm"));
    of.times = uint64_t(number(value.at("times")));
    return of;
  }
  std::string text =
      value.json.is_string() ? value.json.get<std::string>() : "";
  if (text == "taken")
    return {Arm::Kind::Taken, 0, 1};
  if (text == "falls")
    return {Arm::Kind::Falls, 0, 1};
  if (!text.starts_with("0x"))
    fail(value, kExpectedArm);
  return {Arm::Kind::Address, address(text, value), 1};
}

/// Reads {"trips": N}, {"arm": A} or {"arms": [A, ...]}, or null of either.
BranchRule Reader::branch(const Value &value) const {
  checkMembers(value, {"trips", "arm", "arms"});
  BranchRule rule;
  if (value.json.contains("trips") && !value.json["trips"].is_null())
    rule.trips = uint64_t(number(value.at("trips")));
  if (value.json.contains("arm") && !value.json["arm"].is_null())
    rule.arms.push_back(arm(value.at("arm")));
  if (value.json.contains("arms")) {
    Value list = value.at("arms");
    if (!list.json.is_array() || list.json.empty())
      fail(list, "a list of arms");
    for (const Json &of : list.json)
      rule.arms.push_back(arm({of, list.place}));
  }
  if (rule.trips && !rule.arms.empty())
    fail(value, "either trips or arms");
  return rule;
}

BarrierRule Reader::barrier(const Value &value) const {
  checkMembers(value, {"free", "arrivals", "bytes"});
  BarrierRule rule;
  if (value.json.contains("free"))
    rule.free = uint32_t(number(value.at("free")));
  if (value.json.contains("arrivals"))
    rule.arrivals = uint32_t(number(value.at("arrivals"), 1));
  if (value.json.contains("bytes"))
    rule.bytes = uint32_t(number(value.at("bytes")));
  return rule;
}

ProductShape Reader::shape(const Value &value) const {
  checkMembers(value, {"m", "n", "ctas"});
  if (!value.json.contains("m") || !value.json.contains("n"))
    fail(value, "a shape {\"m\": M, \"n\": N}");
  ProductShape shape;
  shape.m = uint32_t(number(value.at("m"), 32, 256));
  shape.n = uint32_t(number(value.at("n"), 8, 256));
  if (value.json.contains("ctas"))
    shape.ctas = uint32_t(number(value.at("ctas"), 1, 2));
  return shape;
}

/// Reads where an access goes, or the direction of a copy.
void Reader::readPlace(const Value &value, StepRule &rule) const {
  constexpr std::pair<std::string_view, Reached> places[] = {
      {"nothing", Reached::Nothing},
      {"shared", Reached::Shared},
      {"l2", Reached::Global},
      {"device", Reached::FirstTouch}};
  constexpr std::pair<std::string_view, CopyDirection> directions[] = {
      {"load", CopyDirection::FromGlobal},
      {"store", CopyDirection::ToGlobal},
      {"exchange", CopyDirection::BetweenCtas}};
  auto readWord = [&](const char *member, const auto &words, auto &result,
                      const char *expected) {
    if (!value.json.contains(member))
      return;
    std::string text = name(value.at(member));
    for (const auto &[word, meaning] : words)
      if (text == word)
        result = meaning;
    if (!result)
      fail(value.at(member), expected);
  };
  readWord("reaches", places, rule.reached, "nothing, shared, l2 or device");
  readWord("direction", directions, rule.direction, "load, store or exchange");
}

StepRule Reader::step(const Value &value) const {
  checkMembers(value, {"barrier", "phase", "again", "bytes", "partial_rows",
                       "extra_lines", "threads", "amount", "reaches",
                       "direction", "shape", "warps"});
  StepRule rule;
  auto has = [&](const char *member) {
    return value.json.contains(member) && !value.json[member].is_null();
  };
  if (has("barrier")) {
    Value of = value.at("barrier");
    if (of.json.is_array())
      for (const Json &one : of.json)
        rule.barriers.push_back(name({one, of.place}));
    else
      rule.barriers.push_back(name(of));
  }
  if (has("phase"))
    rule.phase = uint64_t(number(value.at("phase")));
  if (has("again") && !value.json["again"].is_boolean())
    fail(value.at("again"), "true or false");
  rule.isAgain = has("again") && value.json["again"].get<bool>();
  struct Number {
    const char *member;
    std::optional<uint32_t> StepRule::*field;
    uint32_t most;
  };
  constexpr Number numbers[] = {
      {"bytes", &StepRule::bytes, 1 << 24},
      {"partial_rows", &StepRule::partialRows, 1 << 24},
      {"extra_lines", &StepRule::extraLines, 1 << 24},
      {"threads", &StepRule::threads, 1024},
      {"amount", &StepRule::amount,
       std::numeric_limits<decltype(Step::amount)>::max()}};
  for (const Number &of : numbers)
    if (has(of.member))
      rule.*of.field = uint32_t(number(value.at(of.member), 0, of.most));
  readPlace(value, rule);
  if (has("shape"))
    rule.shape = shape(value.at("shape"));
  if (has("warps")) {
    std::vector<uint32_t> list = warps(value.at("warps"));
    rule.warps.emplace(list.begin(), list.end());
  }
  return rule;
}

Rules Reader::rules(const Value &value) const {
  Rules rules;
  for (const char *member : {"branches", "instructions"}) {
    if (!value.json.contains(member))
      continue;
    Value list = value.at(member);
    if (!list.json.is_object())
      fail(list, "an object by addresses");
    for (const auto &[key, of] : list.json.items()) {
      uint32_t at = address(key, list);
      Value entry{of, list.place + "/" + key};
      if (*member == 'b')
        rules.branches[at] = branch(entry);
      else
        rules.steps[at] = step(entry);
    }
  }
  return rules;
}

TripsRole Reader::role(const Value &value) const {
  checkMembers(value, {"name", "warps", "branches", "instructions"});
  for (const char *member : {"name", "warps"})
    if (!value.json.contains(member))
      fail(value, "a role with name and warps");
  return {name(value.at("name")), warps(value.at("warps")), rules(value)};
}

Trips Reader::run(std::string_view text) {
  Json json = parsed(text);
  Value value{json, ""};
  checkMembers(value, {"kernel", "target", "ctas_per_sm", "parameters",
                       "barriers", "roles", "branches", "instructions"});
  const Json none = Json::object();
  readParameters(
      {json.contains("parameters") ? json["parameters"] : none, "/parameters"});
  Trips trips;
  for (auto [member, field] :
       {std::pair("kernel", &Trips::kernel), {"target", &Trips::target}})
    if (json.contains(member))
      trips.*field = name(value.at(member));
  if (json.contains("ctas_per_sm"))
    trips.ctasPerSm = uint32_t(number(value.at("ctas_per_sm"), 1, 32));
  if (json.contains("barriers")) {
    if (!json["barriers"].is_object())
      fail(value.at("barriers"), "an object by names");
    for (const auto &[key, of] : json["barriers"].items())
      trips.barriers[key] = barrier({of, "/barriers/" + key});
  }
  trips.rules = rules(value);
  if (!json.contains("roles") || !json["roles"].is_array() ||
      json["roles"].empty())
    fail(json.contains("roles") ? value.at("roles") : value,
         "roles, a list of {\"name\", \"warps\"}");
  std::set<uint32_t> seen;
  for (size_t i = 0; i < json["roles"].size(); ++i) {
    Value of{json["roles"][i], "/roles/" + std::to_string(i)};
    trips.roles.push_back(role(of));
    for (uint32_t warp : trips.roles.back().warps)
      if (!seen.insert(warp).second)
        fail(of.at("warps"), "each warp in one role");
  }
  if (seen.size() * trips.ctasPerSm > kMostWarps)
    fail(value.at("ctas_per_sm"),
         "at most " + std::to_string(kMostWarps) + " warps on an SM, of " +
             std::to_string(seen.size()) + " warps in each CTA");
  return trips;
}

} // namespace

Trips readTrips(std::string_view json,
                const std::map<std::string, int64_t> &given) {
  return Reader(given).run(json);
}

} // namespace ptxsim::timing
