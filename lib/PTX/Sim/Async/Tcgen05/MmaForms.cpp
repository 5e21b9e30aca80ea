//===- MmaForms.cpp - The decoded text of tcgen05.mma ---------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, tcgen05.mma.
//
//===----------------------------------------------------------------------===//

#include "MmaForms.h"

#include <algorithm>

namespace ptxsim {
namespace {

using Kind = syntax::Operand::Kind;

/// The qualifier of scale factors that a kind takes, and how many factors it
/// means. An empty name is the default of the kind.
struct ScaleName {
  MmaKind kind;
  std::string_view name;
  uint32_t vector;
};

constexpr std::array<ScaleName, 9> scaleNames = {{
    {MmaKind::MXF8F6F4, "scale_vec::1X", 1},
    {MmaKind::MXF8F6F4, "block32", 1},
    {MmaKind::MXF8F6F4, "", 1},
    {MmaKind::MXF4, "scale_vec::2X", 2},
    {MmaKind::MXF4, "block32", 2},
    {MmaKind::MXF4, "", 2},
    {MmaKind::MXF4NVF4, "scale_vec::2X", 2},
    {MmaKind::MXF4NVF4, "block32", 2},
    {MmaKind::MXF4NVF4, "scale_vec::4X", 4},
}};

constexpr std::array<std::string_view, 5> scaleParts = {
    "scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32"};

uint32_t scaleVectorOf(const Decoder &decoder, MmaKind kind) {
  std::string_view part;
  for (std::string_view name : scaleParts)
    if (decoder.has(name))
      part = name == "block16" ? "scale_vec::4X" : name;
  if (!isBlockScaled(kind)) {
    if (decoder.has("block_scale") || !part.empty())
      decoder.unsupported(std::string(nameOf(kind)) +
                          " has no scale factors; remove .block_scale");
    return 0;
  }
  if (!decoder.has("block_scale"))
    decoder.unsupported(std::string(nameOf(kind)) + " needs .block_scale");
  for (const ScaleName &known : scaleNames)
    if (known.kind == kind && known.name == part)
      return known.vector;
  decoder.unsupported(part.empty() ? "kind::mxf4nvf4 needs .block16 or .block32"
                                   : "." + std::string(part) +
                                         " does not exist for " + nameOf(kind));
}

MmaKind kindOf(const Decoder &decoder) {
  for (std::string_view part : decoder.text().parts)
    if (auto kind = parseMmaKind(part))
      return *kind;
  decoder.unsupported("expected a .kind, for example .kind::f16");
}

/// Returns the use of a collector buffer, which keeps A, or B with .ws.
CollectorText collectorOf(const Decoder &decoder, const MmaForm &form) {
  CollectorText text{uint8_t(form.weightStationary ? 1 : 0)};
  for (std::string_view part : decoder.text().parts)
    if (auto named = parseCollector(part))
      text = *named;
  if ((text.buffer == 0) == form.weightStationary)
    decoder.unsupported(form.weightStationary
                            ? "the collector buffers of .ws are b0 .. b3"
                            : "the collector buffer without .ws is a");
  if (form.shiftsA &&
      (text.use == CollectorUse::Fill || text.use == CollectorUse::Use))
    decoder.unsupported(".ashift changes A, which the collector buffer must "
                        "not keep; use ::lastuse or ::discard");
  return text;
}

/// Decodes the vector that disables lanes of D, if there is one at `at`, and
/// moves `at` past it.
void decodeLaneMask(Decoder &decoder, MmaText &text, size_t &at) {
  if (decoder.operand(at).kind != Kind::Vector)
    return;
  if (isBlockScaled(text.form.kind) || text.form.weightStationary)
    decoder.unsupported("lanes of D cannot be disabled with scale factors or "
                        ".ws");
  auto mask = decoder.sources(at++, Type::B32);
  text.laneMask.assign(mask.begin(), mask.end());
  if (text.laneMask.size() != 4 * text.form.ctaGroup)
    decoder.unsupported("expected " + std::to_string(4 * text.form.ctaGroup) +
                        " registers that disable lanes");
}

/// Decodes what may follow the predicate: the scale of D, or with .ws the mask
/// of columns.
void decodeLast(Decoder &decoder, MmaText &text, size_t at) {
  if (text.form.weightStationary) {
    text.zeroColumns = decoder.source(at, Type::U64);
    return;
  }
  if (text.form.kind != MmaKind::F16 && text.form.kind != MmaKind::TF32)
    decoder.unsupported("scale-input-d is for kind::f16 and kind::tf32");
  text.scale = uint32_t(decoder.immediate(at));
  if (text.scale > 15)
    decoder.unsupported("scale-input-d must be 0 .. 15");
}

/// Decodes the operands after the instruction descriptor: scale factors, a
/// vector that disables lanes, the predicate or constant that enables D, and
/// the last one.
void decodeTail(Decoder &decoder, MmaText &text, size_t at) {
  if (isBlockScaled(text.form.kind)) {
    decoder.expectTmemAddress(at);
    decoder.expectTmemAddress(at + 1);
    text.scaleA = decoder.address(at++, Space::Generic);
    text.scaleB = decoder.address(at++, Space::Generic);
  }
  decodeLaneMask(decoder, text, at);
  text.enable = decoder.source(at++, Type::Pred);
  if (at < decoder.size())
    decodeLast(decoder, text, at++);
  decoder.expectOperands(at, at);
}

/// Refuses qualifiers that the manual does not combine.
void checkForm(const Decoder &decoder, const MmaForm &form) {
  if (form.weightStationary && isBlockScaled(form.kind))
    decoder.unsupported(".ws has no kinds with scale factors");
  if (form.weightStationary && form.ctaGroup == 2)
    decoder.unsupported(".ws has .cta_group::1 only");
  if (form.shiftsA && (form.weightStationary || isBlockScaled(form.kind)))
    decoder.unsupported(".ashift has neither .ws nor kinds with scale factors");
  if (form.shiftsA && !form.aInTmem)
    decoder.unsupported(".ashift shifts A in tensor memory; A is in shared "
                        "memory");
}

MmaForm formOf(const Decoder &decoder) {
  MmaForm form;
  form.kind = kindOf(decoder);
  form.ctaGroup = decoder.has("cta_group::2") ? 2 : 1;
  form.weightStationary = decoder.has("ws");
  form.sparse = decoder.has("sp");
  form.shiftsA = decoder.has("ashift");
  form.aInTmem = decoder.operand(1).kind == Kind::Address;
  form.scaleVector = scaleVectorOf(decoder, form.kind);
  checkForm(decoder, form);
  return form;
}

void expectParts(const Decoder &decoder) {
  decoder.expectModifiers({"mma",
                           "ws",
                           "sp",
                           "ashift",
                           "cta_group::1",
                           "cta_group::2",
                           "kind::f16",
                           "kind::tf32",
                           "kind::f8f6f4",
                           "kind::i8",
                           "kind::mxf8f6f4",
                           "kind::mxf4",
                           "kind::mxf4nvf4",
                           "block_scale",
                           "scale_vec::1X",
                           "scale_vec::2X",
                           "scale_vec::4X",
                           "block16",
                           "block32",
                           "collector::a::fill",
                           "collector::a::use",
                           "collector::a::lastuse",
                           "collector::a::discard",
                           "collector::b0::fill",
                           "collector::b0::use",
                           "collector::b0::lastuse",
                           "collector::b0::discard",
                           "collector::b1::fill",
                           "collector::b1::use",
                           "collector::b1::lastuse",
                           "collector::b1::discard",
                           "collector::b2::fill",
                           "collector::b2::use",
                           "collector::b2::lastuse",
                           "collector::b2::discard",
                           "collector::b3::fill",
                           "collector::b3::use",
                           "collector::b3::lastuse",
                           "collector::b3::discard"});
}

} // namespace

MmaText decodeMmaText(Decoder &decoder) {
  expectParts(decoder);
  decoder.expectOperands(5, 8);
  MmaText text;
  text.form = formOf(decoder);
  text.collector = collectorOf(decoder, text.form);
  decoder.expectTmemAddress(0);
  decoder.expectTmemAddress(1);
  text.d = decoder.address(0, Space::Generic);
  if (text.form.aInTmem)
    text.aTmem = decoder.address(1, Space::Generic);
  else
    text.a = decoder.source(1, Type::U64);
  text.b = decoder.source(2, Type::U64);
  size_t at = 3;
  if (text.form.sparse) {
    decoder.expectTmemAddress(at);
    text.metadata = decoder.address(at++, Space::Generic);
  }
  text.instr = decoder.source(at++, Type::U32);
  decodeTail(decoder, text, at);
  return text;
}

} // namespace ptxsim
