//===- Process.cpp - Programs that the compiler runs -----*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fmha;

Scratch::Scratch(StringRef suffix)
    : error(sys::fs::createTemporaryFile("fmha", suffix, path)) {
  if (!error)
    remover.setFile(path);
}

void Scratch::write(StringRef bytes) {
  if (error)
    return;
  raw_fd_ostream out(path, error);
  if (error)
    return;
  out << bytes;
  out.close();
  error = out.error();
  // The caller reports the error; otherwise the stream would abort.
  out.clear_error();
}

std::string Scratch::read() const {
  auto buffer = MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

std::optional<std::string>
fmha::scratchProblem(ArrayRef<const Scratch *> files) {
  for (const Scratch *file : files)
    if (file->error)
      return "cannot write a temporary file: " + file->error.message() +
             "; TMPDIR names the folder for them\n";
  return std::nullopt;
}

ProgramOutcome fmha::runProgram(const std::string &program,
                                ArrayRef<std::string> arguments) {
  ProgramOutcome outcome;
  Scratch log("log");
  if (std::optional<std::string> problem = scratchProblem(&log)) {
    outcome.code = -1;
    outcome.log = std::move(*problem);
    return outcome;
  }
  SmallVector<StringRef> line = {program};
  line.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log.path),
                                          StringRef(log.path)};
  std::string problem;
  outcome.code =
      sys::ExecuteAndWait(program, line, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &problem);
  outcome.log = log.read();
  // From llvm::sys: the program could not be started, or crashed.
  if (!problem.empty())
    outcome.log += program + ": " + problem + "\n";
  else if (outcome.code != 0)
    outcome.log +=
        program + ": exit status " + std::to_string(outcome.code) + "\n";
  return outcome;
}
