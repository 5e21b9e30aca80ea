//===- Scores.cpp - What becomes of scores, from files --------------------===//
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
                             llvm::StringRef flag, NpyType type, size_t rank,
                             std::optional<NpyArray> &target) {
  if (!path)
    return llvm::Error::success();
  if (path->empty())
    return failure("--" + flag + ": expected a file, --" + flag + "=F.npy");
  auto array = readNpy(*path);
  if (!array)
    return array.takeError();
  if (array->type != type || array->shape.size() != rank)
    return failure("'" + *path + "': expected " + nameOf(type) + " of " +
                   llvm::Twine(rank) + " dimensions for --" + flag + ", got " +
                   nameOf(array->type) + " " + formatShape(array->shape));
  target = std::move(*array);
  return llvm::Error::success();
}

llvm::Expected<Scores> readScores(const ProblemFlags &flags) {
  Scores scores;
  scores.softcap = flags.softcap;
  if (llvm::Error error =
          readArray(flags.alibi, "alibi", NpyType::F32, 1, scores.alibi))
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

static CaptureData captureOf(const NpyArray &array, const char *element) {
  return {array.data.data(), element, array.shape};
}

std::vector<CaptureData> Scores::captures() const {
  std::vector<CaptureData> all;
  if (alibi)
    all.push_back(captureOf(*alibi, "f32"));
  if (bias)
    all.push_back(captureOf(*bias, "f32"));
  if (mask)
    all.push_back(captureOf(*mask, "i8"));
  return all;
}

template <typename Element>
static void readMap(const std::optional<NpyArray> &array,
                    reference::Score::Map<Element> &map) {
  if (!array)
    return;
  map.data = reinterpret_cast<const Element *>(array->data.data());
  std::copy_n(array->shape.begin(), 4, map.dims.begin());
}

reference::Score Scores::reference() const {
  reference::Score score;
  score.softcap = softcap;
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
                   " slopes, one a query head, got " +
                   llvm::Twine(alibi->shape[0]));
  const int64_t expected[] = {sequences, heads, rows, keys};
  for (auto [flag, array] : {std::pair("bias", &bias), {"mask-file", &mask}})
    for (int d = 0; *array && d < 4; ++d)
      if (int64_t extent = (*array)->shape[d];
          extent != 1 && extent != expected[d])
        return failure("--" + llvm::Twine(flag) + ": expected the shape " +
                       formatShape(expected) +
                       " [batch, q_heads, q_len, kv_len], or 1 for any of "
                       "these, got " +
                       formatShape((*array)->shape));
  return llvm::Error::success();
}

} // namespace fmha::tools
