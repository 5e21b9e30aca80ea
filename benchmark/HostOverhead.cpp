//===- HostOverhead.cpp - What a launch costs the host --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CPU time of one fmhaLaunch(), and whose it is:
//
//   host-overhead                            on a driver that does nothing
//   host-overhead KERNEL.ptx KERNEL.json...  on the driver of FMHA_DRIVER too,
//                                            with the first of the kernels that
//                                            is for its device
//
// One process measures, in turns: fmhaLaunch() on the driver that does nothing,
// a bare cuLaunchKernelEx() of the real one with the same kernel, arguments,
// grid, attributes and stream, and fmhaLaunch() on the real one. Each turn
// launches 64 times, so that the driver's queue never fills, and the device is
// waited for between turns, outside the time. Times are those of the thread's
// processor. Launches are warm, or miss each tensor map.
//
//===----------------------------------------------------------------------===//

#include "LaunchProbe.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>

using namespace fmha::benchmark;
using Json = nlohmann::ordered_json;

namespace {

struct Flags {
  double limit = 0;
  int rounds = 201, launches = 64;
  std::string json, stub;
  std::vector<std::string> files;
};

Flags parse(int argc, char **argv) {
  Flags flags;
  const std::pair<std::string, std::function<void(const char *)>> known[] = {
      {"--limit-us=", [&](const char *text) { flags.limit = std::atof(text); }},
      {"--rounds=", [&](const char *text) { flags.rounds = std::atoi(text); }},
      {"--launches=",
       [&](const char *text) { flags.launches = std::atoi(text); }},
      {"--json=", [&](const char *text) { flags.json = text; }},
      {"--stub=", [&](const char *text) { flags.stub = text; }}};
  for (int n = 1; n < argc; ++n) {
    std::string argument = argv[n];
    const auto *flag = std::ranges::find_if(known, [&](const auto &one) {
      return argument.starts_with(one.first);
    });
    if (flag != std::end(known))
      flag->second(argv[n] + flag->first.size());
    else
      flags.files.push_back(argument);
  }
  if (flags.files.size() % 2 || flags.rounds < 1 || flags.launches < 1)
    die("usage: host-overhead [--limit-us=N] [--rounds=N] [--launches=N] "
        "[--json=FILE] [--stub=LIBRARY] [KERNEL.ptx KERNEL.json]...");
  return flags;
}

/// CPU time of this thread, in microseconds.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e6 + double(time.tv_nsec) * 1e-3;
}

/// To nanoseconds.
double rounded(double microseconds) {
  return std::round(microseconds * 1000) / 1000;
}

/// Microseconds of one launch, sorted.
struct Times {
  std::vector<double> rounds;

  double at(double share) const {
    return rounds[size_t(double(rounds.size() - 1) * share + 0.5)];
  }
  double median() const { return at(0.5); }
  Json json() const {
    return {{"median", rounded(median())},
            {"p10", rounded(at(0.1))},
            {"p90", rounded(at(0.9))}};
  }
};

/// One thing to measure. `before` readies the turn, outside the time.
struct Case {
  std::string name, what;
  std::function<void()> before;
  std::function<void(int)> launch;
  Times times = {};
};

/// Measures all cases in turns; the first turn of each is not counted.
void measure(std::vector<Case> &cases, const Flags &flags,
             const std::function<void()> &wait) {
  for (int round = 0; round <= flags.rounds; ++round)
    for (Case &one : cases) {
      one.before();
      one.launch(-1);
      wait();
      double begin = now();
      for (int n = 0; n < flags.launches; ++n)
        one.launch(round * flags.launches + n);
      double time = (now() - begin) / flags.launches;
      wait();
      if (round)
        one.times.rounds.push_back(time);
    }
  for (Case &one : cases)
    std::ranges::sort(one.times.rounds);
}

std::vector<Case> casesOf(LaunchProbe &probe) {
  auto warm = [&probe](int) { probe.launch(); };
  auto missed = [&probe](int n) { probe.launchElsewhere(n); };
  std::vector<Case> cases = {{"own",
                              "fmhaLaunch() on a driver that does nothing",
                              [&probe] { probe.useStub(); }, warm}};
  if (probe.hasDriver()) {
    cases.push_back({"driver", "cuLaunchKernelEx() alone", [] {},
                     [&probe](int) { probe.launchBare(); }});
    cases.push_back({"whole", "fmhaLaunch() on the driver",
                     [&probe] { probe.useDriver(); }, warm});
  }
  cases.push_back({"own_missed", "the first, every tensor map missed",
                   [&probe] { probe.useStub(); }, missed});
  if (probe.hasDriver())
    cases.push_back({"whole_missed", "fmhaLaunch() on the driver, the same",
                     [&probe] { probe.useDriver(); }, missed});
  return cases;
}

/// fmhaLaunch() less the driver's share, where there is a driver.
std::optional<double> difference(const std::vector<Case> &cases) {
  if (cases[1].name != "driver")
    return std::nullopt;
  return cases[2].times.median() - cases[1].times.median();
}

void print(const LaunchProbe &probe, const std::vector<Case> &cases) {
  std::printf("device %s, driver %s, kernel %s\n", probe.device().c_str(),
              probe.library().c_str(), probe.kernel().c_str());
  std::printf("%-46s %8s %8s %8s\n", "CPU time of one launch, us", "median",
              "p10", "p90");
  for (const Case &one : cases)
    std::printf("%-46s %8.3f %8.3f %8.3f\n", one.what.c_str(),
                one.times.median(), one.times.at(0.1), one.times.at(0.9));
  if (auto own = difference(cases))
    std::printf("%-46s %8.3f\n", "fmhaLaunch() less cuLaunchKernelEx()", *own);
}

void write(const Flags &flags, const LaunchProbe &probe,
           const std::vector<Case> &cases) {
  Json times;
  for (const Case &one : cases)
    times[one.name] = one.times.json();
  auto own = difference(cases);
  Json result = {{"schema_version", 1},
                 {"benchmark", "host-overhead"},
                 {"device", probe.device()},
                 {"driver", probe.library()},
                 {"kernel", probe.kernel()},
                 {"rounds", flags.rounds},
                 {"launches_per_synchronization", flags.launches},
                 {"microseconds", times},
                 {"whole_less_driver", own ? Json(rounded(*own)) : Json()}};
  std::FILE *file = std::fopen(flags.json.c_str(), "w");
  std::string text = result.dump(1) + "\n";
  if (!file || std::fputs(text.c_str(), file) < 0 || std::fclose(file))
    die("cannot write " + flags.json);
}

} // namespace

int main(int argc, char **argv) {
  Flags flags = parse(argc, argv);
  LaunchProbe probe(flags.stub, flags.files);
  // It runs the kernel in the call, and its time says nothing.
  if (probe.isSimulator())
    flags.rounds = flags.launches = 1;
  std::vector<Case> cases = casesOf(probe);
  measure(cases, flags, [&] { probe.wait(); });
  print(probe, cases);
  if (!flags.json.empty())
    write(flags, probe, cases);
  const Case &judged = cases[probe.hasDriver() ? 2 : 0];
  double median = judged.times.median();
  if (flags.limit == 0 || median <= flags.limit)
    return 0;
  std::fprintf(stderr, "host-overhead: expected at most %.3f us, got %.3f\n",
               flags.limit, median);
  return 1;
}
