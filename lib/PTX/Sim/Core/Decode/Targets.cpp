//===- Targets.cpp - Which .target supports an instruction ----------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Targets.h"

#include <algorithm>
#include <charconv>
#include <optional>

using namespace ptxsim;

namespace {

/// The targets that a rule requires. "90": sm_90 and all above. Otherwise those
/// named: "90a" is that target only; "100f" is its family, that is sm_100a,
/// sm_100f, and the a and f targets above with the same leading digits.
using Need = std::string_view;
constexpr Need kTensorCores = "100f 101f 110f";
constexpr Need kTensorVariants = "100a 101a 103a 110a";
constexpr Need kSpecific = "100f 101f 110f 120f";
constexpr Need kWarpgroups = "90a 100f 101f 110f 120f";

/// Matches opcodes by their first parts (empty: all), by modifiers that must
/// all be present, and by the number of operands, if the rule is for a form
/// with that many. A modifier that ends in * is a prefix, a.b are adjacent, and
/// !a must be absent.
struct Rule {
  std::string_view opcode, modifiers;
  Need need;
  size_t operands = 0;
};

/// All rules that match must hold. Narrower rules come first: the first
/// violated rule is reported.
constexpr Rule kRules[] = {
    // Tensor cores of the fifth generation, and warpgroups.
    {"tcgen05.mma", "kind::i8", "100a 101a 110a"},
    {"tcgen05.mma", "scale_vec::*", kTensorVariants},
    {"tcgen05.mma.sp", "kind::mxf4", kTensorVariants},
    {"tcgen05.mma.sp", "kind::mxf4nvf4", kTensorVariants},
    {"tcgen05.shift", "", kTensorVariants},
    {"tcgen05.ld", "red", "101f 103f 110f"},
    {"tcgen05", "", kTensorCores},
    {"wgmma", "", "90a"},
    {"setmaxnreg", "", kWarpgroups},
    // Copies.
    {"cp.async.bulk.tensor", "tile::scatter4", kTensorCores},
    {"cp.async.bulk.tensor", "tile::gather4 shared::cluster", kTensorCores},
    {"cp.async.bulk.tensor", "im2col::w*", kTensorCores},
    {"cp.async.bulk.tensor", "cta_group::*", kTensorCores},
    {"cp.async.bulk.tensor", "tile::gather4", "100"},
    {"cp.async.bulk.prefetch.tensor", "tile::gather4", kTensorCores},
    {"cp.async.bulk", "cp_mask", "100"},
    {"cp.async.bulk", "", "90"},
    {"cp.reduce.async.bulk", "", "90"},
    {"cp.async", "", "80"},
    {"tensormap.replace", "", kWarpgroups},
    {"tensormap", "", "90"},
    {"prefetch", "tensormap", "90"},
    {"multimem", "", "90"},
    {"st.async", "", "90"},
    {"red.async", "", "90"},
    {"st.bulk", "", "100"},
    {"ld", "v8 !b8 !u8 !s8 !b16 !u16 !s16", "100"},
    {"st", "v8 !b8 !u8 !s8 !b16 !u16 !s16", "100"},
    {"ld", "v4.b64", "100"},
    {"ld", "v4.u64", "100"},
    {"ld", "v4.s64", "100"},
    {"ld", "v4.f64", "100"},
    {"st", "v4.b64", "100"},
    {"st", "v4.u64", "100"},
    {"st", "v4.s64", "100"},
    {"st", "v4.f64", "100"},
    {"", "L2::cache_hint", "80"},
    {"", "L2::256B", "80"},
    {"prefetch", "L2::evict_last", "80"},
    {"prefetch", "L2::evict_normal", "80"},
    {"createpolicy", "", "80"},
    {"discard", "", "80"},
    {"applypriority", "", "80"},
    // Synchronization.
    {"mbarrier.try_wait", "", "90"},
    {"mbarrier", "expect_tx", "90"},
    {"mbarrier", "complete_tx", "90"},
    {"mbarrier", "relaxed", "90"},
    {"mbarrier.arrive", "!noComplete", "90", 3},
    {"mbarrier.arrive_drop", "!noComplete", "90", 3},
    {"mbarrier", "", "80"},
    {"fence.proxy", "async*", "90"},
    {"fence.proxy", "tensormap::generic", "90"},
    {"fence.mbarrier_init", "", "90"},
    {"barrier.cluster", "", "90"},
    {"clusterlaunchcontrol", "multicast::cluster::all", kSpecific},
    {"clusterlaunchcontrol", "", "100"},
    {"griddepcontrol", "", "90"},
    {"elect", "", "90"},
    {"", "shared::cluster", "90"},
    {"", "cluster", "90"},
    {"mapa", "", "90"},
    {"getctarank", "", "90"},
    {"atom", "v*", "90"},
    {"red", "v*", "90"},
    {"atom", "b128", "90"},
    // Matrices.
    {"stmatrix", "b8", kSpecific},
    {"ldmatrix", "m16n16", kSpecific},
    {"ldmatrix", "m8n16", kSpecific},
    {"stmatrix", "", "90"},
    {"ldmatrix", "", "75"},
    {"movmatrix", "", "75"},
    {"mma", "kind::*", "120f"},
    {"mma", "e4m3", "89"},
    {"mma", "e5m2", "89"},
    {"mma", "tf32", "80"},
    {"mma", "f64 m16*", "90"},
    {"mma", "f64", "80"},
    {"mma", "m16n8k16", "80"},
    {"mma", "m16n8k32", "80"},
    {"mma", "m16n8k64", "80"},
    {"mma", "m16n8k128", "80"},
    {"mma", "m16n8k256", "80"},
    // Arithmetic.
    {"redux", "f32", "100f"},
    {"redux", "", "80"},
    {"", "f32x2", "100"},
    {"cvt", "rs", "100a 103a"},
    {"cvt", "e2m1x2", kSpecific},
    {"cvt", "e2m3x2", kSpecific},
    {"cvt", "e3m2x2", kSpecific},
    {"cvt", "ue8m0x2", kSpecific},
    {"cvt", "e4m3x2", "89"},
    {"cvt", "e5m2x2", "89"},
    {"add", "bf16*", "90"},
    {"sub", "bf16*", "90"},
    {"mul", "bf16*", "90"},
    {"setp", "bf16*", "90"},
    {"set", "bf16*", "90"},
    {"ex2", "bf16*", "90"},
    {"tanh", "bf16*", "90"},
    {"", "bf16", "80"},
    {"", "bf16x2", "80"},
    {"atom", "bf16*", "90"},
    {"red", "bf16*", "90"},
    {"cvt", "satfinite tf32 !rna", "100"},
    {"cvt", "rn tf32", "90"},
    {"cvt", "rz tf32", "90"},
    {"cvt", "tf32", "80"},
    {"cvt", "f16x2", "80"},
    {"cvt", "relu", "80"},
    // bf16 converts from and to f32 on sm_80, and from and to all other types
    // later.
    {"cvt", "bf16 !f32", "90"},
    {"cvt", "ftz f32.bf16", "90"},
    {"add", "f32 f16", "100"},
    {"sub", "f32 f16", "100"},
    {"fma", "f32 f16", "100"},
    {"add", "f32 bf16", "100"},
    {"sub", "f32 bf16", "100"},
    {"fma", "f32 bf16", "100"},
    {"fma", "oob", "90"},
    {"fma", "relu", "80"},
    {"min", "relu s32", "90"},
    {"max", "relu s32", "90"},
    {"min", "f32", "100", 4},
    {"max", "f32", "100", 4},
    {"min", "xorsign", "86"},
    {"max", "xorsign", "86"},
    {"min", "NaN", "80"},
    {"max", "NaN", "80"},
    {"min", "f16*", "80"},
    {"max", "f16*", "80"},
    {"", "u16x2", "90"},
    {"", "s16x2", "90"},
};

/// Special registers by the prefix of their names.
struct RegisterRule {
  std::string_view stem;
  Need need;
};
constexpr RegisterRule kRegisterRules[] = {{"%cluster", "90"},
                                           {"%nclusterid", "90"},
                                           {"%is_explicit_cluster", "90"},
                                           {"%aggr_smem_size", "90"},
                                           {"%reserved_smem", "80"}};

struct Target {
  unsigned number = 0;
  std::string_view suffix;
};

Target parse(std::string_view text) {
  Target target;
  const char *begin = text.data(), *end = begin + text.size();
  auto [rest, wrong] = std::from_chars(begin, end, target.number);
  target.suffix = text.substr(size_t(rest - begin));
  return target;
}

template <typename Visit> void forWords(std::string_view list, Visit visit) {
  while (!list.empty()) {
    size_t end = std::min(list.find(' '), list.size());
    visit(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

bool meets(const Target &target, Need need) {
  bool met = false;
  forWords(need, [&](std::string_view word) {
    Target wanted = parse(word);
    if (wanted.suffix.empty())
      met |= target.number >= wanted.number;
    else if (wanted.suffix == "a")
      met |= target.number == wanted.number && target.suffix == "a";
    else
      met |= !target.suffix.empty() && target.number >= wanted.number &&
             target.number / 10 == wanted.number / 10;
  });
  return met;
}

/// Returns "sm_90 or higher", "sm_90a, sm_100a or sm_100f, ...".
std::string inWords(Need need) {
  std::string text;
  forWords(need, [&](std::string_view word) {
    Target wanted = parse(word);
    std::string name = "sm_" + std::to_string(wanted.number);
    text += text.empty() ? "" : ", ";
    if (wanted.suffix.empty())
      text += name + " or higher";
    else if (wanted.suffix == "a")
      text += name + "a";
    else
      text += name + "a or " + name + "f";
  });
  return text;
}

bool startsWithParts(std::string_view opcode, std::string_view prefix) {
  return prefix.empty() ||
         (opcode.starts_with(prefix) &&
          (opcode.size() == prefix.size() || opcode[prefix.size()] == '.'));
}

bool hasModifier(const syntax::Instruction &inst, std::string_view modifier) {
  if (modifier.starts_with('!'))
    return !inst.has(modifier.substr(1));
  if (size_t dot = modifier.find('.'); dot != modifier.npos)
    return std::adjacent_find(
               inst.parts.begin() + 1, inst.parts.end(),
               [&](std::string_view first, std::string_view second) {
                 return first == modifier.substr(0, dot) &&
                        second == modifier.substr(dot + 1);
               }) != inst.parts.end();
  if (!modifier.ends_with('*'))
    return inst.has(modifier);
  modifier.remove_suffix(1);
  return std::any_of(
      inst.parts.begin() + 1, inst.parts.end(),
      [&](std::string_view part) { return part.starts_with(modifier); });
}

bool matches(const Rule &rule, const syntax::Instruction &inst) {
  bool all = startsWithParts(inst.opcode, rule.opcode) &&
             (!rule.operands || rule.operands == inst.operands.size());
  if (all)
    forWords(rule.modifiers, [&](std::string_view modifier) {
      all = all && hasModifier(inst, modifier);
    });
  return all;
}

/// Returns the targets that the special registers among the operands require.
std::optional<Need>
missingRegister(const std::vector<syntax::Operand> &operands,
                const Target &own) {
  for (const syntax::Operand &operand : operands) {
    for (const RegisterRule &rule : kRegisterRules)
      if (operand.name.starts_with(rule.stem) && !meets(own, rule.need))
        return rule.need;
    if (std::optional<Need> need = missingRegister(operand.elements, own))
      return need;
  }
  return std::nullopt;
}

} // namespace

std::string ptxsim::missingTarget(const syntax::Instruction &inst,
                                  std::string_view target) {
  Target own = parse(target.substr(std::min<size_t>(3, target.size())));
  std::optional<Need> missing;
  for (const Rule &rule : kRules)
    if (!missing && matches(rule, inst) && !meets(own, rule.need))
      missing = rule.need;
  if (!missing)
    missing = missingRegister(inst.operands, own);
  if (!missing)
    return "";
  return "expected .target " + inWords(*missing) + ", got " +
         std::string(target);
}
