//===- Compile.cpp - The compiler for Python --------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fmha::compile and fmha::assemble as functions of plain Python values. What a
// user sees is made of them in python/fmha/_compile.py.
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include "fmha/Pipeline/KernelCache.h"
#include "fmha/Pipeline/Query.h"
#include "fmha/Schedule/Model/Lists.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Plan/Families.h"
#include "fmha/Schedule/Report/Explain.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>

namespace nb = nanobind;
using namespace fmha;

static std::string str(std::string_view text) { return std::string(text); }

static schedule::DataType parseDataType(const std::string &name) {
  for (schedule::DataType type :
       {schedule::DataType::F16, schedule::DataType::BF16,
        schedule::DataType::E4M3})
    if (name == schedule::stringify(type))
      return type;
  throw nb::value_error(
      ("dtype: expected 'f16', 'bf16' or 'e4m3', got '" + name + "'").c_str());
}

static schedule::PPlacement parsePlacement(const std::string &name) {
  using schedule::PPlacement;
  for (PPlacement placement : {PPlacement::Auto, PPlacement::Tmem,
                               PPlacement::Smem, PPlacement::Registers})
    if (name == schedule::stringify(placement))
      return placement;
  throw nb::value_error(("p_placement: expected 'auto', 'tmem', 'smem' or "
                         "'registers', got '" +
                         name + "'")
                            .c_str());
}

static schedule::Mask parseMask(const std::string &name,
                                std::optional<unsigned> left,
                                std::optional<unsigned> right) {
  using schedule::Mask;
  for (Mask mask : {Mask::None, Mask::Causal, Mask::CausalTopLeft})
    if (name == schedule::stringify(mask.kind)) {
      mask.left = left;
      mask.right = right;
      return mask;
    }
  throw nb::value_error(("mask: expected 'none', 'causal' or "
                         "'causal-top-left', got '" +
                         name + "'")
                            .c_str());
}

static void parseLists(const std::vector<std::string> &lists,
                       schedule::Problem &problem) {
  std::string known;
  for (const schedule::ListField &list : schedule::listFields)
    known += std::string(known.empty() ? "'" : ", '") + list.name + "'";
  for (const std::string &name : lists) {
    auto found =
        std::ranges::find_if(schedule::listFields, [&](const auto &list) {
          return name == list.name;
        });
    if (found == std::end(schedule::listFields))
      throw nb::value_error(
          ("lists: expected one of " + known + ", got '" + name + "'").c_str());
    problem.*found->there = true;
  }
}

/// Sets the facts of these names.
static void setFacts(const std::vector<std::string> &names,
                     schedule::Facts &facts) {
  for (const std::string &name : names) {
    const schedule::Fact *fact = schedule::findFact(name);
    if (!fact)
      throw nb::value_error(
          ("facts: expected the name of a fact, got '" + name + "'").c_str());
    facts.*fact->there = true;
  }
}

static std::string
build(const std::string &dtype, unsigned headDim, unsigned headDimV,
      const std::string &mask, std::optional<unsigned> left,
      std::optional<unsigned> right, std::optional<double> scale,
      const std::vector<std::string> &facts,
      const std::vector<std::string> &lists, std::optional<double> softcap,
      bool softcapApprox, bool alibi, bool bias, bool attnMask,
      const std::string &scheduleText, const std::string &source2Mask,
      unsigned pageSize, unsigned rotaryDim, unsigned blockRows,
      unsigned blockKeys) {
  KernelSpec spec;
  spec.problem.mask2 = parseMask(source2Mask, std::nullopt, std::nullopt);
  spec.score = {.softcap = softcap,
                .alibi = alibi,
                .bias = bias,
                .mask = attnMask,
                .softcapApprox = softcapApprox};
  spec.problem.dtype = parseDataType(dtype);
  spec.problem.headDim = headDim;
  spec.problem.headDimV = headDimV;
  spec.problem.pageSize = pageSize;
  spec.problem.rotaryDim = rotaryDim;
  spec.problem.blockRows = blockRows;
  spec.problem.blockKeys = blockKeys;
  spec.problem.mask = parseMask(mask, left, right);
  parseLists(lists, spec.problem);
  setFacts(facts, spec.problem);
  spec.scale = scale;
  spec.schedule = scheduleText;
  return buildModule(spec);
}

