//===- Append.cpp - New tokens, appended before attention -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Append.h"
#include "fmha/Runtime/Files.h"

#include <cmath>
#include <cstring>

namespace fmha::tools {

using namespace runtime;

namespace {

/// Streams of random numbers after those of q, k, v, k2 and v2.
constexpr uint32_t keyStream = 11, valueStream = 12;

/// Copies element (b, l, h, d) of one array to that of another.
void copyElement(const HostArray &from, const std::array<int64_t, 3> &source,
                 HostArray &to, const std::array<int64_t, 3> &target,
                 int64_t d) {
  auto [b, l, h] = source;
  auto [tb, tl, th] = target;
  size_t bytes = sizeOf(from.view.dtype);
  std::memcpy(const_cast<void *>(to.element(to.view.indexOf(tb, tl, th, d))),
              from.element(from.view.indexOf(b, l, h, d)), bytes);
}

/// Calls `visit` with the sequence, the token and the position of each of the
/// last `count` tokens that have a position.
template <typename Visit>
void forEachToken(const std::vector<int32_t> &lens, int64_t count,
                  Visit visit) {
  for (int64_t b = 0; b < int64_t(lens.size()); ++b)
    for (int64_t i = 0; i < count; ++i)
      if (int64_t position = lens[b] - count + i; position >= 0)
        visit(b, i, position);
}

/// Returns the batch or page, and the row, of a position in the caches, if it
/// exists.
std::optional<std::pair<int64_t, int64_t>> rowOf(const HostProblem &problem,
                                                 int64_t b, int64_t position) {
  const auto &dims = problem.k.view.dims;
  const Lists &lists = problem.lists;
  std::pair<int64_t, int64_t> place = {b, position};
  if (lists.blockTables) {
    int64_t entry = position / dims[1];
    if (entry >= lists.maxPages)
      return std::nullopt;
    place = {(*lists.blockTables)[b * lists.maxPages + entry],
             position % dims[1]};
  }
  if (place.first < 0 || place.first >= dims[0] || place.second >= dims[1])
    return std::nullopt;
  return place;
}

llvm::Expected<std::optional<NpyArray>>
readOptional(const std::optional<std::string> &path) {
  if (!path || path->empty())
    return std::optional<NpyArray>();
  auto array = readNpy(*path);
  if (!array)
    return array.takeError();
  if (auto values = toFloats(*array, *path); !values)
    return values.takeError();
  return std::optional<NpyArray>(std::move(*array));
}

/// The rotation of rows, as the definition of fmha.append has it: products,
/// sums and differences in float, rounded once to the type of elements.
struct Rotation {
  const AppendProblem &spec;
  const std::vector<float> &cos, &sin;

