//===- ChildProcess.cpp - Commands that a benchmark times -------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChildProcess.h"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fmha::bench;

void fmha::bench::useOneCore() {
  cpu_set_t all, one;
  CPU_ZERO(&all);
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof all, &all) != 0)
    return;
  int core = 0;
  while (core < CPU_SETSIZE && !CPU_ISSET(core, &all))
    ++core;
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/// The process id, or -1.
static pid_t start(const std::vector<std::string> &command) {
  std::vector<char *> words;
  for (const std::string &word : command)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
                                   O_WRONLY, 0);
  pid_t child = -1;
  if (posix_spawnp(&child, words[0], &actions, nullptr, words.data(),
                   environ) != 0)
    child = -1;
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

static bool succeeded(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::optional<double>
fmha::bench::timeOf(const std::vector<std::string> &command) {
  auto begin = std::chrono::steady_clock::now();
  pid_t child = start(command);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !succeeded(status))
    return std::nullopt;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

std::optional<double>
fmha::bench::peakMemoryOf(const std::vector<std::string> &command) {
  pid_t child = start(command);
  if (child < 0)
    return std::nullopt;
  double peak = 0;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    peak = std::max(peak, processMemory(std::to_string(child), "VmHWM:"));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!succeeded(status))
    return std::nullopt;
  return peak;
}

double fmha::bench::processMemory(const std::string &process,
                                  const std::string &field) {
  std::ifstream status("/proc/" + process + "/status");
  for (std::string word; status >> word;) {
    double kibibytes = 0;
    if (word == field && status >> kibibytes)
      return kibibytes * 1024;
  }
  return 0;
}

void fmha::bench::resetPeakMemory() {
  std::ofstream("/proc/self/clear_refs") << "5";
}