/// `fields` has the names and the words of Overrides.h.
static schedule::Overrides
parseFields(const std::map<std::string, std::string> &fields) {
  schedule::Overrides overrides;
  for (const schedule::ScheduleField &field : schedule::scheduleFields())
    if (auto found = fields.find(std::string(field.name));
        found != fields.end() && !field.parse(found->second, overrides))
      throw nb::value_error((str(field.name) + ": expected " +
                             field.expected() + ", got " + found->second)
                                .c_str());
  return overrides;
}

static CompileOptions
optionsOf(const std::string &target, const std::string &placement,
          const std::map<std::string, std::string> &fields,
          const std::map<std::string, unsigned> &hints, bool verifyKernels) {
  CompileOptions options;
  options.verifyKernels = verifyKernels;
  size_t known = 0;
  for (const schedule::Hint &hint : schedule::hints)
    if (auto given = hints.find(std::string(hint.name)); given != hints.end()) {
      options.hints.*hint.there = given->second;
      ++known;
    }
  if (known != hints.size())
    throw nb::value_error("expected hints of Hints.def, got another one");
  options.target = target;
  options.overrides = parseFields(fields);
  options.overrides.pPlacement = parsePlacement(placement);
  return options;
}

/// With the cache that the environment names.
static CompiledKernel compileKept(const KernelRequest &request) {
  std::optional<KernelCache> cache = KernelCache::fromEnvironment();
  return compileKernel(request, cache ? &*cache : nullptr);
}

static CompiledKernel compileMergeKernel(unsigned headDim,
                                         const std::string &output,
                                         const std::vector<std::string> &facts,
                                         const std::string &target) {
  KernelRequest request;
  MergeSpec &spec = request.merge.emplace();
  spec.headDim = headDim;
  spec.output = output;
  setFacts(facts, spec);
  request.options.target = target;
  return compileKept(request);
}

static CompiledKernel compileAppendKernel(const std::string &dtype,
                                          unsigned headDim, unsigned headDimV,
                                          unsigned pageSize,
                                          const std::string &rotary,
                                          unsigned rotaryDim, bool query,
                                          const std::string &target) {
  KernelRequest request;
  request.text = appendModule(
      {dtype, headDim, headDimV, pageSize, rotary, rotaryDim, query});
  request.name = "<append>";
  request.options.target = target;
  return compileKept(request);
}

static CompiledKernel
compileText(const std::string &text, const std::string &name,
            const std::string &target, const std::string &placement,
            const std::map<std::string, std::string> &fields,
            const std::map<std::string, unsigned> &hints, bool verifyKernels) {
  KernelRequest request;
  request.text = text;
  request.name = name;
  request.options = optionsOf(target, placement, fields, hints, verifyKernels);
  return compileKept(request);
}

/// With all levels and the plan, which no cache has.
static CompileResult
compileLevels(const std::string &text, const std::string &name,
              const std::string &target, const std::string &placement,
              const std::map<std::string, std::string> &fields,
              const std::map<std::string, unsigned> &hints,
              bool verifyKernels) {
  CompileOptions options =
      optionsOf(target, placement, fields, hints, verifyKernels);
  options.keepLevels = true;
  return compile(text, name, options);
}

/// Returns whether the kernel for the op, which has new keys, appends them and
/// is as fast as one without them. Another op gets its errors from compile().
static bool appendsNewKeys(const std::string &text, const std::string &name,
                           const std::string &target,
                           const std::string &placement,
                           const std::map<std::string, std::string> &fields,
                           const std::map<std::string, unsigned> &hints,
                           bool verifyKernels) {
  CompileOptions options =
      optionsOf(target, placement, fields, hints, verifyKernels);
  CompileResult found = inspect(text, name);
  return found.ok && found.isAttention && whyUnsupported(target).empty() &&
         schedule::appendsNewKeys(
             schedule::withHints(found.spec.problem, options.hints), target,
             options.overrides);
}

/// Returns whether there are kernels for lists of blocks of these sizes, with
/// any region `score`: the one that is asked about takes the most registers.
static bool takesBlocks(unsigned rows, unsigned keys, bool hasFull,
                        unsigned headDim, unsigned headDimV,
                        const std::string &target) {
  schedule::Problem problem;
  problem.headDim = headDim;
  problem.headDimV = headDimV;
  problem.kvNumBlocks = problem.kvIndices = true;
  problem.fullKvNumBlocks = problem.fullKvIndices = hasFull;
  problem.score = problem.scoreByKey = problem.scoreIsLong = true;
  problem.captures = {{"f32", 2}, {"f32", 2}, {"f32", 1}};
  problem.blockRows = rows;
  problem.blockKeys = keys;
  std::string error;
  return schedule::plan(problem, target, {}, error).has_value();
}

