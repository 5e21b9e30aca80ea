//===- fmha-pipeline.cpp - Derive the pipeline of a loop ------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the graph of a loop in JSON, and prints the modulo schedule of least
// interval with its proof or gap, the resource that bounds it, and the role,
// stage and order of each op.
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Modulo/DerivedPipelines.h"
#include "fmha/Schedule/Solver/Solver.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

using namespace fmha::schedule::modulo;

namespace {

constexpr int noSchedule = 1, badInput = 2;
constexpr int mostSeconds = 24 * 60 * 60, mostStages = 64;

const char *const description =
    R"(Derives roles, stages and orders of the ops of a loop from its graph.

Prints the bounds of the interval between two iterations, the least interval
with its proof, a chart of two intervals, when each op starts, and the role,
stage and order of each op. All clocks are modeled.)";

const char *const examples = R"(Examples:
  Derive the pipeline of attention with head dim 128, and draw it:
    fmha-compile --head-dim=128 --emit=mlir --compile-to=placed -o placed.mlir
    fmha-opt placed.mlir -o /dev/null 2> loop.json --pass-pipeline=\
'builtin.module(gpu.module(gpu.func(tile-print-loop-graph{format=json})))'
    fmha-pipeline loop.json --svg=loop.svg
  What bounds the interval from below?
    fmha-pipeline loop.json --bounds

Exit code: 0 done, 1 no schedule, 2 bad input.)";

struct Flags {
  std::string input, svg;
  bool asRow = false, boundsOnly = false;
  SolverOptions solver;
};

std::optional<std::string> readFile(const std::string &path) {
  std::ifstream file;
  std::error_code ignored;
  if (path != "-") {
    file.open(path);
    if (!file || std::filesystem::is_directory(path, ignored))
      return std::nullopt;
  }
  std::istream &stream = path == "-" ? std::cin : file;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

bool writeFile(const std::string &path, const std::string &text) {
  std::ofstream file(path);
  return bool((file << text).flush());
}

/// A graph, and the places of its ops in the schedule of the fused one.
struct Derived {
  LoopGraph graph;
  FusedGraph fused;
  Solution solution;

  std::vector<NamedPlace> places() const;
  std::string proof() const;
  void print() const;
  void printRow() const;
};

std::vector<NamedPlace> Derived::places() const {
  std::vector<Place> of = arrange(fused.graph, *solution.schedule);
  std::vector<NamedPlace> named;
  for (size_t op = 0; op < graph.ops.size(); ++op)
    named.push_back({graph.ops[op].name, of[fused.opOf[op]]});
  return named;
}

std::string Derived::proof() const {
  unsigned interval = solution.schedule->interval;
  if (solution.bound == interval)
    return "proven least";
  return "gap " + std::to_string(interval - solution.bound) +
         ", no less than " + std::to_string(solution.bound);
}

void Derived::print() const {
  std::cout << graph.title << "\n";
  for (const Bound &bound : boundsOf(fused.graph))
    std::cout << "  at least " << bound.clocks << ": " << bound.what << "\n";
  std::cout << "interval " << solution.schedule->interval << " clk (modeled), "
            << proof() << ", bound by " << solution.binding << "; slack "
            << solution.slack << "; " << solution.milliseconds << " ms\n"
            << gantt(fused.graph, *solution.schedule);
  for (size_t op = 0; op < fused.graph.ops.size(); ++op)
    std::cout << fused.graph.ops[op].name << " at "
              << solution.schedule->starts[op] << " for "
              << fused.graph.ops[op].clocks << "\n";
  for (const NamedPlace &named : places())
    std::cout << named.op << ": " << named.place.role << ", stage "
              << named.place.stage << ", order " << named.place.order << "\n";
}

/// Prints the row of DerivedPipelines.def without target and head dim.
void Derived::printRow() const {
  std::printf("0x%016llx, \"%s\", %u, %u, \"%s\", \"%s\"\n",
              static_cast<unsigned long long>(structureOf(graph)),
              graph.title.c_str(), solution.schedule->interval, solution.bound,
              solution.binding.c_str(), printPlaces(places()).c_str());
}

/// Prints rows, keys and the largest bound, then all bounds.
void printBounds(const LoopGraph &graph) {
  std::vector<Bound> bounds = boundsOf(graph);
  std::cout << graph.rows << " rows, " << graph.keys
            << " keys, interval of at least "
            << (bounds.empty() ? 0 : bounds.front().clocks)
            << " clk (modeled)\n";
  for (const Bound &bound : bounds)
    std::cout << "at least " << bound.clocks << ": " << bound.what << "\n";
}

/// Prints an error and returns the exit status.
int fail(int status, const std::string &where, const std::string &what) {
  std::cerr << "fmha-pipeline: error: " << where << ": " << what << "\n";
  return status;
}

int draw(const std::string &path, const Derived &derived) {
  if (writeFile(path,
                ganttSvg(derived.fused.graph, *derived.solution.schedule)))
    return 0;
  return fail(badInput, path, "expected a file that can be written");
}

int run(const Flags &flags) {
  std::optional<std::string> text = readFile(flags.input);
  if (!text)
    return fail(badInput, flags.input, "expected a file that can be read");
  std::string error;
  std::optional<LoopGraph> graph = readJson(*text, error);
  if (!graph)
    return fail(badInput, flags.input, error);
  FusedGraph fused = fuse(*graph);
  if (flags.boundsOnly) {
    printBounds(fused.graph);
    return 0;
  }
  Derived derived{*graph, fused, solve(fused.graph, flags.solver)};
  if (!derived.solution.wrong.empty())
    return fail(noSchedule, graph->title,
                "the schedule of the solver is wrong: " +
                    derived.solution.wrong);
  if (!derived.solution.schedule)
    return fail(noSchedule, graph->title,
                "expected a schedule, found none: excluded by " +
                    derived.solution.binding +
                    "; raise --seconds, --stages or --role-stages, or compile "
                    "the kernel with "
                    "another schedule");
  flags.asRow ? derived.printRow() : derived.print();
  return flags.svg.empty() ? 0 : draw(flags.svg, derived);
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app{description, "fmha-pipeline"};
  Flags flags;
  unsigned seconds = 60;
  app.set_version_flag("--version", "fmha " FMHA_VERSION);
  app.add_option("graph", flags.input,
                 "Graph that tile-print-loop-graph{format=json} prints, - for "
                 "standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--svg", flags.svg, "Draw two intervals into this file")
      ->type_name("FILE");
  app.add_flag("--row", flags.asRow,
               "Print a row of DerivedPipelines.def, without target and head "
               "dim, and nothing else");
  app.add_flag("--bounds", flags.boundsOnly,
               "Print rows, keys and the bounds, without solving");
  app.add_option("--seconds", seconds,
                 "Stop after about that processor time with the best schedule "
                 "so far, and print how far it is from the proven bound; "
                 "counted in steps of Z3, so that the result is the same on "
                 "every machine; default 60")
      ->type_name("N")
      ->check(CLI::Range(1, mostSeconds));
  app.add_option("--stages", flags.solver.stages,
                 "Most intervals that one iteration may last; default " +
                     std::to_string(flags.solver.stages))
      ->type_name("N")
      ->check(CLI::Range(1, mostStages));
  app.add_option("--role-stages", flags.solver.roleStages,
                 "Most stages of a role; more than " +
                     std::to_string(mostRoleStages) +
                     ", the default, no pass can overlap")
      ->type_name("N")
      ->check(CLI::Range(1, mostStages));
  app.footer(examples);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) ? badInput : 0;
  }
  flags.solver.milliseconds = 1000 * seconds;
  return run(flags);
}
