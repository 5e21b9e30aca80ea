//===- Scores.cpp - Score modifications, from files -----------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scores.h"
#include "fmha/Runtime/Files.h"

namespace fmha::tools {

using namespace runtime;

static llvm::Error readArray(const std::optional<std::string> &path,
                             llvm::StringRef flag, NpyType type, size_t most,
                             std::optional<NpyArray> &target) {
  if (!path)
    return llvm::Error::success();
  if (path->empty())
    return failure("--" + flag + ": expected a file, --" + flag + "=F.npy");
  auto array = readNpy(*path);
  if (!array)
    return array.takeError();
  size_t rank = array->shape.size();
  if (array->type != type || rank < 1 || rank > most)
    return failure("'" + *path + "': expected " + nameOf(type) + " of 1" +
                   (most == 1 ? " dimension"
                              : " to " + llvm::Twine(most) + " dimensions") +
                   " for --" + flag + ", got " + nameOf(array->type) + " " +
                   formatShape(array->shape));
  target = std::move(*array);
  return llvm::Error::success();
}

/// Rejects slopes that are not finite, as for a sink: NaN would spread to every
/// score of its head.
static llvm::Error checkSlopes(const std::optional<NpyArray> &slopes) {
  if (!slopes)
    return llvm::Error::success();
  auto *begin = reinterpret_cast<const float *>(slopes->data.data());
  auto *end = begin + slopes->shape[0];
  auto *bad = std::find_if_not(
      begin, end, [](float slope) { return std::isfinite(slope); });
  if (bad == end)
    return llvm::Error::success();
  return failure("--alibi: expected finite slopes, got " +
                 llvm::Twine(std::isnan(*bad) ? "nan"
                             : *bad > 0       ? "inf"
                                              : "-inf") +
                 " as entry " + llvm::Twine(bad - begin));
}

llvm::Expected<Scores> readScores(const ProblemFlags &flags) {
  Scores scores;
  scores.softcap = flags.softcap;
  scores.isApprox = flags.softcapApprox;
  if (llvm::Error error =
          readArray(flags.alibi, "alibi", NpyType::F32, 1, scores.alibi))
    return std::move(error);
  if (llvm::Error error = checkSlopes(scores.alibi))
    return std::move(error);
  if (llvm::Error error =
          readArray(flags.bias, "bias", NpyType::F32, 4, scores.bias))
    return std::move(error);
  if (llvm::Error error =
          readArray(flags.maskFile, "mask-file", NpyType::Bool, 4, scores.mask))
    return std::move(error);
  return scores;
}

llvm::Error checkScores(const ProblemFlags &flags,
                        const schedule::Problem &problem) {
  if (!problem.score || scoreOf(flags).any())
    return llvm::Error::success();
  return failure("'" + flags.input +
                 "' has code on scores, which the reference cannot run: "
                 "expected --softcap, --alibi, --bias or --mask-file to say "
                 "what it does, got none; fmha-decompose-to-linalg runs any "
                 "code");
}

/// Returns the shape with `rank` dimensions: the added leading ones are 1.
static std::vector<int64_t> extend(std::vector<int64_t> shape, size_t rank) {
  if (shape.size() < rank)
    shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

llvm::Error Scores::fit(const schedule::Problem &problem) {
  wanted = problem.captures;
  size_t n = alibi ? 1 : 0;
  for (auto [flag, array] : {std::pair("bias", &bias), {"mask-file", &mask}}) {
    if (!*array)
      continue;
    size_t rank = n < wanted.size() ? wanted[n].rank : 4;
    ++n;
    llvm::ArrayRef<int64_t> shape = (*array)->shape;
    if (shape.size() > rank &&
        llvm::any_of(shape.drop_back(rank), [](int64_t e) { return e != 1; }))
      return failure("--" + llvm::Twine(flag) + ": expected an array of " +
                     llvm::Twine(rank) +
                     (rank == 1 ? " dimension" : " dimensions") +
                     ", as the op's code on scores reads it, or 1 for those "
                     "before, got " +
                     formatShape(shape));
  }
  return llvm::Error::success();
}

std::vector<CaptureData> Scores::captures() const {
  std::vector<CaptureData> all;
  constexpr std::string_view flag = "i8";
  auto add = [&](const std::optional<NpyArray> &array, std::string_view element,
                 size_t usual) {
    if (!array)
      return;
    size_t n = all.size(), rank = n < wanted.size() ? wanted[n].rank : usual;
    // A flag is a byte of 0 or 1, regardless of the type that the op reads.
    if (element == flag && n < wanted.size() && wanted[n].element == "i1")
      element = "i1";
    std::vector<int64_t> shape = extend(array->shape, rank);
    shape.erase(shape.begin(), shape.end() - rank);
    all.push_back({array->data.data(), std::string(element), std::move(shape)});
  };
  add(alibi, "f32", 1);
  add(bias, "f32", 4);
  add(mask, flag, 4);
  return all;
}

template <typename Element>
static void readMap(const std::optional<NpyArray> &array,
                    reference::Score::Map<Element> &map) {
  if (!array)
    return;
  map.data = reinterpret_cast<const Element *>(array->data.data());
  std::vector<int64_t> shape = extend(array->shape, 4);
  std::copy_n(shape.begin(), 4, map.dims.begin());
}

reference::Score Scores::reference() const {
  reference::Score score;
  score.softcap = softcap;
  if (isApprox)
    score.relativeError = 0x1p-11;
  if (alibi) {
    auto *slopes = reinterpret_cast<const float *>(alibi->data.data());
    score.slopes.assign(slopes, slopes + alibi->shape[0]);
  }
  readMap(bias, score.bias);
  readMap(mask, score.mask);
  return score;
}

llvm::Error Scores::check(int64_t sequences, int64_t heads, int64_t rows,
                          int64_t keys) const {
  if (alibi && alibi->shape[0] != heads)
    return failure("--alibi: expected " + llvm::Twine(heads) +
                   " slopes, one per query head, got " +
                   llvm::Twine(alibi->shape[0]));
  const int64_t expected[] = {sequences, heads, rows, keys};
  for (auto [flag, array] : {std::pair("bias", &bias), {"mask-file", &mask}}) {
    if (!*array)
      continue;
    for (auto [extent, wanted] :
         llvm::zip(extend((*array)->shape, 4), expected))
      if (extent != 1 && extent != wanted)
        return failure("--" + llvm::Twine(flag) + ": expected the shape " +
                       formatShape(expected) +
                       " [batch, q_heads, q_len, kv_len], or 1 for any of "
                       "these, or its last dimensions, got " +
                       formatShape((*array)->shape));
  }
  return llvm::Error::success();
}

} // namespace fmha::tools
