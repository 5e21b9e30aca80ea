//===- DerivedPipelines.h - The table of derived pipelines ------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results of the solver, so that compiling needs none.
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_SCHEDULE_MODULO_DERIVEDPIPELINES_H
#define FMHA_SCHEDULE_MODULO_DERIVEDPIPELINES_H

#include "fmha/Schedule/Modulo/ModuloSchedule.h"

#include <span>

namespace fmha::schedule::modulo {

/// DerivedPipelines.def describes the members.
struct DerivedPipeline {
  std::string_view target;
  unsigned headDim;
  uint64_t structure;
  std::string_view title;
  unsigned interval, bound;
  std::string_view binding, places;
};

std::span<const DerivedPipeline> derivedPipelines();

/// Returns the row of the table, or null.
const DerivedPipeline *findPipeline(std::string_view target, unsigned headDim,
                                    uint64_t structure);

/// The place of an op that has this name.
struct NamedPlace {
  std::string op;
  Place place;
  bool operator==(const NamedPlace &) const = default;
};
std::string printPlaces(const std::vector<NamedPlace> &places);
/// Reads what printPlaces() writes; nothing if `text` is something else.
std::optional<std::vector<NamedPlace>> readPlaces(std::string_view text);

} // namespace fmha::schedule::modulo

#endif // FMHA_SCHEDULE_MODULO_DERIVEDPIPELINES_H
