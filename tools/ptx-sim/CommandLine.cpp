//===- CommandLine.cpp - The options of ptx-sim ---------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"

#include "ElementType.h"
#include "fmha/PTX/Host/OptionText.h"
#include "fmha/PTX/Time/Estimate.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <map>

namespace ptxsim::tool {
namespace {

const char *const description =
    R"(Runs a kernel of a PTX file on the CPU and reports its errors.

The file may come from any compiler. Buffers are .npy files; what the kernel
writes goes back to .npy files. Reads of uninitialized memory, accesses out
of bounds, races with TMA and tensor cores, deadlocks and leaks are findings,
each with its PTX line and column, warp, lane and CTA, the schedule that showed
it, and how to repair it.)";

const char *const footer = R"(
Arguments, one --arg for each parameter of the entry, in order:
  u32:7  i64:-1  f32:0.5       a value (u, i, s, b of 8..64 bits, f16, bf16, f32, f64)
  bytes:HEX                    a value of any size, as hexadecimal bytes
  in:a.npy                     address of a buffer that holds the array
  out:o.npy:f16:4x8            address of a poisoned buffer, stored to o.npy
                               after the run (bf16 is stored as float32)
  inout:a.npy:after.npy        both
  zero:BYTES                   address of that many zero bytes
  tmap:map.json                a tensor map: a JSON object with the arguments of
                               cuTensorMapEncodeTiled (or Im2col) by name, and
                               "tensor": the number of an earlier buffer, from 0.
                               A buffer that the entry takes only through its map
                               comes before the maps and is no parameter.

Policies: a correct program writes the same bytes under every schedule.
  eager        asynchronous work (TMA, tensor cores, bulk copies) completes
               immediately
  late         it completes when nothing else can continue
  random       it completes at random times, and warps take turns at random;
               try_wait may fail without cause
  pct          the warp or operation of highest priority runs; priorities are
               random and change at a few random moments. Finds errors that need
               few unlucky orderings more reliably than random
  exhaustive   every schedule of one small cluster, up to the order of steps that
               access nothing in common; reports whether --max-schedules ended
               it.
               A step of a warp ends where it changes what others can see. Races
               inside a step, and the order in which a diverged warp takes its
               paths, are left to the other policies
CTAs that share global memory run one after another if they do not wait for each
other: in the order of the grid (eager), the last one first (late), or in random
order (random, pct). exhaustive takes a grid of one cluster.

Examples:
  Add two vectors of 1000 floats, 8 blocks of 128 threads:
    ptx-sim add.ptx --grid=8 --block=128 --arg=in:a.npy --arg=in:b.npy \
        --arg=out:sum.npy:f32:1000 --arg=u32:1000
  Look for races: run 50 schedules of the asynchronous units and report the
  first whose result differs from the eager one, with the command that repeats
  both:
    ptx-sim gemm.ptx --entry=gemm --grid=4,4 --block=256 --smem=98304 \
        --arg=in:a.npy --arg=out:c.npy:f32:64x64 \
        --arg=tmap:a.json --schedules=50
  Check a small kernel under all schedules:
    ptx-sim tma.ptx --block=64 --arg=... --policy=exhaustive
  Print the first 200 instructions that warp 1 of CTA 0 executes:
    ptx-sim add.ptx --block=128 ... --trace-warp=0:1 --trace-limit=200
  Model a kernel of which there is no PTX: write a trips file, fill it in, and
  model 32 blocks of keys if the file has such a parameter:
    ptx-sim --cubin=fa.cubin --list-entries
    ptx-sim --cubin=fa.cubin --entry=fwd --block=384 --write-trips=fa.json
    ptx-sim --cubin=fa.cubin --trips=fa.json --set=blocks=32 --warm-l2
  Hand the findings to a code review tool:
    ptx-sim add.ptx --block=128 ... --sarif=findings.sarif

Exit code: 0 clean, 1 findings or deadlock, 2 bad input or an instruction that is
not supported, 3 stopped by --max-steps, or by --policy=exhaustive after 20000
steps. If an option is given twice, the last one counts.)";

