//===- SequencesTest.cpp - Sequences of their own lengths -----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace fmha::runtime;
using testing::Pair;

namespace {

/// Shapes alone: nothing here reads an element.
AttentionTensors shapes(int64_t qBatch, int64_t qLen, int64_t kBatch,
                        int64_t kvLen) {
  AttentionTensors tensors;
  tensors.q.dims = tensors.o.dims = {qBatch, qLen, 2, 64};
  tensors.k.dims = tensors.v.dims = {kBatch, kvLen, 1, 64};
  return tensors;
}

std::string problemOf(const AttentionTensors &tensors) {
  return llvm::toString(checkSequences(tensors));
}

} // namespace

TEST(Sequences, WithoutListsAreTheBatches) {
  AttentionTensors tensors = shapes(3, 5, 3, 7);
  EXPECT_EQ(problemOf(tensors), "");
  EXPECT_EQ(sequenceCount(tensors), 3);
  EXPECT_THAT(queriesOf(tensors, 2), Pair(0, 5));
  EXPECT_THAT(keysOf(tensors, 2), Pair(0, 7));
}

TEST(Sequences, AreCutByTheirLists) {
  AttentionTensors tensors = shapes(1, 9, 1, 12);
  tensors.cuSeqlensQ = {0, 4, 4, 8};
  tensors.cuSeqlensK = {0, 1, 6, 12};
  EXPECT_EQ(problemOf(tensors), "");
  EXPECT_EQ(sequenceCount(tensors), 3);
  EXPECT_THAT(queriesOf(tensors, 1), Pair(4, 4));
  EXPECT_THAT(queriesOf(tensors, 2), Pair(4, 8));
  EXPECT_THAT(keysOf(tensors, 1), Pair(1, 6));
  tensors.kvLens = {1, 2, 0};
  EXPECT_EQ(problemOf(tensors), "");
  EXPECT_THAT(keysOf(tensors, 1), Pair(1, 3));
  EXPECT_THAT(keysOf(tensors, 2), Pair(6, 6));
}

TEST(Sequences, OfOneSideAreTheBatchOfTheOther) {
  AttentionTensors tensors = shapes(2, 5, 1, 8);
  tensors.cuSeqlensK = {0, 8, 8};
  EXPECT_EQ(problemOf(tensors), "");
  EXPECT_EQ(sequenceCount(tensors), 2);
  tensors.cuSeqlensK = {0, 8};
  EXPECT_EQ(problemOf(tensors),
            "cu_seqlens_k: expected 2 sequences, as q has, got 1");
  tensors = shapes(1, 5, 2, 8);
  tensors.cuSeqlensQ = {0, 1, 2, 3};
  EXPECT_EQ(problemOf(tensors),
            "tensor 'k': expected 3 sequences, as q has, got 2");
}

TEST(Sequences, NameTheEntryThatDoesNotFit) {
  AttentionTensors tensors = shapes(2, 5, 2, 8);
  tensors.kvLens = {8, 9};
  EXPECT_EQ(problemOf(tensors),
            "kv_lens[1]: expected 0 to 8, the keys that there are, got 9");
  tensors.kvLens = {-1, 0};
  EXPECT_EQ(problemOf(tensors),
            "kv_lens[0]: expected 0 to 8, the keys that there are, got -1");
  tensors.kvLens = {1};
  EXPECT_EQ(problemOf(tensors),
            "kv_lens: expected 2 entries, one per sequence, got 1");
  tensors = shapes(1, 5, 2, 8);
  tensors.cuSeqlensQ = {0, 3, 2};
  EXPECT_EQ(problemOf(tensors), "cu_seqlens_q[2]: expected no less than the "
                                "entry before it, 3, got 2");
  tensors.cuSeqlensQ = {0, 3, 6};
  EXPECT_EQ(problemOf(tensors),
            "cu_seqlens_q[2]: expected at most the length of 'q', 5, got 6");
  tensors.cuSeqlensQ = {1, 3, 5};
  EXPECT_EQ(
      problemOf(tensors),
      "cu_seqlens_q[0]: expected 0, where the first sequence begins, got 1");
  tensors.cuSeqlensQ = std::vector<int32_t>();
  EXPECT_EQ(problemOf(tensors), "cu_seqlens_q: expected an entry more than "
                                "there are sequences, got none");
  tensors = shapes(2, 5, 2, 8);
  tensors.cuSeqlensQ = {0, 3, 5};
  EXPECT_EQ(problemOf(tensors),
            "tensor 'q': expected batch 1, for it is packed "
            "as cu_seqlens_q says, got batch 2");
}

// Entries before the first -1 of a list are positions in the sequence; others
// may be anything.
TEST(Sequences, HaveTheKeysThatTheirListsName) {
  AttentionTensors tensors = shapes(2, 2, 2, 8);
  tensors.topkLen = 3;
  tensors.topk = {7, 0, 7, -1, 99, -5, 3, -1, 8, 0, 0, 0};
  EXPECT_EQ(problemOf(tensors), "");
  (*tensors.topk)[2] = 8;
  EXPECT_EQ(problemOf(tensors),
            "topk[0, 0, 2]: expected a position from 0 to 7, that of a key of "
            "the sequence, or -1 after the last one, got 8");
  (*tensors.topk)[2] = 7;
  (*tensors.topk)[6] = -2;
  EXPECT_EQ(problemOf(tensors),
            "topk[1, 0, 0]: expected a position from 0 to 7, that of a key of "
            "the sequence, or -1 after the last one, got -2");
  (*tensors.topk)[6] = 3;
  tensors.kvLens = {8, 3};
  EXPECT_EQ(problemOf(tensors),
            "topk[1, 0, 0]: expected a position from 0 to 2, that of a key of "
            "the sequence, or -1 after the last one, got 3");
  tensors.kvLens = {8, 0};
  EXPECT_EQ(problemOf(tensors),
            "topk[1, 0, 0]: expected -1, since the sequence "
            "has no keys, got 3");
  (*tensors.topk)[6] = (*tensors.topk)[9] = -1;
  EXPECT_EQ(problemOf(tensors), "");
  tensors.topkQueries = {1, 4};
  EXPECT_EQ(problemOf(tensors), "topk: expected shape [2, 2, n], the batch and "
                                "the length of q, got [1, 4, 3]");
  tensors.topkQueries = {2, 2};
  EXPECT_EQ(problemOf(tensors), "");
  tensors.topk->pop_back();
  EXPECT_EQ(problemOf(tensors),
            "topk: expected a list of 3 entries for each of 2 x 2 queries, got "
            "11 entries");
  tensors.topk = std::vector<int32_t>();
  tensors.topkLen = 0;
  EXPECT_EQ(problemOf(tensors), "");
}

