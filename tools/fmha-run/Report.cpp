//===- Report.cpp - The report of fmha-run --------------------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <limits>

namespace fmha::tools {

namespace {

using Status = Outcome::Status;

llvm::StringRef stringify(Status status) {
  constexpr llvm::StringLiteral names[] = {"ok", "inaccurate", "findings",
                                           "deadlock", "error"};
  return names[size_t(status)];
}

/// Returns null for values that are not finite: JSON has neither NaN nor
/// Infinity.
llvm::json::Value number(std::optional<double> value) {
  if (value && std::isfinite(*value))
    return *value;
  return nullptr;
}

template <typename Integer>
llvm::json::Value integer(std::optional<Integer> value) {
  if (value)
    return int64_t(*value);
  return nullptr;
}

std::optional<unsigned> spillBytes(const AssembleResult &assembled) {
  if (!assembled.spillStoreBytes || !assembled.spillLoadBytes)
    return std::nullopt;
  return *assembled.spillStoreBytes + *assembled.spillLoadBytes;
}

/// Returns the status of ptxas. If it produced no kernel, its numbers are null,
/// as if it had not run.
llvm::StringRef assembler(const AssembleResult &assembled) {
  switch (assembled.status) {
  case AssembleResult::Status::Ok:
    return "ok";
  case AssembleResult::Status::Failed:
    return "failed";
  case AssembleResult::Status::Missing:
    return "missing";
  }
  llvm_unreachable("a status of ptxas");
}

void writeRegisters(llvm::json::OStream &json, const Outcome &outcome) {
  json.attributeObject("registers", [&] {
    json.attribute("kernel", integer(outcome.assembled.registers));
    if (!outcome.manifest) {
      json.attribute("roles", nullptr);
      return;
    }
    json.attributeObject("roles", [&] {
      for (const runtime::ManifestRole &role : outcome.manifest->roles)
        json.attribute(role.name, int64_t(role.registers));
    });
  });
}

void writeAccuracy(llvm::json::OStream &json, const Outcome &outcome) {
  auto field = [&](llvm::StringRef name, auto member) {
    json.attribute(name, outcome.accuracy ? number((*outcome.accuracy).*member)
                                          : llvm::json::Value(nullptr));
  };
  using reference::Comparison;
  field("cosine", &Comparison::cosine);
  field("min_head_cosine", &Comparison::minHeadCosine);
  field("rel_l2", &Comparison::relL2);
  field("max_abs_error", &Comparison::maxAbsError);
  field("max_error_in_tolerance", &Comparison::maxErrorInTolerance);
  field("lse_max_abs_error", &Comparison::lseMaxAbsError);
  field("row_max_max_abs_error", &Comparison::rowMaxMaxAbsError);
  field("row_sum_max_rel_error", &Comparison::rowSumMaxRelError);
}

/// Writes the facts of the kernel, which are null if it was not compiled.
void writeKernel(llvm::json::OStream &json, const Outcome &outcome) {
  const runtime::Manifest *manifest =
      outcome.manifest ? &*outcome.manifest : nullptr;
  auto field = [&](llvm::StringRef name, auto get) {
    json.attribute(name, manifest ? llvm::json::Value(get(*manifest))
                                  : llvm::json::Value(nullptr));
  };
  using runtime::Manifest;
  field("p_placement", [](const Manifest &m) { return m.pPlacement; });
  field("q_tiles", [](const Manifest &m) { return int64_t(m.qTiles); });
  json.attribute("assembler", assembler(outcome.assembled));
  writeRegisters(json, outcome);
  json.attribute("spill_bytes", integer(spillBytes(outcome.assembled)));
  field("smem_bytes", [](const Manifest &m) { return int64_t(m.smemBytes); });
  field("tmem_columns",
        [](const Manifest &m) { return int64_t(m.tmemColumns); });
}

/// Returns "line 12", "warp 3": the known parts of a finding.
std::string describe(const llvm::json::Object &finding) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << finding.getString("severity").value_or("error") << " ["
         << finding.getString("id").value_or("unknown")
         << "]: " << finding.getString("message").value_or("");
  const char *separator = " (";
  for (llvm::StringRef name : {"ptx_line", "cta", "warp", "lane"}) {
    const llvm::json::Value *value = finding.get(name);
    if (!value || value->kind() == llvm::json::Value::Null)
      continue;
    stream << separator << name << " " << llvm::formatv("{0}", *value);
    separator = ", ";
  }
  if (*separator == ',')
    stream << ")";
  return text;
}

std::string windowOf(const runtime::Manifest &manifest) {
  std::string text;
  if (manifest.windowLeft)
    text += ", " + std::to_string(*manifest.windowLeft) + " keys to the left";
  if (manifest.windowRight)
    text += ", " + std::to_string(*manifest.windowRight) + " keys to the right";
  return text;
}

void printKernel(llvm::raw_ostream &stream, const Outcome &outcome) {
  const runtime::Manifest &manifest = *outcome.manifest;
  stream << "kernel    " << manifest.kernel << ", " << manifest.target << ", "
         << llvm::StringRef(runtime::stringify(manifest.dtype));
  if (manifest.kvDtype != manifest.dtype)
    stream << ", k and v of "
           << llvm::StringRef(runtime::stringify(manifest.kvDtype));
  stream << ", mask " << manifest.mask << windowOf(manifest) << ", head dim "
         << manifest.headDim;
  if (manifest.headDimV != manifest.headDim)
    stream << " and " << manifest.headDimV;
  stream << "\n          " << manifest.qTiles << " query tile"
         << (manifest.qTiles == 1 ? "" : "s") << " per CTA, P in "
         << manifest.pPlacement << ", " << manifest.smemBytes
         << " bytes of SMEM, " << manifest.tmemColumns << " TMEM columns\n";
  stream << "registers ";
  if (outcome.assembled.registers)
    stream << *outcome.assembled.registers << ", spilled "
           << spillBytes(outcome.assembled).value_or(0) << " bytes";
  else if (outcome.assembled.status == AssembleResult::Status::Missing)
    stream << "unknown: no ptxas found, assembling skipped";
  else
    stream << "unknown: ptxas rejects the PTX";
  const char *separator = "\n          ";
  for (const runtime::ManifestRole &role : manifest.roles) {
    stream << separator << role.name << " " << role.registers;
    separator = ", ";
  }
  stream << "\n";
}

void printAccuracy(llvm::raw_ostream &stream,
                   const reference::Comparison &accuracy) {
  // The largest double represents values that are not finite.
  auto show = [](double value) {
    std::string text;
    if (value == std::numeric_limits<double>::max())
      return std::string("infinite");
    llvm::raw_string_ostream(text) << llvm::format("%.3g", value);
    return text;
  };
  stream << "error     " << show(accuracy.maxErrorInTolerance)
         << " of the tolerance at worst, cosine "
         << llvm::format("%.9f", accuracy.cosine) << ", relative L2 "
         << show(accuracy.relL2) << ", absolute " << show(accuracy.maxAbsError);
  if (accuracy.lseMaxAbsError)
    stream << ", LSE " << show(*accuracy.lseMaxAbsError);
  if (accuracy.rowMaxMaxAbsError)
    stream << ", row max " << show(*accuracy.rowMaxMaxAbsError);
  if (accuracy.rowSumMaxRelError)
    stream << ", row sum " << show(*accuracy.rowSumMaxRelError)
           << " (relative)";
  stream << "\n";
}

} // namespace

