//===- Manifest.cpp - How a compiled kernel is launched -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Launch/Manifest.h"
#include "JsonReader.h"

#include <algorithm>
#include <optional>

namespace fmha::launch {
namespace {

using Words = std::string_view[3];
constexpr uint32_t maxCaptureRank = 8;
constexpr Words maskNames = {"none", "causal", "causal-top-left"};
constexpr Words schedulerNames = {"single", "static", "dynamic"};
constexpr Words placementNames = {"tmem", "smem", "registers"};

GridFactor readFactor(JsonNode node) {
  if (node.isString())
    return {node.choice<RunValue>(), 1};
  if (node.isNumber())
    return {RunValue::Batch, 1, node.unsignedInteger(1)};
  node.fields({"ceil_div"});
  std::vector<JsonNode> parts = node.field("ceil_div").elements(2);
  if (parts.size() != 2)
    return {RunValue::Batch, 1};
  return {parts[0].choice<RunValue>(), parts[1].unsignedInteger(1)};
}

void readTensorMap(JsonNode node, Parameter &parameter) {
  node.fields({"name", "kind", "tensor", "dtype", "dims", "box", "swizzle",
               "sequences"});
  parameter.tensor = node.field("tensor").choice<TensorName>();
  parameter.dtype = node.field("dtype").choice<ElementType>();
  for (const JsonNode &dim : node.field("dims").elements())
    parameter.dims.push_back(dim.choice<MapDim>());
  if (parameter.dims.empty() || parameter.dims.size() > 5)
    node.field("dims").complain("1 to 5 dimensions",
                                std::to_string(parameter.dims.size()));
  for (const JsonNode &extent :
       node.field("box").elements(parameter.dims.size()))
    parameter.box.push_back(extent.unsignedInteger(1, 256));
  parameter.swizzle = node.field("swizzle").choice<Swizzle>();
  if (!node.has("sequences"))
    return;
  parameter.sequences = node.field("sequences").boolean();
  if (parameter.dims.size() != 4 || !parameter.rowDim())
    node.field("dims").complain(
        "4 dimensions of a map with sequences, the second or third a length",
        std::to_string(parameter.dims.size()));
}

/// Returns whether the parameter describes a capture:
///   {"capture": 0}, {"capture": 0, "size": 3}, {"capture": 0, "stride": 1}
bool readCapture(JsonNode node, Parameter &parameter) {
  if (!node.has("capture"))
    return false;
  bool isPointer = parameter.kind == Parameter::Kind::Pointer;
  std::string_view extent = node.has("stride") ? "stride" : "size";
  if (isPointer)
    node.fields({"name", "kind", "capture"});
  else
    node.fields({"name", "kind", "capture", extent});
  parameter.capture = node.field("capture").unsignedInteger(0, 255);
  if (!isPointer)
    (node.has("stride") ? parameter.stride : parameter.size) =
        node.field(extent).unsignedInteger(0, maxCaptureRank - 1);
  return true;
}

CaptureType readCaptureType(JsonNode node) {
  node.fields({"element", "rank"});
  CaptureType type;
  type.element = node.field("element").choice<CaptureElement>();
  type.rank = node.field("rank").unsignedInteger(0, maxCaptureRank);
  return type;
}

/// Checks that the dimensions and tensors of the parameter exist.
void checkCapture(JsonNode node, std::span<const CaptureType> captures,
                  const Parameter &parameter) {
  if (!parameter.capture)
    return;
  size_t count = captures.size();
  if (*parameter.capture >= count)
    return node.field("capture").complain(
        "one of the " + std::to_string(count) + " entries of \"captures\"",
        std::to_string(*parameter.capture));
  uint32_t rank = captures[*parameter.capture].rank;
  if (parameter.size && *parameter.size >= rank)
    node.field("size").complain("a dimension of rank " + std::to_string(rank),
                                std::to_string(*parameter.size));
  if (parameter.stride && *parameter.stride >= rank)
    node.field("stride").complain("a dimension of rank " + std::to_string(rank),
                                  std::to_string(*parameter.stride));
}

Parameter readParameter(JsonNode node) {
  Parameter parameter;
  parameter.name = node.field("name").string();
  parameter.kind = node.field("kind").choice<Parameter::Kind>();
  switch (parameter.kind) {
  case Parameter::Kind::TensorMap:
    readTensorMap(node, parameter);
    break;
  case Parameter::Kind::Pointer:
    if (readCapture(node, parameter))
      break;
    node.fields({"name", "kind", "tensor"});
    parameter.tensor = node.field("tensor").choice<TensorName>();
    break;
  case Parameter::Kind::U32:
  case Parameter::Kind::U64:
    if (readCapture(node, parameter))
      break;
    node.fields({"name", "kind", "value"});
    parameter.value = node.field("value").choice<RunValue>();
    break;
  }
  return parameter;
}

std::array<uint32_t, 3> readExtents(JsonNode node) {
  std::array<uint32_t, 3> extents = {1, 1, 1};
  std::vector<JsonNode> parts = node.elements(3);
  for (size_t i = 0; i < std::min<size_t>(3, parts.size()); ++i)
    extents[i] = parts[i].unsignedInteger(1, 1024);
  return extents;
}

ManifestRole readRole(JsonNode node) {
  node.fields({"name", "first_warp", "warps", "registers"});
  ManifestRole role;
  role.name = node.field("name").string();
  role.firstWarp = node.field("first_warp").unsignedInteger(0, 31);
  role.warps = node.field("warps").unsignedInteger(1, 32);
  role.registers = node.field("registers").unsignedInteger(0, 255);
  return role;
}

void readProblem(JsonNode root, Manifest &manifest) {
  manifest.target = root.field("target").string();
  // A kernel multiplies 16-bit elements, the first ones of the table.
  manifest.dtype =
      ElementType(root.field("dtype").choose(namesOf<ElementType>().first(2)));
  manifest.outDtype = manifest.dtype;
  if (root.has("out_dtype"))
    manifest.outDtype = root.field("out_dtype").choice<ElementType>();
  manifest.headDim = root.field("head_dim").unsignedInteger(1, 1 << 16);
  manifest.headDimV = root.field("head_dim_v").unsignedInteger(1, 1 << 16);
  const std::pair<std::string_view, bool &> switches[] = {
      {"v_in_k", manifest.vInK},
      {"row_max", manifest.rowMax},
      {"row_sum", manifest.rowSum},
      {"unnormalised", manifest.unnormalised},
      {"kv_lens", manifest.kvLens},
      {"cu_seqlens_q", manifest.cuSeqlensQ},
      {"cu_seqlens_k", manifest.cuSeqlensK},
      {"sink", manifest.sink},
      {"source2", manifest.source2},
      {"source2_lens", manifest.source2Lens},
      {"score", manifest.score}};
  for (const auto &[name, on] : switches)
    if (root.has(name))
      on = root.field(name).boolean();
  if (root.has("captures"))
    for (const JsonNode &capture : root.field("captures").elements())
      manifest.captures.push_back(readCaptureType(capture));
  manifest.mask = root.field("mask").choice(maskNames);
  if (root.has("source2_mask"))
    manifest.mask2 = root.field("source2_mask").choice(maskNames);
  if (root.has("window_left"))
    manifest.windowLeft = root.field("window_left").unsignedInteger(0, 1 << 30);
  if (root.has("window_right"))
    manifest.windowRight =
        root.field("window_right").unsignedInteger(0, 1 << 30);
  manifest.scale = root.field("scale").number();
  manifest.lse = root.field("lse").boolean();
  manifest.qTiles = root.field("q_tiles").unsignedInteger(1, 16);
  if (root.has("pack_heads"))
    manifest.packHeads = root.field("pack_heads").unsignedInteger(1, 128);
  manifest.pPlacement = root.field("p_placement").choice(placementNames);
}

/// Reads the fields that every kernel's launch has.
void readLaunch(JsonNode root, KernelLaunch &launch,
                std::span<const CaptureType> captures = {}) {
  launch.kernel = root.field("kernel").string();
  JsonNode grid = root.field("grid");
  grid.fields({"x", "y", "z"});
  for (size_t i = 0; i < 3; ++i)
    for (const JsonNode &factor :
         grid.field(std::string_view("xyz").substr(i, 1)).elements())
      launch.grid[i].push_back(readFactor(factor));
  launch.block = readExtents(root.field("block"));
  for (const JsonNode &parameter : root.field("parameters").elements()) {
    launch.parameters.push_back(readParameter(parameter));
    checkCapture(parameter, captures, launch.parameters.back());
  }
}

/// Reads the fields of a kernel with splits. The dimensions of its workspace
/// are the number of parts followed by those of the outputs, so they are
/// skipped.
void readSplit(JsonNode root, Manifest &manifest) {
  if (!root.has("splits"))
    return;
  manifest.splits = root.field("splits").unsignedInteger(2, 256);
  for (const JsonNode &tensor : root.field("workspace").elements(3)) {
    tensor.fields({"tensor", "dtype", "dims"});
    tensor.field("tensor").choice<TensorName>();
    tensor.field("dtype").choice<ElementType>();
    tensor.field("dims").elements();
  }
  JsonNode combine = root.field("combine");
  combine.fields({"kernel", "grid", "block", "parameters"});
  readLaunch(combine, manifest.combine.emplace());
}

void readKernel(JsonNode root, Manifest &manifest) {
  readLaunch(root, manifest, manifest.captures);
  if (root.has("scheduler"))
    manifest.scheduler = root.field("scheduler").choice(schedulerNames);
  if (root.has("max_ctas"))
    manifest.maxCtas = root.field("max_ctas").unsignedInteger(1, 0x7fffffff);
  if (root.has("ctas_per_sm"))
    manifest.ctasPerSm = root.field("ctas_per_sm").unsignedInteger(1, 32);
  manifest.cluster = readExtents(root.field("cluster"));
  manifest.smemBytes = root.field("smem_bytes").unsignedInteger(0, 1u << 20);
  manifest.tmemColumns = root.field("tmem_columns").unsignedInteger(0, 512);
  for (const JsonNode &role : root.field("roles").elements())
    manifest.roles.push_back(readRole(role));
  readSplit(root, manifest);
}

} // namespace

std::optional<size_t> Parameter::rowDim() const {
  for (size_t n = 1; n < std::min<size_t>(dims.size(), 3); ++n)
    if (dims[n] == MapDim::QLen || dims[n] == MapDim::KvLen ||
        dims[n] == MapDim::KvLen2)
      return n;
  return std::nullopt;
}

bool Manifest::has(TensorName name) const {
  switch (name) {
  case TensorName::Q:
  case TensorName::K:
  case TensorName::V:
  case TensorName::O:
    return true;
  case TensorName::Lse:
    return lse;
  case TensorName::RowMax:
    return rowMax;
  case TensorName::RowSum:
    return rowSum;
  case TensorName::KvLens:
    return kvLens;
  case TensorName::CuSeqlensQ:
    return cuSeqlensQ;
  case TensorName::CuSeqlensK:
    return cuSeqlensK;
  case TensorName::Sink:
    return sink;
  case TensorName::OParts:
  case TensorName::MaxParts:
  case TensorName::SumParts:
    return combine.has_value();
  case TensorName::K2:
  case TensorName::V2:
    return source2;
  case TensorName::Source2Lens:
    return source2Lens;
  }
  return false;
}

int64_t Manifest::maxLength() const {
  bool bounded = windowLeft || windowRight || source2;
  return bounded ? maxWindowedLength : launch::maxLength;
}

std::optional<Manifest> parseManifest(std::string_view text,
                                      std::string &problem) {
  std::optional<nlohmann::json> value = parseJson(text, problem);
  if (!value) {
    problem = "malformed launch manifest: " + problem;
    return std::nullopt;
  }
  Manifest manifest;
  problem.clear();
  JsonNode root(&*value, "manifest", problem);
  root.field("schema_version").unsignedInteger(1, 1);
  root.fields({"schema_version", "kernel",       "target",       "dtype",
               "head_dim",       "head_dim_v",   "v_in_k",       "mask",
               "window_left",    "window_right", "scale",        "lse",
               "q_tiles",        "p_placement",  "grid",         "block",
               "cluster",        "smem_bytes",   "tmem_columns", "roles",
               "parameters",     "kv_lens",      "cu_seqlens_q", "cu_seqlens_k",
               "sink",           "score",        "captures",     "out_dtype",
               "row_max",        "row_sum",      "unnormalised", "splits",
               "workspace",      "combine",      "pack_heads",   "scheduler",
               "max_ctas",       "ctas_per_sm",  "source2",      "source2_lens",
               "source2_mask"});
  readProblem(root, manifest);
  readKernel(root, manifest);
  if (!problem.empty())
    return std::nullopt;
  return manifest;
}

bool KernelLaunch::takes(RunValue value) const {
  auto isIt = [&](const Parameter &parameter) {
    return (parameter.kind == Parameter::Kind::U32 ||
            parameter.kind == Parameter::Kind::U64) &&
           !parameter.capture && parameter.value == value;
  };
  return std::any_of(parameters.begin(), parameters.end(), isIt);
}

bool MergeManifest::has(TensorName name) const {
  switch (name) {
  case TensorName::O:
  case TensorName::OParts:
  case TensorName::MaxParts:
  case TensorName::SumParts:
    return true;
  case TensorName::Lse:
    return lse;
  case TensorName::RowMax:
    return rowMax;
  case TensorName::RowSum:
    return rowSum;
  case TensorName::Sink:
    return sink;
  default:
    return false;
  }
}

std::optional<MergeManifest> parseMergeManifest(std::string_view text,
                                                std::string &problem) {
  std::optional<nlohmann::json> value = parseJson(text, problem);
  if (!value) {
    problem = "malformed launch manifest: " + problem;
    return std::nullopt;
  }
  MergeManifest manifest;
  problem.clear();
  JsonNode root(&*value, "manifest", problem);
  root.field("schema_version").unsignedInteger(1, 1);
  root.fields({"schema_version", "kernel", "target", "head_dim_v", "out_dtype",
               "lse", "row_max", "row_sum", "sink", "unnormalised", "grid",
               "block", "parameters"});
  manifest.target = root.field("target").string();
  manifest.headDim = root.field("head_dim_v").unsignedInteger(1, 1 << 16);
  manifest.outDtype = root.field("out_dtype").choice<ElementType>();
  const std::pair<std::string_view, bool &> switches[] = {
      {"lse", manifest.lse},
      {"row_max", manifest.rowMax},
      {"row_sum", manifest.rowSum},
      {"sink", manifest.sink},
      {"unnormalised", manifest.unnormalised}};
  for (const auto &[name, on] : switches)
    on = root.field(name).boolean();
  readLaunch(root, manifest);
  if (!problem.empty())
    return std::nullopt;
  return manifest;
}

} // namespace fmha::launch
