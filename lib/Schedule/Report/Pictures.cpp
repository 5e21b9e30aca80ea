//===- Pictures.cpp - A plan in SVG -----------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Schedule/Report/Pictures.h"

#include "fmha/Layout/SmemTile.h"
#include "fmha/Schedule/Cost/Timeline.h"
#include "fmha/Target/Target.h"

#include "Model/Footprint.h"
#include "Model/Text.h"
#include "Svg.h"

#include <algorithm>

using namespace fmha;
using namespace fmha::schedule;

namespace {

/// Returns the color of mma, of softmax of either tile, or of correction.
unsigned colorOf(const std::string &role) {
  if (role == "mma")
    return 0;
  if (role == "softmax0")
    return 1;
  return role == "softmax1" ? 4 : 2;
}

/// Returns a label for a narrow box.
std::string brief(const Span &span) {
  if (span.what[0] == 'S')
    return "QK";
  if (span.what[0] == 'O')
    return "PV";
  return span.what.substr(0, span.what.find(' '));
}

/// Draws tensor memory over time, in its own coordinates.
class TmemPicture {
public:
  TmemPicture(const Problem &problem, const Plan &plan)
      : map(plan.map), spans(playOut(problem, plan.schedule, blocks)),
        svg(left + width + 30, top + height() + 90,
            "Tensor memory over " + str(blocks) +
                " KV blocks (modeled clocks): owners of columns") {
    for (const Span &span : spans)
      clocks = std::max(clocks, span.end);
  }

  std::string run() {
    drawColumns();
    drawClocks();
    for (const TmemRegion &region : map.tmem)
      drawLife(region);
    // P lies over S, so it is drawn after it.
    for (bool aliases : {false, true})
      for (const Span &span : spans)
        drawSpan(span, aliases);
    drawLegend();
    return svg.finish();
  }

private:
  static constexpr unsigned blocks = 3;
  static constexpr double left = 96, top = 48, width = 1080;
  static constexpr double perColumn = 0.9;

  double height() const { return map.tmemColumns * perColumn; }
  double atClock(double clock) const { return left + clock / clocks * width; }
  static double atColumn(unsigned column) { return top + column * perColumn; }
  void drawColumns();
  void drawClocks();
  /// Draws the lifetime of a region, from its first owner to its last.
  void drawLife(const TmemRegion &region);
  void drawSpan(const Span &span, bool aliases);
  void drawLegend();

