//===- FileAgreement.cpp - Compare flags with an input file ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FactFlags.h"
#include "FlagChecks.h"
#include "fmha/Runtime/Files.h"

#include "llvm/Support/Format.h"

#include <cmath>

namespace fmha::tools {

using runtime::failure;

/// Returns an error if the flag is given and contradicts the file.
template <typename Value, typename Print>
static llvm::Error agree(llvm::StringRef flag,
                         const std::optional<Value> &given, Value there,
                         llvm::StringRef file, Print print) {
  if (!given || *given == there)
    return llvm::Error::success();
  return failure("--" + flag + "=" + print(*given) + " contradicts '" + file +
                 "': expected " + print(there) +
                 "; leave the flag out, or change the file");
}

static llvm::Error checkWindow(llvm::StringRef flag,
                               std::optional<int64_t> given,
                               std::optional<unsigned> there,
                               llvm::StringRef file) {
  auto number = [](int64_t value) {
    return value < 0 ? std::string("no bound") : std::to_string(value);
  };
  if (given && *given < 0)
    given = -1;
  return agree<int64_t>(flag, given, there ? int64_t(*there) : -1, file,
                        number);
}

static llvm::Error checkFact(llvm::StringRef flag,
                             const std::optional<bool> &given, bool there,
                             llvm::StringRef file) {
  return agree(flag, given, there, file,
               [](bool on) { return std::string(on ? "true" : "false"); });
}

/// Returns an error if flags give varlen metadata that the op does not have.
static llvm::Error checkFact(llvm::StringRef flag,
                             const std::optional<std::string> &given,
                             bool there, llvm::StringRef file) {
  if (!given || there)
    return llvm::Error::success();
  return failure("--" + flag + " contradicts '" + file +
                 "': expected an op with that operand, got one without; "
                 "leave the flag out, or change the file");
}

static llvm::Error checkFacts(const ProblemFlags &flags,
                              const schedule::Problem &problem) {
  std::optional<std::string> source2 =
      flags.hasSource2() ? std::optional(std::string()) : std::nullopt;
  llvm::Error error =
      checkFact("source2-k", source2, problem.source2, flags.input);
  forEachFlag(flags, [&](auto name, auto, const auto &given, auto there) {
    if (!error)
      error =
          checkFact(schedule::flagOf(name), given, problem.*there, flags.input);
  });
  return error;
}

/// Checks flags that describe the score region of the op: they must read as
/// many tensors as it does.
static llvm::Error checkScore(const ProblemFlags &flags,
                              const schedule::Problem &problem) {
  ScoreSpec given = scoreOf(flags);
  unsigned reads = given.alibi + given.bias + given.mask;
  if (!given.any() ||
      (problem.score && reads == unsigned(problem.captures.size())))
    return llvm::Error::success();
  return failure("--softcap, --alibi, --bias and --mask-file contradict '" +
                 flags.input +
                 "': expected the flags to say what its op's "
                 "code on scores does, which reads " +
                 llvm::Twine(problem.captures.size()) +
                 " tensors; leave the flags out, or change the file");
}

llvm::Error checkAgainst(const ProblemFlags &flags, const KernelSpec &spec) {
  auto name = [](auto value) { return std::string(stringify(value)); };
  auto number = [](auto value) { return std::to_string(value); };
  auto real = [](double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.17g", value);
    return text;
  };
  const schedule::Problem &problem = spec.problem;
  if (llvm::Error error =
          agree("dtype", flags.dtype, problem.dtype, flags.input, name))
    return error;
  if (llvm::Error error =
          agree("mask", flags.mask, problem.mask.kind, flags.input, name))
    return error;
  if (llvm::Error error = agree("source2-mask", flags.source2Mask,
                                problem.mask2.kind, flags.input, name))
    return error;
  if (llvm::Error error = checkWindow("window-left", flags.windowLeft,
                                      problem.mask.left, flags.input))
    return error;
  if (llvm::Error error = checkWindow("window-right", flags.windowRight,
                                      problem.mask.right, flags.input))
    return error;
  if (llvm::Error error = agree<uint64_t>("head-dim", flags.headDim,
                                          problem.headDim, flags.input, number))
    return error;
  if (llvm::Error error = agree<uint64_t>(
          "head-dim-v", flags.headDimV, problem.headDimV, flags.input, number))
    return error;
  if (llvm::Error error = agree<uint64_t>(
          "page-size", flags.pageSize, problem.pageSize, flags.input, number))
    return error;
  for (auto [flag, given, there] :
       {std::tuple("block-rows", flags.blockRows, problem.blockRows),
        {"block-keys", flags.blockKeys, problem.blockKeys}})
    if (llvm::Error error =
            agree<uint64_t>(flag, given, there, flags.input, number))
      return error;
  if (llvm::Error error = agree("kv-dtype", flags.kvDtype, problem.kvDtype(),
                                flags.input, name))
    return error;
  if (llvm::Error error = agree("out-dtype", flags.outDtype, problem.outDtype(),
                                flags.input, name))
    return error;
  if (llvm::Error error = checkFacts(flags, problem))
    return error;
  if (llvm::Error error = checkScore(flags, problem))
    return error;
  double scale = spec.scale.value_or(1 / std::sqrt(double(problem.headDim)));
  // A scale in MLIR text may be an f32 literal.
  if (flags.scale && float(*flags.scale) == float(scale))
    return llvm::Error::success();
  return agree("scale", flags.scale, scale, flags.input, real);
}

llvm::Error adoptExtents(ProblemFlags &flags, const KernelSpec &spec) {
  struct {
    const char *flag;
    std::optional<uint64_t> &given;
    const std::optional<uint64_t> &fixed;
  } extents[] = {{"batch", flags.batch, spec.batch},
                 {"q-len", flags.qLen, spec.qLen},
                 {"kv-len", flags.kvLen, spec.kvLen},
                 {"q-heads", flags.qHeads, spec.qHeads},
                 {"kv-heads", flags.kvHeads, spec.kvHeads},
                 {"source2-len", flags.source2Len, spec.kvLen2}};
  auto number = [](uint64_t value) { return std::to_string(value); };
  for (auto &[flag, given, fixed] : extents) {
    if (!fixed)
      continue;
    if (llvm::Error error =
            agree<uint64_t>(flag, given, *fixed, flags.input, number))
      return error;
    given = fixed;
  }
  return llvm::Error::success();
}

} // namespace fmha::tools