/// Returns the modeled time of all kernels, which run one after another:
/// {clocks {low, middle, high}, front_end, bound, mma_utilisation}, the last
/// two those of the longest kernel. Each is null without kernels.
static llvm::json::Object timeOf(const llvm::json::Array &times) {
  llvm::json::Object all{{"clocks", nullptr},
                         {"front_end", nullptr},
                         {"bound", nullptr},
                         {"mma_utilisation", nullptr}};
  int64_t sums[3] = {}, longest = -1;
  constexpr llvm::StringLiteral names[] = {"low", "middle", "high"};
  for (const llvm::json::Value &value : times) {
    const llvm::json::Object &time = *value.getAsObject();
    const llvm::json::Object &clocks = *time.getObject("clocks");
    for (auto [sum, name] : llvm::zip(sums, names))
      sum += clocks.getInteger(name).value_or(0);
    int64_t middle = clocks.getInteger("middle").value_or(0);
    if (middle <= longest)
      continue;
    longest = middle;
    all["front_end"] = *time.get("front_end");
    all["bound"] = *time.get("bound");
    all["mma_utilisation"] = *time.get("mma_utilisation");
  }
  if (longest >= 0)
    all["clocks"] = llvm::json::Object{
        {"low", sums[0]}, {"middle", sums[1]}, {"high", sums[2]}};
  return all;
}

/// Returns the modeled clocks of all kernels with drawn figures, or nothing.
static llvm::json::Array drawnClocksOf(const llvm::json::Array &times) {
  std::vector<int64_t> sums;
  for (const llvm::json::Value &value : times)
    if (const auto *drawn = value.getAsObject()->getArray("drawn_clocks")) {
      sums.resize(drawn->size());
      for (auto [sum, clocks] : llvm::zip_equal(sums, *drawn))
        sum += clocks.getAsInteger().value_or(0);
    }
  return llvm::json::Array(sums);
}