  const MemoryMap &map;
  std::vector<Span> spans;
  Svg svg;
  double clocks = 1;
};

void TmemPicture::drawColumns() {
  svg.box(left, top, width, height(), "#f4f4f4");
  for (const TmemRegion &region : map.tmem) {
    double y = atColumn(region.column);
    bool over = !region.aliases.empty();
    if (!over)
      svg.line(left - 34, y, left + width, y);
    svg.words(over ? left - 8 : left - 40,
              y + region.columns * perColumn / 2 + 4, region.name, Anchor::End,
              over ? 12 : 14);
    if (!over)
      svg.words(left - 8, y + 12, str(region.column), Anchor::End, 10,
                "#666666");
  }
}

void TmemPicture::drawClocks() {
  constexpr double step = 1000;
  double bottom = top + height();
  for (double clock = 0; clock <= clocks; clock += step) {
    svg.line(atClock(clock), bottom, atClock(clock), bottom + 5);
    svg.words(atClock(clock), bottom + 18, rounded(clock), Anchor::Middle, 11);
  }
  svg.words(left + width, bottom + 34, "clocks", Anchor::End, 11);
}

void TmemPicture::drawLife(const TmemRegion &region) {
  double begin = clocks, end = 0;
  for (const Span &span : spans)
    if (span.region == region.name) {
      begin = std::min(begin, span.begin);
      end = std::max(end, span.end);
    }
  if (region.aliases.empty() && begin < end)
    svg.box(atClock(begin), atColumn(region.column),
            atClock(end) - atClock(begin),
            (region.end() - region.column) * perColumn, "#e2e2e2",
            region.name + " is waiting");
}

void TmemPicture::drawSpan(const Span &span, bool aliases) {
  const TmemRegion *region = map.findTmem(span.region);
  if (!region || region->aliases.empty() == aliases)
    return;
  // Columns of S that P occupies belong to P.
  double x = atClock(span.begin), wide = atClock(span.end) - x;
  unsigned stage = span.block % region->stages;
  double y = atColumn(region->column + stage * region->pitch);
  double tall = region->columns * perColumn;
  std::string text = span.region + ": " + span.role + ", " + span.what +
                     ", block " + str(span.block) + ", clocks " +
                     rounded(span.begin) + " to " + rounded(span.end);
  svg.box(x, y, wide, tall, color(colorOf(span.role)), text);
  // The upper half of S shows through above P.
  bool covered = !aliases && span.region[0] == 'S' &&
                 map.findTmem("P" + span.region.substr(1));
  double free = covered ? tall / 2 : tall;
  std::string block = " (" + str(span.block) + ")";
  if (!svg.label(x, y, wide, free, span.what + block))
    svg.label(x, y, wide, free, brief(span));
}

void TmemPicture::drawLegend() {
  double x = left, y = top + height() + 52;
  for (const char *role : {"mma", "softmax0", "softmax1", "correction"}) {
    auto mine = [&](const Span &span) { return span.role == role; };
    if (std::none_of(spans.begin(), spans.end(), mine))
      continue;
    svg.box(x, y, 16, 16, color(colorOf(role)));
    svg.words(x + 22, y + 13, role);
    x += 130;
  }
  svg.words(x, y + 13, "(n): KV block n; dark gray: unused until the next");
}

/// Draws shared memory as a bar with labels next to it.
class SmemPicture {
public:
  SmemPicture(const Plan &plan, unsigned capacity)
      : map(plan.map), capacity(capacity),
        svg(760, top + height + 110,
            "Shared memory of a CTA: " + str(plan.map.smemBytes) + " of " +
                str(capacity) + " bytes") {}

  std::string run() {
    svg.box(left, top, width, height, "#f4f4f4", "unused");
    unsigned place = 0;
    for (const SmemRegion &region : map.smem)
      if (region.aliases.empty())
        drawRegion(region, place++);
    for (const SmemRegion &region : map.smem)
      if (!region.aliases.empty())
        drawAlias(region);
    if (capacity > map.smemBytes)
      name(map.smemBytes, capacity - map.smemBytes, "unused");
    return svg.finish();
  }

private:
  static constexpr double left = 40, top = 48, width = 230, height = 620;

  double at(double byte) const { return top + byte / capacity * height; }
  void drawRegion(const SmemRegion &region, unsigned place);
  void drawAlias(const SmemRegion &region);
  /// Writes the label of [offset, offset + bytes) next to the bar, below the
  /// previous label.
  void name(double offset, double bytes, const std::string &text);