static const char *stringify(Diagnostic::Severity severity) {
  switch (severity) {
  case Diagnostic::Severity::Error:
    return "error";
  case Diagnostic::Severity::Warning:
    return "warning";
  case Diagnostic::Severity::Remark:
    return "remark";
  case Diagnostic::Severity::Note:
    return "note";
  }
  return "unknown";
}

using DiagnosticTuple = std::tuple<std::string, std::string, std::string>;

static std::vector<DiagnosticTuple>
tuplesOf(const std::vector<Diagnostic> &diagnostics) {
  std::vector<DiagnosticTuple> list;
  for (const Diagnostic &entry : diagnostics)
    list.emplace_back(stringify(entry.severity), entry.location, entry.message);
  return list;
}

template <typename Result>
static std::vector<DiagnosticTuple> diagnosticsOf(const Result &result) {
  return tuplesOf(result.diagnostics);
}

/// What is wrong with a schedule, and the one to give to build_module; only one
/// of the two is there.
static std::pair<std::vector<DiagnosticTuple>, std::string>
scheduleOf(const std::string &text, const std::string &target) {
  ScheduleText read = readSchedule(text, "schedule", target);
  return {tuplesOf(read.diagnostics), read.text};
}

static std::vector<std::pair<std::string, std::string>>
levelsOf(const CompileResult &result) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const auto &[level, text] : result.levels)
    list.emplace_back(str(fmha::stringify(level)), text);
  return list;
}

static nb::dict describe(const schedule::Schedule &schedule) {
  nb::list roles;
  for (const schedule::Role &role : schedule.roles) {
    nb::dict entry;
    entry["name"] = role.name;
    entry["first_warp"] = role.firstWarp;
    entry["warps"] = role.warps;
    entry["registers"] = role.registers;
    roles.append(entry);
  }
  nb::dict result;
  result["target"] = schedule.target;
  for (const schedule::ScheduleField &field : schedule::scheduleFields()) {
    std::string name(field.name);
    unsigned value = field.get(schedule);
    if (field.isSwitch)
      result[name.c_str()] = value != 0;
    else if (!field.words.empty())
      result[name.c_str()] = field.print(value);
    else
      result[name.c_str()] = value;
  }
  result["p_placement"] = str(schedule::stringify(schedule.pPlacement));
  result["rescale_threshold"] = schedule.rescaleThreshold;
  result["roles"] = roles;
  return result;
}

static nb::list describe(const std::vector<schedule::TmemRegion> &regions) {
  nb::list result;
  for (const schedule::TmemRegion &region : regions) {
    nb::dict entry;
    entry["name"] = region.name;
    entry["column"] = region.column;
    entry["columns"] = region.columns;
    entry["aliases"] = region.aliases;
    entry["lane"] = region.lane;
    entry["stages"] = region.stages;
    entry["pitch"] = region.pitch;
    result.append(entry);
  }
  return result;
}

static nb::list describe(const std::vector<schedule::SmemRegion> &regions) {
  nb::list result;
  for (const schedule::SmemRegion &region : regions) {
    nb::dict entry;
    entry["name"] = region.name;
    entry["offset"] = region.offset;
    entry["bytes"] = region.bytes;
    entry["stages"] = region.stages;
    entry["aliases"] = region.aliases;
    result.append(entry);
  }
  return result;
}

using Why = std::function<std::string(const schedule::Schedule &)>;

static nb::list describe(const std::vector<schedule::Rejected> &candidates,
                         const Why &why) {
  nb::list result;
  for (const schedule::Rejected &candidate : candidates) {
    nb::dict entry;
    entry["schedule"] = describe(schedule::withRoles(candidate.schedule));
    entry["reason"] = why(candidate.schedule);
    entry["candidates"] = candidate.candidates;
    result.append(entry);
  }
  return result;
}

