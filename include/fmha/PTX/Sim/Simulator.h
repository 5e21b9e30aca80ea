//===- Simulator.h - Run PTX on a CPU ---------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of the simulator. A host (ptx-sim, the driver API) parses a
// module, fills a device's global memory, launches an entry, and reads back
// memory and findings:
//
//   Module module = Module::parse(text, "kernel.ptx");
//   Device device;
//   uint64_t out = device.allocate(1024);
//   LaunchConfig config;
//   config.entry = "kernel";
//   config.parameters = {bytesOf(out)};
//   LaunchResult result = launch(device, module, config, Options{});
//
// This header, and all headers that it includes, do not depend on the compiler,
// LLVM or MLIR.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_PTX_SIM_SIMULATOR_H
#define FMHA_PTX_SIM_SIMULATOR_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim {

/// Malformed text, an unsupported form, or an impossible launch. `line` is the
/// 1-based PTX line, 0 if none applies.
class Error : public std::runtime_error {
public:
  enum class Kind { Syntax, Unsupported, Launch, Memory };
  Error(Kind kind, const std::string &message, unsigned line = 0)
      : std::runtime_error(message), kind(kind), line(line) {}
  Kind kind;
  unsigned line;
};

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// When an asynchronous operation (TMA, tcgen05, bulk store) completes. Eager:
/// at issue. Late: only when a waiter cannot proceed otherwise. Random: at a
/// moment drawn from the schedule seed, which also selects the warp that runs.
/// Pct: by random priorities of warps and operations that change at a few
/// random moments (Burckhardt et al., ASPLOS 2010), which finds bugs that
/// depend on few orderings more reliably than Random. Exhaustive: as chosen by
/// an Exploration. Clusters run sequentially, or in parallel where the result
/// is the same: under Eager in the order of the grid, under Late the last one
/// first, under Random and Pct in an order drawn from the seed.
enum class Policy { Eager, Late, Random, Pct, Exhaustive };
/// Fast: products and sums in fp32. Exact: the fixed-point window of the
/// tensor core.
enum class MmaMode { Fast, Exact };
/// Correct: approximate functions are rounded correctly. Perturb: results move
/// at random within the manual's error bounds. Sm90: the bits of an H200.
enum class ApproxMode { Correct, Perturb, Sm90 };
/// Isa: strictly by the manual. Practice: what ptxas does for the best public
/// kernels (a tcgen05.ld register may be read before the wait).
enum class Conformance { Isa, Practice };

class Exploration;
class Observer;

/// A request for a textual trace of one warp's instructions.
struct WarpTrace {
  /// The linear index of the CTA in the grid, x varying fastest, and the warp
  /// in it.
  uint64_t cta = 0;
  unsigned warp = 0;
  /// Maximum number of instructions in the trace.
  uint64_t limit = 1000;
  /// Called for each line, without its newline.
  void (*line)(void *context, const std::string &text) = nullptr;
  void *context = nullptr;
};

struct Options {
  Policy policy = Policy::Eager;
  uint64_t scheduleSeed = 0;
  MmaMode mma = MmaMode::Fast;
  ApproxMode approx = ApproxMode::Correct;
  Conformance conformance = Conformance::Isa;
  /// "all", "none" or ids of findings; only these are reported.
  std::set<std::string> checks = {"all"};
  /// Warp instructions after which the launch stops with Status::StepLimit;
  /// 0 = no limit.
  uint64_t maxSteps = 0;
  /// Cores that clusters may run on, 0 = all. Results and findings do not
  /// depend on it.
  unsigned threads = 0;
  /// Maximum number of findings kept; further findings are only counted.
  unsigned maxFindings = 100;
  /// Called about once per million warp instructions, from the launching
  /// thread, with the instructions so far, the CTAs finished, and the total
  /// CTAs.
  void (*progress)(void *context, uint64_t warpInstructions, uint64_t ctasDone,
                   uint64_t ctas) = nullptr;
  void *progressContext = nullptr;
  std::optional<WarpTrace> trace;
  /// Policy::Pct: moments at which the running process gets the lowest
  /// priority.
  unsigned priorityChanges = 3;
  /// Policy::Exhaustive: the exploration that chooses.
  Exploration *exploration = nullptr;
  /// Receives what warps execute (Core/Machine/Observer.h), or null. Clusters
  /// then run on one core.
  Observer *observer = nullptr;

  /// Returns true if the schedule depends on the seed.
  bool randomized() const {
    return policy == Policy::Random || policy == Policy::Pct;
  }