  void apply(const HostArray &from, const std::array<int64_t, 3> &source,
             HostArray &to, const std::array<int64_t, 3> &target,
             int64_t position) const {
    int64_t pairs = spec.rotaryDim / 2;
    auto [sb, sl, sh] = source;
    auto [tb, tl, th] = target;
    for (int64_t j = 0; j < pairs; ++j) {
      bool isHalf = spec.rotary == "half";
      int64_t a = isHalf ? j : 2 * j, b = isHalf ? j + pairs : 2 * j + 1;
      float x = from.at(sb, sl, sh, a), y = from.at(sb, sl, sh, b);
      float c = cos[position * pairs + j], s = sin[position * pairs + j];
      float xc = x * c, ys = y * s, yc = y * c, xs = x * s;
      to.set(to.view.indexOf(tb, tl, th, a), xc - ys);
      to.set(to.view.indexOf(tb, tl, th, b), yc + xs);
    }
  }
};

llvm::json::Object differenceFinding(const char *name, size_t elements) {
  return llvm::json::Object{
      {"id", "host.append-difference"},
      {"severity", "error"},
      {"message", "expected '" + std::string(name) +
                      "' after the append with the bits that the definition "
                      "of fmha.append gives, got " +
                      std::to_string(elements) + " other elements"},
      {"ptx_line", nullptr},
      {"source", nullptr},
      {"warp", nullptr},
      {"lane", nullptr},
      {"cta", nullptr},
      {"other", nullptr}};
}

void restore(const HostArray &from, HostArray &to) {
  // The array must not move, since views point to it.
  std::copy(from.bits.begin(), from.bits.end(), to.bits.begin());
}

} // namespace

//===----------------------------------------------------------------------===//
// Flags and files
//===----------------------------------------------------------------------===//

llvm::Error checkAppendFlags(const RunFlags &flags) {
  const ProblemFlags &problem = flags.problem;
  const std::pair<const char *, bool> ofRotary[] = {
      {"rotary-cos", !flags.rotaryCos.empty()},
      {"rotary-sin", !flags.rotarySin.empty()}};
  for (auto [name, given] : ofRotary)
    if (given && !flags.hasRotary())
      return failure(llvm::Twine("--") + name +
                     ": expected --rotary=half or --rotary=interleaved with "
                     "it, got none");
  if (flags.rotaryCos.empty() != flags.rotarySin.empty())
    return failure("--rotary-cos and --rotary-sin: expected both, or neither, "
                   "got one");
  const std::pair<const char *, bool> ofCaches[] = {
      {"k-cache-out", !flags.kCacheOut.empty()},
      {"v-cache-out", !flags.vCacheOut.empty()}};
  for (auto [name, given] : ofCaches)
    if (given && !flags.appends())
      return failure(llvm::Twine("--") + name +
                     ": expected --key-new and --value-new with it, which "
                     "change the caches, got neither");
  const std::tuple<const char *, bool, bool> excluded[] = {
      {"cu-seqlens-k", problem.cuSeqlensK.has_value(), flags.appends()},
      {"v-in-k", problem.vInK.value_or(false), flags.appends()},
      {"cu-seqlens-q", problem.cuSeqlensQ.has_value(), flags.hasRotary()}};
  for (auto [name, given, isExcluded] : excluded)
    if (given && isExcluded)
      return failure(llvm::Twine("--") + name +
                     ": expected none with --key-new or --rotary, which take "
                     "keys and values of one batch per sequence, got it");
  return llvm::Error::success();
}

llvm::Expected<AppendFiles> readAppendFiles(const RunFlags &flags) {
  AppendFiles files;
  std::optional<std::string> cos = flags.rotaryCos, sin = flags.rotarySin;
  const std::pair<const std::optional<std::string> &, std::optional<NpyArray> &>
      all[] = {{flags.problem.keyNew, files.keyNew},
               {flags.problem.valueNew, files.valueNew},
               {cos, files.cos},
               {sin, files.sin}};
  for (auto &[path, target] : all) {
    auto array = readOptional(path);
    if (!array)
      return array.takeError();
    target = std::move(*array);
  }
  return std::move(files);
}

void adoptExtents(ProblemFlags &flags, const AppendFiles &files) {
  if (!files.keyNew || files.keyNew->shape.size() != 4)
    return;
  bool bshd = flags.layout == "bshd";
  if (!flags.batch)
    flags.batch = uint64_t(files.keyNew->shape[0]);
  if (!flags.kvHeads)
    flags.kvHeads = uint64_t(files.keyNew->shape[bshd ? 2 : 1]);
  if (!flags.headDim && flags.input.empty())
    flags.headDim = uint64_t(files.keyNew->shape[3]);
}

//===----------------------------------------------------------------------===//
// The data of a run
//===----------------------------------------------------------------------===//

/// Makes as many tokens as a file has, or without one as many as queries.
llvm::Error Append::makeTokens(const RunFlags &flags, const AppendFiles &files,
                               const HostProblem &problem) {
  const std::string &layout = flags.problem.layout;
  std::optional<uint64_t> fixed = flags.problem.newLen;
  int64_t count = flags.problem.keyNew ? fixed.value_or(problem.shape.qLen) : 0;
  for (const auto *file : {&files.keyNew, &files.valueNew})
    if (*file && (*file)->shape.size() == 4)
      count = (*file)->shape[layout == "bshd" ? 1 : 2];
  if (fixed && count != int64_t(*fixed))
    return failure("--key-new: expected " + llvm::Twine(*fixed) +
                   " keys, as the op of '" + flags.problem.input +
                   "' has, got " + llvm::Twine(count));
  struct {
    HostArray &array;
    unsigned dim;
    const std::optional<NpyArray> &file;
    const std::optional<std::string> &path;
    uint32_t stream;
  } all[] = {
      {keyNew, spec.headDim, files.keyNew, flags.problem.keyNew, keyStream},
      {valueNew, spec.headDimV, files.valueNew, flags.problem.valueNew,
       valueStream}};
  for (auto &[array, dim, file, path, stream] : all) {
    array = allocate({int64_t(lens.size()), count, problem.shape.kvHeads, dim},
                     layout, problem.k.view.dtype, /*isPacked=*/false);
    if (!file)
      fillRandom(array, flags.seed.value_or(0), stream);
    else if (llvm::Error error = fillFromFile(array, *file, *path, layout))
      return error;
  }
  return llvm::Error::success();
}

/// Reads the angles, or makes those of RoFormer, 10000^(-2j / rotary_dim) per
/// position, for `most` positions.
llvm::Error Append::makeAngles(const AppendFiles &files, int64_t most) {
  int64_t pairs = spec.rotaryDim / 2;
  positions =
      files.cos && !files.cos->shape.empty() ? files.cos->shape[0] : most;
  const std::tuple<const char *, const std::optional<NpyArray> &,
                   std::vector<float> &, double (*)(double)>
      all[] = {{"rotary-cos", files.cos, cos, std::cos},
               {"rotary-sin", files.sin, sin, std::sin}};
  for (auto &[name, file, target, function] : all) {
    if (file) {
      if (file->shape != std::vector<int64_t>{positions, pairs})
        return failure(llvm::Twine("--") + name + ": expected the shape " +
                       formatShape({positions, pairs}) +
                       ", [positions, rotary_dim / 2], got " +
                       formatShape(file->shape) + "; change --rotary-dim");
      auto values = toFloats(*file, name);
      if (!values)
        return values.takeError();
      target = std::move(*values);
      continue;
    }
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t j = 0; j < pairs; ++j)
        target.push_back(float(
            function(double(p) * std::pow(1e4, -double(j) / double(pairs)))));
  }
  return llvm::Error::success();
}

