//===- CompileFlags.cpp - The flags of fmha-compile -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileFlags.h"
#include "fmha/Pipeline/Embedded/AheadOfTime.h"
#include "fmha/Runtime/Files.h"
#include "fmha/Schedule/Rules/RegisterDemand.h"

#include "llvm/ADT/StringExtras.h"

using namespace fmha;
using namespace fmha::tools;
using fmha::runtime::failure;

static std::vector<std::string> levelNames() {
  std::vector<std::string> names;
  for (int i = 0; i <= int(Level::NVVM); ++i)
    names.emplace_back(stringify(Level(i)));
  return names;
}

static void addLevel(FlagTable &table, llvm::StringRef name,
                     llvm::StringRef help, std::optional<Level> &level) {
  table.add(name, llvm::join(levelNames(), "|"), help,
            [name, &level](llvm::StringRef text) -> llvm::Error {
              level = parseLevel(text);
              if (level)
                return llvm::Error::success();
              return failure("--" + name + ": expected " +
                             llvm::join(levelNames(), " or ") + ", got '" +
                             text + "'");
            });
}

void CompileFlags::addRegisterDemand(FlagTable &table) {
  table.group("Register demand (scripts/check/spills.py)");
  table.addSwitch("list-demand",
                  "print the rows that say what ptxas spills, and stop",
                  [this](bool on) { listDemand = on; });
  table.add("without-demand", "ROW",
            "plan and compile as if that row were not there",
            [](llvm::StringRef name) -> llvm::Error {
              if (schedule::demand::ignoreRow(name.str()))
                return llvm::Error::success();
              return failure("--without-demand: expected a row that "
                             "--list-demand prints, got '" +
                             name + "'");
            });
}

void CompileFlags::addLayouts(FlagTable &table) {
  table.group("Layouts of the kernel's tiles");
  table.add("print-layouts", "NAME,...",
            "print the layouts of these tiles, of Q, K, V, S, P and O, as "
            "fmha-layout reads them; the kernel only goes to -o",
            [this](llvm::StringRef text) -> llvm::Error {
              llvm::SmallVector<llvm::StringRef> names;
              text.split(names, ',');
              layouts.assign(names.begin(), names.end());
              return llvm::Error::success();
            });
  table.addWord("print-layouts-format", {"text", "svg", "latex"},
                "text (default), or a picture of the first rows and columns",
                layoutFormat);
  table.addText("print-layouts-to", "DIR",
                "write one file for each tile and place, such as "
                "DIR/S_registers.svg",
                layoutsTo);
}

static void nameFlagsOfRun(FlagTable &table) {
  for (const char *flag : {"--time", "--timeline", "--sass", "--json",
                           "--policy", "--schedules", "--device"})
    table.addHint(flag, "fmha-run has this flag");
}

void CompileFlags::add(FlagTable &table) {
  problem.add(table);
  table.group("Output");
  table.addWord("emit",
                {"mlir", "llvm", "ptx", "cubin", "manifest", "object", "so",
                 "header", "fatbin"},
                "what to print (default ptx); the last four hold kernels for "
                "all of --target=T,T,...",
                emit);
  table.addText("function", "NAME",
                "function of the file to compile, if there are several; also "
                "the name of the C function of --emit=object, so and header "
                "(default: that of the kernel)",
                function);
  table.addText("-o", "FILE", "write it there; '-' is standard output", output);
  addLevel(table, "compile-from", "level of the input", from);
  addLevel(table, "compile-to",
           "level to stop at (default for --emit=mlir: attention)", to);
  table.addText("dump-phases-to", "DIR",
                "write every level to DIR/NN-LEVEL.mlir", dumpTo);
  table.addSwitch("verify-kernels",
                  "verify capacities and synchronization at each level "
                  "(default); =false leaves it out",
                  [this](bool on) { verifyKernels = on; });
  table.addWord("pipeline", {"table", "derived"},
                "where roles, stages and orders of loops come from: table, "
                "that of the kernel family (default); derived, the results of "
                "a solver",
                pipeline);
  table.addSwitch("verify-registers",
                  "have ptxas assemble the kernel, and take the best runner-up "
                  "of the plan that it does not spill",
                  [this](bool on) { verifyRegisters = on; });
  table.add("tune", "model[:N]",
            "model the clocks of the N (default 8) schedules that the planner "
            "ranks highest with fmha-run --time, and take the fastest; give "
            "lengths and heads, since the fastest depends on them",
            [this](llvm::StringRef text) { return readTune(text); });
  table.addSwitch("cache",
                  "keep the kernel in FMHA_CACHE_DIR (default: fmha in the "
                  "user's cache folder), and take it from there",
                  [this](bool on) { cache = on; });
  table.addSwitch(
      "explain",
      "print the schedule and the reasons; the kernel is written only "
      "with -o",
      [this](bool on) { explain = on; });
  table.addText("svg", "DIR",
                "with --explain: draw tensor memory over time, shared memory "
                "and the swizzle into DIR/*.svg",
                drawTo);
  addLayouts(table);
  addRegisterDemand(table);
  nameFlagsOfRun(table);
  table.group("Help");
  table.addSwitch("help", "print this and stop",
                  [this](bool on) { help = on; });
  table.addSwitch("version", "print the version and stop",
                  [this](bool on) { version = on; });
}