  const MemoryMap &map;
  unsigned capacity;
  Svg svg;
  double lastName = 0;
};

void SmemPicture::name(double offset, double bytes, const std::string &text) {
  constexpr double apart = 17;
  double middle = at(offset + bytes / 2);
  double y = std::max(middle, lastName + apart);
  lastName = y;
  svg.line(left + width, middle, left + width + 30, y);
  svg.words(left + width + 36, y + 4,
            text + ", " + rounded(bytes) + " bytes at " + rounded(offset));
}

void SmemPicture::drawRegion(const SmemRegion &region, unsigned place) {
  // A word still gets a line.
  double tall = std::max(1.0, double(region.bytes) / capacity * height);
  for (unsigned stage = 0; stage < region.stages; ++stage) {
    double offset = region.offset + double(stage) * region.bytes;
    std::string text = region.name;
    if (region.stages > 1)
      text += " stage " + str(stage);
    svg.box(left, at(offset), width, tall, color(place), text);
    svg.label(left, at(offset), width, tall, text, 12);
  }
  std::string all = region.name;
  if (region.stages > 1)
    all += " (" + str(region.stages) + " stages of " + str(region.bytes) + ")";
  name(region.offset, double(region.bytes) * region.stages, all);
}

void SmemPicture::drawAlias(const SmemRegion &region) {
  double tall = double(region.bytes) / capacity * height;
  double x = left + width * 0.62, wide = width * 0.38;
  svg.box(x, at(region.offset), wide, tall, "#ffffff",
          region.name + " lies over " + region.aliases, /*dashed=*/true);
  svg.label(x, at(region.offset), wide, tall, region.name + " later");
}

/// Draws one panel's first eight rows: a cell per 16-byte chunk.
class SwizzlePicture {
public:
  std::string run() {
    drawGrid(60, "before: row r, chunk c of 8 columns", /*swizzled=*/false);
    drawGrid(60 + 8 * cell + 90, "after: chunk c of row r at c xor (r mod 8)",
             /*swizzled=*/true);
    svg.words(60, top + 8 * cell + 40,
              "A column of chunks lies in eight different 16-byte banks after "
              "it, in one before.");
    return svg.finish();
  }

private:
  static constexpr double top = 84, cell = 44;

  void drawGrid(double x, std::string_view title, bool swizzled);

  Svg svg{60 + 16 * cell + 90 + 30, top + 8 * cell + 60,
          "128-byte swizzle of a 64-column panel, 8 of its rows (1024 bytes)"};
};

void SwizzlePicture::drawGrid(double x, std::string_view title, bool swizzled) {
  layout::PanelTile panel{8, layout::PanelTile::panelColumns};
  svg.words(x, top - 26, title, Anchor::Start, 13);
  for (unsigned row = 0; row < 8; ++row) {
    double y = top + row * cell;
    svg.words(x - 8, y + cell / 2 + 4, "row " + str(row), Anchor::End, 11);
    for (unsigned chunk = 0; chunk < 8; ++chunk) {
      uint32_t linear = row * layout::PanelTile::rowBytes +
                        chunk * layout::PanelTile::chunkBytes;
      uint32_t byte = swizzled ? panel.chunkOffset(row, chunk) : linear;
      unsigned place =
          byte % layout::PanelTile::rowBytes / layout::PanelTile::chunkBytes;
      svg.box(x + place * cell, y, cell, cell, color(chunk),
              "row " + str(row) + ", columns " + str(chunk * 8) + " to " +
                  str(chunk * 8 + 7) + ": byte " + str(byte));
      svg.label(x + place * cell, y, cell, cell, str(chunk), 15);
    }
  }
  for (unsigned place = 0; place < 8; ++place)
    svg.words(x + (place + 0.5) * cell, top - 8, "+" + str(place * 16),
              Anchor::Middle, 10, "#666666");
}

} // namespace

Picture fmha::schedule::drawTmemOverTime(const Problem &problem,
                                         const Plan &plan) {
  return {"tmem.svg", TmemPicture(problem, plan).run()};
}

Picture fmha::schedule::drawSmemMap(const Plan &plan) {
  const target::Target *gpu = target::findTarget(plan.schedule.target);
  unsigned capacity =
      gpu ? unsigned(smemOfCta(*gpu, plan.schedule)) : plan.map.smemBytes;
  return {"smem.svg", SmemPicture(plan, capacity).run()};
}

Picture fmha::schedule::drawSwizzle() {
  return {"swizzle.svg", SwizzlePicture().run()};
}

std::vector<Picture> fmha::schedule::drawPictures(const Problem &problem,
                                                  const Plan &plan) {
  if (plan.map.tmem.empty())
    return {drawSmemMap(plan), drawSwizzle()};
  return {drawTmemOverTime(problem, plan), drawSmemMap(plan), drawSwizzle()};
}
