//===- Manifest.cpp - How a compiled kernel is launched -------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Launch/Manifest.h"
#include "JsonReader.h"
#include "fmha/Schedule/Model/FmaThreads.h"

#include <algorithm>
#include <optional>

namespace fmha::launch {
namespace {

using Words = std::string_view[3];
constexpr uint32_t maxCaptureRank = 8;
constexpr Words maskNames = {"none", "causal", "causal-top-left"};
constexpr Words schedulerNames = {"single", "static", "dynamic"};
constexpr Words rotaryNames = {"none", "half", "interleaved"};
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

/// Reads a type of 16 or 32 bits.
ElementType readWide(JsonNode node) {
  constexpr size_t wideTypes = size_t(ElementType::F32) + 1;
  return ElementType(node.choose(namesOf<ElementType>().first(wideTypes)));
}

void readTensorMap(JsonNode node, Parameter &parameter) {
  node.fields({"name", "kind", "tensor", "dtype", "dims", "box", "swizzle",
               "sequences"});
  parameter.tensor = node.field("tensor").choice<TensorName>();
  parameter.dtype = readWide(node.field("dtype"));
  for (const JsonNode &dim : node.field("dims").elements())
    parameter.dims.push_back(dim.choice<MapDim>());
  if (parameter.dims.empty() || parameter.dims.size() > 5)
    node.field("dims").fail("1 to 5 dimensions",
                            std::to_string(parameter.dims.size()));
  for (const JsonNode &extent :
       node.field("box").elements(parameter.dims.size()))
    parameter.box.push_back(extent.unsignedInteger(1, 256));
  parameter.swizzle = node.field("swizzle").choice<Swizzle>();
  if (!node.has("sequences"))
    return;
  parameter.sequences = node.field("sequences").boolean();
  if (parameter.dims.size() != 4 || !parameter.rowDim())
    node.field("dims").fail(
        "4 dimensions of a map with sequences, the second or third a length",
        std::to_string(parameter.dims.size()));
}

/// Reads a parameter that describes a capture; returns whether it does:
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
    return node.field("capture").fail("one of the " + std::to_string(count) +
                                          " entries of \"captures\"",
                                      std::to_string(*parameter.capture));
  uint32_t rank = captures[*parameter.capture].rank;
  if (parameter.size && *parameter.size >= rank)
    node.field("size").fail("a dimension of rank " + std::to_string(rank),
                            std::to_string(*parameter.size));
  if (parameter.stride && *parameter.stride >= rank)
    node.field("stride").fail("a dimension of rank " + std::to_string(rank),
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

//===----------------------------------------------------------------------===//
// The members of a manifest, in the order in which they are read
//===----------------------------------------------------------------------===//

/// A member of the JSON object of an M. Without `read`, it is read together
/// with another member.
template <typename M> struct Field {
  std::string_view name;
  bool isRequired = true;
  void (*read)(JsonNode, M &) = nullptr;
  /// What it states, in place of `read`.
  bool schedule::Facts::*fact = nullptr;
};

template <typename M> using Fields = std::vector<Field<M>>;

template <typename M, auto member, uint32_t low, uint32_t high>
void readNumber(JsonNode node, M &manifest) {
  manifest.*member = node.unsignedInteger(low, high);
}

template <typename M, auto member, const Words &words>
void readWord(JsonNode node, M &manifest) {
  manifest.*member = node.choice(words);
}

template <typename M, auto member> void readText(JsonNode node, M &manifest) {
  manifest.*member = node.string();
}

void readGrid(JsonNode node, KernelLaunch &launch) {
  node.fields({"x", "y", "z"});
  for (size_t i = 0; i < 3; ++i)
    for (const JsonNode &factor :
         node.field(std::string_view("xyz").substr(i, 1)).elements())
      launch.grid[i].push_back(readFactor(factor));
}

void readParameters(JsonNode node, std::span<const CaptureType> captures,
                    KernelLaunch &launch) {
  for (const JsonNode &parameter : node.elements()) {
    launch.parameters.push_back(readParameter(parameter));
    checkCapture(parameter, captures, launch.parameters.back());
  }
}

std::span<const CaptureType> capturesOf(const KernelLaunch &) { return {}; }
std::span<const CaptureType> capturesOf(const Manifest &manifest) {
  return manifest.captures;
}

/// Returns the members of every launch. They are read after the captures.
template <typename M> Fields<M> launchFields() {
  return {
      {"kernel", true, readText<M, &M::kernel>},
      {"grid", true, [](JsonNode node, M &m) { readGrid(node, m); }},
      {"block", true, [](JsonNode node, M &m) { m.block = readExtents(node); }},
      {"programmatic", false,
       [](JsonNode node, M &m) { m.programmatic = node.boolean(); }},
      {"parameters", true,
       [](JsonNode node, M &m) { readParameters(node, capturesOf(m), m); }}};
}

/// Reads the buffers of the workspace. Their dimensions follow from their
/// names, so they are skipped.
void readWorkspace(JsonNode node, Manifest &manifest) {
  for (const JsonNode &tensor : node.elements()) {
    tensor.fields({"tensor", "dtype", "dims", "zero"});
    auto name = tensor.field("tensor").choice<TensorName>();
    tensor.field("dtype").choice<CaptureElement>();
    tensor.field("dims").elements();
    bool isZero = tensor.has("zero") && tensor.field("zero").boolean();
    if (isZero != (name == TensorName::TileCounter))
      tensor.field("tensor").fail(
          "\"zero\": true for tile_counter and no other buffer",
          std::string(nameOf(name)));
    manifest.tileCounter |= name == TensorName::TileCounter;
  }
}

/// Returns the members of both ops, facts apart.
template <typename M> Fields<M> sharedFields(bool hasAll) {
  return {{"schema_version", true,
           [](JsonNode node, M &) { node.unsignedInteger(1, 1); }},
          {"target", true, readText<M, &M::target>},
          {"id", false, readText<M, &M::id>},
          {"out_dtype", hasAll,
           [](JsonNode node, M &m) { m.outDtype = readWide(node); }}};
}

/// The facts that both ops may have, or those that only attention has.
template <typename M> Fields<M> facts(bool ofMerge, bool hasAll) {
  Fields<M> fields;
  for (const schedule::Fact &fact : schedule::facts)
    if (fact.isStated() && fact.ofMerge == ofMerge)
      fields.push_back({fact.name,
                        hasAll || fact.there == &schedule::Facts::lse, nullptr,
                        fact.there});
  return fields;
}

void readCaptures(JsonNode node, Manifest &manifest) {
  for (const JsonNode &capture : node.elements())
    manifest.captures.push_back(readCaptureType(capture));
}

void readDtype(JsonNode node, Manifest &manifest) {
  manifest.dtype = node.choice<ElementType>();
  manifest.outDtype = manifest.kvDtype = manifest.dtype;
}

/// Returns the members that describe the problem of attention.
Fields<Manifest> problemFields() {
  using M = Manifest;
  return {
      {"dtype", true, readDtype},
      {"kv_dtype", false,
       [](JsonNode node, M &m) { m.kvDtype = node.choice<ElementType>(); }},
      {"head_dim", true, readNumber<M, &M::headDim, 1, 1 << 16>},
      {"head_dim_v", true, readNumber<M, &M::headDimV, 1, 1 << 16>},
      {"page_size", false, readNumber<M, &M::pageSize, 1, 256>},
      {"rotary_dim", false, readNumber<M, &M::rotaryDim, 2, 1 << 16>},
      {"block_rows", false, readNumber<M, &M::blockRows, 1, 1 << 28>},
      {"block_keys", false, readNumber<M, &M::blockKeys, 1, 1 << 28>},
      {"source2_mask", false, readWord<M, &M::mask2, maskNames>},
      {"captures", false, readCaptures},
      {"mask", true, readWord<M, &M::mask, maskNames>},
      {"window_left", false, readNumber<M, &M::windowLeft, 0, 1 << 30>},
      {"window_right", false, readNumber<M, &M::windowRight, 0, 1 << 30>},
      {"scale", true, [](JsonNode node, M &m) { m.scale = node.number(); }}};
}

void readRoles(JsonNode node, Manifest &manifest) {
  for (const JsonNode &role : node.elements())
    manifest.roles.push_back(readRole(role));
}

/// Returns the members that describe the schedule of attention.
Fields<Manifest> scheduleFields() {
  using M = Manifest;
  return {{"q_tiles", true, readNumber<M, &M::qTiles, 1, 16>},
          {"pack_heads", false, readNumber<M, &M::packHeads, 1, 128>},
          {"p_placement", true, readWord<M, &M::pPlacement, placementNames>},
          {"scheduler", false, readWord<M, &M::scheduler, schedulerNames>},
          {"max_ctas", false, readNumber<M, &M::maxCtas, 1, 0x7fffffff>},
          {"ctas_per_sm", false, readNumber<M, &M::ctasPerSm, 1, 32>},
          {"cluster", true,
           [](JsonNode node, M &m) { m.cluster = readExtents(node); }},
          {"smem_bytes", true, readNumber<M, &M::smemBytes, 0, 1u << 20>},
          {"tmem_columns", true, readNumber<M, &M::tmemColumns, 0, 512>},
          {"roles", true, readRoles},
          {"splits", false},
          {"workspace", false, readWorkspace},
          {"combine", false}};
}

/// Returns the members of a manifest of attention, and of one of a merge.
template <typename M> Fields<M> fieldsOf();
template <> Fields<Manifest> fieldsOf() {
  Fields<Manifest> all;
  // The type of the output defaults to that of the inputs.
  for (const Fields<Manifest> &fields :
       {problemFields(), facts<Manifest>(/*ofMerge=*/false, /*hasAll=*/false),
        sharedFields<Manifest>(false),
        facts<Manifest>(/*ofMerge=*/true, /*hasAll=*/false), scheduleFields(),
        launchFields<Manifest>()})
    all.insert(all.end(), fields.begin(), fields.end());
  return all;
}
template <> Fields<MergeManifest> fieldsOf() {
  using M = MergeManifest;
  Fields<M> all = sharedFields<M>(true);
  all.push_back({"head_dim_v", true, readNumber<M, &M::headDim, 1, 1 << 16>});
  for (const Fields<M> &fields :
       {facts<M>(/*ofMerge=*/true, /*hasAll=*/true), launchFields<M>()})
    all.insert(all.end(), fields.begin(), fields.end());
  return all;
}

template <> Fields<AppendManifest> fieldsOf() {
  using M = AppendManifest;
  auto readElements = [](JsonNode node, M &m) {
    m.dtype = ElementType(node.choose(namesOf<ElementType>().first(2)));
    m.outDtype = m.dtype;
  };
  auto readMark = [](JsonNode node, M &) {
    if (!node.boolean())
      node.fail("true", "false");
  };
  Fields<M> all = {
      {"schema_version", true,
       [](JsonNode node, M &) { node.unsignedInteger(1, 1); }},
      {"append", true, readMark},
      {"target", true, readText<M, &M::target>},
      {"id", false, readText<M, &M::id>},
      {"dtype", true, readElements},
      {"head_dim", true, readNumber<M, &M::headDim, 1, 1 << 16>},
      {"head_dim_v", true, readNumber<M, &M::headDimV, 1, 1 << 16>},
      {"page_size", false, readNumber<M, &M::pageSize, 1, 256>},
      {"rotary", false, readWord<M, &M::rotary, rotaryNames>},
      {"rotary_dim", false, readNumber<M, &M::rotaryDim, 2, 1 << 16>},
      {"query", false, [](JsonNode node, M &m) { m.query = node.boolean(); }}};
  Fields<M> launch = launchFields<M>();
  all.insert(all.end(), launch.begin(), launch.end());
  return all;
}

template <typename M>
void readFields(JsonNode root, const Fields<M> &fields, M &manifest) {
  std::vector<std::string_view> names;
  for (const Field<M> &field : fields)
    names.push_back(field.name);
  root.fields(names);
  for (const Field<M> &field : fields) {
    if (!field.isRequired && !root.has(field.name))
      continue;
    if (field.read)
      field.read(root.field(field.name), manifest);
    if constexpr (std::is_base_of_v<schedule::Facts, M>)
      if (field.fact)
        manifest.*field.fact = root.field(field.name).boolean();
  }
}

/// Reads the fields of a kernel with splits.
void readSplit(JsonNode root, Manifest &manifest) {
  if (!root.has("splits"))
    return;
  manifest.splits = root.field("splits").unsignedInteger(2, 256);
  root.field("workspace").elements(manifest.tileCounter ? 4 : 3);
  readFields(root.field("combine"), launchFields<KernelLaunch>(),
             manifest.combine.emplace());
}
void readSplit(JsonNode, MergeManifest &) {}
void readSplit(JsonNode, AppendManifest &) {}

/// Checks that paged caches have block tables and a page size that is a power
/// of two.
void checkPages(JsonNode root, const Manifest &manifest) {
  bool isPower = (manifest.pageSize & (manifest.pageSize - 1)) == 0;
  if (manifest.blockTables == (manifest.pageSize != 0) && isPower)
    return;
  root.fail(isPower ? "block_tables and page_size, or neither"
                    : "page_size to be a power of two",
            isPower ? "one of them" : std::to_string(manifest.pageSize));
}
void checkPages(JsonNode, const MergeManifest &) {}

/// Checks that lists of blocks come in pairs, with the size of a block.
void checkBlocks(JsonNode root, const Manifest &manifest) {
  bool hasLists = manifest.kvIndices;
  if (manifest.kvNumBlocks != hasLists ||
      manifest.fullKvNumBlocks != manifest.fullKvIndices ||
      (manifest.fullKvIndices && !hasLists) ||
      (manifest.blockRows != 0) != hasLists ||
      (manifest.blockKeys != 0) != hasLists)
    root.fail("kv_num_blocks, kv_indices, block_rows and block_keys, or none, "
              "and full_kv_num_blocks and full_kv_indices with them, or none",
              "some of them");
}
void checkBlocks(JsonNode, const MergeManifest &) {}
void checkBlocks(JsonNode, const AppendManifest &) {}

/// Checks that there are scales for tensors of e4m3 and for no others, and that
/// k and v have the type of q or e4m3.
void checkScales(JsonNode root, const Manifest &manifest) {
  auto is8 = [](ElementType type) { return type == ElementType::E4M3; };
  bool ofKeys = is8(manifest.kvDtype), ofQueries = is8(manifest.dtype);
  if (!ofKeys && manifest.kvDtype != manifest.dtype)
    root.fail("kv_dtype to be dtype or e4m3",
              std::string(nameOf(manifest.kvDtype)));
  if (is8(manifest.outDtype))
    root.fail("out_dtype with a dtype of e4m3: f32, f16 or bf16", "none");
  if (manifest.kScale != ofKeys || manifest.vScale != ofKeys ||
      manifest.qScale != ofQueries)
    root.fail("k_scale and v_scale with k and v of e4m3, q_scale with q of "
              "e4m3, and none else",
              "others");
  if ((manifest.scalePerHead || manifest.scalePerPage) && !ofKeys)
    root.fail("scale_per_head and scale_per_page with k and v of e4m3 only",
              "one without");
  if (manifest.scalePerPage && !manifest.blockTables)
    root.fail("scale_per_page with block_tables", "it without");
}
void checkScales(JsonNode, const MergeManifest &) {}
void checkScales(JsonNode, const AppendManifest &) {}

/// Checks that a kernel that rotates appends keys, and that one that names the
/// pairs rotates.
void checkRotary(JsonNode root, const Manifest &manifest) {
  bool isRotation = manifest.keyNew && manifest.rotaryDim % 2 == 0 &&
                    manifest.rotaryDim <= manifest.headDim;
  if (manifest.rotaryDim ? isRotation : !manifest.rotaryInterleaved)
    return;
  root.fail("key_new and an even rotary_dim of at most head_dim, or neither "
            "rotary_dim nor rotary_interleaved",
            "rotary_dim " + std::to_string(manifest.rotaryDim) +
                " with head_dim " + std::to_string(manifest.headDim));
}
void checkRotary(JsonNode, const MergeManifest &) {}
void checkRotary(JsonNode, const AppendManifest &) {}

void checkPages(JsonNode root, const AppendManifest &manifest) {
  if (manifest.pageSize & (manifest.pageSize - 1))
    root.fail("page_size to be a power of two",
              std::to_string(manifest.pageSize));
  bool isRotated = manifest.rotary != "none";
  if (isRotated != (manifest.rotaryDim != 0) || (manifest.query && !isRotated))
    root.fail("rotary and rotary_dim, and query only with them",
              "one without the other");
}

template <typename M>
std::optional<M> parse(std::string_view text, std::string &problem) {
  std::optional<nlohmann::json> value = parseJson(text, problem);
  if (!value) {
    problem = "malformed launch manifest: " + problem;
    return std::nullopt;
  }
  M manifest;
  problem.clear();
  JsonNode root(&*value, "manifest", problem);
  // Other versions have other members.
  root.field("schema_version").unsignedInteger(1, 1);
  readFields(root, fieldsOf<M>(), manifest);
  readSplit(root, manifest);
  checkPages(root, manifest);
  checkBlocks(root, manifest);
  checkScales(root, manifest);
  checkRotary(root, manifest);
  if (!problem.empty())
    return std::nullopt;
  return manifest;
}

} // namespace

std::optional<size_t> Parameter::rowDim() const {
  for (size_t n = 1; n < std::min<size_t>(dims.size(), 3); ++n)
    if (dims[n] == MapDim::QLen || dims[n] == MapDim::KvLen ||
        dims[n] == MapDim::KvLen2 || dims[n] == MapDim::PageSize)
      return n;
  return std::nullopt;
}

bool KernelManifest::has(TensorName name) const {
  const schedule::Fact *fact = schedule::findFact(nameOf(name));
  return name == TensorName::O ||
         (fact && fact->isTensor() && this->*fact->there);
}

bool Manifest::has(TensorName name) const {
  switch (name) {
  case TensorName::Q:
  case TensorName::K:
  case TensorName::V:
    return true;
  case TensorName::OParts:
  case TensorName::MaxParts:
  case TensorName::SumParts:
    return combine.has_value();
  case TensorName::TileCounter:
    return tileCounter;
  case TensorName::K2:
  case TensorName::V2:
    return source2;
  case TensorName::KeyNew:
  case TensorName::ValueNew:
    return keyNew;
  case TensorName::RotaryCos:
  case TensorName::RotarySin:
    return rotaryDim != 0;
  default:
    return KernelManifest::has(name);
  }
}

bool MergeManifest::has(TensorName name) const {
  bool isPart = name == TensorName::OParts || name == TensorName::MaxParts ||
                name == TensorName::SumParts;
  return isPart || KernelManifest::has(name);
}

bool AppendManifest::has(TensorName name) const {
  switch (name) {
  case TensorName::KeyNew:
  case TensorName::ValueNew:
  case TensorName::K:
  case TensorName::V:
  case TensorName::KvLens:
    return true;
  case TensorName::BlockTables:
    return pageSize != 0;
  case TensorName::RotaryCos:
  case TensorName::RotarySin:
    return rotaryDim != 0;
  case TensorName::Q:
  case TensorName::QOut:
    return query;
  default:
    return false;
  }
}

bool Manifest::usesPlainThreads() const {
  return roles.size() == 1 && roles.front().name == schedule::FmaThreads::role;
}

int64_t Manifest::maxLength() const {
  bool bounded = windowLeft || windowRight || source2 || kvIndices;
  return bounded ? maxWindowedLength : launch::maxLength;
}

std::optional<Manifest> parseManifest(std::string_view text,
                                      std::string &problem) {
  return parse<Manifest>(text, problem);
}

std::optional<MergeManifest> parseMergeManifest(std::string_view text,
                                                std::string &problem) {
  return parse<MergeManifest>(text, problem);
}

std::optional<AppendManifest> parseAppendManifest(std::string_view text,
                                                  std::string &problem) {
  return parse<AppendManifest>(text, problem);
}

bool KernelLaunch::takes(RunValue value) const {
  auto isIt = [&](const Parameter &parameter) {
    return (parameter.kind == Parameter::Kind::U32 ||
            parameter.kind == Parameter::Kind::U64) &&
           !parameter.capture && parameter.value == value;
  };
  return std::any_of(parameters.begin(), parameters.end(), isIt);
}

} // namespace fmha::launch
