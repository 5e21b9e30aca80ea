//===- Report.cpp - The outcome of a launch as JSON and as text -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Host/Report.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace ptxsim {

using Json = nlohmann::ordered_json;

const char *nameOf(Status status) {
  static const char *const names[] = {"ok", "findings", "deadlock",
                                      "step_limit"};
  return names[unsigned(status)];
}

const char *nameOf(Policy policy) {
  static const char *const names[] = {"eager", "late", "random", "pct",
                                      "exhaustive"};
  return names[unsigned(policy)];
}

const char *nameOf(Severity severity) {
  return severity == Severity::Error ? "error" : "warning";
}

std::string_view lineOf(std::string_view text, unsigned line) {
  for (unsigned i = 1; i < line && !text.empty(); ++i) {
    size_t end = text.find('\n');
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return text.substr(0, text.find_first_of("\r\n"));
}

Json toJson(const Dim3 &dim) { return Json::array({dim.x, dim.y, dim.z}); }

namespace {

Json orNull(const std::string &text) {
  return text.empty() ? Json(nullptr) : Json(text);
}
Json orNull(int number) { return number < 0 ? Json(nullptr) : Json(number); }

/// Returns "\033[1;31mtext\033[0m" if colors are enabled.
std::string painted(Color color, const char *code, const std::string &text) {
  if (color == Color::Never)
    return text;
  return std::string("\033[") + code + "m" + text + "\033[0m";
}

constexpr const char *bold = "1", *red = "1;31", *yellow = "1;33",
                     *green = "1;32", *cyan = "1;36";

/// Returns the line and a mark under `width` of its characters from `column`
/// on; column 0 marks the first word.
std::string excerpt(std::string_view text, unsigned line, unsigned column,
                    unsigned width, Color color) {
  std::string_view source = line ? lineOf(text, line) : std::string_view();
  size_t indent = source.find_first_not_of(" \t");
  if (indent == source.npos)
    return "";
  size_t at = column ? column - 1 : indent;
  if (at >= source.size())
    at = indent;
  std::string number = std::to_string(line);
  // Tabs stay tabs, so that the caret is below the word.
  std::string before(source.substr(0, at));
  for (char &c : before)
    c = c == '\t' ? c : ' ';
  size_t tail = std::min<size_t>(width ? width - 1 : 0, source.size() - at - 1);
  return " " + number + " | " + std::string(source) + "\n" +
         std::string(number.size() + 1, ' ') + " | " + before +
         painted(color, green, "^" + std::string(tail, '~')) + "\n";
}

std::string place(std::string_view file, unsigned line, unsigned column = 0) {
  std::string result(file);
  if (line)
    result += ":" + std::to_string(line);
  if (line && column)
    result += ":" + std::to_string(column);
  return result + ": ";
}

/// Returns "warp 3, lane 0, CTA (0, 0, 0), source x.cu:7", as far as known.
std::string whoseText(const Party &party) {
  std::string who;
  auto add = [&who](const std::string &part) {
    who += (who.empty() ? "" : ", ") + part;
  };
  const Dim3 &cta = party.cta;
  if (party.warp >= 0)
    add("warp " + std::to_string(party.warp));
  if (party.lane >= 0)
    add("lane " + std::to_string(party.lane));
  if (party.warp >= 0)
    add("CTA (" + std::to_string(cta.x) + ", " + std::to_string(cta.y) + ", " +
        std::to_string(cta.z) + ")");
  if (!party.source.empty())
    add("source " + party.source);
  return who;
}

/// Returns the party and the schedule.
std::string circumstances(const Finding &finding) {
  std::string who = whoseText(finding);
  if (finding.policy == Policy::Eager)
    return who;
  who +=
      std::string(who.empty() ? "" : ", ") + "policy " + nameOf(finding.policy);
  if (finding.policy == Policy::Random || finding.policy == Policy::Pct)
    who += ", schedule seed " + std::to_string(finding.scheduleSeed);
  return who;
}

/// Returns the description of the other side, its line and its party.
std::string otherText(const Finding &finding, std::string_view text,
                      Color color) {
  if (finding.other.empty())
    return "";
  std::string result = "  other: " + finding.other + "\n";
  if (!finding.otherParty)
    return result;
  const Party &party = *finding.otherParty;
  result +=
      excerpt(text, party.ptxLine, party.ptxColumn, party.ptxWidth, color);
  return result + "  by " + whoseText(party) + "\n";
}

} // namespace

/// Adds line, columns and source of a party to the object that names it.
static void placeInto(Json &json, const Party &party) {
  bool placed = party.ptxColumn != 0;
  json["ptx_line"] = party.ptxLine ? Json(party.ptxLine) : Json(nullptr);
  json["ptx_column"] = placed ? Json(party.ptxColumn) : Json(nullptr);
  json["ptx_end_column"] =
      placed ? Json(party.ptxColumn + party.ptxWidth) : Json(nullptr);
  json["source"] = orNull(party.source);
}

static Json toJson(const std::optional<Party> &party) {
  if (!party)
    return nullptr;
  Json json;
  json["agent"] = orNull(party->operation);
  json["cta"] = toJson(party->cta);
  json["warp"] = orNull(party->warp);
  json["lane"] = orNull(party->lane);
  placeInto(json, *party);
  return json;
}

Json toJson(const Finding &finding) {
  Json json;
  json["id"] = finding.id;
  json["severity"] = nameOf(finding.severity);
  // The message also includes the fix, for readers that show only the message.
  json["message"] =
      finding.message + (finding.fix.empty() ? "" : " " + finding.fix);
  json["ptx_line"] = finding.ptxLine ? Json(finding.ptxLine) : Json(nullptr);
  json["source"] = orNull(finding.source);
  json["warp"] = orNull(finding.warp);
  json["lane"] = orNull(finding.lane);
  json["cta"] = toJson(finding.cta);
  json["other"] = orNull(finding.other);
  json["fix"] = orNull(finding.fix);
  bool placed = finding.ptxColumn != 0;
  json["ptx_column"] = placed ? Json(finding.ptxColumn) : Json(nullptr);
  json["ptx_end_column"] =
      placed ? Json(finding.ptxColumn + finding.ptxWidth) : Json(nullptr);
  json["policy"] = nameOf(finding.policy);
  json["schedule_seed"] = finding.scheduleSeed;
  json["other_party"] = toJson(finding.otherParty);
  return json;
}

Json toJson(const std::vector<Finding> &findings) {
  Json json = Json::array();
  for (const Finding &finding : findings)
    json.push_back(toJson(finding));
  return json;
}

std::string describe(const Finding &finding, std::string_view file,
                     std::string_view text, Color color) {
  bool isError = finding.severity == Severity::Error;
  std::string result =
      painted(color, bold, place(file, finding.ptxLine, finding.ptxColumn)) +
      painted(color, isError ? red : yellow,
              std::string(nameOf(finding.severity)) + " [" + finding.id +
                  "]: ") +
      finding.message + "\n" +
      excerpt(text, finding.ptxLine, finding.ptxColumn, finding.ptxWidth,
              color);
  if (std::string who = circumstances(finding); !who.empty())
    result += "  at " + who + "\n";
  result += otherText(finding, text, color);
  if (!finding.fix.empty())
    result += painted(color, cyan, "  fix: ") + finding.fix + "\n";
  return result;
}

std::string describe(const Error &error, std::string_view file,
                     std::string_view text) {
  // Some messages already begin with their location.
  std::string_view message = error.what();
  std::string where = place(file, error.line);
  for (const std::string &known :
       {where, "line " + std::to_string(error.line) + ": "})
    if (message.starts_with(known))
      message.remove_prefix(known.size());
  return where + "error: " + std::string(message) + "\n" +
         excerpt(text, error.line, 0, 0, Color::Never);
}

std::optional<std::string> writeWhole(const std::string &path,
                                      std::string_view contents) {
  // A device or a pipe cannot be replaced by a rename.
  struct stat status;
  bool special = stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  std::string temporary =
      special ? path : path + ".tmp" + std::to_string(getpid());
  std::FILE *file = std::fopen(temporary.c_str(), "wb");
  if (!file)
    return "cannot write '" + path + "': " + std::strerror(errno);
  size_t written = std::fwrite(contents.data(), 1, contents.size(), file);
  int closed = std::fclose(file);
  bool complete = written == contents.size() && closed == 0;
  if (complete &&
      (special || std::rename(temporary.c_str(), path.c_str()) == 0))
    return std::nullopt;
  std::string reason = std::strerror(errno);
  if (!special)
    std::remove(temporary.c_str());
  return "cannot write '" + path + "': " + reason;
}

} // namespace ptxsim
