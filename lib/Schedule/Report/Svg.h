//===- Svg.h - Boxes, lines and words ---------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FMHA_LIB_SCHEDULE_REPORT_SVG_H
#define FMHA_LIB_SCHEDULE_REPORT_SVG_H

#include <string>
#include <string_view>

namespace fmha::schedule {

enum class Anchor { Start, Middle, End };

/// Builds one SVG document, lengths in pixels. All words are escaped.
class Svg {
public:
  Svg(double width, double height, std::string_view title);

  /// `hover` is shown by viewers that show titles; empty for none.
  void box(double x, double y, double width, double height,
           std::string_view fill, std::string_view hover = "",
           bool dashed = false);
  void line(double x1, double y1, double x2, double y2,
            std::string_view stroke = "#888888");
  void words(double x, double y, std::string_view text,
             Anchor anchor = Anchor::Start, double size = 12,
             std::string_view fill = "#222222");
  /// Draws `text` in the middle of a box if it fits. Returns whether it does.
  bool label(double x, double y, double width, double height,
             std::string_view text, double size = 11);

  std::string finish() const { return body + "</svg>\n"; }

private:
  std::string body;
};

/// Returns one of the colors that remain distinct in print and for color-blind
/// readers (Okabe and Ito, 2008, lightened).
std::string_view color(unsigned place);

} // namespace fmha::schedule

#endif // FMHA_LIB_SCHEDULE_REPORT_SVG_H
