//===- Svg.cpp - Boxes, lines and words -------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Svg.h"

#include <cmath>
#include <iterator>

using namespace fmha::schedule;

/// Prints one digit after the decimal point, none if it is 0.
static std::string length(double value) {
  long tenths = std::lround(value * 10);
  std::string text = tenths < 0 ? "-" : "";
  tenths = std::labs(tenths);
  text += std::to_string(tenths / 10);
  return tenths % 10 ? text + "." + std::to_string(tenths % 10) : text;
}

static std::string escape(std::string_view text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

/// Returns ` name="value"`.
static std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + escape(value) + "\"";
}

Svg::Svg(double width, double height, std::string_view title) {
  body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\"" +
         attribute("width", length(width)) +
         attribute("height", length(height)) +
         attribute("viewBox", "0 0 " + length(width) + " " + length(height)) +
         " font-family=\"sans-serif\">\n<title>" + escape(title) + "</title>\n";
  box(0, 0, width, height, "#ffffff");
  words(16, 24, title, Anchor::Start, 15);
}

void Svg::box(double x, double y, double width, double height,
              std::string_view fill, std::string_view hover, bool dashed) {
  body += "<rect" + attribute("x", length(x)) + attribute("y", length(y)) +
          attribute("width", length(width)) +
          attribute("height", length(height)) + attribute("fill", fill) +
          (fill == "#ffffff" && !dashed ? "" : attribute("stroke", "#444444")) +
          (dashed ? attribute("stroke-dasharray", "4 3") : "");
  body +=
      hover.empty() ? "/>\n" : "><title>" + escape(hover) + "</title></rect>\n";
}

void Svg::line(double x1, double y1, double x2, double y2,
               std::string_view stroke) {
  body += "<line" + attribute("x1", length(x1)) + attribute("y1", length(y1)) +
          attribute("x2", length(x2)) + attribute("y2", length(y2)) +
          attribute("stroke", stroke) + "/>\n";
}

void Svg::words(double x, double y, std::string_view text, Anchor anchor,
                double size, std::string_view fill) {
  static constexpr std::string_view anchors[] = {"start", "middle", "end"};
  body += "<text" + attribute("x", length(x)) + attribute("y", length(y)) +
          attribute("text-anchor", anchors[unsigned(anchor)]) +
          attribute("font-size", length(size)) + attribute("fill", fill) + ">" +
          escape(text) + "</text>\n";
}

bool Svg::label(double x, double y, double width, double height,
                std::string_view text, double size) {
  // A character of a sans-serif font is about 0.58 of its size wide.
  if (double(text.size()) * size * 0.58 > width || size > height)
    return false;
  words(x + width / 2, y + height / 2 + size * 0.36, text, Anchor::Middle,
        size);
  return true;
}

std::string_view fmha::schedule::color(unsigned place) {
  static constexpr std::string_view colors[] = {"#8fc4e8", "#f5c26b", "#7fd1b0",
                                                "#f3ec8c", "#e39a6f", "#dba8c8",
                                                "#c9c9c9", "#9fb0d8"};
  return colors[place % std::size(colors)];
}