/// Writes NaN to the elements of a row of a cache.
static void poisonRow(HostArray &array, int64_t block, int64_t row) {
  const auto &dims = array.view.dims;
  for (int64_t h = 0; h < dims[2]; ++h)
    for (int64_t d = 0; d < dims[3]; ++d)
      std::memset(const_cast<void *>(
                      array.element(array.view.indexOf(block, row, h, d))),
                  0xff, sizeOf(array.view.dtype));
}

/// Writes NaN to the rows of random caches that tokens replace.
void Append::poisonReplaced(const RunFlags &flags, HostProblem &problem) {
  forEachToken(lens, keyNew.view.dims[1], [&](int64_t b, int64_t, int64_t p) {
    auto place = rowOf(problem, b, p);
    if (!place)
      return;
    for (auto [array, file] :
         {std::pair(&problem.k, &flags.k), {&problem.v, &flags.v}})
      if (file->empty())
        poisonRow(*array, place->first, place->second);
  });
}

/// Computes what the op has to leave.
void Append::define(const HostProblem &problem) {
  Rotation rotation{spec, cos, sin};
  using Place = std::array<int64_t, 3>;
  auto copy = [&](const HostArray &from, const Place &source, HostArray &to,
                  const Place &target, int64_t position) {
    for (int64_t d = 0; d < from.view.dims[3]; ++d)
      copyElement(from, source, to, target, d);
    if (position >= 0 && spec.hasRotary())
      rotation.apply(from, source, to, target, position);
  };
  forEachToken(lens, keyNew.view.dims[1], [&](int64_t b, int64_t i, int64_t p) {
    auto place = rowOf(problem, b, p);
    if (!place)
      return;
    auto [block, row] = *place;
    for (int64_t h = 0; h < keyNew.view.dims[2]; ++h) {
      copy(keyNew, {b, i, h}, kAfter, {block, row, h}, p);
      copy(valueNew, {b, i, h}, vAfter, {block, row, h}, -1);
    }
  });
  if (!spec.query)
    return;
  forEachToken(lens, qBefore.view.dims[1],
               [&](int64_t b, int64_t i, int64_t p) {
                 for (int64_t h = 0; h < qBefore.view.dims[2]; ++h)
                   copy(qBefore, {b, i, h}, qAfter, {b, i, h}, p);
               });
}

/// Checks the keys and values that fmha.append has to take.
llvm::Error Append::checkKeys(const schedule::Problem &problem) const {
  if (inKernel)
    return llvm::Error::success();
  if (problem.dtype == schedule::DataType::F32)
    return failure("--dtype: expected f16 or bf16 with --rotary, got f32; take "
                   "another type, or rotate the keys beforehand");
  if (problem.kvE4M3)
    return failure(
        "--kv-dtype: expected f16 or bf16 with --key-new or "
        "--rotary, got e4m3; rotate and append the keys in a run of their own");
  if (problem.keyVectors)
    return failure("--cache-layout: expected keys with a whole head dim with "
                   "--key-new or --rotary, got mmha; leave it out");
  return llvm::Error::success();
}

