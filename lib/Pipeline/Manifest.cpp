//===- Manifest.cpp - The launch manifest, and the heading of the PTX -----===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Pipeline/Manifest.h"
#include "MergeManifest.h"
#include "fmha/Kernel/KernelAbi.h"
#include "fmha/Layout/SmemTile.h"
#include "fmha/Schedule/Model/Lists.h"
#include "fmha/Schedule/Model/Overrides.h"
#include "fmha/Schedule/Model/TileOrder.h"
#include "fmha/Target/Target.h"
#include "fmha/Version.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/xxhash.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

using namespace fmha;
namespace json = llvm::json;

/// Columns of a TMA box: one span of the 128-byte swizzle of 16-bit elements.
static constexpr unsigned boxColumns = layout::PanelTile::panelColumns;

/// Returns the operand of a parameter by name; k2 and v2 are copied like k and
/// v.
static schedule::Operand operandOf(const std::string &name) {
  return schedule::Operand(std::string_view("qkvo").find(name.front()));
}

/// Describes the map of a tensor of which TMA gathers rows: a row begins at
/// every 16 bytes (include/fmha/Runtime/README.md).
static json::Value mapOfChunks(const std::string &name, const char *columns,
                               schedule::DataType dtype) {
  return json::Object{{"name", name},
                      {"kind", "tensor_map"},
                      {"tensor", name},
                      {"dtype", std::string(stringify(dtype))},
                      {"dims", json::Array{columns, "chunks"}},
                      {"box", json::Array{boxColumns, 1}},
                      {"swizzle", "128B"}};
}

static json::Value tensorMap(const std::string &name, const KernelSpec &spec,
                             const schedule::Schedule &schedule) {
  schedule::Operand operand = operandOf(name);
  bool isQuery = operand == schedule::Operand::Query ||
                 operand == schedule::Operand::Output;
  bool isV = operand == schedule::Operand::Value ||
             operand == schedule::Operand::Output;
  const schedule::Problem &problem = spec.problem;
  if (!isQuery && gathersRows(schedule))
    return mapOfChunks(name, isV ? "head_dim_v" : "head_dim", problem.dtype);
  // The map then ends where a sequence does: include/fmha/Runtime/README.md.
  bool sequences = isQuery ? problem.cuSeqlensQ : problem.kvEndsPerSequence();
  unsigned rows = schedule::boxRows(problem, schedule, operand);
  bool packed = isQuery && schedule.packHeads > 1;
  json::Array dims{isV ? "head_dim_v" : "head_dim"}, box{boxColumns};
  auto add = [&](const char *dim, unsigned extent) {
    dims.push_back(dim);
    box.push_back(extent);
  };
  // Rows of a tile iterate over the heads of a group first.
  if (packed)
    add("group", schedule.packHeads);
  bool inPages = !isQuery && problem.pageSize;
  const char *keys = inPages               ? "page_size"
                     : name.ends_with('2') ? "kv_len2"
                                           : "kv_len";
  add(isQuery ? "q_len" : keys, packed ? rows / schedule.packHeads : rows);
  add(isQuery && !packed ? "q_heads" : "kv_heads", 1);
  // Packed queries have one batch, and a map at most five dimensions.
  if (!packed || !sequences)
    add(inPages ? "pages" : "batch", 1);
  json::Object map{{"name", name},
                   {"kind", "tensor_map"},
                   {"tensor", name},
                   {"dtype", std::string(stringify(problem.dtype))},
                   {"dims", std::move(dims)},
                   {"box", std::move(box)},
                   {"swizzle", "128B"}};
  if (sequences)
    map["sequences"] = true;
  return map;
}

/// Describes a parameter by its suffix: capture0, capture0_size1, ..._stride1.
static json::Value captureParameter(const KernelParameter &parameter) {
  bool wide = parameter.kind == KernelParameter::Kind::U64;
  bool isPointer = parameter.kind == KernelParameter::Kind::Pointer;
  json::Object object{{"name", parameter.name},
                      {"kind", isPointer ? "pointer"
                               : wide    ? "u64"
                                         : "u32"},
                      {"capture", *parameter.capture}};
  if (!isPointer)
    object[wide ? "stride" : "size"] = parameter.name.back() - '0';
  return object;
}