/// Values filled by CLI11, before they are checked.
struct Raw {
  std::string grid = "1", block, cluster, smem = "0", schedules = "0";
  std::string timeDraws = "0";
  std::string maxSchedules = "10000", compare;
  std::string traceWarp, traceLimit = "1000";
  std::vector<std::string> set;
  /// Values of the options of setOption, by name.
  std::map<std::string, std::string> options;
};

Dim3 parseDim(const std::string &name, const std::string &text) {
  uint32_t extents[3] = {1, 1, 1};
  std::string_view rest = text;
  for (unsigned i = 0; i < 3; ++i) {
    size_t comma = rest.find(',');
    auto extent = parseUnsigned(rest.substr(0, comma));
    if (!extent || *extent == 0 || *extent > UINT32_MAX)
      break;
    extents[i] = uint32_t(*extent);
    if (comma == rest.npos)
      return {extents[0], extents[1], extents[2]};
    rest.remove_prefix(comma + 1);
  }
  throw BadInput("--" + name + " is '" + text +
                 "', expected x[,y[,z]] with every extent at least 1");
}

uint64_t parseNumber(const std::string &name, const std::string &text,
                     uint64_t most) {
  auto value = parseUnsigned(text);
  if (!value || *value > most)
    throw BadInput("--" + name + " is '" + text +
                   "', expected a number from 0 "
                   "to " +
                   std::to_string(most));
  return *value;
}

