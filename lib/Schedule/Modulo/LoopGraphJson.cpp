//===- LoopGraphJson.cpp - Loop graphs in JSON ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/LoopGraph.h"

#include <nlohmann/json.hpp>

#include <limits>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;
using nlohmann::json;

static json optionalOf(std::optional<unsigned> number) {
  return number ? json(*number) : json(nullptr);
}

/// Returns a number. Other numbers and booleans would be converted to one.
static unsigned numberOf(const json &value, std::string_view what) {
  constexpr uint64_t most = std::numeric_limits<unsigned>::max();
  if (value.is_number_unsigned() && value.get<uint64_t>() <= most)
    return value.get<unsigned>();
  throw std::invalid_argument(std::string(what) +
                              ": expected a whole number of 32 bits, got " +
                              value.dump());
}

static unsigned readNumber(const json &object, const char *key) {
  return numberOf(object.at(key), key);
}

static std::optional<unsigned> readOptional(const json &object,
                                            const char *key) {
  return object.at(key).is_null() ? std::nullopt
                                  : std::optional(readNumber(object, key));
}

static json writeOp(const LoopOp &op) {
  json uses = json::object();
  for (const Use &use : op.uses)
    uses[std::string(stringify(use.unit))] = use.clocks;
  return {{"name", op.name},
          {"role", op.role},
          {"executor", executorNames[unsigned(op.executor)]},
          {"clocks", op.clocks},
          {"most_clocks", op.mostClocks},
          {"uses", uses},
          {"cluster", optionalOf(op.cluster)},
          {"branch", optionalOf(op.branch)},
          {"reduces", op.reduces}};
}

/// Returns the place of `name` in `names`; throws what json does.
template <typename Names>
static unsigned findName(const std::string &name, const Names &names) {
  for (unsigned n = 0; n < std::size(names); ++n)
    if (names[n] == name)
      return n;
  throw std::invalid_argument("unknown name \"" + name + "\"");
}

static Unit readUnit(const std::string &name) {
  std::vector<std::string_view> names;
  for (unsigned n = 0; n < unitCount; ++n)
    names.push_back(stringify(Unit(n)));
  return Unit(findName(name, names));
}

static LoopOp readOp(const json &value) {
  LoopOp op;
  op.name = value.at("name");
  op.role = value.at("role");
  op.executor = Executor(
      findName(value.at("executor").get<std::string>(), executorNames));
  op.clocks = readNumber(value, "clocks");
  op.mostClocks = readNumber(value, "most_clocks");
  for (const auto &[name, clocks] : value.at("uses").items())
    op.uses.push_back({readUnit(name), numberOf(clocks, name)});
  op.cluster = readOptional(value, "cluster");
  op.branch = readOptional(value, "branch");
  op.reduces = value.at("reduces");
  return op;
}

std::string fmha::schedule::modulo::printJson(const LoopGraph &graph) {
  json ops = json::array(), edges = json::array(), clusters = json::array();
  for (const LoopOp &op : graph.ops)
    ops.push_back(writeOp(op));
  for (const Dependence &edge : graph.dependences)
    edges.push_back({{"from", edge.from},
                     {"to", edge.to},
                     {"distance", edge.distance},
                     {"latency", edge.latency},
                     {"crossing", edge.crossing},
                     {"reuses", edge.reuses}});
  for (const Cluster &cluster : graph.clusters)
    clusters.push_back({{"name", cluster.name},
                        {"held", cluster.held},
                        {"transient", cluster.transient}});
  json all = {{"title", graph.title},
              {"rows", graph.rows},
              {"keys", graph.keys},
              {"warpgroups", graph.warpgroups},
              {"registers", graph.registers},
              {"thread_registers", graph.threadRegisters},
              {"other_registers", graph.otherRegisters},
              {"ops", ops},
              {"dependences", edges},
              {"clusters", clusters}};
  return all.dump(1) + "\n";
}

static LoopGraph readGraph(const json &all) {
  LoopGraph graph;
  graph.title = all.at("title");
  graph.rows = readNumber(all, "rows");
  graph.keys = readNumber(all, "keys");
  graph.warpgroups = readNumber(all, "warpgroups");
  graph.registers = readNumber(all, "registers");
  graph.threadRegisters = readNumber(all, "thread_registers");
  graph.otherRegisters = readNumber(all, "other_registers");
  for (const json &op : all.at("ops"))
    graph.ops.push_back(readOp(op));
  for (const json &edge : all.at("dependences"))
    graph.dependences.push_back(
        {readNumber(edge, "from"), readNumber(edge, "to"),
         readNumber(edge, "distance"), readNumber(edge, "latency"),
         readNumber(edge, "crossing"), edge.at("reuses")});
  for (const json &cluster : all.at("clusters"))
    graph.clusters.push_back({cluster.at("name"), readNumber(cluster, "held"),
                              readNumber(cluster, "transient")});
  return graph;
}

std::optional<LoopGraph> fmha::schedule::modulo::readJson(std::string_view text,
                                                          std::string &error) {
  try {
    LoopGraph graph = readGraph(json::parse(text));
    if (std::optional<std::string> wrong = check(graph)) {
      error = *wrong;
      return std::nullopt;
    }
    return graph;
  } catch (const std::exception &exception) {
    error = std::string("expected a loop graph as tile-print-loop-graph "
                        "writes it with format=json: ") +
            exception.what();
    return std::nullopt;
  }
}
