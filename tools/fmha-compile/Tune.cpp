//===- Tune.cpp - Choose a schedule by modeled clocks ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler shares no code with the simulator, so a schedule is stepped by
// the program fmha-run: a launch that fills one SM, with two numbers of keys.
// The difference of their clocks is the time of KV blocks in steady state, and
// the planner's model of a launch does the rest.
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "AheadOfTime.h"

#include "fmha/Runtime/Files.h"
#include "fmha/Schedule/Plan/Tuning.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/ThreadPool.h"

#include <atomic>

extern char **environ;

using namespace fmha;
using namespace fmha::tools;
using fmha::runtime::failure;
using schedule::Cost;
using schedule::Schedule;

namespace {

/// Modeled clocks of a launch, or of a block.
struct Clocks {
  double low = 0, middle = 0, high = 0;
};

/// What fmha-run reports of a launch.
struct Launch {
  Clocks clocks;
  /// The chain of events that the launch waits for.
  std::string bound;
  /// The share of the clocks in which the tensor cores multiply.
  double mmaUtilisation = 0;
};

/// A schedule and its clocks: those of a block of one CTA, and the cost of the
/// problem with their middle.
struct Stepped {
  Schedule schedule;
  Clocks block;
  Cost cost;
  /// The longer of the stepped launches.
  Launch launch;
  /// Why it was not stepped, or cannot be chosen.
  std::string objection;
};

/// Runs fmha-run for schedules of one problem.
class Stepper {
public:
  Stepper(const CompileFlags &flags, const KernelSpec &spec)
      : flags(flags), problem(spec.problem) {}

  /// Returns an error if fmha-run is missing, or cannot run the problem without
  /// files of its data.
  llvm::Error prepare();
  /// Steps `schedule`, and models its launch.
  Stepped step(const Schedule &schedule) const;

private:
  std::vector<std::string> argumentsFor(const Schedule &schedule,
                                        uint64_t keys) const;
  llvm::Expected<Launch> run(const Schedule &schedule, uint64_t keys) const;

  const CompileFlags &flags;
  const schedule::Problem &problem;
  std::string program;
};

/// Flags of the problem that a stepped launch replaces.
constexpr llvm::StringLiteral replacedFlags[] = {"--batch",    "--q-heads",
                                                 "--kv-heads", "--q-len",
                                                 "--kv-len",   "--kv-len-mean"};

} // namespace

