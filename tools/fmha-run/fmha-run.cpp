//===- fmha-run.cpp - Compile, launch, compare ----------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a command line to a verdict. Every function here is one step; a step
// that fails ends the run with exit status 2 and a message.
//
//===----------------------------------------------------------------------===//

#include "Append.h"
#include "KernelText.h"
#include "Progress.h"
#include "Report.h"
#include "Scales.h"
#include "fmha/Runtime/Files.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <bit>
#include <cstring>

using namespace fmha;
using namespace fmha::tools;
using fmha::runtime::failure;

namespace {

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The state of one run of the program.
struct Session {
  RunFlags flags;
  std::string command;
  Progress progress;
  Outcome outcome;
  KernelSpec spec;
  std::string ptx;
  /// With --key-new or --rotary.
  std::optional<Append> append;
};

/// Compiles, and reads the launch manifest of the result.
llvm::Error compileKernel(Session &session, const Source &source) {
  session.progress.stage("compiling");
  CompileOptions options;
  options.target = session.flags.problem.target;
  options.overrides = session.flags.problem.overrides;
  // A run plans for no launch, but packing all heads of a group requires their
  // number, and appending new keys the number of queries.
  options.hints.qHeads = unsigned(session.flags.problem.qHeads.value_or(1));
  options.hints.kvHeads =
      unsigned(session.flags.problem.kvHeads.value_or(options.hints.qHeads));
  if (session.spec.problem.keyNew)
    options.hints.qLen = unsigned(session.flags.problem.qLen.value_or(0));
  auto begin = Clock::now();
  CompileResult result = compile(source.text, source.name, options);
  session.outcome.secondsCompile = secondsSince(begin);
  if (!result.ok)
    return failureOf(result.diagnostics);
  session.ptx = std::move(result.ptx);
  auto manifest = runtime::parseManifest(result.manifest);
  if (!manifest)
    return manifest.takeError();
  session.outcome.manifest = std::move(*manifest);
  return llvm::Error::success();
}

/// Compiles the kernel of fmha.append that runs before attention.
llvm::Error compileAppend(Session &session) {
  if (!session.append || !session.append->isApart())
    return llvm::Error::success();
  CompileOptions options;
  options.target = session.flags.problem.target;
  auto begin = Clock::now();
  CompileResult result = compile(appendModule(session.append->kernelProblem()),
                                 "<append>", options);
  session.outcome.secondsCompile =
      session.outcome.secondsCompile.value_or(0) + secondsSince(begin);
  if (!result.ok)
    return failureOf(result.diagnostics);
  auto manifest = runtime::parseAppendManifest(result.manifest);
  if (!manifest)
    return manifest.takeError();
  session.append->setKernel(std::move(*manifest), std::move(result.ptx));
  return llvm::Error::success();
}

/// Runs `text` in place of the compiled kernel. A different problem is
/// reported; the verdict shows its effect.
void replaceKernel(Session &session, std::string text) {
  std::string others = compareProblems(text, session.ptx);
  session.ptx = std::move(text);
  if (others.empty())
    return;
  session.progress.clear();
  llvm::errs() << "fmha-run: warning: '" << session.flags.ptx
               << "' was made for another problem: its heading says " << others
               << "\n";
}

/// Determines registers and spills. A missing ptxas, or its rejection, is
/// reported and is not an error.
void assembleKernel(Session &session) {
  session.progress.stage("assembling");
  session.outcome.assembled =
      assemble(session.ptx, session.flags.problem.target);
  session.progress.clear();
  if (session.outcome.assembled.status == AssembleResult::Status::Missing)
    llvm::errs() << "fmha-run: warning: no ptxas on the PATH and none named by "
                    "FMHA_PTXAS; assembling is skipped\n";
  if (session.outcome.assembled.status == AssembleResult::Status::Failed)
    llvm::errs() << "fmha-run: warning: ptxas rejects the PTX:\n"
                 << session.outcome.assembled.log << "\n";
}

void takeReport(const runtime::LaunchReport &report, Outcome &outcome) {
  using Status = runtime::LaunchReport::Status;
  outcome.secondsRun = outcome.secondsRun.value_or(0) + report.seconds;
  if (report.warpInstructions)
    outcome.warpInstructions =
        outcome.warpInstructions.value_or(0) + *report.warpInstructions;
  for (const llvm::json::Value &time : report.times)
    outcome.times.push_back(time);
  for (const llvm::json::Value &finding : report.findings)
    outcome.findings.push_back(finding);
  if (report.status == Status::Findings)
    outcome.status = Outcome::Status::Findings;
  if (report.status == Status::Deadlock)
    outcome.status = Outcome::Status::Deadlock;
}

/// Names a run by what differs from other runs, as words or as flags.
std::string nameOf(const runtime::RunOptions &run) {
  return run.policy == "random"
             ? "schedule seed " + std::to_string(run.scheduleSeed)
             : "policy " + run.policy;
}

std::string flagsOf(const runtime::RunOptions &run) {
  return "--policy=" + run.policy +
         " --schedules=1 --schedule-seed=" + std::to_string(run.scheduleSeed);
}

llvm::json::Object divergence(const std::string &command,
                              const runtime::RunOptions &first,
                              const runtime::RunOptions &run, size_t elements) {
  std::string message =
      "the output of " + nameOf(run) + " differs in " +
      std::to_string(elements) + " elements from the first run's (policy " +
      first.policy + ", schedule seed " + std::to_string(first.scheduleSeed) +
      "); replay it with: " + command + " " + flagsOf(run);
  return llvm::json::Object{{"id", "host.schedule-divergence"},
                            {"severity", "error"},
                            {"message", message},
                            {"ptx_line", nullptr},
                            {"source", nullptr},
                            {"warp", nullptr},
                            {"lane", nullptr},
                            {"cta", nullptr},
                            {"other", nullptr}};
}

/// The outputs of one run.
struct Written {
  std::vector<uint16_t> output;
  std::array<std::optional<std::vector<float>>, 3> rows;