/// The keyword arguments of fmha.Report.
static nb::dict reportOf(const CompileResult &result) {
  schedule::Plan plan = result.plan.value_or(schedule::Plan{});
  nb::dict report;
  report["schedule"] = describe(plan.schedule);
  report["tmem"] = describe(plan.map.tmem);
  report["smem"] = describe(plan.map.smem);
  report["reason"] = plan.reason;
  const schedule::Problem &problem = result.spec.problem;
  report["runners_up"] =
      describe(plan.runnersUp, [&](const schedule::Schedule &other) {
        return whySlower(problem, plan, other);
      });
  report["rejected"] =
      describe(plan.rejected, [&](const schedule::Schedule &other) {
        return whyRejected(problem, other);
      });
  return report;
}

using AssemblyTuple =
    std::tuple<std::string, std::string, std::optional<unsigned>,
               std::optional<unsigned>, std::optional<unsigned>>;

static AssemblyTuple assembleText(const std::string &ptx,
                                  const std::string &target) {
  AssembleResult result = assemble(ptx, target);
  using Status = AssembleResult::Status;
  const char *status = result.status == Status::Ok       ? "ok"
                       : result.status == Status::Failed ? "failed"
                                                         : "missing";
  return {status, result.log, result.registers, result.spillStoreBytes,
          result.spillLoadBytes};
}

void fmha::python::bindCompile(nb::module_ &module) {
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<CompileResult>(module, "CompileResult")
      .def_ro("ok", &CompileResult::ok)
      .def_ro("ptx", &CompileResult::ptx)
      .def_ro("manifest", &CompileResult::manifest)
      .def_prop_ro("diagnostics", &diagnosticsOf<CompileResult>)
      .def_prop_ro("levels", &levelsOf)
      .def_prop_ro("report", &reportOf);
  nb::class_<CompiledKernel>(module, "CompiledKernel")
      .def_ro("ok", &CompiledKernel::ok)
      .def_ro("ptx", &CompiledKernel::ptx)
      .def_ro("manifest", &CompiledKernel::manifest)
      .def_ro("from_cache", &CompiledKernel::fromCache)
      .def_prop_ro("diagnostics", &diagnosticsOf<CompiledKernel>);
  module.def("build_module", &build, nb::arg("dtype"), nb::arg("head_dim"),
             nb::arg("head_dim_v"), nb::arg("mask"), nb::arg("left").none(),
             nb::arg("right").none(), nb::arg("scale").none(), nb::arg("facts"),
             nb::arg("lists"), nb::arg("softcap").none(),
             nb::arg("softcap_approx"), nb::arg("alibi"), nb::arg("bias"),
             nb::arg("attn_mask"), nb::arg("schedule"), nb::arg("source2_mask"),
             nb::arg("page_size"), nb::arg("rotary_dim"), nb::arg("block_rows"),
             nb::arg("block_keys"));
  module.def("read_schedule", &scheduleOf, nb::arg("text"), nb::arg("target"));
  module.def("compile", &compileText, nb::arg("text"), nb::arg("name"),
             nb::arg("target"), nb::arg("p_placement"), nb::arg("fields"),
             nb::arg("hints"), nb::arg("verify_kernels"), Unlocked());
  module.def("compile_levels", &compileLevels, nb::arg("text"), nb::arg("name"),
             nb::arg("target"), nb::arg("p_placement"), nb::arg("fields"),
             nb::arg("hints"), nb::arg("verify_kernels"), Unlocked());
  module.def("appends_new_keys", &appendsNewKeys, nb::arg("text"),
             nb::arg("name"), nb::arg("target"), nb::arg("p_placement"),
             nb::arg("fields"), nb::arg("hints"), nb::arg("verify_kernels"),
             Unlocked());
  module.def("takes_blocks", &takesBlocks, nb::arg("rows"), nb::arg("keys"),
             nb::arg("has_full"), nb::arg("head_dim"), nb::arg("head_dim_v"),
             nb::arg("target"), Unlocked());
  module.def("compile_merge", &compileMergeKernel, nb::arg("head_dim"),
             nb::arg("output"), nb::arg("facts"), nb::arg("target"),
             Unlocked());
  module.def("compile_append", &compileAppendKernel, nb::arg("dtype"),
             nb::arg("head_dim"), nb::arg("head_dim_v"), nb::arg("page_size"),
             nb::arg("rotary"), nb::arg("rotary_dim"), nb::arg("query"),
             nb::arg("target"), Unlocked());
  module.def("assemble", &assembleText, nb::arg("ptx"), nb::arg("target"),
             Unlocked());
}