/// Returns what makes the number of blocks depend on more than the number of
/// keys, or "".
static std::string unsteady(const schedule::Problem &problem) {
  const std::pair<bool, const char *> facts[] = {
      {problem.mask.left.has_value(), "a window"},
      {problem.mask.isTopLeft(), "a causal mask at the top left"},
      {problem.cuSeqlensQ || problem.cuSeqlensK, "packed sequences"},
      {problem.kvLens, "lengths in memory"},
      {problem.topk, "lists of keys"},
      {problem.kvIndices, "lists of blocks"},
      {problem.source2, "a second KV segment"},
      {problem.keyNew, "new keys"}};
  std::string names;
  for (auto [has, name] : facts)
    if (has)
      names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

llvm::Error Stepper::prepare() {
  static int inThisProgram;
  std::string names = unsteady(problem);
  if (!names.empty())
    return failure("--tune steps launches in which each CTA has all keys; "
                   "expected none of windows, masks at the top left, lists, "
                   "lengths and further keys, got " +
                   names +
                   "; tune the problem without them, and give the "
                   "schedule that --explain prints");
  llvm::SmallString<256> path(llvm::sys::path::parent_path(
      llvm::sys::fs::getMainExecutable(nullptr, &inThisProgram)));
  llvm::sys::path::append(path, "fmha-run");
  if (!llvm::sys::fs::can_execute(path))
    return failure("--tune needs fmha-run: expected it at '" + path +
                   "', got no program there");
  program = path.str().str();
  return llvm::Error::success();
}

std::vector<std::string> Stepper::argumentsFor(const Schedule &schedule,
                                               uint64_t keys) const {
  schedule::SteppedLaunch launch = schedule::launchToStep(schedule);
  std::vector<std::string> line = {
      "--time",
      "--json",
      "--target=" + schedule.target,
      "--q-heads=" + std::to_string(launch.qHeads),
      "--kv-heads=1",
      "--q-len=" + std::to_string(launch.qLen),
      "--kv-len=" + std::to_string(keys),
      "--p-placement=" + std::string(stringify(schedule.pPlacement))};
  for (const schedule::ScheduleField &field : schedule::scheduleFields())
    line.push_back("--" + field.flag + "=" + field.print(field.get(schedule)));
  // The manual does not promise the order of products that `issue` relies on.
  if (schedule.mmaOrder == schedule::MmaOrder::Issue)
    line.push_back("--conformance=practice");
  if (!flags.problem.input.empty())
    line.push_back(flags.problem.input);
  if (!flags.function.empty())
    line.push_back("--function=" + flags.function);
  for (const FlagTable::Given &flag : flags.problemFlags)
    if (!llvm::is_contained(replacedFlags, flag.name))
      line.push_back(flag.argument);
  return line;
}

/// Returns the text of a temporary file, which is removed.
static std::string readScratch(llvm::StringRef path) {
  llvm::FileRemover remover(path);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// Runs `program` with `variable` and the environment of this one without
/// variables that change what is modeled. Returns its exit status and its
/// standard output and error.
static std::tuple<int, std::string, std::string>
runWith(const std::string &program, llvm::ArrayRef<std::string> arguments,
        llvm::StringRef variable) {
  llvm::SmallString<128> out, err;
  if (llvm::sys::fs::createTemporaryFile("fmha", "json", out) ||
      llvm::sys::fs::createTemporaryFile("fmha", "log", err))
    return {-1, "", "cannot create a temporary file; TMPDIR names the folder"};
  llvm::SmallVector<llvm::StringRef> line = {program}, environment;
  line.append(arguments.begin(), arguments.end());
  for (char **entry = environ; *entry; ++entry)
    if (!llvm::StringRef(*entry).starts_with("PTXSIM_TIME"))
      environment.push_back(*entry);
  environment.push_back(variable);
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), out.str(),
                                                err.str()};
  int code = llvm::sys::ExecuteAndWait(
      program, line, llvm::ArrayRef<llvm::StringRef>(environment), redirects);
  std::string text = readScratch(out);
  return {code, std::move(text), readScratch(err)};
}

/// Reads what a report of fmha-run says of the launch. Fails if ptxas spills
/// the kernel, since the model counts no spills.
static llvm::Expected<Launch> readLaunch(llvm::StringRef report) {
  auto json = llvm::json::parse(report);
  if (!json)
    return json.takeError();
  const llvm::json::Object *root = json->getAsObject();
  const llvm::json::Object *clocks = root ? root->getObject("clocks") : nullptr;
  if (!clocks)
    return failure("its report has no clocks");
  if (int64_t bytes = root->getInteger("spill_bytes").value_or(0))
    return failure("ptxas spills " + llvm::Twine(bytes) + " bytes");
  auto number = [&](llvm::StringRef name) {
    return clocks->getNumber(name).value_or(0);
  };
  return Launch{{number("low"), number("middle"), number("high")},
                root->getString("bound").value_or("").str(),
                root->getNumber("mma_utilisation").value_or(0)};
}

/// Returns the status of a report, and its first finding, if it has one.
static std::string reasonOf(llvm::StringRef report) {
  auto json = llvm::json::parse(report);
  const llvm::json::Object *root = json ? json->getAsObject() : nullptr;
  if (!root) {
    llvm::consumeError(json.takeError());
    return "no report";
  }
  std::string text = root->getString("status").value_or("").str();
  const llvm::json::Array *findings = root->getArray("findings");
  if (findings && !findings->empty())
    if (const llvm::json::Object *first = findings->front().getAsObject())
      text += ": " + first->getString("message").value_or("").str();
  return text;
}

llvm::Expected<Launch> Stepper::run(const Schedule &schedule,
                                    uint64_t keys) const {
  std::vector<std::string> arguments = argumentsFor(schedule, keys);
  auto [code, report, log] = runWith(program, arguments, "PTXSIM_TIME_SMS=1");
  if (code == 0)
    return readLaunch(report);
  return failure(
      "fmha-run ends with " + llvm::Twine(code) + ": " +
      (log.empty() ? reasonOf(report) : llvm::StringRef(log).trim().str()));
}

