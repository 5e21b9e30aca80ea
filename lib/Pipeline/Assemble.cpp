//===- Assemble.cpp - Ask ptxas ---------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Compiler.h"
#include "fmha/Pipeline/KernelCache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace llvm;
using namespace fmha;

std::optional<std::string> fmha::findPtxas() {
  if (const char *named = std::getenv("FMHA_PTXAS"))
    return sys::fs::can_execute(named) ? std::optional<std::string>(named)
                                       : std::nullopt;
  ErrorOr<std::string> found = sys::findProgramByName("ptxas");
  return found ? std::optional<std::string>(*found) : std::nullopt;
}

static std::string readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// What `combine` makes of the numbers in front of `what`, one a kernel, as in
/// "Used 128 registers"; nothing if there are none.
static std::optional<unsigned>
numbersBefore(StringRef log, StringRef what,
              function_ref<unsigned(unsigned, unsigned)> combine) {
  std::optional<unsigned> all;
  SmallVector<StringRef> match;
  Regex pattern("([0-9]+) " + what.str());
  for (unsigned value; pattern.match(log, &match);
       log = log.substr(match[0].end() - log.begin()))
    if (!match[1].getAsInteger(10, value))
      all = all ? combine(*all, value) : value;
  return all;
}

namespace {
/// A temporary file that goes away with its owner.
struct Scratch {
  SmallString<128> path;
  FileRemover remover;
  std::error_code error;
  explicit Scratch(StringRef suffix)
      : error(sys::fs::createTemporaryFile("fmha", suffix, path)) {
    if (!error)
      remover.setFile(path);
  }
  void write(StringRef text) {
    raw_fd_ostream out(path, error);
    if (error)
      return;
    out << text;
    out.close();
    error = out.error();
    // Reported by who asks, not by a fatal error of the stream.
    out.clear_error();
  }
};
} // namespace

AssembleResult fmha::assemble(const std::string &ptx,
                              const std::string &target) {
  AssembleResult result;
  std::optional<std::string> ptxas = findPtxas();
  if (!ptxas)
    return result;
  Scratch input("ptx"), output("cubin"), log("log");
  if (!input.error)
    input.write(ptx);
  for (const Scratch *file : {&input, &output, &log})
    if (file->error) {
      result.status = AssembleResult::Status::Failed;
      result.log = "cannot write a temporary file: " + file->error.message() +
                   "; TMPDIR names the folder for them\n";
      return result;
    }
  std::string arch = "-arch=" + target;
  StringRef args[] = {*ptxas, arch, "-v", "-o", output.path, input.path};
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log.path),
                                          StringRef(log.path)};
  std::string problem;
  int code =
      sys::ExecuteAndWait(*ptxas, args, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &problem);
  result.log = readFile(log.path);
  // Said by who started it: that it is no program, or that it crashed.
  if (!problem.empty())
    result.log += *ptxas + ": " + problem + "\n";
  else if (code != 0)
    result.log += *ptxas + ": exit status " + std::to_string(code) + "\n";
  result.status =
      code == 0 ? AssembleResult::Status::Ok : AssembleResult::Status::Failed;
  if (code != 0)
    return result;
  result.cubin = readFile(output.path);
  auto most = [](unsigned a, unsigned b) { return std::max(a, b); };
  auto sum = [](unsigned a, unsigned b) { return a + b; };
  result.registers = numbersBefore(result.log, "registers", most);
  result.spillStoreBytes = numbersBefore(result.log, "bytes spill stores", sum);
  result.spillLoadBytes = numbersBefore(result.log, "bytes spill loads", sum);
  return result;
}