llvm::Error CompileFlags::readTune(llvm::StringRef text) {
  constexpr unsigned usual = 8, most = 64;
  auto [what, count] = text.split(':');
  tune = usual;
  bool counts = text.contains(':');
  if (what == "model" &&
      (!counts || (!count.getAsInteger(10, tune) && tune && tune <= most)))
    return llvm::Error::success();
  return failure("--tune: expected model, or model:N with N from 1 to " +
                 llvm::Twine(most) + ", got '" + text + "'");
}

void fmha::tools::printHelp(const FlagTable &table) {
  llvm::outs()
      << "fmha-compile [input.mlir] [flags]: compile one attention op, or a "
         "kernel of tile ops.\n"
         "\n"
         "  fmha-compile --head-dim=128 --causal -o kernel.ptx\n"
         "  fmha-compile layer.mlir --target=sm_103a --emit=cubin -o k.cubin\n"
         "  fmha-compile --dump-phases-to=phases -o /dev/null\n"
         "  fmha-compile --head-dim=64 --explain --svg=pictures\n"
         "  fmha-compile --target=sm_80 --print-layouts=S,P,O\n"
         "  fmha-compile --target=sm_90a,sm_100a --emit=so --function=attend "
         "-o libattend.so\n"
         "  fmha-compile --q-len=1 --kv-len=16384 --q-heads=32 --kv-heads=8 "
         "--explain\n"
         "\n"
         "Lengths, heads and the batch are hints to the planner: a kernel is "
         "correct for all\nvalues. With --q-len and --q-heads the planner "
         "knows "
         "the grid, and splits the keys\namong CTAs if SMs would be idle "
         "otherwise.\n"
         "Exit: 0 done, 2 bad input.\n";
  table.printHelp(llvm::outs());
}

/// Checks that the flags of levels agree: stopping above PTX contradicts output
/// below that level.
static llvm::Error checkLevels(const CompileFlags &flags) {
  if (flags.from && flags.to && *flags.from > *flags.to)
    return failure("--compile-from=" + llvm::Twine(stringify(*flags.from)) +
                   " lies below --compile-to=" + stringify(*flags.to) +
                   "; expected a level at or above it");
  if (flags.to && flags.emit != "mlir")
    return failure("--compile-to=" + llvm::Twine(stringify(*flags.to)) +
                   " stops before there is any " + flags.emit +
                   "; expected --emit=mlir, or no --compile-to");
  if (flags.from && flags.problem.input.empty())
    return failure("--compile-from expects an input file at that level, got "
                   "none");
  if (flags.verifyRegisters && (flags.emit == "mlir" || flags.emit == "llvm"))
    return failure("--verify-registers asks ptxas about PTX; expected "
                   "--emit=ptx, cubin or another that has it, got --emit=" +
                   llvm::Twine(flags.emit));
  if (flags.cache && !schedule::demand::ignoredRows().empty())
    return failure("--without-demand makes kernels for measurements; expected "
                   "no --cache with it");
  if (!flags.drawTo.empty() && !flags.explain)
    return failure("--svg draws what --explain reports; expected --explain "
                   "with it, got none");
  return checkScheduleFlag(flags.problem);
}

/// Checks that pictures of layouts have a place to go to.
static llvm::Error checkLayouts(const CompileFlags &flags) {
  if (!flags.layouts.empty())
    return llvm::Error::success();
  if (flags.layoutFormat != "text" || !flags.layoutsTo.empty())
    return failure("--print-layouts-format and --print-layouts-to draw the "
                   "tiles of --print-layouts; expected --print-layouts=NAME "
                   "with them, got none");
  return llvm::Error::success();
}

/// Checks what --tune needs: a plan to choose from, for one target.
static llvm::Error checkTune(const CompileFlags &flags) {
  if (!flags.tune)
    return llvm::Error::success();
  if (flags.from.value_or(Level::Attention) != Level::Attention)
    return failure("--tune chooses a schedule; expected input at the attention "
                   "level, got --compile-from=" +
                   llvm::Twine(stringify(*flags.from)));
  if (!flags.problem.schedule.empty())
    return failure("--tune chooses a schedule; expected no --schedule with it");
  if (flags.targets.size() > 1)
    return failure("--tune chooses a schedule for one GPU; expected one "
                   "--target, got " +
                   llvm::Twine(flags.targets.size()));
  return llvm::Error::success();
}