void declareLaunch(CLI::App &app, CommandLine &line, Raw &raw) {
  app.add_option("kernel", line.kernel, "PTX file, - for the standard input")
      ->type_name("FILE");
  app.add_option("--entry", line.entry,
                 "Entry to launch; may be left out if there is only one")
      ->type_name("NAME");
  app.add_option("--grid", raw.grid, "CTAs, default 1")->type_name("x[,y[,z]]");
  app.add_option("--block", raw.block,
                 "Threads of a CTA, default the entry's .reqntid, or 1")
      ->type_name("x[,y[,z]]");
  app.add_option("--cluster", raw.cluster,
                 "CTAs of a cluster, default the entry's .reqnctapercluster")
      ->type_name("x[,y[,z]]");
  app.add_option("--smem", raw.smem, "Dynamic shared memory, default 0")
      ->type_name("BYTES");
  app.add_option("--arg", line.arguments, "An argument, see below")
      ->type_name("KIND:VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void declareRun(CLI::App &app, CommandLine &line, Raw &raw) {
  auto add = [&](const char *flag, const char *name, const char *help,
                 const char *type) {
    app.add_option(flag, raw.options[name], help)->type_name(type);
  };
  add("--policy", "policy",
      "When warps run and asynchronous work completes, see below; default "
      "eager",
      "eager|late|random|pct|exhaustive");
  add("--schedule-seed", "seed", "Seed of random and pct, default 0", "N");
  add("--threads", "threads",
      "Cores to spread CTAs over, default 0: all; the result is the same", "N");
  app.add_option(
         "--schedules", raw.schedules,
         "Compare N random schedules (pct ones with --policy=pct), from "
         "the seed on, with the run that the other options describe; outputs "
         "that differ are a finding, whatever --checks says")
      ->type_name("N");
  app.add_option("--compare", raw.compare,
                 "Compare the run with one schedule: eager, late, random:SEED "
                 "or pct:SEED")
      ->type_name("POLICY[:SEED]");
  app.add_option("--max-schedules", raw.maxSchedules,
                 "Most schedules that --policy=exhaustive runs, default "
                 "10000")
      ->type_name("N");
  app.add_option("--schedule", line.schedulePath,
                 "The one schedule that --policy=exhaustive repeats, as a "
                 "report names it, and compares with the usual one")
      ->type_name("PATH");
  add("--checks", "checks", "Findings to look for, default all",
      "all|none|ID,...");
  add("--conformance", "conformance",
      "isa reports what the PTX manual forbids (default), practice allows what "
      "ptxas accepts from widespread public kernels",
      "isa|practice");
  add("--mma", "mma",
      "Tensor core sums in fp32 (default), or as its adder rounds",
      "fast|exact");
  add("--approx", "approx",
      "Approximate functions: correctly rounded (default), anywhere in the "
      "manual's bounds, or the bits of an H200",
      "correct|perturb|sm_90");
  add("--max-steps", "max-steps",
      "Stop after N warp instructions, default 0: never", "N");
}

void declareOutput(CLI::App &app, CommandLine &line, Raw &raw) {
  app.add_flag(
      "--json", line.json,
      "One JSON object on the standard output, and nothing else there");
  app.add_option(
         "--sarif", line.sarif,
         "Write the findings as a SARIF 2.1.0 log as well; the property "
         "'replay' of a result repeats another schedule, and PTX from "
         "standard input has the URI 'stdin'")
      ->type_name("FILE");
  app.add_option(
         "--trace-warp", raw.traceWarp,
         "Print on the standard error what one warp executes: PTX line, "
         "active lanes, instruction, and the values written in its "
         "first active lane. CTA is its number in the grid, or x,y,z")
      ->type_name("CTA:WARP");
  app.add_option("--trace-limit", raw.traceLimit,
                 "Instructions after which a trace ends, default 1000")
      ->type_name("N");
  app.add_flag("--time", line.time,
               "Model the clocks that the launch takes on a GPU, and what "
               "bounds it, for sm_90a, sm_100a and sm_103a; validated only on "
               "sm_90a");
  app.add_flag("--sass", line.sass,
               "Model the time of the SASS that ptxas makes of the PTX, not of "
               "the PTX; implies --time; needs ptxas and nvdisasm (FMHA_PTXAS "
               "and FMHA_NVDISASM, or on the PATH)");
  app.add_flag("--warm-l2", line.warmL2,
               "Model the time of a launch whose data is in L2, not in device "
               "memory; implies --time");
  app.add_option("--timeline", line.timeline,
                 "Write the modeled time of the first CTAs as a trace for "
                 "https://ui.perfetto.dev, where a nanosecond is a modeled "
                 "clock; implies --time")
      ->type_name("FILE");
  app.add_option("--time-draws", raw.timeDraws,
                 "Model the time N more times, each time with figures "
                 "drawn within their ranges by the seeds 1, 2, 3, ...; the "
                 "clocks are drawn_clocks of --json; implies --time")
      ->type_name("N");
  app.add_flag("--list-entries", line.listEntries,
               "List the entries of the file and their parameters");
}

void declareCubin(CLI::App &app, CommandLine &line, Raw &raw) {
  app.add_option("--cubin", line.cubin,
                 "Model the SASS of a cubin, without PTX and without executing "
                 "it, as --trips says; --entry may be a part of a name; needs "
                 "nvdisasm (FMHA_NVDISASM, or on the PATH)")
      ->type_name("FILE");
  app.add_option("--trips", line.trips,
                 "With --cubin: JSON file with the paths of warps, the trip "
                 "count of each loop, and what asynchronous "
                 "instructions wait for, signal and copy")
      ->type_name("FILE");
  app.add_option("--write-trips", line.writeTrips,
                 "With --cubin: write a first trips file, whose nulls are to "
                 "be replaced, for the warps of --block; - for the standard "
                 "output")
      ->type_name("FILE");
  app.add_option("--set", raw.set,
                 "Replace a parameter of the trips file; may be repeated")
      ->type_name("NAME=N")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// Parses a CTA, given as its linear index or as x,y,z; nullopt if malformed.
std::optional<uint64_t> parseCta(std::string_view text, const Dim3 &grid) {
  uint64_t at[3] = {0, 0, 0};
  unsigned count = 0;
  while (true) {
    size_t comma = text.find(',');
    auto number = parseUnsigned(text.substr(0, comma));
    if (!number || count == 3)
      return std::nullopt;
    at[count++] = *number;
    if (comma == text.npos)
      break;
    text.remove_prefix(comma + 1);
  }
  if (count == 1)
    return at[0] < grid.count() ? std::optional(at[0]) : std::nullopt;
  if (at[0] >= grid.x || at[1] >= grid.y || at[2] >= grid.z)
    return std::nullopt;
  return (at[2] * grid.y + at[1]) * grid.x + at[0];
}

void checkTrace(CommandLine &line, const Raw &raw) {
  if (raw.traceWarp.empty())
    return;
  std::string_view text = raw.traceWarp;
  size_t colon = text.find(':');
  auto cta = parseCta(text.substr(0, colon), line.grid);
  auto warp =
      colon == text.npos ? std::nullopt : parseUnsigned(text.substr(colon + 1));
  if (!cta || !warp || *warp >= 32)
    throw BadInput("--trace-warp is '" + raw.traceWarp +
                   "', expected CTA:WARP with a CTA of the grid (a number "
                   "below " +
                   std::to_string(line.grid.count()) +
                   ", or x,y,z) and a warp from 0 to 31");
  line.trace = WarpTrace();
  line.trace->cta = *cta;
  line.trace->warp = unsigned(*warp);
  line.trace->limit =
      parseNumber("trace-limit", raw.traceLimit, UINT64_MAX - 1);
}

/// Parses the schedule of --compare.
ScheduleChoice parseCompare(const std::string &text) {
  size_t colon = text.find(':');
  std::string policy = text.substr(0, colon);
  Options options;
  bool wrong = setOption(options, "policy", policy).has_value();
  wrong |= options.randomized() == (colon == text.npos);
  if (!wrong && colon != text.npos)
    wrong = setOption(options, "seed", text.substr(colon + 1)).has_value();
  if (wrong)
    throw BadInput("--compare is '" + text +
                   "', expected eager, late, random:SEED or pct:SEED");
  return {options.policy, options.scheduleSeed};
}

/// Returns whether the policy is exhaustive, which only the tool has because it
/// concerns many launches.
bool isExhaustive(const Raw &raw) {
  auto policy = raw.options.find("policy");
  return policy != raw.options.end() && policy->second == "exhaustive";
}

/// Returns the prefix of an error about an option, to name its flag.
std::string flagOf(const std::string &option) {
  return option == "seed" ? "--schedule-" : "--";
}

/// Parses the parameters of --set.
std::map<std::string, int64_t> parseSet(const std::vector<std::string> &list) {
  std::map<std::string, int64_t> set;
  for (const std::string &text : list) {
    size_t equals = std::min(text.find('='), text.size());
    auto value = parseUnsigned(
        std::string_view(text).substr(std::min(equals + 1, text.size())));
    if (!equals || !value || *value > UINT32_MAX)
      throw BadInput("--set is '" + text +
                     "', expected NAME=N with a number from 0 to " +
                     std::to_string(UINT32_MAX));
    set[text.substr(0, equals)] = int64_t(*value);
  }
  return set;
}

/// Checks the options of a launch that is modeled without PTX.
void checkCubin(CommandLine &line, const Raw &raw) {
  line.set = parseSet(raw.set);
  bool isAny =
      !line.trips.empty() || !line.writeTrips.empty() || !line.set.empty();
  if (line.cubin.empty()) {
    if (isAny)
      throw BadInput("--trips, --write-trips and --set are for a cubin: "
                     "expected --cubin=FILE, got none");
    return;
  }
  if (!line.kernel.empty())
    throw BadInput("--cubin is modeled in place of PTX: expected no PTX file, "
                   "got " +
                   line.kernel);
  if (!line.arguments.empty())
    throw BadInput("--cubin is not executed: expected no --arg, got " +
                   line.arguments.front());
  bool executes = line.options.policy != Policy::Eager || line.schedules ||
                  line.compare || line.trace || !line.sarif.empty() ||
                  line.cluster;
  if (executes)
    throw BadInput(
        "--cubin is not executed: expected no --policy, --schedules, "
        "--compare, --trace-warp, --sarif or --cluster, got one");
  bool both = !line.trips.empty() && !line.writeTrips.empty();
  if (!line.listEntries &&
      (both || (line.trips.empty() && line.writeTrips.empty())))
    throw BadInput(
        std::string("--cubin needs trip counts: expected --trips=FILE"
                    " to model it, or --write-trips=FILE to write a "
                    "file to fill in, got ") +
        (both ? "both" : "none"));
}

void check(CommandLine &line, const Raw &raw) {
  line.grid = parseDim("grid", raw.grid);
  if (!raw.block.empty())
    line.block = parseDim("block", raw.block);
  if (!raw.cluster.empty())
    line.cluster = parseDim("cluster", raw.cluster);
  line.sharedBytes = uint32_t(parseNumber("smem", raw.smem, UINT32_MAX));
  line.schedules = parseNumber("schedules", raw.schedules, 1000000);
  line.maxSchedules = std::max<uint64_t>(
      parseNumber("max-schedules", raw.maxSchedules, UINT64_MAX), 1);
  bool exhaustive = isExhaustive(raw);
  for (const auto &[name, value] : raw.options)
    if (!value.empty() && !(exhaustive && name == "policy"))
      if (auto wrong = setOption(line.options, name, value))
        throw BadInput(flagOf(name) + *wrong +
                       (name == "policy" ? " | exhaustive" : ""));
  if (exhaustive)
    line.options.policy = Policy::Exhaustive;
  if (!raw.compare.empty())
    line.compare = parseCompare(raw.compare);
  if (exhaustive && (line.schedules || line.compare))
    throw BadInput("--schedules and --compare choose schedules and "
                   "--policy=exhaustive runs all: expected one of them");
  if (line.schedules && line.compare)
    throw BadInput("--schedules draws schedules and --compare names one: "
                   "expected one of them");
  line.timeDraws =
      unsigned(parseNumber("time-draws", raw.timeDraws, timing::kMostDraws));
  line.time |=
      line.sass || line.warmL2 || line.timeDraws || !line.timeline.empty();
  if (line.time && line.options.policy != Policy::Eager)
    throw BadInput(
        "--time replays what ran under --policy=eager, got --policy=" +
        raw.options.at("policy"));
  if (!exhaustive && !line.schedulePath.empty())
    throw BadInput("--schedule is for --policy=exhaustive");
  checkTrace(line, raw);
  checkCubin(line, raw);
  if (line.kernel.empty() && line.cubin.empty())
    throw BadInput("no PTX file given; try ptx-sim --help");
}

} // namespace

std::string quote(const std::string &word) {
  static const std::string plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
                                   "RSTUVWXYZ0123456789_-./:,=+%@";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos)
    return word;
  std::string quoted = "'";
  for (char c : word)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::variant<CommandLine, int> parseCommandLine(int argc, char **argv) {
  CommandLine line;
  Raw raw;
  line.words.assign(argv, argv + argc);
  CLI::App app(description, "ptx-sim");
  app.footer(footer);
  app.set_version_flag("--version", "ptx-sim " FMHA_VERSION);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  declareLaunch(app, line, raw);
  declareRun(app, line, raw);
  declareOutput(app, line, raw);
  declareCubin(app, line, raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &done) {
    return app.exit(done, std::cout, std::cerr);
  } catch (const CLI::ParseError &error) {
    throw BadInput(std::string(error.what()) + "; try ptx-sim --help");
  }
  check(line, raw);
  return line;
}

std::string commandText(const CommandLine &line) {
  std::string command;
  for (const std::string &word : line.words)
    command += (command.empty() ? "" : " ") + quote(word);
  return command;
}

std::string replayCommand(const CommandLine &line, const std::string &flags) {
  static const char *const dropped[] = {"--schedules", "--schedule-seed",
                                        "--policy",    "--max-schedules",
                                        "--schedule",  "--compare"};
  std::string command;
  for (size_t i = 0; i < line.words.size(); ++i) {
    const std::string &word = line.words[i];
    bool skip = false;
    for (const char *name : dropped) {
      // Both "--name=value" and "--name value".
      skip |= word.starts_with(std::string(name) + "=");
      if (word != name)
        continue;
      skip = true;
      ++i;
    }
    if (!skip)
      command += (command.empty() ? "" : " ") + quote(word);
  }
  return command + " " + flags;
}

} // namespace ptxsim::tool