  bool enabled(const std::string &id) const {
    return checks.count("all") || checks.count(id);
  }
};

enum class Severity { Error, Warning };

/// The actor of an event, and its location in the text.
struct Party {
  Dim3 cta{0, 0, 0};
  /// -1 if there is no particular warp; lane -1 is the whole warp.
  int warp = -1, lane = -1;
  /// Start of the instruction, 1-based, and its number of characters on that
  /// line; 0 if there is none.
  unsigned ptxLine = 0, ptxColumn = 0, ptxWidth = 0;
  /// "file:line" from .loc, empty if there is none.
  std::string source;
  /// The operation that the warp issued and that acts for it: "TMA load of 512
  /// bytes to shared 0x400". Empty if the warp itself acts.
  std::string operation;
};

/// An error of the simulated program, and the party that caused it. Ids are
/// stable and listed in include/fmha/PTX/Sim/Findings.def.
struct Finding : Party {
  std::string id;
  Severity severity = Severity::Error;
  /// What happened, with expected and got.
  std::string message;
  /// How to repair it.
  std::string fix;
  /// Description of the other side (who waits for what, who wrote last), empty
  /// if there is none; and its party, if there is one.
  std::string other;
  std::optional<Party> otherParty;
  /// The schedule that exposed it.
  Policy policy = Policy::Eager;
  uint64_t scheduleSeed = 0;
};

/// An object that blocked warps wait for: a node of the wait-for graph.
struct WaitObject {
  /// "mbarrier", "barrier", "cluster barrier", "tensor memory" or "other".
  std::string kind;
  Dim3 cta{0, 0, 0};
  /// Its address in the CTA's shared memory, if it has one, and the variable
  /// there: "full+8", "dynamic shared memory+64".
  std::optional<uint32_t> address;
  std::string name;
  /// mbarrier: the parity waited for, the running phase (from 0), the missing
  /// arrivals and bytes. Barrier: the missing threads.
  std::optional<unsigned> parityWanted;
  std::optional<uint64_t> phase;
  std::optional<int64_t> pendingArrivals, pendingBytes;
  /// Warps whose remaining code contains an instruction that may complete it.
  /// This is an upper bound, because values of registers are not tracked.
  std::vector<std::string> couldComplete;
  /// Events at the object, oldest first, at most ten.
  std::vector<std::string> events;
};

/// A phase of an mbarrier that lanes wait for and can no longer observe: it had
/// completed, and then the next one did, before they looked.
struct PhaseOverrun {
  /// The mbarrier: "full+8".
  std::string barrier;
  /// Number of the phase from 0, and its parity.
  uint64_t phase = 0;
  unsigned parity = 0;
  /// Phases since the last successful wait of these lanes, and the line of that
  /// wait; 0 if they have not observed a phase since the init.
  uint64_t completedSince = 0;
  unsigned lastWaitLine = 0;
  /// Recorded events of these phases, oldest first: "arrive 1 by warp 0 lane 0
  /// (line 9)".
  std::vector<std::string> events;
};

/// Lanes of a warp that cannot proceed.
struct BlockedPath {
  Dim3 cta{0, 0, 0};
  unsigned warp = 0;
  uint32_t lanes = 0;
  unsigned ptxLine = 0;
  std::string instruction, waits;
  /// Index into DeadlockReport::objects, or -1 if they wait for other lanes of
  /// their warp, or spin.
  int object = -1;
  /// Set if they wait for an mbarrier phase that they have missed.
  std::optional<PhaseOverrun> overrun;
};

/// A deadlock or livelock as a wait-for graph: paths wait for objects, objects
/// for the warps that could complete them.
struct DeadlockReport {
  std::vector<BlockedPath> paths;
  std::vector<WaitObject> objects;
  /// "cta 0,0,0 warp 3", and operations in flight.
  std::vector<std::string> exitedWarps, inFlight;
};

enum class Status { Ok, Findings, Deadlock, StepLimit };

struct LaunchResult {
  Status status = Status::Ok;
  /// True if a fault ended the launch before its threads exited.
  bool faulted = false;
  std::vector<Finding> findings;
  uint64_t findingsDropped = 0;
  uint64_t warpInstructions = 0;
  /// Set if the status is Deadlock.
  std::optional<DeadlockReport> deadlock;
  /// Number of cores that clusters ran on, and the reason if only one was used
  /// although more were available.
  unsigned threads = 1;
  std::string whySequential;
};