Stepped Stepper::step(const Schedule &schedule) const {
  Stepped made{schedule, {}, {}, {}, {}};
  Schedule single = schedule::forStepping(schedule);
  schedule::SteppedLaunch launch = schedule::launchToStep(single);
  auto longer = run(single, launch.longer);
  if (!longer) {
    made.objection = llvm::toString(longer.takeError());
    return made;
  }
  auto shorter = run(single, launch.shorter);
  if (!shorter) {
    made.objection = "with fewer keys " + llvm::toString(shorter.takeError());
    return made;
  }
  // CTAs of an SM share its time.
  double blocks = double(launch.blocks) * schedule.ctasPerSm;
  auto perBlock = [&](double Clocks::*end) {
    return (longer->clocks.*end - shorter->clocks.*end) / blocks;
  };
  double middle = perBlock(&Clocks::middle);
  if (!(middle > 0)) {
    made.objection = llvm::formatv(
        "expected {0} keys to take longer than {1}, got {2:F0} and {3:F0} "
        "clocks",
        launch.longer, launch.shorter, longer->clocks.middle,
        shorter->clocks.middle);
    return made;
  }
  made.block = {std::min(perBlock(&Clocks::low), middle), middle,
                std::max(perBlock(&Clocks::high), middle)};
  made.cost = steppedCost(problem, schedule, made.block.middle);
  made.launch = std::move(*longer);
  return made;
}

/// Returns the clocks of a row of 128 keys for a block's clocks.
static double perRow(const Stepped &one, double clocks) {
  return one.cost.clocksPerRow * clocks / one.block.middle;
}

/// Returns the table of all stepped schedules, the chosen one first, and what
/// bounds that one.
static std::string tabulate(llvm::ArrayRef<Stepped> all,
                            const schedule::Problem &problem) {
  std::string text = llvm::formatv(
      "tuned     {0} schedule{6} of the planner, stepped by fmha-run --time "
      "(modeled); the first is chosen: the planner's first within 3 % of the "
      "fastest\n"
      "          {1,12} {2,14} {3,17} {4,9} {5,5}  schedule\n",
      all.size(), "launch clk", "clk/128 keys", "of a row from-to", "planner",
      "MMA", all.size() == 1 ? "" : "s");
  for (const Stepped &one : all) {
    Cost planned = modelCost(problem, one.schedule);
    std::string fields = schedule::differences(one.schedule, Schedule());
    if (!one.objection.empty()) {
      text += "          not stepped: " + fields + ": " + one.objection + "\n";
      continue;
    }
    std::string launch = one.cost.launchClocks
                             ? llvm::formatv("{0:F0}", one.cost.launchClocks)
                             : std::string("-");
    std::string range =
        llvm::formatv("{0:F2}-{1:F2}", perRow(one, one.block.low),
                      perRow(one, one.block.high));
    text += llvm::formatv(
        "          {0,12} {1,14:F2} {2,17} {3,9:F2} {4,4:F0}%  {5}\n", launch,
        one.cost.clocksPerRow, range, planned.clocksPerRow,
        100 * one.launch.mmaUtilisation, fields);
  }
  return text + "bound by  " + all.front().launch.bound + " (modeled)\n";
}

/// Schedules whose clocks differ by less are equal within the accuracy of the
/// timing model (lib/PTX/Time/README.md, "Compared with an H200").
static constexpr double tolerance = 0.03;

/// Returns the modeled clocks of the launch, or those of a row if the launch is
/// not known.
static double clocksOf(const Stepped &one) {
  return one.cost.launchClocks ? one.cost.launchClocks : one.cost.clocksPerRow;
}

/// Returns `all`, which has the planner's order, by their clocks, those with
/// objections last. The first is the one that the planner ranks highest of
/// those within the tolerance of the fastest.
static std::vector<Stepped> ranked(const std::vector<Stepped> &all) {
  using Key = std::tuple<bool, double, size_t>;
  std::vector<Key> keys;
  for (const Stepped &one : all)
    keys.emplace_back(!one.objection.empty(), clocksOf(one), keys.size());
  llvm::sort(keys);
  double most = std::get<double>(keys.front()) * (1 + tolerance);
  auto chosen = std::min_element(
      keys.begin(), keys.end(), [&](const Key &a, const Key &b) {
        auto isEqual = [&](const Key &key) {
          return !std::get<bool>(key) && std::get<double>(key) <= most;
        };
        return std::pair(!isEqual(a), std::get<size_t>(a)) <
               std::pair(!isEqual(b), std::get<size_t>(b));
      });
  std::rotate(keys.begin(), chosen, std::next(chosen));
  std::vector<Stepped> sorted;
  for (const Key &key : keys)
    sorted.push_back(all[std::get<size_t>(key)]);
  return sorted;
}