llvm::Expected<Append> Append::create(const RunFlags &flags,
                                      const schedule::Problem &problemSpec,
                                      const AppendFiles &files,
                                      HostProblem &problem) {
  Append append;
  append.inKernel = problemSpec.keyNew;
  if (llvm::Error error = append.checkKeys(problemSpec))
    return std::move(error);
  AppendProblem &spec = append.spec;
  spec.dtype = schedule::stringify(problemSpec.dtype);
  spec.headDim = problemSpec.headDim;
  spec.headDimV = problemSpec.headDimV;
  spec.pageSize = problemSpec.pageSize;
  if (flags.hasRotary()) {
    spec.rotary = flags.problem.rotary;
    spec.rotaryDim = unsigned(flags.problem.rotaryDim.value_or(spec.headDim));
    spec.query = true;
  }
  AttentionTensors tensors = problem.tensors();
  append.lens = tensors.kvLens
                    ? *tensors.kvLens
                    : std::vector<int32_t>(sequenceCount(tensors),
                                           int32_t(tensors.maxKeys()));
  if (llvm::Error error = append.makeTokens(flags, files, problem))
    return std::move(error);
  if (flags.hasRotary())
    if (llvm::Error error = append.makeAngles(files, tensors.maxKeys()))
      return std::move(error);
  for (int32_t keys : append.lens)
    if (spec.hasRotary() && keys > append.positions)
      return failure("--rotary-cos: expected a row for each of the " +
                     llvm::Twine(keys) + " positions of a sequence, got " +
                     llvm::Twine(append.positions));
  append.poisonReplaced(flags, problem);
  for (HostArray Append::*there : {&Append::kBefore, &Append::kAfter})
    append.*there = copyOf(problem.k);
  for (HostArray Append::*there : {&Append::vBefore, &Append::vAfter})
    append.*there = copyOf(problem.v);
  for (HostArray Append::*there : {&Append::qBefore, &Append::qAfter})
    append.*there = copyOf(problem.q);
  append.define(problem);
  return std::move(append);
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

AppendTensors Append::tensorsOf(HostProblem &problem) const {
  auto view = [](const HostArray &array) {
    Tensor4 tensor = array.view;
    tensor.host = const_cast<uint16_t *>(array.bits.data());
    return tensor;
  };
  AppendTensors tensors{
      view(keyNew),          view(valueNew), problem.k.view,
      problem.v.view,        lens,           problem.lists.blockTables,
      problem.lists.maxPages};
  if (!spec.hasRotary())
    return tensors;
  auto angles = [&](const std::vector<float> &values) {
    Tensor4 tensor;
    tensor.host = const_cast<float *>(values.data());
    tensor.dims = {1, positions, 1, int64_t(spec.rotaryDim / 2)};
    tensor.strides = denseStrides(tensor.dims, Layout::BSHD);
    tensor.dtype = ElementType::F32;
    return tensor;
  };
  tensors.cos = angles(cos);
  tensors.sin = angles(sin);
  tensors.q = view(qBefore);
  tensors.qOut = problem.q.view;
  return tensors;
}

llvm::Expected<LaunchReport>
Append::run(Device &device, const RunOptions &options, HostProblem &problem) {
  restore(kBefore, problem.k);
  restore(vBefore, problem.v);
  restore(qBefore, problem.q);
  AppendTensors tensors = tensorsOf(problem);
  if (!inKernel)
    return runAppend(manifest, ptx, device, tensors, options);
  problem.keyNew = tensors.keyNew;
  problem.valueNew = tensors.valueNew;
  problem.cos = tensors.cos;
  problem.sin = tensors.sin;
  return LaunchReport();
}

void Append::compare(const HostProblem &problem, LaunchReport &report) const {
  const std::tuple<const char *, const HostArray &, const HostArray &> all[] = {
      {"k", problem.k, kAfter},
      {"v", problem.v, vAfter},
      // The kernel of attention keeps its rotated queries.
      {"q", problem.q, inKernel ? qBefore : qAfter}};
  for (const auto &[name, got, wanted] : all) {
    size_t count = 0, bytes = sizeOf(got.view.dtype);
    for (int64_t n = 0; n < got.count(); ++n)
      count += std::memcmp(got.element(n), wanted.element(n), bytes) != 0;
    if (!count)
      continue;
    report.findings.push_back(differenceFinding(name, count));
    report.status = std::max(report.status, LaunchReport::Status::Findings);
  }
}

llvm::Error Append::writeCaches(const RunFlags &flags,
                                const HostProblem &problem) const {
  const std::pair<const std::string &, const HostArray &> files[] = {
      {flags.kCacheOut, problem.k}, {flags.vCacheOut, problem.v}};
  for (const auto &[file, array] : files)
    if (!file.empty())
      if (llvm::Error error =
              writeNpy(file, fromFloats(array.shape, array.floats())))
        return error;
  return llvm::Error::success();
}

void Append::setExpected(HostProblem &problem) const {
  restore(kAfter, problem.k);
  restore(vAfter, problem.v);
  restore(qAfter, problem.q);
}

} // namespace fmha::tools
