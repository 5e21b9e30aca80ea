//===- Overrides.cpp - The fields that a person may fix ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Model/Overrides.h"

#include <algorithm>

using namespace fmha::schedule;

namespace {

template <auto Field> unsigned get(const Schedule &schedule) {
  return unsigned(schedule.*Field);
}
template <auto Field> void set(Schedule &schedule, unsigned value) {
  using Type = std::remove_reference_t<decltype(schedule.*Field)>;
  schedule.*Field = Type(value);
}

constexpr std::string_view switchWords[] = {"false", "true"};
constexpr std::string_view schedulerWords[] = {"single", "static", "dynamic"};

/// More than any schedule can have, and few enough that no product overflows.
constexpr unsigned mostOfField = 1 << 16;

template <auto Field>
constexpr ScheduleField
field(std::string_view flag, std::string_view name, std::string_view help,
      std::optional<unsigned> Overrides::*wanted, bool zeroChooses = false,
      std::span<const std::string_view> words = {}, bool isPacking = false,
      unsigned most = mostOfField) {
  bool isSwitch = words.data() == switchWords;
  return {flag,      name,  help,   most,       zeroChooses, isSwitch,
          isPacking, words, wanted, get<Field>, set<Field>};
}

constexpr ScheduleField fields[] = {
    field<&Schedule::scheduler>("scheduler", "scheduler",
                                "which output tiles a CTA does",
                                &Overrides::scheduler, true, schedulerWords),
    field<&Schedule::ctasPerSm>("ctas-per-sm", "ctas_per_sm",
                                "CTAs that an SM has at once: 1, on sm_90a "
                                "up to 3",
                                &Overrides::ctasPerSm),
    field<&Schedule::exp2EmulatedPercent>(
        "exp2-emulated", "exp2_emulated",
        "per cent of the exponentials that FMA units compute: up to 25, on "
        "sm_90a 50",
        &Overrides::exp2Emulated, /*zeroChooses=*/true, {}, false, 100),
    field<&Schedule::pOffset>("p-offset", "p_offset", "log2 of a factor on P",
                              &Overrides::pOffset, /*zeroChooses=*/true, {},
                              false, mostPOffset),
    field<&Schedule::splits>("splits", "splits",
                             "CTAs that share the KV blocks of a row block",
                             &Overrides::splits, false, {}, false, mostSplits),
    field<&Schedule::pSlices>("p-slices", "p_slices",
                              "parts in which P is handed over: 1, 2, 4 ..., "
                              "on sm_90a 1",
                              &Overrides::pSlices),
    field<&Schedule::kvStages>("kv-stages", "kv_stages",
                               "stages of the ring of K and V messages",
                               &Overrides::kvStages),
    field<&Schedule::vStages>("v-stages", "v_stages",
                              "stages of a ring of V's own; 0: it shares K's",
                              &Overrides::vStages, /*zeroChooses=*/true),
    field<&Schedule::keyChunk>("key-chunk", "key_chunk",
                               "columns of K a message brings; 0: all",
                               &Overrides::keyChunk, true),
    field<&Schedule::valueChunk>("value-chunk", "value_chunk",
                                 "keys of V a message brings; 0: the block",
                                 &Overrides::valueChunk, true),
    field<&Schedule::shareKv>("share-kv", "share_kv",
                              "one message is K and V, where V lies in K",
                              &Overrides::shareKv, true, switchWords),
    field<&Schedule::oColumns>("o-columns", "o_columns",
                               "columns of O that a CTA computes; 0: all",
                               &Overrides::oColumns, true),
    field<&Schedule::packHeads>(
        "pack-heads", "pack_heads",
        "query heads of a KV head that share a query tile: a power of two up "
        "to its rows",
        &Overrides::packHeads, false, {}, /*isPacking=*/true),
    field<&Schedule::kvBlock>("kv-block", "kv_block",
                              "keys per step of the loop: 64 or 128, on "
                              "sm_90a multiples of 16 up to 256",
                              &Overrides::kvBlock),
    field<&Schedule::qTileRows>("q-tile-rows", "q_tile_rows",
                                "rows of a query tile: 64 or 128, on sm_90a "
                                "64",
                                &Overrides::qTileRows),
    field<&Schedule::qTiles>("q-tiles", "q_tiles",
                             "query tiles in flight per CTA: 1 or 2, on "
                             "sm_90a up to 3",
                             &Overrides::qTiles)};

} // namespace

std::string ScheduleField::print(unsigned value) const {
  if (value < words.size())
    return std::string(words[value]);
  if (isPacking && value == Overrides::wholeGroup)
    return "on";
  return std::to_string(value);
}

bool ScheduleField::parse(std::string_view text,
                          std::optional<unsigned> &value) const {
  value.reset();
  if (text == "auto")
    return true;
  if (!words.empty()) {
    auto word = std::find(words.begin(), words.end(), text);
    if (word != words.end())
      value = unsigned(word - words.begin());
    return value.has_value();
  }
  if (isPacking && (text == "on" || text == "off")) {
    value = text == "on" ? Overrides::wholeGroup : 1;
    return true;
  }
  unsigned number = 0;
  for (char digit : text) {
    if (digit < '0' || digit > '9')
      return false;
    number = std::min(10 * number + unsigned(digit - '0'), most + 1);
  }
  if (text.empty() || number > most || (number == 0 && !zeroChooses))
    return false;
  value = number;
  return true;
}

std::string ScheduleField::expected() const {
  if (!words.empty()) {
    std::string list = "auto";
    for (std::string_view word : words)
      list += " or " + std::string(word);
    return list;
  }
  return std::string(isPacking ? "auto, on, off" : "auto") +
         " or a number from " + (zeroChooses ? "0" : "1") + " to " +
         std::to_string(most);
}

std::span<const ScheduleField> fmha::schedule::scheduleFields() {
  return fields;
}

std::string fmha::schedule::print(const Overrides &overrides) {
  std::string text;
  auto add = [&](std::string_view name, std::string_view value) {
    text += (text.empty() ? "" : ", ") + std::string(name) + " = ";
    text += value;
  };
  for (const ScheduleField &field : fields)
    if (std::optional<unsigned> wanted = overrides.*field.wanted)
      add(field.name, field.print(*wanted));
  if (overrides.pPlacement != PPlacement::Auto)
    add("p_placement", stringify(overrides.pPlacement));
  return text;
}

std::optional<Contradiction>
fmha::schedule::contradiction(const Schedule &schedule,
                              const Overrides &overrides) {
  for (const ScheduleField &field : fields) {
    std::optional<unsigned> wanted = overrides.*field.wanted;
    // As many as the group has: more than one, where nobody says how many.
    if (field.isPacking && wanted == Overrides::wholeGroup &&
        schedule.packHeads > 1)
      continue;
    if (wanted && *wanted != field.get(schedule))
      return Contradiction{std::string(field.name), std::string(field.flag),
                           field.print(field.get(schedule)),
                           field.print(*wanted)};
  }
  if (overrides.pPlacement == PPlacement::Auto ||
      overrides.pPlacement == schedule.pPlacement)
    return std::nullopt;
  return Contradiction{"p_placement", "p-placement",
                       std::string(stringify(schedule.pPlacement)),
                       std::string(stringify(overrides.pPlacement))};
}