  explicit Written(HostProblem &problem) : output(problem.o.bits) {
    for (auto [own, numbers] : llvm::zip(rows, problem.rows()))
      own = *numbers;
  }
  void restore(HostProblem &problem) const {
    // The array must not move, since views point to it.
    std::copy(output.begin(), output.end(), problem.o.bits.begin());
    for (auto [own, numbers] : llvm::zip(rows, problem.rows()))
      *numbers = own;
  }
};

/// Returns the number of elements of the two runs that differ in any bit.
size_t countDifferences(HostProblem &problem, const Written &first) {
  size_t count = 0;
  for (size_t i = 0; i < first.output.size(); ++i)
    count += first.output[i] != problem.o.bits[i];
  for (auto [before, now] : llvm::zip(first.rows, problem.rows()))
    for (size_t i = 0; before && i < before->size(); ++i)
      count += std::bit_cast<uint32_t>((*before)[i]) !=
               std::bit_cast<uint32_t>((**now)[i]);
  return count;
}

/// Adds the name of the text that ran to an error, if it replaced the compiled
/// kernel.
llvm::Error inKernelFile(const RunFlags &flags, llvm::Error error) {
  if (flags.ptx.empty())
    return error;
  return failure("'" + flags.ptx + "': " + llvm::toString(std::move(error)));
}

llvm::Error launchOnce(Session &session, runtime::Device &device,
                       HostProblem &problem,
                       const runtime::RunOptions &options) {
  problem.poisonOutputs();
  if (session.append) {
    auto report = session.append->run(device, options, problem);
    if (!report)
      return report.takeError();
    takeReport(*report, session.outcome);
    if (session.outcome.status == Outcome::Status::Deadlock)
      return llvm::Error::success();
  }
  runtime::AttentionTensors tensors = problem.tensors();
  auto report = runtime::runAttention(*session.outcome.manifest, session.ptx,
                                      device, tensors, options);
  if (!report)
    return inKernelFile(session.flags, report.takeError());
  if (session.append)
    session.append->compare(problem, *report);
  takeReport(*report, session.outcome);
  return llvm::Error::success();
}

/// Returns the runs after `first`: of the other policies, then random ones.
std::vector<runtime::RunOptions> laterRuns(const RunFlags &flags,
                                           const runtime::RunOptions &first) {
  std::vector<runtime::RunOptions> runs;
  runtime::RunOptions next = first;
  next.time = false;
  next.padding = {};
  next.timeline.clear();
  for (const char *policy : {"eager", "late"}) {
    next.policy = policy;
    if (flags.everyPolicy && policy != first.policy)
      runs.push_back(next);
  }
  next.policy = "random";
  uint64_t count = std::max<uint64_t>(flags.schedules.value_or(1),
                                      flags.everyPolicy ? 2 : 1);
  while (++next.scheduleSeed - first.scheduleSeed < count)
    runs.push_back(next);
  return runs;
}

/// Launches the kernel several times. The first run determines accuracy; the
/// others only have to equal it.
llvm::Error launchAll(Session &session, runtime::Device &device,
                      HostProblem &problem) {
  runtime::RunOptions options = session.flags.options;
  options.scheduleSeed = session.flags.scheduleSeed.value_or(0);
  options.maxCtas = uint32_t(session.flags.maxCtas.value_or(0));
  // Guards would move rows off the lines of memory that they have on a GPU.
  if (options.time)
    options.padding = runtime::Padding::none();
  session.outcome.status = Outcome::Status::Ok;
  session.progress.stage("running");
  if (llvm::Error error = launchOnce(session, device, problem, options))
    return error;
  const Written first(problem);
  for (const runtime::RunOptions &run : laterRuns(session.flags, options)) {
    if (session.outcome.status != Outcome::Status::Ok)
      break;
    session.progress.stage("running " + nameOf(run));
    if (llvm::Error error = launchOnce(session, device, problem, run))
      return error;
    size_t differences = countDifferences(problem, first);
    if (differences == 0)
      continue;
    std::string alone =
        session.flags.everyPolicy ? " --every-policy=false" : "";
    session.outcome.findings.push_back(
        divergence(session.command + alone, options, run, differences));
    session.outcome.status = Outcome::Status::Findings;
  }
  first.restore(problem);
  return llvm::Error::success();
}

/// Compares the outputs with the reference, except after a deadlock, which
/// leaves partial outputs.
void judge(Session &session, HostProblem &problem) {
  Outcome &outcome = session.outcome;
  if (outcome.status == Outcome::Status::Deadlock)
    return;
  session.progress.stage("computing the float64 reference");
  if (session.append)
    session.append->setExpected(problem);
  outcome.accuracy =
      compareWith(referenceOf(problem, session.spec), problem, session.spec,
                  !outcome.manifest->usesPlainThreads());
  if (!outcome.accuracy->ok && outcome.status == Outcome::Status::Ok)
    outcome.status = Outcome::Status::Inaccurate;
}

llvm::Error makeAppend(Session &session, const AppendFiles &files,
                       HostProblem &problem) {
  if (!session.flags.appends())
    return llvm::Error::success();
  auto made =
      Append::create(session.flags, session.spec.problem, files, problem);
  if (!made)
    return made.takeError();
  session.append = std::move(*made);
  session.outcome.newKeys = session.append->tokens();
  session.outcome.rotatesQueries = session.flags.hasRotary();
  return llvm::Error::success();
}

runtime::DeviceOptions deviceOptions(const RunFlags &flags) {
  runtime::DeviceOptions options;
  options.kind = flags.device;
  options.target = flags.problem.target;
  return options;
}

/// Checks that the simulator can write the file of the timeline, if one is
/// requested, before anything runs.
llvm::Error checkTimeline(llvm::StringRef file) {
  namespace fs = llvm::sys::fs;
  llvm::StringRef folder = llvm::sys::path::parent_path(file);
  folder = folder.empty() ? "." : folder;
  // A file is replaced, and a device is written.
  bool isDevice = fs::exists(file) && !fs::is_regular_file(file);
  llvm::StringRef written = isDevice ? file : folder;
  bool writes = fs::is_directory(folder) && !fs::is_directory(file) &&
                !fs::access(written, fs::AccessMode::Write);
  if (file.empty() || writes)
    return llvm::Error::success();
  return failure("--timeline: expected a file in a folder that can be written, "
                 "got " +
                 file.str());
}

/// Checks that the time of the launch can be modeled, if it is requested. The
/// simulator knows the targets, and the programs that SASS needs.
llvm::Error checkTime(const RunFlags &flags) {
  if (!flags.options.time)
    return llvm::Error::success();
  // The flag that the user gave: the other two imply --time.
  const std::string flag = flags.options.sass               ? "--sass: "
                           : flags.options.timeline.empty() ? "--time: "
                                                            : "--timeline: ";
  bool simulated = flags.device == runtime::DeviceKind::Simulator;
  if (!simulated || flags.options.policy != "eager")
    return failure(flag + "expected --device=sim and --policy=eager, got " +
                   (simulated ? "--policy=" + flags.options.policy
                              : std::string("--device=cuda")));
  if (llvm::Error error = checkTimeline(flags.options.timeline))
    return error;
  auto device = runtime::Device::open(deviceOptions(flags));
  if (!device)
    return device.takeError();
  llvm::Error rejected =
      (*device)->setOptions({{"time", flags.options.sass ? "sass" : "on"}});
  if (!rejected)
    return llvm::Error::success();
  // The reason comes after the name of the simulator's own option.
  std::string text = llvm::toString(std::move(rejected));
  return failure(flag + llvm::StringRef(text).split(": ").second);
}

/// Returns the files that a complete run writes.
std::vector<std::string> writtenFiles(const Session &session) {
  const RunFlags &flags = session.flags;
  std::vector<std::string> files;
  // Each kernel has a timeline of its own.
  const std::string &timeline = flags.options.timeline;
  for (size_t n = 1; !timeline.empty() && n <= session.outcome.times.size();
       ++n)
    files.push_back(n == 1 ? timeline : timeline + "." + std::to_string(n));
  for (const std::string &file :
       {flags.out, flags.lseOut, flags.rowMaxOut, flags.rowSumOut})
    files.push_back(file);
  if (session.append)
    files.insert(files.end(), {flags.kCacheOut, flags.vCacheOut});
  llvm::erase_if(files, [](const std::string &file) { return file.empty(); });
  return files;
}

/// Runs the kernels, compares and writes what they leave.
llvm::Error execute(Session &session, HostProblem &problem) {
  session.outcome.shape = problem.shape;
  auto device = runtime::Device::open(deviceOptions(session.flags));
  if (!device)
    return device.takeError();
  session.outcome.deviceName = (*device)->name();
  assembleKernel(session);
  if (llvm::Error error = launchAll(session, **device, problem))
    return error;
  if (session.append)
    if (llvm::Error error = session.append->writeCaches(session.flags, problem))
      return error;
  judge(session, problem);
  session.progress.clear();
  if (session.outcome.status == Outcome::Status::Deadlock)
    return llvm::Error::success();
  if (llvm::Error error = writeOutputs(session.flags, problem))
    return error;
  session.outcome.written = writtenFiles(session);
  return llvm::Error::success();
}

llvm::Error run(Session &session) {
  RunFlags &flags = session.flags;
  if (!flags.lseOut.empty())
    flags.problem.lse = true;
  if (!flags.rowMaxOut.empty())
    flags.problem.rowMax = true;
  if (!flags.rowSumOut.empty())
    flags.problem.rowSum = true;
  if (llvm::Error error = checkAppendFlags(flags))
    return error;
  if (llvm::Error error = checkTime(flags))
    return error;
  auto files = readInputs(flags);
  if (!files)
    return files.takeError();
  auto tokens = readAppendFiles(flags);
  if (!tokens)
    return tokens.takeError();
  auto replacement = readKernel(flags);
  if (!replacement)
    return replacement.takeError();
  if (*replacement)
    adoptSchedule(flags.problem, **replacement);
  adoptExtents(flags.problem, *files);
  adoptExtents(flags.problem, *tokens);
  if (llvm::Error error = chooseGranularity(flags.problem, *files))
    return error;
  auto source = resolveSource(flags.problem);
  if (!source)
    return source.takeError();
  if (!source->isAttention)
    return failure("'" + flags.problem.input +
                   "': expected one fmha.attention to run, got a kernel "
                   "without; fmha-compile compiles it");
  session.spec = source->spec;
  session.outcome.ignored = source->ignored;
  if (*replacement)
    if (llvm::Error error =
            checkTensors(flags.ptx, **replacement, session.spec.problem))
      return error;
  // Flags and the op take precedence: rows after the last sequence are legal.
  files->lists.adoptExtents(flags.problem);
  // Report data that does not fit before any work is done for it.
  session.progress.stage("preparing the inputs");
  auto problem = makeProblem(flags, session.spec.problem, *files);
  if (!problem)
    return problem.takeError();
  if (llvm::Error error = makeAppend(session, *tokens, *problem))
    return error;
  if (llvm::Error error = compileKernel(session, *source))
    return error;
  if (llvm::Error error = compileAppend(session))
    return error;
  if (*replacement)
    replaceKernel(session, std::move(**replacement));
  return execute(session, *problem);
}

/// Reads the flags first; errors in them are also reported as JSON, if
/// requested.
llvm::Error start(Session &session, llvm::ArrayRef<const char *> arguments) {
  session.command = shellCommand("fmha-run", arguments);
  session.outcome.arguments =
      llvm::StringRef(session.command).split(' ').second.str();
  for (llvm::StringRef argument : arguments)
    session.flags.json |= argument == "--json" || argument == "--json=true";
  FlagTable table;
  session.flags.add(table);
  std::vector<std::string> positional;
  if (llvm::Error error = table.parse(arguments, positional))
    return error;
  if (session.flags.help || session.flags.version) {
    session.flags.json = false;
    session.flags.help ? printHelp(table)
                       : printVersion(llvm::outs(), "fmha-run");
    return llvm::Error::success();
  }
  if (positional.size() > 1)
    return failure("expected one input file, got '" + positional[0] +
                   "' and '" + positional[1] + "'");
  if (!positional.empty())
    session.flags.problem.input = positional[0];
  return run(session);
}

} // namespace

int main(int argc, char **argv) {
  Session session;
  llvm::Error error =
      start(session, llvm::ArrayRef<const char *>(argv + 1, argc - 1));
  session.progress.clear();
  if (error) {
    session.outcome.status = Outcome::Status::Error;
    session.outcome.error = llvm::toString(std::move(error));
    llvm::errs() << "fmha-run: error: " << session.outcome.error << "\n";
  } else if (session.flags.help || session.flags.version) {
    return 0;
  }
  if (session.flags.json)
    printJson(llvm::outs(), session.outcome);
  else if (session.outcome.status != Outcome::Status::Error)
    printText(llvm::outs(), session.outcome);
  return session.outcome.exitCode();
}
