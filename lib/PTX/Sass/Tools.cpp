//===- Tools.cpp - Runs ptxas and nvdisasm --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Sass/Tools.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace ptxsim::sass {
namespace {

namespace fs = std::filesystem;

/// A folder of its own that is removed in the end.
class Scratch {
public:
  Scratch() {
    std::error_code error;
    std::string name = fs::temp_directory_path(error) / "ptxsim-XXXXXX";
    if (error || !mkdtemp(name.data()))
      throw ToolError("cannot make a temporary folder; TMPDIR names the folder "
                      "for it");
    folder = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  std::string path(const char *name) const { return folder / name; }

private:
  fs::path folder;
};

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

bool isProgram(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && !access(path.c_str(), X_OK);
}

std::optional<std::string> onPath(const std::string &name) {
  const char *path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (isProgram(fs::path(folder) / name))
      return fs::path(folder) / name;
  return std::nullopt;
}

std::optional<std::string> namedOrOnPath(const std::string &name,
                                         const char *variable) {
  if (const char *named = std::getenv(variable); named && *named)
    return isProgram(named) ? std::optional<std::string>(named) : std::nullopt;
  return onPath(name);
}

/// Runs a program with its output in a file; returns its exit status.
int run(std::vector<std::string> words, const std::string &output,
        const std::string &errors) {
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), flags, 0600);
  pid_t child = 0;
  int failed = posix_spawn(&child, words[0].c_str(), &actions, nullptr,
                           arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (failed || waitpid(child, &status, 0) != child)
    return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const char *variableOf(const std::string &name) {
  return name == "ptxas" ? "FMHA_PTXAS" : "FMHA_NVDISASM";
}

/// Returns the error for a program that was not found.
std::string describeMissing(const std::string &name) {
  std::string variable = variableOf(name);
  const char *named = std::getenv(variable.c_str());
  std::string where = named && *named
                          ? "expected the path of " + name + " in " + variable +
                                ", got '" + named + "', which is no program"
                          : "expected " + name + " on the PATH, got none";
  return where + "; `source scripts/setup` installs it and sets " + variable;
}

std::string required(const std::string &name) {
  if (auto path = findTool(name))
    return *path;
  throw ToolError(describeMissing(name));
}

} // namespace

std::optional<std::string> findTool(const std::string &name) {
  if (auto path = namedOrOnPath(name, variableOf(name)))
    return path;
  std::string otherName = name == "ptxas" ? "nvdisasm" : "ptxas";
  auto other = namedOrOnPath(otherName, variableOf(otherName));
  if (!other)
    return std::nullopt;
  fs::path sibling = fs::path(*other).parent_path() / name;
  return isProgram(sibling) ? std::optional<std::string>(sibling)
                            : std::nullopt;
}

std::optional<std::string> describeMissingTool() {
  for (const char *name : {"ptxas", "nvdisasm"})
    if (!findTool(name))
      return describeMissing(name);
  return std::nullopt;
}

std::string disassembledCubin(const std::string &path) {
  std::string nvdisasm = required("nvdisasm");
  Scratch scratch;
  std::string sass = scratch.path("kernel.sass"), log = scratch.path("log");
  if (run({nvdisasm, "-c", "-hex", path}, sass, log))
    throw ToolError(nvdisasm + " cannot disassemble " + path + ": " +
                    contentOf(log));
  return contentOf(sass);
}

std::string disassembled(std::string_view ptx, const std::string &target) {
  std::string ptxas = required("ptxas"), nvdisasm = required("nvdisasm");
  Scratch scratch;
  std::string text = scratch.path("kernel.ptx");
  std::string cubin = scratch.path("kernel.cubin");
  std::string sass = scratch.path("kernel.sass"), log = scratch.path("log");
  std::ofstream(text, std::ios::binary) << ptx;
  if (run({ptxas, "-lineinfo", "-arch=" + target, text, "-o", cubin},
          scratch.path("out"), log))
    throw ToolError(ptxas + " cannot assemble the PTX: " + contentOf(log));
  if (run({nvdisasm, "-c", "-hex", "-gp", cubin}, sass, log))
    throw ToolError(nvdisasm +
                    " cannot disassemble the PTX: " + contentOf(log));
  return contentOf(sass);
}

} // namespace ptxsim::sass
