//===- LoopGraphJson.cpp - Loop graphs in JSON ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/LoopGraph.h"

#include <nlohmann/json.hpp>

using namespace fmha::schedule;
using namespace fmha::schedule::modulo;
using nlohmann::json;

static json optionalOf(std::optional<unsigned> number) {
  return number ? json(*number) : json(nullptr);
}

static std::optional<unsigned> readOptional(const json &value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<unsigned>());
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
  op.clocks = value.at("clocks");
  op.mostClocks = value.at("most_clocks");
  for (const auto &[name, clocks] : value.at("uses").items())
    op.uses.push_back({readUnit(name), clocks.get<unsigned>()});
  op.cluster = readOptional(value.at("cluster"));
  op.branch = readOptional(value.at("branch"));
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
  graph.rows = all.at("rows");
  graph.keys = all.at("keys");
  graph.warpgroups = all.at("warpgroups");
  graph.registers = all.at("registers");
  graph.threadRegisters = all.at("thread_registers");
  graph.otherRegisters = all.at("other_registers");
  for (const json &op : all.at("ops"))
    graph.ops.push_back(readOp(op));
  for (const json &edge : all.at("dependences"))
    graph.dependences.push_back({edge.at("from"), edge.at("to"),
                                 edge.at("distance"), edge.at("latency"),
                                 edge.at("crossing"), edge.at("reuses")});
  for (const json &cluster : all.at("clusters"))
    graph.clusters.push_back(
        {cluster.at("name"), cluster.at("held"), cluster.at("transient")});
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