static json::Value parameter(const KernelParameter &parameter,
                             const KernelSpec &spec,
                             const schedule::Schedule &schedule) {
  if (parameter.capture)
    return captureParameter(parameter);
  switch (parameter.kind) {
  case KernelParameter::Kind::TensorMap:
    return tensorMap(parameter.name, spec, schedule);
  case KernelParameter::Kind::Pointer:
    return json::Object{{"name", parameter.name},
                        {"kind", "pointer"},
                        {"tensor", tensorOfPointer(parameter.name)}};
  case KernelParameter::Kind::U64:
  case KernelParameter::Kind::U32:
    bool wide = parameter.kind == KernelParameter::Kind::U64;
    return json::Object{{"name", parameter.name},
                        {"kind", wide ? "u64" : "u32"},
                        {"value", parameter.name}};
  }
  llvm_unreachable("every kind is listed");
}

static json::Array roles(const schedule::Schedule &schedule) {
  json::Array all;
  for (const schedule::Role &role : schedule.roles)
    all.push_back(json::Object{{"name", role.name},
                               {"first_warp", role.firstWarp},
                               {"warps", role.warps},
                               {"registers", role.registers}});
  return all;
}

static unsigned threads(const schedule::Schedule &schedule) {
  unsigned warps = 0;
  for (const schedule::Role &role : schedule.roles)
    warps = std::max(warps, role.firstWarp + role.warps);
  return warps * 32;
}

static double scaleOf(const KernelSpec &spec) {
  return spec.scale.value_or(1.0 / std::sqrt(double(spec.problem.headDim)));
}

/// Returns the factors of the grid: row blocks, heads or chunks of groups of
/// them, batch, and the head_dim_v tiles.
static json::Array gridFactors(const KernelSpec &spec,
                               const schedule::Schedule &plan) {
  auto parts = [](const char *what, int64_t size) {
    return json::Object{{"ceil_div", json::Array{what, size}}};
  };
  int64_t rows = int64_t(plan.qTiles) * queriesOfTile(plan);
  const char *length = spec.problem.cuSeqlensQ ? "max_q_len" : "q_len";
  bool isPacked = plan.packHeads > 1;
  unsigned ctas = plan.ctaGroup;
  rows *= schedule::ctasOfRows(plan.packHeads, ctas);
  json::Array factors{parts(length, rows)};
  // CTAs of a pair are neighbors.
  if (ctas > 1)
    factors.push_back(ctas);
  if (!isPacked) {
    factors.push_back("q_heads");
  } else {
    factors.push_back(parts("group", int64_t(plan.packHeads) * ctas));
    factors.push_back("kv_heads");
  }
  factors.push_back("batch");
  if (unsigned passes = outputPasses(spec.problem, plan); passes > 1)
    factors.push_back(passes);
  if (plan.splits > 1)
    factors.push_back(plan.splits);
  return factors;
}

/// Returns the flag of a fact, "" if the command has another flag for it.
static std::string flagOf(const schedule::Fact &fact) {
  if (fact.there == &schedule::Facts::lse)
    return "";
  if (fact.there == &schedule::Facts::keyVectors)
    return " --cache-layout=mmha";
  if (fact.there == &schedule::Facts::keyNew)
    return " --key-new --value-new";
  // --rotary names it.
  if (fact.there == &schedule::Facts::rotaryInterleaved)
    return "";
  std::string flag = " --" + schedule::flagOf(fact.name);
  return fact.there == &schedule::Facts::source2 ? flag + "-k" : flag;
}

/// Redirects the outputs of a partial kernel to the workspace:
///   "o", "row_max_stride_head" -> "o_parts", "max_parts_stride_head"
static void redirectOutputs(json::Array &parameters) {
  constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> names[] = {
      {"o", "o_parts"}, {"row_max", "max_parts"}, {"row_sum", "sum_parts"}};
  for (json::Value &parameter : parameters)
    for (llvm::StringRef field : {"tensor", "value"}) {
      json::Object &object = *parameter.getAsObject();
      std::optional<llvm::StringRef> whole = object.getString(field);
      for (const auto &[from, to] : names)
        if (whole &&
            (*whole == from || whole->starts_with((from + "_stride").str()))) {
          object[field] = (to + whole->drop_front(from.size())).str();
          break;
        }
    }
}

