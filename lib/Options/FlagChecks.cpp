//===- FlagChecks.cpp - Check combinations of flags -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlagChecks.h"
#include "fmha/Runtime/Files.h"

#include "llvm/Support/MathExtras.h"

namespace fmha::tools {

using runtime::failure;

static llvm::Error checkView(const schedule::Problem &problem) {
  if (!problem.vInK || problem.headDimV <= problem.headDim)
    return llvm::Error::success();
  return failure("--v-in-k: expected a --head-dim-v of at most the head dim, " +
                 llvm::Twine(problem.headDim) + ", whose columns V is, got " +
                 llvm::Twine(problem.headDimV));
}

/// Returns an error if a mask or lengths of the second KV segment are given,
/// but the segment is not.
static llvm::Error checkSource2(const ProblemFlags &flags) {
  bool causal =
      flags.source2Mask.value_or(schedule::Mask::None) != schedule::Mask::None;
  if (flags.hasSource2() || !(flags.source2Lens || causal))
    return llvm::Error::success();
  return failure("--source2-" + llvm::Twine(causal ? "mask" : "lens") +
                 ": expected a second KV segment with it, --source2-k=F.npy "
                 "or --source2-len=N, got none");
}

static llvm::Error checkSoftcap(const ProblemFlags &flags) {
  if (!flags.softcapApprox || flags.softcap)
    return llvm::Error::success();
  return failure("--softcap-approx: expected --softcap=X with it, whose tanh "
                 "may be approximate, got none");
}

/// Returns an error if only one of --block-tables and --page-size is given, the
/// page size is invalid, or a flag excludes paged caches or is missing.
static llvm::Error checkPages(const ProblemFlags &flags) {
  if (flags.blockTables && !flags.pageSize)
    return failure("--block-tables: expected --page-size=N with it, the keys "
                   "of a page, got none");
  if (!flags.blockTables && flags.pageSize)
    return failure("--page-size: expected --block-tables with it, which names "
                   "the pages of each sequence, got none");
  if (flags.pageSize && !llvm::isPowerOf2_64(*flags.pageSize))
    return failure("--page-size: expected a power of two from 1 to 256, got " +
                   llvm::Twine(*flags.pageSize));
  if (flags.blockTables && !flags.kvLens)
    return failure("--block-tables: expected --kv-lens with it, the keys of "
                   "each sequence, got none");
  for (auto [name, given] :
       {std::pair("cu-seqlens-k", flags.cuSeqlensK.has_value()),
        std::pair("source2-k", flags.hasSource2())})
    if (flags.blockTables && given)
      return failure("--block-tables and --" + llvm::Twine(name) +
                     ": expected one of them, got both; leave one out");
  return llvm::Error::success();
}

/// Checks the columns that rotate, and, where no other kernel can rotate keys
/// and queries, that the kernel appends keys.
static llvm::Error checkRotary(const ProblemFlags &flags,
                               const schedule::Problem &problem) {
  if (!flags.hasRotary())
    return flags.rotaryDim ? failure("--rotary-dim: expected --rotary=half or "
                                     "--rotary=interleaved with it, got none")
                           : llvm::Error::success();
  uint64_t dim = flags.rotaryDim.value_or(problem.headDim);
  if (dim % 2 || dim > problem.headDim)
    return failure("--rotary-dim=" + llvm::Twine(dim) +
                   ": expected an even number of at most the head dim, " +
                   llvm::Twine(problem.headDim));
  if (problem.keyNew && problem.kvE4M3)
    return failure("--rotary: expected keys of f16, bf16 or f32, which rotate "
                   "before they are quantized, got e4m3; rotate keys and "
                   "queries beforehand");
  if (flags.keyNew || flags.needsFiles)
    return llvm::Error::success();
  return failure("--rotary: expected --key-new and --value-new with it, since "
                 "only a kernel that appends rotates, got neither; add both, "
                 "or compile a module with fmha.append");
}

/// Checks that a kernel of fmha.append can append where it has to.
static llvm::Error checkApart(const ProblemFlags &flags,
                              const schedule::Problem &problem) {
  if (!flags.appendsApart.value_or(false))
    return llvm::Error::success();
  if (!flags.keyNew && !flags.hasRotary())
    return failure("--append-apart: expected --key-new and --value-new with "
                   "it, or --rotary, got none; leave it out");
  if (!problem.keyNew)
    return llvm::Error::success();
  return failure("--append-apart: expected caches of f16 or bf16 in dimensions "
                 "[..., dim], which fmha.append takes, got others; leave it "
                 "out, so that the kernel of attention appends");
}

/// Returns whether a schedule serves the problem, which the planner reports if
/// none does.
static bool hasSchedule(const ProblemFlags &flags,
                        const schedule::Problem &problem) {
  std::string error;
  return schedule::plan(withHints(problem, hintsOf(flags)), flags.target,
                        flags.overrides, error)
      .has_value();
}

/// Checks that new keys and values come together, and, where no other kernel
/// can append them (`needsFiles` is not set), that the kernel does.
static llvm::Error checkAppend(const ProblemFlags &flags,
                               const schedule::Problem &problem) {
  if (flags.keyNew.has_value() != flags.valueNew.has_value())
    return failure("--key-new and --value-new: expected both, or neither, got "
                   "one; keys and values are appended together");
  if (llvm::Error error = checkRotary(flags, problem))
    return error;
  if (llvm::Error error = checkApart(flags, problem))
    return error;
  if (!flags.keyNew || flags.needsFiles || problem.keyNew ||
      !hasSchedule(flags, problem))
    return llvm::Error::success();
  return failure("--key-new: expected a kernel that appends: of plain threads, "
                 "or of tensor cores if one CTA has all queries and heads of a "
                 "KV head (plan.C8), got neither; give --q-len, --q-heads and "
                 "--kv-heads, add --family=fma, or compile a module with "
                 "fmha.append");
}

/// Checks that nothing else selects keys where lists per query do.
static llvm::Error checkTopk(const ProblemFlags &flags,
                             const schedule::Problem &problem) {
  const std::pair<const char *, bool> others[] = {
      {"cu-seqlens-q", problem.cuSeqlensQ},
      {"cu-seqlens-k", problem.cuSeqlensK},
      {"source2-k", flags.hasSource2()}};
  for (auto [name, given] : others)
    if (problem.topk && given)
      return failure("--topk and --" + llvm::Twine(name) +
                     ": expected one of them, got both; each query has a list "
                     "of its own, of keys of its sequence");
  return llvm::Error::success();
}

/// Checks that counts and lists of blocks come together, with the size of a
/// block.
static llvm::Error checkBlocks(const ProblemFlags &flags,
                               const schedule::Problem &problem) {
  const std::tuple<const char *, bool, const char *, bool> pairs[] = {
      {"kv-num-blocks", problem.kvNumBlocks, "kv-indices", problem.kvIndices},
      {"full-kv-num-blocks", problem.fullKvNumBlocks, "full-kv-indices",
       problem.fullKvIndices}};
  for (auto [counts, hasCounts, lists, hasLists] : pairs)
    if (hasCounts != hasLists)
      return failure("--" + llvm::Twine(counts) + " and --" + lists +
                     ": expected both, or neither, got one of them");
  if (problem.fullKvIndices && !problem.kvIndices)
    return failure("--full-kv-indices: expected --kv-num-blocks and "
                   "--kv-indices with it, got neither; give counts of 0");
  for (auto [name, given] : {std::pair("block-rows", flags.blockRows),
                             {"block-keys", flags.blockKeys}}) {
    if (problem.kvIndices && !given)
      return failure("--kv-indices: expected --" + llvm::Twine(name) +
                     "=N with it, the size of a block, got none");
    if (given && !problem.kvIndices)
      return failure("--" + llvm::Twine(name) +
                     ": expected --kv-num-blocks and --kv-indices with it, "
                     "which list blocks, got neither");
  }
  const std::pair<const char *, bool> others[] = {
      {"cu-seqlens-q", problem.cuSeqlensQ},
      {"cu-seqlens-k", problem.cuSeqlensK},
      {"source2-k", flags.hasSource2()},
      {"block-tables", problem.blockTables},
      {"topk", problem.topk}};
  for (auto [name, given] : others)
    if (problem.kvIndices && given)
      return failure("--kv-indices and --" + llvm::Twine(name) +
                     ": expected one of them, got both; leave one out");
  return llvm::Error::success();
}

/// Checks that keys in vectors are those of a dense cache of one segment.
static llvm::Error checkVectors(const ProblemFlags &flags,
                                const schedule::Problem &problem) {
  if (!flags.hasKeyVectors())
    return llvm::Error::success();
  if (flags.blockTables)
    return failure("--cache-layout=mmha: expected a cache without pages, got "
                   "--block-tables; take nhd or hnd");
  for (auto [name, given] : {std::pair("v-in-k", problem.vInK),
                             std::pair("source2-k", flags.hasSource2()),
                             std::pair("cu-seqlens-k", problem.cuSeqlensK)})
    if (given)
      return failure("--cache-layout=mmha and --" + llvm::Twine(name) +
                     ": expected one of them, got both; leave one out");
  unsigned unit = 16 / schedule::bytesOf(problem.kvDtype());
  if (problem.headDim % unit == 0)
    return llvm::Error::success();
  return failure(
      "--cache-layout=mmha: expected a head dim of whole vectors of " +
      llvm::Twine(unit) + " elements, got " + llvm::Twine(problem.headDim));
}

/// Checks the types of k, v and the output against that of q.
static llvm::Error checkTypes(const ProblemFlags &flags,
                              const schedule::Problem &problem) {
  using enum schedule::DataType;
  auto text = [](auto type) { return llvm::StringRef(stringify(type)); };
  if (flags.kvDtype && *flags.kvDtype != problem.kvDtype())
    return failure("--kv-dtype: expected " + text(problem.dtype) +
                   ", the type of q (--dtype)" +
                   (problem.dtype == E4M3 ? "" : ", or e4m3") + ", got " +
                   text(*flags.kvDtype));
  schedule::DataType out = problem.outDtype();
  if (out == problem.dtype || out == F32 || problem.kvE4M3)
    return llvm::Error::success();
  return failure("--out-dtype: expected " + text(problem.dtype) +
                 ", the type of q, k and v" +
                 (problem.dtype == F32 ? "" : ", or f32") + ", got " +
                 text(out) + "; convert the result instead");
}

/// Checks that tensors of e4m3 have scales, and that others have none.
static llvm::Error checkScales(const schedule::Problem &problem) {
  bool isOfQueries = problem.dtype == schedule::DataType::E4M3;
  const std::tuple<llvm::StringLiteral, llvm::StringLiteral, bool, bool> all[] =
      {{"k-scale", "kv-dtype", problem.kScale, problem.kvE4M3},
       {"v-scale", "kv-dtype", problem.vScale, problem.kvE4M3},
       {"q-scale", "dtype", problem.qScale, isOfQueries}};
  for (auto [name, flag, given, wanted] : all) {
    if (wanted && !given)
      return failure("--" + llvm::Twine(isOfQueries ? "dtype" : "kv-dtype") +
                     "=e4m3: expected --" + name +
                     " with it, the factor of stored numbers, got none; pass "
                     "--" +
                     name + "=1 for values as they are stored");
    if (given && !wanted)
      return failure("--" + name + ": expected --" + flag +
                     "=e4m3 with it, since it scales stored numbers of e4m3, "
                     "got none; leave it out");
  }
  if (problem.scalePerHead && problem.scalePerPage)
    return failure("--scale-per-head and --scale-per-page: expected one of "
                   "them, got both; leave one out");
  if (problem.scalePerPage && !problem.blockTables)
    return failure("--scale-per-page: expected --block-tables with it, whose "
                   "pages have a scale each, got none; take --scale-per-head, "
                   "or one scale");
  if ((problem.scalePerHead || problem.scalePerPage) && !problem.kvE4M3)
    return failure("--scale-per-" +
                   llvm::Twine(problem.scalePerHead ? "head" : "page") +
                   ": expected --kv-dtype=e4m3 with it, got none; leave it "
                   "out");
  return llvm::Error::success();
}

llvm::Error checkTogether(const ProblemFlags &flags,
                          const schedule::Problem &problem) {
  if (llvm::Error error = checkView(problem))
    return error;
  if (llvm::Error error = checkSource2(flags))
    return error;
  if (llvm::Error error = checkSoftcap(flags))
    return error;
  if (llvm::Error error = checkTopk(flags, problem))
    return error;
  if (llvm::Error error = checkBlocks(flags, problem))
    return error;
  if (llvm::Error error = checkAppend(flags, problem))
    return error;
  if (llvm::Error error = checkTypes(flags, problem))
    return error;
  if (llvm::Error error = checkScales(problem))
    return error;
  if (llvm::Error error = checkVectors(flags, problem))
    return error;
  return checkPages(flags);
}

} // namespace fmha::tools