/// Prints the modeled time; nothing without one.
static void printTime(llvm::raw_ostream &stream,
                      const llvm::json::Array &times) {
  llvm::json::Object time = timeOf(times);
  const llvm::json::Object *clocks = time.getObject("clocks");
  if (!clocks)
    return;
  auto number = [&](llvm::StringRef name) {
    return clocks->getInteger(name).value_or(0);
  };
  bool fromSass = time.getString("front_end") == "sass";
  stream << "time      modeled " << number("middle") << " clocks "
         << (fromSass ? "from SASS (" : "(") << number("low") << " to "
         << number("high") << "), tensor core busy "
         << llvm::format("%.0f",
                         100 * time.getNumber("mma_utilisation").value_or(0))
         << " % of them (modeled)\n          modeled bound: "
         << time.getString("bound").value_or("") << "\n";
}

int Outcome::exitCode() const {
  return status == Status::Ok ? 0 : status == Status::Error ? 2 : 1;
}

void printJson(llvm::raw_ostream &stream, const Outcome &outcome) {
  llvm::json::OStream json(stream, 2);
  json.object([&] {
    json.attribute("schema_version", 1);
    json.attribute("status", stringify(outcome.status));
    json.attribute("error",
                   outcome.error.empty()
                       ? llvm::json::Value(nullptr)
                       : llvm::json::Value(llvm::json::fixUTF8(outcome.error)));
    writeAccuracy(json, outcome);
    writeKernel(json, outcome);
    json.attribute("findings", llvm::json::Array(outcome.findings));
    if (!outcome.ignored.empty())
      json.attribute("ignored", llvm::json::Array(outcome.ignored));
    json.attribute("warp_instructions", integer(outcome.warpInstructions));
    llvm::json::Object time = timeOf(outcome.times);
    for (llvm::StringRef name :
         {"clocks", "front_end", "bound", "mma_utilisation"})
      json.attribute(name, *time.get(name));
    if (llvm::json::Array drawn = drawnClocksOf(outcome.times); !drawn.empty())
      json.attribute("drawn_clocks", std::move(drawn));
    json.attribute("seconds_compile", number(outcome.secondsCompile));
    json.attribute("seconds_run", number(outcome.secondsRun));
  });
  stream << "\n";
}

static void printProblem(llvm::raw_ostream &stream, const Outcome &outcome) {
  const Shape &shape = *outcome.shape;
  stream << "problem   batch " << shape.batch << ", " << shape.qHeads
         << " query heads over " << shape.kvHeads << " KV heads, " << shape.qLen
         << " queries, " << shape.kvLen << " keys";
  if (outcome.newKeys)
    stream << ", " << outcome.newKeys << " of them appended by "
           << (outcome.manifest && outcome.manifest->keyNew
                   ? "the kernel of attention"
                   : "a kernel before");
  if (outcome.rotatesQueries)
    stream << ", queries rotated";
  if (outcome.manifest && outcome.manifest->source2)
    stream << " and " << shape.kvLen2 << " of a second KV segment";
  stream << "\n";
}

void printText(llvm::raw_ostream &stream, const Outcome &outcome) {
  if (!outcome.arguments.empty())
    stream << "options   " << outcome.arguments << "\n";
  if (outcome.shape)
    printProblem(stream, outcome);
  if (!outcome.ignored.empty())
    stream
        << "ignored   " << llvm::join(outcome.ignored, "\n          ")
        << "\n          (only the fmha op runs, on the inputs of the flags)\n";
  if (outcome.manifest)
    printKernel(stream, outcome);
  if (outcome.secondsCompile)
    stream << "compiled  in " << llvm::format("%.3f", *outcome.secondsCompile)
           << " s\n";
  if (outcome.secondsRun) {
    stream << "run       on " << outcome.deviceName << " in "
           << llvm::format("%.3f", *outcome.secondsRun) << " s";
    if (outcome.warpInstructions)
      stream << ", " << *outcome.warpInstructions << " warp instructions";
    stream << "\n";
  }
  printTime(stream, outcome.times);
  if (outcome.accuracy)
    printAccuracy(stream, *outcome.accuracy);
  for (const llvm::json::Value &finding : outcome.findings)
    if (const llvm::json::Object *object = finding.getAsObject())
      stream << "finding   " << describe(*object) << "\n";
  for (const std::string &file : outcome.written)
    stream << "wrote     " << file << "\n";
  stream << "verdict   " << stringify(outcome.status);
  if (outcome.accuracy && !outcome.accuracy->ok)
    stream << ": " << explainFailure(*outcome.accuracy);
  stream << "\n";
}

} // namespace fmha::tools