/// Adds the partial results, contiguous and in f32, and the merge kernel.
static void addSplit(const schedule::Problem &problem,
                     const schedule::Schedule &schedule, json::Array &workspace,
                     json::Object &manifest) {
  json::Value batch = "batch";
  // With packed sequences the batch is 1.
  if (problem.cuSeqlensQ)
    batch = 1;
  auto tensor = [&](const char *name, json::Array dims) {
    dims.insert(dims.begin(), batch);
    dims.insert(dims.begin(), schedule.splits);
    return json::Object{
        {"tensor", name}, {"dtype", "f32"}, {"dims", std::move(dims)}};
  };
  manifest["splits"] = schedule.splits;
  workspace.push_back(
      tensor("o_parts", json::Array{"q_len", "q_heads", "head_dim_v"}));
  workspace.push_back(tensor("max_parts", json::Array{"q_heads", "q_len"}));
  workspace.push_back(tensor("sum_parts", json::Array{"q_heads", "q_len"}));
  manifest["combine"] =
      mergeLaunch(mergeOf(problem, schedule), schedule.target, "fmha_combine");
}

/// Adds the buffers that a host allocates, and the merge kernel if there is
/// one.
static void addWorkspace(const schedule::Problem &problem,
                         const schedule::Schedule &schedule,
                         json::Object &manifest) {
  json::Array workspace;
  if (schedule::kernelProblem(problem, schedule).isPart)
    addSplit(problem, schedule, workspace, manifest);
  if (drawsTiles(schedule))
    workspace.push_back(json::Object{{"tensor", "tile_counter"},
                                     {"dtype", "i32"},
                                     {"dims", json::Array{1}},
                                     {"zero", true}});
  if (!workspace.empty())
    manifest["workspace"] = std::move(workspace);
}

/// Adds properties that only some kernels have.
static void addFeatures(const schedule::Problem &problem,
                        const schedule::Schedule &schedule,
                        json::Object &manifest) {
  for (const schedule::Fact &fact : schedule::facts)
    if (fact.isStated() && problem.*fact.there)
      manifest[fact.name] = true;
  if (problem.pageSize)
    manifest["page_size"] = problem.pageSize;
  if (problem.rotates())
    manifest["rotary_dim"] = problem.rotaryDim;
  if (problem.blockRows) {
    manifest["block_rows"] = problem.blockRows;
    manifest["block_keys"] = problem.blockKeys;
  }
  if (schedule.packHeads > 1)
    manifest["pack_heads"] = schedule.packHeads;
  if (!problem.mask2.isFull())
    manifest["source2_mask"] = std::string(stringify(problem.mask2.kind));
  if (problem.outDtype() != problem.dtype)
    manifest["out_dtype"] = std::string(stringify(problem.outDtype()));
  if (problem.kvDtype() != problem.dtype)
    manifest["kv_dtype"] = std::string(stringify(problem.kvDtype()));
  addWorkspace(problem, schedule, manifest);
  if (schedule.scheduler != schedule::Scheduler::Single)
    manifest["scheduler"] = std::string(stringify(schedule.scheduler));
  if (boundsCtas(schedule))
    manifest["max_ctas"] =
        target::findTarget(schedule.target)->sms * schedule.ctasPerSm;
  if (schedule.ctasPerSm > 1)
    manifest["ctas_per_sm"] = schedule.ctasPerSm;
  json::Array captures;
  for (const schedule::Capture &capture : problem.captures)
    captures.push_back(
        json::Object{{"element", capture.element}, {"rank", capture.rank}});
  if (!captures.empty())
    manifest["captures"] = std::move(captures);
  if (std::optional<unsigned> left = problem.mask.left)
    manifest["window_left"] = *left;
  if (std::optional<unsigned> right = problem.mask.right)
    manifest["window_right"] = *right;
}

std::string fmha::kernelId(llvm::StringRef text) {
  return llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true,
                         /*Width=*/16);
}

std::string fmha::idHeading(const std::string &id) {
  return "// id: " + id + "\n";
}