/// Rejects flags of the problem and the schedule below the attention level,
/// where the input has both.
static llvm::Error checkFlagsBelow(const CompileFlags &flags,
                                   const FlagTable &table) {
  if (flags.from.value_or(Level::Attention) == Level::Attention)
    return llvm::Error::success();
  std::string names;
  for (llvm::StringRef group : {"Problem", "Kernel"})
    for (const FlagTable::Given &flag : table.given(group))
      if (flag.name != "--target")
        names += (names.empty() ? "" : ", ") + flag.name;
  if (names.empty())
    return llvm::Error::success();
  return failure("--compile-from=" + llvm::Twine(stringify(*flags.from)) +
                 " takes the problem and the schedule from '" +
                 flags.problem.input +
                 "': expected only --target with it, got " + names +
                 "; leave them out, or begin at the attention level");
}

/// Parses the list of targets, which only output with a kernel per target
/// allows.
static llvm::Error readTargets(CompileFlags &flags) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(flags.problem.target).split(names, ',');
  for (llvm::StringRef name : names) {
    if (name.empty() || llvm::is_contained(flags.targets, name.str()))
      return failure("--target=" + llvm::Twine(flags.problem.target) +
                     ": expected names of different GPUs with commas between "
                     "them, got " +
                     (name.empty() ? "an empty one" : "'" + name + "' twice"));
    flags.targets.push_back(name.str());
  }
  flags.problem.target = flags.targets.front();
  if (flags.targets.size() == 1 || flags.isAheadOfTime())
    return llvm::Error::success();
  return failure("--target names " + llvm::Twine(flags.targets.size()) +
                 " GPUs, and --emit=" + flags.emit +
                 " is for one: expected one name, or --emit=object, so, header "
                 "or fatbin, which hold a kernel for each");
}

static llvm::Error checkAhead(const CompileFlags &flags) {
  if (!flags.function.empty()) {
    bool hasCName = flags.isAheadOfTime() && flags.emit != "fatbin";
    if (!hasCName && flags.problem.input.empty())
      return failure("--function names a function of a file, or the C function "
                     "of --emit=object, so or header; expected one of these, "
                     "got --emit=" +
                     llvm::Twine(flags.emit));
    if (!hasCName)
      return llvm::Error::success();
    if (llvm::Error error = checkFunctionName(flags.function))
      return failure("--function: " + llvm::toString(std::move(error)));
  }
  bool keepsMore =
      !flags.dumpTo.empty() || !flags.drawTo.empty() || !flags.layouts.empty();
  if (flags.isAheadOfTime() && keepsMore)
    return failure("--dump-phases-to, --svg and --print-layouts are of one "
                   "kernel; expected --emit=ptx with them, got --emit=" +
                   llvm::Twine(flags.emit));
  if (flags.emit == "so" && flags.output == "-")
    return failure("--emit=so writes a shared library and its header; expected "
                   "-o FILE, got none");
  if (flags.cache &&
      (keepsMore || flags.emit == "mlir" || flags.emit == "llvm"))
    return failure("--cache keeps finished kernels; expected no --emit=mlir, "
                   "--emit=llvm, --dump-phases-to, --svg or --print-layouts "
                   "with it");
  return llvm::Error::success();
}

llvm::Error fmha::tools::checkFlags(CompileFlags &flags,
                                    const FlagTable &table) {
  if (llvm::Error error = checkLevels(flags))
    return error;
  if (llvm::Error error = checkFlagsBelow(flags, table))
    return error;
  if (llvm::Error error = checkLayouts(flags))
    return error;
  if (llvm::Error error = readTargets(flags))
    return error;
  if (llvm::Error error = checkTune(flags))
    return error;
  flags.problemFlags = table.given("Problem");
  return checkAhead(flags);
}

bool CompileFlags::isAheadOfTime() const {
  return emit == "object" || emit == "so" || emit == "header" ||
         emit == "fatbin";
}

CompileOptions fmha::tools::optionsOf(const CompileFlags &flags) {
  CompileOptions options;
  options.hints = hintsOf(flags.problem);
  options.target = flags.problem.target;
  options.overrides = flags.problem.overrides;
  options.from = flags.from.value_or(Level::Attention);
  options.to = flags.to;
  // A schedule is known only below the attention level.
  if (flags.emit == "mlir" && !options.to && !flags.reports())
    options.to = options.from;
  options.keepLevels = !flags.dumpTo.empty() || !flags.layouts.empty();
  options.keepLLVM = flags.emit == "llvm";
  options.verifyKernels = flags.verifyKernels;
  options.verifyRegisters = flags.verifyRegisters;
  if (flags.pipeline == "derived")
    options.pipeline = PipelineSource::Derived;
  return options;
}