/// A parsed PTX module. Parsing is complete: text that ptxas rejects as
/// malformed throws Error::Kind::Syntax. An instruction form that the simulator
/// does not execute is an error only when an entry that reaches it is launched.
class Module {
public:
  /// Parses `text`; `name` appears in messages.
  static Module parse(std::string_view text, std::string name);
  Module(Module &&) noexcept;
  Module &operator=(Module &&) noexcept;
  ~Module();

  struct Parameter {
    std::string name;
    uint32_t size = 0, align = 1;
  };
  struct Entry {
    std::string name;
    /// The PTX line of its name.
    uint32_t line = 0;
    std::vector<Parameter> parameters;
    uint32_t staticSharedBytes = 0;
    std::optional<Dim3> requiredBlock, maxBlock, requiredCluster;
    std::optional<uint32_t> maxRegisters;
  };
  struct Global {
    std::string name;
    uint64_t size = 0;
    uint32_t align = 1;
    bool constant = false;
  };
  const std::vector<Entry> &entries() const;
  const Entry *findEntry(std::string_view name) const;
  const std::vector<Global> &globals() const;
  /// Returns the text of .target and .version, for example "sm_100a" (also for
  /// compute_100a) and "9.0".
  const std::string &target() const;
  const std::string &version() const;

  struct Impl;
  const Impl &impl() const { return *self; }

private:
  explicit Module(std::unique_ptr<Impl> self);
  std::unique_ptr<Impl> self;
};

/// Global memory and the module variables placed in it. Addresses are 64-bit
/// and never 0. Allocations are far enough apart that an access outside the
/// bounds of one never hits another.
class Device {
public:
  Device();
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// Allocates `bytes` of memory, 256-byte aligned. Reading bytes that were
  /// never written is a finding; such bytes hold `poison`.
  uint64_t allocate(uint64_t bytes, uint8_t poison = 0xCD);
  /// Allocates memory whose address is also valid in this process, so that the
  /// host can read and write it directly. Writes of the host are not tracked,
  /// so all of it counts as written.
  uint64_t allocateManaged(uint64_t bytes, uint8_t poison = 0xCD);
  /// Makes `bytes` of this process' own memory an allocation at the same
  /// address, all of it written. free() removes the allocation and does not
  /// change the memory. Throws Error::Kind::Memory if it overlaps another
  /// allocation.
  void map(void *memory, uint64_t bytes);
  /// Throws Error::Kind::Memory if `address` is not an allocation.
  void free(uint64_t address);
  /// Throw Error::Kind::Memory if the range is not inside one allocation.
  void write(uint64_t address, std::span<const std::byte> bytes);
  void read(uint64_t address, std::span<std::byte> bytes) const;
  void fill(uint64_t address, std::byte value, uint64_t bytes);
  /// Returns the allocation that holds `address` as {base, size}, or nullopt.
  std::optional<std::pair<uint64_t, uint64_t>>
  allocationOf(uint64_t address) const;
  /// Returns the address of a module's .global or .const variable. The first
  /// call places and initializes the module's variables.
  uint64_t addressOf(const Module &module, std::string_view variable);

  /// Records that the grids of the first `launches` launches in a stream end
  /// before any later launch starts, even a programmatic one. The host has
  /// synchronized with the stream, or other work in it comes in between. free()
  /// does the same for all streams.
  void finish(uint64_t stream, uint64_t launches = UINT64_MAX);
  void finishAll();
  /// Returns the number of launches so far, in all streams.
  uint64_t launches() const;

  struct Impl;
  Impl &impl() { return *self; }

private:
  std::unique_ptr<Impl> self;
};

struct LaunchConfig {
  std::string entry;
  Dim3 grid, block;
  /// Absent: the entry's .reqnctapercluster, or no cluster.
  std::optional<Dim3> cluster;
  uint32_t dynamicSharedBytes = 0;
  /// One byte string per entry parameter, each of the parameter's size.
  std::vector<std::vector<uint8_t>> parameters;
  /// A number chosen by the host. Launches of one stream are in order.
  uint64_t stream = 0;
  /// Programmatic stream serialization: the grid may start before earlier grids
  /// of its stream have ended, and griddepcontrol.wait waits for them. It still
  /// runs after them here, and accesses that do not wait are findings.
  bool programmatic = false;
};

/// Runs the grid to its end. Throws Error if the launch is impossible; errors
/// of the program are in the result.
LaunchResult launch(Device &device, const Module &module,
                    const LaunchConfig &config, const Options &options);

} // namespace ptxsim

#endif // FMHA_PTX_SIM_SIMULATOR_H