std::string fmha::launchManifest(const KernelSpec &spec,
                                 const schedule::Schedule &schedule,
                                 const schedule::MemoryMap &map,
                                 const std::string &kernel,
                                 const std::string &id) {
  json::Array parameters;
  schedule::Problem kernelProblem =
      schedule::kernelProblem(spec.problem, schedule);
  for (const KernelParameter &one : kernelParameters(kernelProblem, schedule))
    parameters.push_back(parameter(one, spec, schedule));
  if (kernelProblem.isPart)
    redirectOutputs(parameters);
  json::Object grid{{"x", gridFactors(spec, schedule)},
                    {"y", json::Array{}},
                    {"z", json::Array{}}};
  json::Object manifest{
      {"schema_version", 1},
      {"kernel", kernel},
      {"target", schedule.target},
      {"id", id},
      {"dtype", std::string(stringify(spec.problem.dtype))},
      {"head_dim", spec.problem.headDim},
      {"head_dim_v", spec.problem.headDimV},
      {"mask", std::string(stringify(spec.problem.mask.kind))},
      {"scale", scaleOf(spec)},
      {"lse", spec.problem.lse},
      {"q_tiles", schedule.qTiles},
      {"p_placement", std::string(stringify(schedule.pPlacement))},
      {"grid", std::move(grid)},
      {"block", json::Array{threads(schedule), 1, 1}},
      {"programmatic", hasGridDependencies(schedule.target)},
      {"cluster", json::Array{schedule.ctaGroup, 1, 1}},
      {"smem_bytes", map.smemBytes},
      {"tmem_columns", map.tmemColumns},
      {"roles", roles(schedule)},
      {"parameters", std::move(parameters)}};
  addFeatures(spec.problem, schedule, manifest);
  return llvm::formatv("{0:2}", json::Value(std::move(manifest))).str();
}

/// Returns the fewest digits that parse to the same double.
static std::string exact(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, std::end(text), value).ptr);
}

/// Returns the main fields, and all that differ from their default.
static std::string describe(const schedule::Schedule &schedule) {
  static const schedule::Schedule usual;
  constexpr llvm::StringLiteral first[] = {"q_tiles", "q_tile_rows", "kv_block",
                                           "kv_stages", "p_slices"};
  std::string text =
      llvm::formatv("q_tiles={0} q_tile_rows={1} kv_block={2} kv_stages={3} "
                    "p_placement={4} p_slices={5} rescale_threshold={6}",
                    schedule.qTiles, schedule.qTileRows, schedule.kvBlock,
                    schedule.kvStages, stringify(schedule.pPlacement).data(),
                    schedule.pSlices, exact(schedule.rescaleThreshold));
  for (const schedule::ScheduleField &field : schedule::scheduleFields())
    if (!llvm::is_contained(first, llvm::StringRef(field.name)) &&
        field.get(schedule) != field.get(usual))
      text += llvm::formatv(" {0}={1}", field.name,
                            field.print(field.get(schedule)));
  text += " roles=";
  for (const schedule::Role &role : schedule.roles)
    text += llvm::formatv(
        "{0}{1}:{2}+{3}/{4}", &role == &schedule.roles.front() ? "" : ",",
        role.name, role.firstWarp, role.warps, role.registers);
  return text;
}

/// Fixes the main fields, and all that differ from their default.
static schedule::Overrides unusualFields(const schedule::Schedule &schedule) {
  static const schedule::Schedule usual;
  schedule::Overrides overrides;
  overrides.pPlacement = schedule.pPlacement;
  for (const schedule::ScheduleField &field : schedule::scheduleFields())
    if (field.name == "q_tiles" || field.name == "kv_stages" ||
        field.get(schedule) != field.get(usual))
      overrides.fix(field.choice, field.get(schedule));
  return overrides;
}

/// Returns whether the planner chooses `schedule` for these overrides, whatever
/// the launch is.
static bool isPlanned(const KernelSpec &spec,
                      const schedule::Schedule &schedule,
                      const schedule::Overrides &overrides) {
  std::string error;
  std::optional<schedule::Plan> plan = schedule::plan(
      schedule::withoutHints(spec.problem), schedule.target, overrides, error);
  return plan && plan->schedule == schedule;
}