/// Steps all of `schedules`, on the cores of the machine.
static std::vector<Stepped> stepAll(const Stepper &stepper,
                                    llvm::ArrayRef<Schedule> schedules) {
  std::vector<Stepped> all(schedules.size());
  std::atomic<size_t> done = 0;
  bool shows = llvm::sys::Process::StandardErrIsDisplayed();
  llvm::DefaultThreadPool pool;
  for (size_t i = 0; i < schedules.size(); ++i)
    pool.async([&, i] {
      all[i] = stepper.step(schedules[i]);
      size_t count = ++done;
      if (shows)
        llvm::errs() << llvm::formatv("\rtuning: {0} of {1} schedules{2}",
                                      count, all.size(),
                                      count == all.size() ? "\n" : "");
    });
  pool.wait();
  return all;
}

/// Returns each of the first two of `all` with emulated exponentials.
static std::vector<Schedule> variantsOf(const std::vector<Stepped> &all,
                                        const schedule::Problem &problem,
                                        const schedule::Overrides &overrides) {
  constexpr size_t varied = 2;
  std::vector<Schedule> variants;
  for (const Stepped &one : llvm::ArrayRef(all).take_front(varied))
    for (Schedule &variant : withEmulation(problem, one.schedule, overrides))
      variants.push_back(std::move(variant));
  return variants;
}

/// Steps at most `most` schedules: the best of the plan, then the fastest of
/// them with emulated exponentials, for which half of them are left if there
/// can be any. Returns them ranked.
static std::vector<Stepped>
stepInTwoRounds(const Stepper &stepper, const schedule::Problem &problem,
                const schedule::Plan &plan,
                const schedule::Overrides &overrides, size_t most) {
  bool varies = !withEmulation(problem, plan.schedule, overrides).empty();
  std::vector<Stepped> all =
      stepAll(stepper, schedulesToStep(plan, varies ? (most + 1) / 2 : most));
  std::vector<Schedule> more = variantsOf(ranked(all), problem, overrides);
  more.resize(std::min(more.size(), most - std::min(most, all.size())));
  for (Stepped &one : stepAll(stepper, more))
    all.push_back(std::move(one));
  return ranked(all);
}

/// Returns the planner's plan for the op of `source`. Fails if the op has a
/// schedule or fixed extents.
static llvm::Expected<CompileResult> planFor(const CompileFlags &flags,
                                             const Source &source) {
  CompileOptions options = optionsOf(flags);
  options.keepLevels = options.keepLLVM = false;
  // Of an op with a schedule the plan is known before it is lowered.
  options.to = Level::Attention;
  if (compile(source.text, source.name, options).plan)
    return failure("--tune chooses a schedule; expected an op without one");
  options.to = Level::Tiled;
  CompileResult planned = compile(source.text, source.name, options);
  if (!planned.ok) {
    printRejection(flags, source);
    return failureOf(planned.diagnostics);
  }
  const KernelSpec &spec = planned.spec;
  if (!spec.batch && !spec.qLen && !spec.kvLen && !spec.qHeads && !spec.kvHeads)
    return planned;
  return failure("--tune steps launches of its own lengths; expected an op "
                 "with dynamic batch, lengths and heads, got fixed ones; give "
                 "them as flags");
}

llvm::Error fmha::tools::tune(CompileFlags &flags) {
  auto source = sourceOf(flags);
  if (!source)
    return source.takeError();
  auto planned = planFor(flags, *source);
  if (!planned)
    return planned.takeError();
  const schedule::Problem &problem = planned->spec.problem;
  Stepper stepper(flags, planned->spec);
  if (llvm::Error error = stepper.prepare())
    return error;
  std::vector<Stepped> all = stepInTwoRounds(
      stepper, problem, *planned->plan, flags.problem.overrides, flags.tune);
  if (!all.front().objection.empty())
    return failure("--tune: no schedule could be stepped: " +
                   all.front().objection + "; leave --tune out");
  (flags.explain ? llvm::outs() : llvm::errs()) << tabulate(all, problem);
  flags.problem.overrides = fixAll(all.front().schedule);
  return llvm::Error::success();
}
