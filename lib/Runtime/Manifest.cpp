//===- Manifest.cpp - How a compiled kernel is launched -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Manifest.h"
#include "JsonReader.h"
#include "fmha/Runtime/Files.h"

#include <algorithm>
#include <optional>

namespace fmha::runtime {
namespace {

constexpr llvm::StringLiteral runValueNames[] = {"batch",
                                                 "q_len",
                                                 "max_q_len",
                                                 "kv_len",
                                                 "q_heads",
                                                 "kv_heads",
                                                 "group",
                                                 "lse_stride_batch",
                                                 "lse_stride_head",
                                                 "lse_stride_row",
                                                 "tiles",
                                                 "kv_len2",
                                                 "row_max_stride_batch",
                                                 "row_max_stride_head",
                                                 "row_max_stride_row",
                                                 "row_sum_stride_batch",
                                                 "row_sum_stride_head",
                                                 "row_sum_stride_row",
                                                 "o_stride_batch",
                                                 "o_stride_row",
                                                 "o_stride_head",
                                                 "parts",
                                                 "o_parts_stride_part",
                                                 "o_parts_stride_batch",
                                                 "o_parts_stride_row",
                                                 "o_parts_stride_head",
                                                 "max_parts_stride_part",
                                                 "max_parts_stride_batch",
                                                 "max_parts_stride_head",
                                                 "max_parts_stride_row",
                                                 "sum_parts_stride_part",
                                                 "sum_parts_stride_batch",
                                                 "sum_parts_stride_head",
                                                 "sum_parts_stride_row"};
constexpr llvm::StringLiteral tensorNames[] = {"q",
                                               "k",
                                               "v",
                                               "o",
                                               "lse",
                                               "row_max",
                                               "row_sum",
                                               "kv_lens",
                                               "cu_seqlens_q",
                                               "cu_seqlens_k",
                                               "sink",
                                               "o_parts",
                                               "max_parts",
                                               "sum_parts",
                                               "k2",
                                               "v2",
                                               "source2_lens"};
constexpr llvm::StringLiteral mapDimNames[] = {
    "head_dim", "head_dim_v", "q_len", "kv_len", "q_heads",
    "kv_heads", "group",      "batch", "kv_len2"};
constexpr llvm::StringLiteral swizzleNames[] = {"none", "32B", "64B", "128B"};
constexpr llvm::StringLiteral captureElements[] = {"f32", "f16", "bf16", "i64",
                                                   "i32", "i8",  "i1"};
constexpr uint32_t maxCaptureRank = 8;
constexpr llvm::StringLiteral kindNames[] = {"tensor_map", "pointer", "u32",
                                             "u64"};
constexpr llvm::StringLiteral dtypeNames[] = {"f16", "bf16"};
constexpr llvm::StringLiteral mapTypeNames[] = {"f16", "bf16", "f32"};
constexpr llvm::StringLiteral maskNames[] = {"none", "causal",
                                             "causal-top-left"};
constexpr llvm::StringLiteral schedulerNames[] = {"single", "static",
                                                  "dynamic"};
constexpr llvm::StringLiteral placementNames[] = {"tmem", "smem", "registers"};

GridFactor readFactor(JsonNode node) {
  if (node.isString())
    return {node.choice<RunValue>(runValueNames), 1};
  if (node.isNumber())
    return {RunValue::Batch, 1, node.unsignedInteger(1)};
  node.fields({"ceil_div"});
  std::vector<JsonNode> parts = node.field("ceil_div").elements(2);
  if (parts.size() != 2)
    return {RunValue::Batch, 1};
  return {parts[0].choice<RunValue>(runValueNames),
          parts[1].unsignedInteger(1)};
}

void readTensorMap(JsonNode node, Parameter &parameter) {
  node.fields({"name", "kind", "tensor", "dtype", "dims", "box", "swizzle",
               "sequences"});
  parameter.tensor = node.field("tensor").choice<TensorName>(tensorNames);
  parameter.dtype = node.field("dtype").choice<ElementType>(mapTypeNames);
  for (const JsonNode &dim : node.field("dims").elements())
    parameter.dims.push_back(dim.choice<MapDim>(mapDimNames));
  if (parameter.dims.empty() || parameter.dims.size() > 5)
    node.field("dims").complain("1 to 5 dimensions",
                                std::to_string(parameter.dims.size()));
  for (const JsonNode &extent :
       node.field("box").elements(parameter.dims.size()))
    parameter.box.push_back(extent.unsignedInteger(1, 256));
  parameter.swizzle = node.field("swizzle").choice<Swizzle>(swizzleNames);
  if (!node.has("sequences"))
    return;
  parameter.sequences = node.field("sequences").boolean();
  if (parameter.dims.size() != 4 || !parameter.rowDim())
    node.field("dims").complain(
        "4 dimensions of a map with sequences, the second or third a length",
        std::to_string(parameter.dims.size()));
}

/// Whether the parameter speaks of what code on scores reads:
///   {"capture": 0}, {"capture": 0, "size": 3}, {"capture": 0, "stride": 1}
bool readCapture(JsonNode node, Parameter &parameter) {
  if (!node.has("capture"))
    return false;
  bool isPointer = parameter.kind == Parameter::Kind::Pointer;
  llvm::StringLiteral extent = "size";
  if (node.has("stride"))
    extent = "stride";
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
  size_t element = node.field("element").choice<size_t>(captureElements);
  type.element = captureElements[element].str();
  type.rank = node.field("rank").unsignedInteger(0, maxCaptureRank);
  return type;
}

/// Dimensions and tensors that the parameter speaks of are there.
void checkCapture(JsonNode node, llvm::ArrayRef<CaptureType> captures,
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
  parameter.kind = node.field("kind").choice<Parameter::Kind>(kindNames);
  switch (parameter.kind) {
  case Parameter::Kind::TensorMap:
    readTensorMap(node, parameter);
    break;
  case Parameter::Kind::Pointer:
    if (readCapture(node, parameter))
      break;
    node.fields({"name", "kind", "tensor"});
    parameter.tensor = node.field("tensor").choice<TensorName>(tensorNames);
    break;
  case Parameter::Kind::U32:
  case Parameter::Kind::U64:
    if (readCapture(node, parameter))
      break;
    node.fields({"name", "kind", "value"});
    parameter.value = node.field("value").choice<RunValue>(runValueNames);
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
  manifest.dtype = root.field("dtype").choice<ElementType>(dtypeNames);
  manifest.outDtype = manifest.dtype;
  if (root.has("out_dtype"))
    manifest.outDtype =
        root.field("out_dtype").choice<ElementType>(mapTypeNames);
  manifest.headDim = root.field("head_dim").unsignedInteger(1, 1 << 16);
  manifest.headDimV = root.field("head_dim_v").unsignedInteger(1, 1 << 16);
  const std::pair<llvm::StringLiteral, bool &> switches[] = {
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
  size_t mask = root.field("mask").choice<size_t>(maskNames);
  manifest.mask = maskNames[mask].str();
  if (root.has("source2_mask"))
    manifest.mask2 =
        maskNames[root.field("source2_mask").choice<size_t>(maskNames)].str();
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
  size_t placement = root.field("p_placement").choice<size_t>(placementNames);
  manifest.pPlacement = placementNames[placement].str();
}

/// What the launch of every kernel has.
void readLaunch(JsonNode root, KernelLaunch &launch,
                llvm::ArrayRef<CaptureType> captures = {}) {
  launch.kernel = root.field("kernel").string();
  JsonNode grid = root.field("grid");
  grid.fields({"x", "y", "z"});
  for (size_t i = 0; i < 3; ++i)
    for (const JsonNode &factor :
         grid.field(llvm::StringRef("xyz").substr(i, 1)).elements())
      launch.grid[i].push_back(readFactor(factor));
  launch.block = readExtents(root.field("block"));
  for (const JsonNode &parameter : root.field("parameters").elements()) {
    launch.parameters.push_back(readParameter(parameter));
    checkCapture(parameter, captures, launch.parameters.back());
  }
}

/// The dimensions of the workspace are those of the outputs behind the number
/// of the part: hosts that know this one need not read them.
void readSplit(JsonNode root, Manifest &manifest) {
  if (!root.has("splits"))
    return;
  manifest.splits = root.field("splits").unsignedInteger(2, 256);
  for (const JsonNode &tensor : root.field("workspace").elements(3)) {
    tensor.fields({"tensor", "dtype", "dims"});
    tensor.field("tensor").choice<TensorName>(tensorNames);
    tensor.field("dtype").choice<ElementType>(mapTypeNames);
    tensor.field("dims").elements();
  }
  JsonNode combine = root.field("combine");
  combine.fields({"kernel", "grid", "block", "parameters"});
  readLaunch(combine, manifest.combine.emplace());
}

void readKernel(JsonNode root, Manifest &manifest) {
  readLaunch(root, manifest, manifest.captures);
  if (root.has("scheduler"))
    manifest.scheduler =
        schedulerNames[root.field("scheduler").choice<size_t>(schedulerNames)]
            .str();
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

size_t CaptureType::elementBytes() const {
  constexpr std::pair<llvm::StringLiteral, size_t> others[] = {
      {"i1", 1}, {"i8", 1}, {"f16", 2}, {"bf16", 2}, {"i64", 8}};
  for (const auto &[name, bytes] : others)
    if (element == name)
      return bytes;
  return 4;
}

llvm::StringRef stringify(RunValue value) {
  return runValueNames[size_t(value)];
}
llvm::StringRef stringify(TensorName name) { return tensorNames[size_t(name)]; }
llvm::StringRef stringify(MapDim dim) { return mapDimNames[size_t(dim)]; }

llvm::Expected<Manifest> parseManifest(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return failure("malformed launch manifest: " +
                   llvm::toString(value.takeError()));
  Manifest manifest;
  std::string problem;
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
    return failure(problem);
  return manifest;
}

bool KernelLaunch::takes(RunValue value) const {
  return llvm::any_of(parameters, [&](const Parameter &parameter) {
    return (parameter.kind == Parameter::Kind::U32 ||
            parameter.kind == Parameter::Kind::U64) &&
           !parameter.capture && parameter.value == value;
  });
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

llvm::Expected<MergeManifest> parseMergeManifest(llvm::StringRef text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return failure("malformed launch manifest: " +
                   llvm::toString(value.takeError()));
  MergeManifest manifest;
  std::string problem;
  JsonNode root(&*value, "manifest", problem);
  root.field("schema_version").unsignedInteger(1, 1);
  root.fields({"schema_version", "kernel", "target", "head_dim_v", "out_dtype",
               "lse", "row_max", "row_sum", "sink", "unnormalised", "grid",
               "block", "parameters"});
  manifest.target = root.field("target").string();
  manifest.headDim = root.field("head_dim_v").unsignedInteger(1, 1 << 16);
  manifest.outDtype = root.field("out_dtype").choice<ElementType>(mapTypeNames);
  const std::pair<llvm::StringLiteral, bool &> switches[] = {
      {"lse", manifest.lse},
      {"row_max", manifest.rowMax},
      {"row_sum", manifest.rowSum},
      {"sink", manifest.sink},
      {"unnormalised", manifest.unnormalised}};
  for (const auto &[name, on] : switches)
    on = root.field(name).boolean();
  readLaunch(root, manifest);
  if (!problem.empty())
    return failure(problem);
  return manifest;
}

/// "ceil(q_len 300 / 256)", "batch 7".
static std::string describe(const GridFactor &factor, uint64_t value) {
  if (factor.constant)
    return std::to_string(factor.constant);
  std::string text = (stringify(factor.value) + " " + llvm::Twine(value)).str();
  if (factor.divisor == 1)
    return text;
  return "ceil(" + text + " / " + std::to_string(factor.divisor) + ")";
}

llvm::Expected<std::array<uint32_t, 3>> evaluateGrid(const Manifest &manifest,
                                                     const RunValues &values) {
  auto grid = evaluateTiles(manifest, values);
  if (grid && manifest.maxCtas)
    (*grid)[0] = std::min((*grid)[0], manifest.maxCtas);
  return grid;
}

llvm::Expected<std::array<uint32_t, 3>>
evaluateTiles(const KernelLaunch &launch, const RunValues &values) {
  // CUDA Programming Guide, technical specifications per compute capability.
  constexpr uint64_t limits[3] = {0x7fffffff, 65535, 65535};
  std::array<uint32_t, 3> grid = {1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    uint64_t extent = 1;
    bool empty = false, saturated = false;
    std::string product;
    for (const GridFactor &factor : launch.grid[i]) {
      uint64_t value = values[factor.value];
      uint64_t count = value / factor.divisor + (value % factor.divisor != 0);
      if (factor.constant)
        count = factor.constant;
      empty |= count == 0;
      bool overflow = false;
      extent = llvm::SaturatingMultiply(extent, count, &overflow);
      saturated |= overflow;
      product += (product.empty() ? "" : " * ") + describe(factor, value);
    }
    if (extent > limits[i] && !empty)
      return failure("the problem is too large for one launch: expected a grid "
                     "extent " +
                     llvm::Twine(llvm::StringRef("xyz")[i]) + " of at most " +
                     llvm::Twine(limits[i]) + ", got " +
                     (saturated ? "more than " : "") + llvm::Twine(extent) +
                     " = " + product +
                     "; split the batch into several launches");
    grid[i] = empty ? 0 : uint32_t(extent);
  }
  return grid;
}

} // namespace fmha::runtime