/// Returns flags that make the planner choose `schedule`, or `schedule` itself.
static std::string scheduleFlags(const KernelSpec &spec,
                                 const schedule::Schedule &schedule,
                                 const std::string &scheduleText) {
  schedule::Overrides overrides = unusualFields(schedule);
  // Their defaults are not always the planner's choice.
  if (!isPlanned(spec, schedule, overrides))
    overrides.fix(schedule::Choice::PSlices, schedule.pSlices);
  if (!isPlanned(spec, schedule, overrides))
    overrides.fix(schedule::Choice::Exp2Emulated, schedule.exp2EmulatedPercent);
  if (!isPlanned(spec, schedule, overrides))
    return " --schedule='" + scheduleText + "'";
  std::string text = llvm::formatv(" --p-placement={0}",
                                   stringify(schedule.pPlacement).data());
  // The fields that alter a kernel most come first.
  for (const schedule::ScheduleField &field :
       llvm::reverse(schedule::scheduleFields()))
    if (overrides[field.choice])
      text += llvm::formatv(" --{0}={1}", field.flag,
                            field.print(field.get(schedule)));
  return text;
}

static std::string maskFlags(const schedule::Mask &mask) {
  std::string text;
  if (mask.kind == schedule::Mask::Causal)
    text = " --causal";
  else if (mask.kind != schedule::Mask::None)
    text = " --mask=" + std::string(stringify(mask.kind));
  if (mask.left)
    text += llvm::formatv(" --window-left={0}", *mask.left);
  if (mask.right)
    text += llvm::formatv(" --window-right={0}", *mask.right);
  return text;
}

/// Returns the flags of fmha-compile that reproduce this kernel.
static std::string command(const KernelSpec &spec,
                           const schedule::Schedule &schedule,
                           const std::string &scheduleText,
                           PipelineSource pipeline) {
  const schedule::Problem &problem = spec.problem;
  std::string ending = pipeline == PipelineSource::Derived
                           ? " --pipeline=derived --emit=ptx"
                           : " --emit=ptx";
  // No flags describe a score region.
  if (problem.score)
    return "fmha-compile OP.mlir --target=" + schedule.target + ending +
           ", where OP.mlir has the op with its code on scores";
  std::string text = llvm::formatv(
      "fmha-compile --target={0} --dtype={1} --head-dim={2}", schedule.target,
      stringify(problem.dtype).data(), problem.headDim);
  if (problem.headDimV != problem.headDim)
    text += llvm::formatv(" --head-dim-v={0}", problem.headDimV);
  for (const schedule::Fact &fact : schedule::facts)
    if (fact.isStated() && problem.*fact.there)
      text += flagOf(fact);
  if (problem.pageSize)
    text += llvm::formatv(" --page-size={0}", problem.pageSize);
  if (problem.blockRows)
    text += llvm::formatv(" --block-rows={0} --block-keys={1}",
                          problem.blockRows, problem.blockKeys);
  if (problem.rotates())
    text += llvm::formatv(" --rotary={0} --rotary-dim={1}",
                          problem.rotaryInterleaved ? "interleaved" : "half",
                          problem.rotaryDim);
  if (!problem.mask2.isFull())
    text += " --source2-mask=" + std::string(stringify(problem.mask2.kind));
  text += maskFlags(problem.mask);
  if (problem.kvDtype() != problem.dtype)
    text +=
        llvm::formatv(" --kv-dtype={0}", stringify(problem.kvDtype()).data());
  if (problem.outDtype() != problem.dtype)
    text +=
        llvm::formatv(" --out-dtype={0}", stringify(problem.outDtype()).data());
  if (problem.lse)
    text += " --lse";
  text += " --scale=" + exact(scaleOf(spec));
  return text + scheduleFlags(spec, schedule, scheduleText) + ending;
}

std::string fmha::ptxHeading(const KernelSpec &spec,
                             const schedule::Schedule &schedule,
                             const std::string &scheduleText,
                             PipelineSource pipeline) {
  return llvm::formatv("// fmha " FMHA_VERSION ", target {0}\n"
                       "// schedule: {1}\n"
                       "// made by: {2}\n",
                       schedule.target, describe(schedule),
                       command(spec, schedule, scheduleText, pipeline));
}