// Counted entries are blocks of keys; others may be anything.
TEST(Sequences, HaveTheBlocksThatTheirListsName) {
  AttentionTensors tensors = shapes(2, 5, 2, 9);
  auto wrong = [&] { return llvm::toString(checkBlocks(tensors, 4, 4)); };
  EXPECT_EQ(wrong(), "");
  tensors.kvNumBlocks = {{1, 2, 2}, {2, 0, 1, 1}};
  tensors.kvIndices = {{1, 2, 2, 2}, {2, 2, -1, 9, 0, 7, 1, -5}};
  EXPECT_EQ(wrong(), "");
  tensors.kvIndices->entries[1] = 3;
  EXPECT_EQ(wrong(), "kv_indices[0, 0, 0, 1]: expected 0 to 2, the last block "
                     "of keys, got 3");
  tensors.kvIndices->entries[1] = 0;
  tensors.kvIndices->entries[6] = -1;
  EXPECT_EQ(wrong(), "kv_indices[0, 1, 1, 0]: expected 0 to 2, the last block "
                     "of keys, got -1");
  tensors.kvIndices->entries[6] = 1;
  tensors.kvNumBlocks->entries[3] = 3;
  EXPECT_EQ(wrong(), "kv_num_blocks[0, 1, 1]: expected 0 to 2, the length of "
                     "kv_indices, got 3");
  tensors.kvNumBlocks->entries[3] = -1;
  EXPECT_THAT(wrong(), testing::HasSubstr("kv_num_blocks[0, 1, 1]: expected 0 "
                                          "to 2, the length of kv_indices"));
  tensors.kvNumBlocks->entries[3] = 1;
  tensors.fullKvNumBlocks = {{1, 2, 2}, {0, 0, 0, 0}};
  tensors.fullKvIndices = {{1, 2, 2, 0}, {}};
  EXPECT_EQ(wrong(), "");
  tensors.fullKvIndices->dims[0] = 2;
  EXPECT_EQ(wrong(), "full_kv_indices: expected the first extents of "
                     "kv_num_blocks, [1, 2, 2], got [2, 2, 2, 0]");
  tensors.fullKvIndices->dims = {1, 2, 2, 1};
  EXPECT_EQ(wrong(), "full_kv_indices: expected 4 entries, got 0");
  tensors.fullKvIndices->dims = {1, 2, 2, 1 << 30};
  EXPECT_THAT(wrong(), testing::HasSubstr("full_kv_indices: expected less than "
                                          "2^31 entries, got 4294967296"));
  // A product that wraps around to 0.
  tensors.fullKvIndices->dims = {1, 2, 2, int64_t(1) << 62};
  EXPECT_THAT(wrong(), testing::HasSubstr("full_kv_indices: expected less than "
                                          "2^31 entries"));
  tensors.kvNumBlocks->dims = {1, 2, 1};
  EXPECT_EQ(wrong(), "kv_num_blocks: expected shape [2 or 1, 2 or 1, 2], the "
                     "batch and the heads of q and its blocks of 4 rows, got "
                     "[1, 2, 1]");
}

TEST(Sequences, WithoutKeysHaveNoBlocks) {
  AttentionTensors tensors = shapes(1, 5, 1, 0);
  tensors.kvNumBlocks = {{1, 1, 2}, {0, 0}};
  tensors.kvIndices = {{1, 1, 2, 1}, {0, 0}};
  auto wrong = [&] { return llvm::toString(checkBlocks(tensors, 4, 4)); };
  EXPECT_EQ(wrong(), "");
  tensors.kvNumBlocks->entries[1] = 1;
  EXPECT_EQ(wrong(), "kv_num_blocks[0, 0, 1]: expected 0, since there are no "
                     "keys, got 1");
}

TEST(Sequences, OfASecondSourceHaveLengthsOfTheirOwn) {
  AttentionTensors tensors = shapes(2, 5, 2, 8);
  EXPECT_THAT(keys2Of(tensors, 1), Pair(0, 0));
  tensors.k2 = tensors.v2 = tensors.k;
  tensors.k2->dims[1] = 3;
  EXPECT_EQ(problemOf(tensors), "");
  EXPECT_THAT(keys2Of(tensors, 1), Pair(0, 3));
  tensors.source2Lens = {3, 1};
  EXPECT_EQ(problemOf(tensors), "");
  EXPECT_THAT(keys2Of(tensors, 1), Pair(0, 1));
  tensors.source2Lens = {3, 4};
  EXPECT_EQ(problemOf(tensors),
            "source2_lens[1]: expected 0 to 3, the keys that there are, got 4");
  tensors.source2Lens = {3};
  EXPECT_EQ(problemOf(tensors),
            "source2_lens: expected 2 entries, one per sequence, got 1");
}
