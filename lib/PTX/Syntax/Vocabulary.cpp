//===- Vocabulary.cpp - Instruction roots, special registers, types -------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Syntax/Parser.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

using namespace ptxsim::syntax;

/// PTX ISA 9.2, chapter 9, in the order of its sections.
static constexpr std::string_view kInstructionRoots =
    "add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind "
    "fns "
    "brev bfe bfi bmsk szext dp4a dp2a addc subc madc testp copysign fma rcp "
    "sqrt rsqrt sin cos lg2 ex2 tanh set setp selp slct and or xor not cnot "
    "lop3 shf shl shr mov shfl prmt ld ldu st multimem prefetch prefetchu "
    "applypriority discard createpolicy isspacep cvta cvt mapa getctarank cp "
    "tensormap tex tld4 txq istypep suld sust sured suq bra brx call ret exit "
    "bar barrier membar fence atom red vote match activemask redux "
    "griddepcontrol elect mbarrier wmma mma ldmatrix stmatrix movmatrix wgmma "
    "tcgen05 stacksave stackrestore alloca vadd vsub vabsdiff vmin vmax vshl "
    "vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 "
    "vavrg4 vabsdiff4 vmin4 vmax4 vset4 brkpt nanosleep pmevent trap "
    "setmaxnreg "
    "clusterlaunchcontrol tensormap_cp_fenceproxy";

static std::unordered_set<std::string_view> words(std::string_view text) {
  std::unordered_set<std::string_view> all;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    all.insert(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

bool ptxsim::syntax::isInstruction(std::string_view root) {
  static const std::unordered_set<std::string_view> roots =
      words(kInstructionRoots);
  return roots.count(root) != 0;
}

bool ptxsim::syntax::isSpecialRegister(std::string_view name) {
  static const std::unordered_set<std::string_view> kPlain = {
      "%laneid",
      "%warpid",
      "%nwarpid",
      "%smid",
      "%nsmid",
      "%gridid",
      "%is_explicit_cluster",
      "%cluster_ctarank",
      "%cluster_nctarank",
      "%lanemask_eq",
      "%lanemask_le",
      "%lanemask_lt",
      "%lanemask_ge",
      "%lanemask_gt",
      "%clock",
      "%clock_hi",
      "%clock64",
      "%globaltimer",
      "%globaltimer_lo",
      "%globaltimer_hi",
      "%total_smem_size",
      "%aggr_smem_size",
      "%dynamic_smem_size",
      "%reserved_smem_offset_begin",
      "%reserved_smem_offset_end",
      "%reserved_smem_offset_cap",
      "%reserved_smem_offset_0",
      "%reserved_smem_offset_1",
      "%current_graph_exec",
      "WARP_SZ"};
  static const std::unordered_set<std::string_view> kVectors = {
      "%tid",       "%ntid",       "%ctaid",         "%nctaid",
      "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"};
  if (kPlain.count(name) || kVectors.count(name))
    return true;
  size_t dot = name.rfind('.');
  if (dot != std::string_view::npos && name.size() == dot + 2 &&
      std::string_view("xyzwrgba").find(name[dot + 1]) !=
          std::string_view::npos)
    return kVectors.count(name.substr(0, dot)) != 0;
  auto numbered = [&](std::string_view stem, unsigned count) {
    if (name.substr(0, stem.size()) != stem)
      return false;
    unsigned value = 0;
    std::string_view digits = name.substr(stem.size());
    if (digits.size() > 3 && digits.substr(digits.size() - 3) == "_64")
      digits.remove_suffix(3);
    for (char c : digits) {
      if (c < '0' || c > '9')
        return false;
      value = value * 10 + unsigned(c - '0');
    }
    return !digits.empty() && digits.size() <= 2 && value < count;
  };
  return numbered("%envreg", 32) || numbered("%pm", 8);
}

unsigned ptxsim::syntax::typeBits(std::string_view type) {
  static const std::unordered_map<std::string_view, unsigned> kBits = {
      {"pred", 1},    {"b8", 8},     {"u8", 8},      {"s8", 8},
      {"b16", 16},    {"u16", 16},   {"s16", 16},    {"f16", 16},
      {"bf16", 16},   {"b32", 32},   {"u32", 32},    {"s32", 32},
      {"f32", 32},    {"f16x2", 32}, {"bf16x2", 32}, {"tf32", 32},
      {"b64", 64},    {"u64", 64},   {"s64", 64},    {"f64", 64},
      {"f32x2", 64},  {"b128", 128}, {"texref", 64}, {"samplerref", 64},
      {"surfref", 64}};
  auto found = kBits.find(type);
  return found == kBits.end() ? 0 : found->second;
}
