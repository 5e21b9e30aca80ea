//===- Report.cpp - The outcome of a launch as JSON and as text -----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Driver/Report.h"

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

Json toJson(const Dim3 &dim) { return Json::array({dim.x, dim.y, dim.z}); }

namespace {

Json orNull(const std::string &text) {
  return text.empty() ? Json(nullptr) : Json(text);
}
Json orNull(int number) { return number < 0 ? Json(nullptr) : Json(number); }

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

/// The source line and a caret under its first word, each on its own line.
std::string excerpt(std::string_view text, unsigned line) {
  std::string_view source = line ? lineOf(text, line) : std::string_view();
  size_t indent = source.find_first_not_of(" \t");
  if (indent == source.npos)
    return "";
  std::string number = std::to_string(line);
  std::string margin(number.size() + 1, ' ');
  // Tabs stay tabs, so that the caret stands under the word.
  return " " + number + " | " + std::string(source) + "\n" + margin + " | " +
         std::string(source.substr(0, indent)) + "^\n";
}

std::string place(std::string_view file, unsigned line) {
  std::string result(file);
  if (line)
    result += ":" + std::to_string(line);
  return result + ": ";
}

std::string whoseText(const Finding &finding) {
  std::string who;
  auto add = [&who](const std::string &part) {
    who += (who.empty() ? "" : ", ") + part;
  };
  const Dim3 &cta = finding.cta;
  if (finding.warp >= 0)
    add("warp " + std::to_string(finding.warp));
  if (finding.lane >= 0)
    add("lane " + std::to_string(finding.lane));
  if (finding.warp >= 0)
    add("CTA (" + std::to_string(cta.x) + ", " + std::to_string(cta.y) + ", " +
        std::to_string(cta.z) + ")");
  if (!finding.source.empty())
    add("source " + finding.source);
  return who;
}

} // namespace

Json toJson(const Finding &finding) {
  Json json;
  json["id"] = finding.id;
  json["severity"] = nameOf(finding.severity);
  json["message"] = finding.message;
  json["ptx_line"] = finding.ptxLine ? Json(finding.ptxLine) : Json(nullptr);
  json["source"] = orNull(finding.source);
  json["warp"] = orNull(finding.warp);
  json["lane"] = orNull(finding.lane);
  json["cta"] = toJson(finding.cta);
  json["other"] = orNull(finding.other);
  return json;
}

Json toJson(const std::vector<Finding> &findings) {
  Json json = Json::array();
  for (const Finding &finding : findings)
    json.push_back(toJson(finding));
  return json;
}

std::string describe(const Finding &finding, std::string_view file,
                     std::string_view text) {
  std::string result = place(file, finding.ptxLine) + nameOf(finding.severity) +
                       " [" + finding.id + "]: " + finding.message + "\n" +
                       excerpt(text, finding.ptxLine);
  if (std::string who = whoseText(finding); !who.empty())
    result += "  at " + who + "\n";
  if (!finding.other.empty())
    result += "  other: " + finding.other + "\n";
  return result;
}

std::string describe(const Error &error, std::string_view file,
                     std::string_view text) {
  // Some messages begin with their place already.
  std::string_view message = error.what();
  std::string where = place(file, error.line);
  if (message.starts_with(where))
    message.remove_prefix(where.size());
  return where + "error: " + std::string(message) + "\n" +
         excerpt(text, error.line);
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
