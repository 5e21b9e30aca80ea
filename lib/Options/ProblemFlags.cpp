//===- ProblemFlags.cpp - The flags that describe a problem ---------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Options/ProblemFlags.h"
#include "FactFlags.h"
#include "FlagChecks.h"
#include "fmha/Pipeline/SelectFunction.h"
#include "fmha/Runtime/Files.h"
#include "fmha/Target/Target.h"
#include "fmha/Version.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"

#include <cmath>

namespace fmha::tools {

using runtime::failure;

/// Returns whether the flag is set and true.
static bool isSo(std::optional<bool> flag) { return flag.value_or(false); }
static bool isSo(const std::optional<std::string> &f) { return bool(f); }

/// Returns the help of an extent. Without data, its default is "unknown".
static std::string helpOf(const char *extent, const char *usual, bool hasData) {
  return std::string(extent) + " (default" +
         (hasData ? std::string(" ") + usual : ": unknown") + ")";
}

void ProblemFlags::add(FlagTable &table) {
  table.group("Problem");
  addTypes(table);
  table.addCount("batch", "batch size (default 1)", batch);
  table.addCount("q-heads", helpOf("query heads", "1", needsFiles), qHeads, 1);
  table.addCount("kv-heads",
                 "KV heads; divides the query heads (default q-heads)", kvHeads,
                 1);
  table.addCount("q-len", helpOf("length of q", "128", needsFiles), qLen);
  table.addCount("kv-len", "length of k and v (default q-len)", kvLen);
  table.addCount("kv-len-mean", "mean length with kv-lens (default kv-len)",
                 kvLenMean);
  table.addCount("head-dim", "head dimension of q and k (default 128)", headDim,
                 1, 1 << 16);
  table.addCount("head-dim-v", "head dimension of v (default head-dim)",
                 headDimV, 1, 1 << 16);
  table.addSwitch("causal", "causal mask, aligned bottom-right",
                  [this](bool on) {
                    mask = on ? schedule::Mask::Causal : schedule::Mask::None;
                  });
  table.addChoice("mask", {"none", "causal", "causal-top-left"},
                  "the mask by name; row i is aligned with key i + kv-len - "
                  "q-len, or with key i if top-left",
                  [this](size_t i) { mask = schedule::Mask::Kind(i); });
  addWindow(table, "window-left", "keys before the aligned one that a row sees",
            windowLeft);
  addWindow(table, "window-right", "keys after the aligned one that a row sees",
            windowRight);
  addFacts(table);
  addPages(table);
  addBlocks(table);
  addAppend(table);
  addSource2(table);
  addScore(table);
  table.addNumber("scale", "factor of the scores (default 1/sqrt(head-dim))",
                  scale);
  table.addWord("layout", {"bshd", "bhsd"},
                "[batch, length, heads, dim] (default) or [batch, heads, "
                "length, dim]",
                layout);
  table.group("Kernel");
  table.addText("target", llvm::join(target::names(/*supported=*/true), "|"),
                "GPU to compile for (default sm_100a)", target);
  table.addChoice("p-placement", {"auto", "tmem", "smem", "registers"},
                  "where P is kept for the second product", [this](size_t i) {
                    overrides.pPlacement = schedule::PPlacement(i);
                  });
  for (const schedule::ScheduleField &field : schedule::scheduleFields())
    addField(table, field);
  table.addText("schedule", "#fmha.schedule<...>",
                "the whole schedule, as fmha-compile --emit=mlir "
                "--compile-to=tiled prints it; its target is --target, and "
                "fields left out have the default of sm_100a (for sm_90a give "
                "q_tile_rows = 64 and p_placement)",
                schedule);
}

void ProblemFlags::addTypes(FlagTable &table) {
  std::vector<std::string> types(std::begin(schedule::dataTypeNames),
                                 std::end(schedule::dataTypeNames));
  table.addChoice(
      "dtype", types,
      "type of q, k, v and the output (default bf16). With e4m3, whose .npy "
      "files are bytes (uint8), the output is bf16 unless out-dtype is given",
      [this](size_t i) { dtype = schedule::DataType(i); });
  auto orAuto = [](std::optional<schedule::DataType> &type) {
    return [&type](size_t i) {
      type = i ? std::optional(schedule::DataType(i - 1)) : std::nullopt;
    };
  };
  types.insert(types.begin(), "auto");
  table.addChoice("out-dtype", {types.begin(), types.end() - 1},
                  "type of the output: that of q, k and v (default), or f32; "
                  "any if k and v are e4m3",
                  orAuto(outDtype));
  table.addChoice("kv-dtype", types,
                  "type of k and v: that of q (default), or e4m3, with "
                  "k-scale and v-scale",
                  orAuto(kvDtype));
}

ScoreSpec scoreOf(const ProblemFlags &flags) {
  return {.softcap = flags.softcap,
          .alibi = flags.alibi.has_value(),
          .bias = flags.bias.has_value(),
          .mask = flags.maskFile.has_value(),
          .softcapApprox = flags.softcapApprox};
}

/// The error of tanh is up to 2^-20, and the cap multiplies it.
constexpr double largestSoftcap = 256;
/// The name of the module that is built from flags.
constexpr llvm::StringLiteral flagsName = "<flags>";

static llvm::Error readSoftcap(llvm::StringRef text,
                               std::optional<double> &softcap) {
  double cap = 0;
  bool isInRange = !text.getAsDouble(cap) && cap > 0 && cap <= largestSoftcap;
  if (isInRange && std::isnormal(float(cap))) {
    softcap = cap;
    return llvm::Error::success();
  }
  if (isInRange)
    return failure("--softcap: expected a normal number of f32, 1.17549435e-38 "
                   "or more, by which scores can be divided, got '" +
                   text + "'");
  return failure("--softcap: expected a positive number of at most 256, beyond "
                 "which its tanh is too coarse, got '" +
                 text + "'");
}

void ProblemFlags::addScore(FlagTable &table) {
  auto addFile = [&](llvm::StringRef name, llvm::StringRef type,
                     llvm::StringRef help, std::optional<std::string> &file) {
    table.addOptionalText(
        name, type, help, [&file](std::string text) { file = text; },
        !needsFiles);
  };
  table.add(
      "softcap", "X", "scores become X tanh(s / X), after scaling",
      [this](llvm::StringRef text) { return readSoftcap(text, softcap); });
  table.addSwitch("softcap-approx",
                  "its tanh may be approximate: one instruction, off by up to "
                  "2^-11",
                  [this](bool on) { softcapApprox = on; });
  addFile("alibi", "F.npy",
          "float32 [q_heads]: slope times the distance of row and key is "
          "subtracted",
          alibi);
  addFile("bias", "F.npy",
          "added to the scores: float32 [batch, q_heads, q_len, kv_len]; an "
          "extent may be 1, and the first ones may be left out",
          bias);
  addFile("mask-file", "F.npy",
          "bool of the same shape: true lets a row see a key", maskFile);
}

void ProblemFlags::addFacts(FlagTable &table) {
  auto add = [&]<typename T>(llvm::StringRef name, llvm::StringRef help,
                             std::optional<T> &fact, bool schedule::Facts::*) {
    if constexpr (std::is_same_v<T, bool>)
      table.addSwitch(schedule::flagOf(name), help,
                      [&fact](bool on) { fact = on; });
    else {
      bool isScale = &fact == &kScale || &fact == &vScale || &fact == &qScale;
      const void *random[] = {&blockTables,  &topk,      &kvLens,
                              &kvNumBlocks,  &kvIndices, &fullKvNumBlocks,
                              &fullKvIndices};
      table.addOptionalText(
          schedule::flagOf(name), isScale ? "X|F.npy" : "F.npy", help,
          [&fact](std::string text) { fact = text; },
          !needsFiles || isScale || llvm::is_contained(random, &fact));
    }
  };
  forEachFlag(*this, add);
  table.addAlias("unnormalized", "unnormalised");
}

void ProblemFlags::addPages(FlagTable &table) {
  table.addCount("page-size",
                 "keys of a page, 1 to 256, a power of two; with block-tables",
                 pageSize, 1, 256);
  table.addWord("cache-layout", {"nhd", "hnd", "mmha"},
                "k and v with block-tables: [pages, size, heads, dim] "
                "(default) or [pages, heads, size, dim]; without them, mmha: k "
                "[batch, heads, dim / x, length, x] in vectors of 16 bytes, v "
                "[batch, heads, length, dim]",
                cacheLayout);
}

void ProblemFlags::addBlocks(FlagTable &table) {
  constexpr uint64_t most = 1 << 28;
  table.addCount("block-rows", "queries of a block; with kv-indices", blockRows,
                 1, most);
  table.addCount("block-keys",
                 "keys of a block, a multiple of 16; with kv-indices",
                 blockKeys, 1, most);
}

void ProblemFlags::addSource2(FlagTable &table) {
  auto addFile = [&](llvm::StringRef name, llvm::StringRef help,
                     std::optional<std::string> &file) {
    table.addOptionalText(name, "F.npy", help,
                          [&file](std::string text) { file = text; });
  };
  addFile("source2-k",
          "keys of a second KV segment under the same softmax, one batch per "
          "sequence",
          source2K);
  addFile("source2-v", "its values", source2V);
  table.addCount(
      "source2-len",
      "length of a second KV segment, without files (default kv-len)",
      source2Len);
  table.addChoice("source2-mask", {"none", "causal", "causal-top-left"},
                  "mask of the second KV segment (default none)",
                  [this](size_t i) { source2Mask = schedule::Mask::Kind(i); });
}

void ProblemFlags::addWindow(FlagTable &table, llvm::StringRef name,
                             const std::string &help,
                             std::optional<int64_t> &bound) {
  table.add(name, "N", help + " (default and negative: all)",
            [name, &bound](llvm::StringRef text) -> llvm::Error {
              int64_t number = 0;
              if (text.getAsInteger(10, number) ||
                  number > int64_t(schedule::Mask::largestWindow))
                return failure("--" + name +
                               ": expected a number of at most 2^30, or a "
                               "negative one for no bound, got '" +
                               text + "'");
              bound = number;
              return llvm::Error::success();
            });
}

void ProblemFlags::addField(FlagTable &table,
                            const schedule::ScheduleField &field) {
  if (!field.words.empty()) {
    std::vector<std::string> words = {"auto"};
    words.insert(words.end(), field.words.begin(), field.words.end());
    return table.addChoice(
        field.flag, words, field.help, [this, &field](size_t i) {
          field.parse(i ? field.words[i - 1] : "auto", overrides);
        });
  }
  table.add(field.flag, field.values, field.help,
            [this, &field](llvm::StringRef text) -> llvm::Error {
              if (field.parse(text, overrides))
                return llvm::Error::success();
              return failure("--" + llvm::Twine(field.flag) + ": expected " +
                             field.expected() + ", got '" + text + "'");
            });
}

/// Returns the bound, or nullopt if the flag is absent or negative.
static std::optional<unsigned> boundOf(std::optional<int64_t> flag) {
  return flag && *flag >= 0 ? std::optional<unsigned>(*flag) : std::nullopt;
}

static KernelSpec specOf(const ProblemFlags &flags) {
  KernelSpec spec;
  schedule::Problem &problem = spec.problem;
  problem.dtype = flags.dtype.value_or(schedule::DataType::BF16);
  problem.headDim = unsigned(flags.headDim.value_or(128));
  problem.headDimV = unsigned(flags.headDimV.value_or(problem.headDim));
  problem.mask = flags.mask.value_or(schedule::Mask::None);
  problem.mask.left = boundOf(flags.windowLeft);
  problem.mask.right = boundOf(flags.windowRight);
  forEachFlag(flags, [&](auto, auto, const auto &flag, auto there) {
    problem.*there = isSo(flag);
  });
  problem.pageSize = unsigned(flags.pageSize.value_or(0));
  problem.blockRows = unsigned(flags.blockRows.value_or(0));
  problem.blockKeys = unsigned(flags.blockKeys.value_or(0));
  using enum schedule::DataType;
  problem.kvE4M3 = problem.dtype == E4M3 || flags.kvDtype == E4M3;
  problem.setOutDtype(
      flags.outDtype.value_or(problem.dtype == E4M3 ? BF16 : problem.dtype));
  problem.source2 = flags.hasSource2();
  problem.keyVectors = flags.hasKeyVectors();
  problem.mask2 = flags.source2Mask.value_or(schedule::Mask::None);
  spec.score = scoreOf(flags);
  const schedule::Hints hints = hintsOf(flags);
  problem.qLenHint = hints.qLen;
  problem.kvLenHint = hints.kvLen;
  flags.describeAppend(problem);
  spec.scale = flags.scale;
  return spec;
}

llvm::Error checkScheduleFlag(const ProblemFlags &flags) {
  if (flags.schedule.empty() || flags.input.empty())
    return llvm::Error::success();
  return failure("--schedule goes with a kernel that flags describe: expected "
                 "no input file with it, got '" +
                 flags.input + "'; write {schedule = ...} on its op");
}

/// Parses the schedule before it is inserted into a module, so that an error
/// names the flag.
static llvm::Expected<std::string> readScheduleFlag(const ProblemFlags &flags) {
  if (flags.schedule.empty())
    return std::string();
  if (!llvm::StringRef(flags.schedule).starts_with("#"))
    return failure("--schedule: expected #fmha.schedule<...>, such as "
                   "'#fmha.schedule<q_tiles = 1>', got '" +
                   flags.schedule + "'");
  ScheduleText read = readSchedule(flags.schedule, "--schedule", flags.target);
  if (!read.ok)
    return failureOf(read.diagnostics);
  return std::move(read.text);
}

llvm::Error checkHeads(const ProblemFlags &flags) {
  uint64_t qHeads = flags.qHeads.value_or(1);
  uint64_t kvHeads = flags.kvHeads.value_or(qHeads);
  if (kvHeads != 0 && qHeads % kvHeads == 0)
    return llvm::Error::success();
  return failure("--q-heads=" + llvm::Twine(qHeads) +
                 " --kv-heads=" + llvm::Twine(kvHeads) +
                 ": expected the query heads to be a multiple of the KV "
                 "heads; change one of the two");
}

schedule::Hints hintsOf(const ProblemFlags &flags) {
  auto hint = [](std::optional<uint64_t> extent) {
    return unsigned(std::min<uint64_t>(extent.value_or(0), INT32_MAX));
  };
  return {.batch = hint(flags.batch),
          .qHeads = hint(flags.qHeads),
          .kvHeads = hint(flags.kvHeads ? flags.kvHeads : flags.qHeads),
          .qLen = hint(flags.qLen),
          .kvLen = hint(flags.seenKeys()),
          .kvLenMean = hint(flags.kvLenMean)};
}

/// Sets the sizes of pages and blocks that the file has.
static void adoptSizes(ProblemFlags &flags, const schedule::Problem &problem) {
  if (problem.pageSize)
    flags.pageSize = problem.pageSize;
  if (problem.blockRows) {
    flags.blockRows = problem.blockRows;
    flags.blockKeys = problem.blockKeys;
  }
}

llvm::Expected<Source> resolveSource(ProblemFlags &flags) {
  Source source;
  if (llvm::Error error = checkScheduleFlag(flags))
    return std::move(error);
  if (flags.input.empty()) {
    source.spec = specOf(flags);
    if (llvm::Error error = checkTogether(flags, source.spec.problem))
      return std::move(error);
    if (llvm::Error error = checkHeads(flags))
      return std::move(error);
    auto schedule = readScheduleFlag(flags);
    if (!schedule)
      return schedule.takeError();
    source.spec.schedule = std::move(*schedule);
    source.text = buildModule(source.spec);
    source.name = flagsName.str();
    return source;
  }
  auto text = runtime::readFile(flags.input);
  if (!text)
    return text.takeError();
  source.name = flags.input == "-" ? "<stdin>" : flags.input;
  auto selected = selectFunction(*text, source.name, flags.function,
                                 flags.functionMayDiffer);
  if (!selected)
    return selected.takeError();
  source.text = std::move(selected->text);
  source.ignored = std::move(selected->ignored);
  CompileResult result = inspect(source.text, source.name);
  if (!result.ok)
    return failureOf(result.diagnostics);
  source.spec = result.spec;
  source.isAttention = result.isAttention;
  source.spec.score = scoreOf(flags);
  if (!source.isAttention)
    return source;
  if (llvm::Error error = checkAgainst(flags, source.spec))
    return std::move(error);
  if (llvm::Error error = adoptExtents(flags, source.spec))
    return std::move(error);
  if (source.spec.problem.keyVectors)
    flags.cacheLayout = "mmha";
  else if (flags.hasKeyVectors())
    return failure("--cache-layout=mmha contradicts '" + flags.input +
                   "': expected an op with keys in vectors, [batch, length, "
                   "heads, dim / x, x], got one without; leave the flag out, "
                   "or change the file");
  adoptSizes(flags, source.spec.problem);
  if (llvm::Error error = flags.adoptAppend(source.spec))
    return std::move(error);
  // The file does not give numbers of heads that it leaves dynamic.
  if (flags.qHeads && flags.kvHeads)
    if (llvm::Error error = checkHeads(flags))
      return std::move(error);
  return source;
}

std::string formatDiagnostics(const std::vector<Diagnostic> &diagnostics) {
  constexpr llvm::StringLiteral names[] = {"error", "warning", "remark",
                                           "note"};
  std::string text;
  for (const Diagnostic &diagnostic : diagnostics) {
    if (!text.empty())
      text += "\n";
    // A location in a module that was built from flags does not help the user.
    llvm::StringRef place = diagnostic.location;
    if (!place.empty() && !place.starts_with(flagsName))
      text += diagnostic.location + ": ";
    text +=
        names[size_t(diagnostic.severity)].str() + ": " + diagnostic.message;
  }
  return text;
}

llvm::Error failureOf(const std::vector<Diagnostic> &diagnostics) {
  std::string text = formatDiagnostics(diagnostics);
  llvm::StringRef rest = text;
  rest.consume_front("error: ");
  return failure(rest);
}

void printVersion(llvm::raw_ostream &stream, llvm::StringRef tool) {
  stream << tool << " (fmha) " << FMHA_VERSION << ", LLVM "
         << LLVM_VERSION_STRING << "\n";
}

} // namespace fmha::tools
