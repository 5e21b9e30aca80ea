//===- DeadlockText.cpp - The wait-for graph as JSON and as text ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/PTX/Host/Report.h"

#include <cstdio>

namespace ptxsim {

using Json = nlohmann::ordered_json;

namespace {

template <typename T> Json orNull(const std::optional<T> &value) {
  return value ? Json(*value) : Json(nullptr);
}

std::string hexText(uint64_t value, const char *pattern) {
  char text[32];
  std::snprintf(text, sizeof text, pattern,
                static_cast<unsigned long long>(value));
  return text;
}

Json toJson(const PhaseOverrun &overrun) {
  Json json;
  json["barrier"] = overrun.barrier;
  json["phase"] = overrun.phase;
  json["parity"] = overrun.parity;
  json["completed_since"] = overrun.completedSince;
  json["last_wait_line"] =
      overrun.lastWaitLine ? Json(overrun.lastWaitLine) : Json(nullptr);
  json["events"] = overrun.events;
  return json;
}

Json toJson(const BlockedPath &path) {
  Json json;
  json["cta"] = ptxsim::toJson(path.cta);
  json["warp"] = path.warp;
  json["lanes"] = hexText(path.lanes, "0x%08llx");
  json["ptx_line"] = path.ptxLine ? Json(path.ptxLine) : Json(nullptr);
  json["instruction"] = path.instruction;
  json["waits"] = path.waits;
  json["object"] = path.object < 0 ? Json(nullptr) : Json(path.object);
  json["overrun"] = path.overrun ? toJson(*path.overrun) : Json(nullptr);
  return json;
}

Json toJson(const WaitObject &object) {
  Json json;
  json["kind"] = object.kind;
  json["name"] = object.name;
  json["cta"] = ptxsim::toJson(object.cta);
  json["smem_address"] = orNull(object.address);
  json["parity_wanted"] = orNull(object.parityWanted);
  json["phase"] = orNull(object.phase);
  json["pending_arrivals"] = orNull(object.pendingArrivals);
  json["pending_bytes"] = orNull(object.pendingBytes);
  json["could_complete"] = object.couldComplete;
  json["events"] = object.events;
  return json;
}

std::string ctaText(const Dim3 &cta) {
  return "cta " + std::to_string(cta.x) + "," + std::to_string(cta.y) + "," +
         std::to_string(cta.z);
}

/// Returns "  title: a; b", or `none` after the title.
std::string listLine(const char *title, const std::vector<std::string> &list,
                     const char *none) {
  std::string text;
  for (const std::string &item : list)
    text += (text.empty() ? "" : "; ") + item;
  return std::string(title) + ": " + (list.empty() ? none : text) + "\n";
}

/// Returns "1 arrival is missing", "2 arrivals are missing".
std::string missing(int64_t count, const char *what) {
  return std::to_string(count) + " " + what +
         (count == 1 ? " is missing" : "s are missing");
}

std::string stateText(const WaitObject &object) {
  std::string text;
  auto add = [&text](const std::string &part) {
    text += (text.empty() ? ": " : ", ") + part;
  };
  if (object.phase)
    add("in phase " + std::to_string(*object.phase));
  if (object.parityWanted)
    add("the end of a phase of parity " + std::to_string(*object.parityWanted) +
        " is wanted");
  if (object.pendingArrivals)
    add(missing(*object.pendingArrivals, "arrival"));
  if (object.pendingBytes)
    add(missing(*object.pendingBytes, "byte"));
  return text;
}

/// Returns "mbarrier full", "barrier 1". The names of barriers without an
/// address include their kind.
std::string titleOf(const WaitObject &object) {
  bool isComplete = !object.address && object.name.starts_with(object.kind);
  return isComplete ? object.name : object.kind + " " + object.name;
}

/// Returns the description of a missed phase.
std::string overrunText(const PhaseOverrun &overrun) {
  std::string since = overrun.lastWaitLine
                          ? "its last wait that succeeded, in line " +
                                std::to_string(overrun.lastWaitLine)
                          : "the init, of which it saw none";
  return "      overrun: phase " + std::to_string(overrun.phase) +
         ", of parity " + std::to_string(overrun.parity) +
         ", was complete before it looked, and so was the next; " +
         std::to_string(overrun.completedSince) +
         " phases have completed since " + since + "\n" +
         listLine("      completed by", overrun.events, "events not kept");
}

/// Returns the paths that wait for an object, or, for -1, those that wait for
/// other lanes of their warp or for nothing.
std::string waitersText(const DeadlockReport &report, int object) {
  std::string text;
  for (const BlockedPath &path : report.paths)
    if (path.object == object) {
      text += std::string(object < 0 ? "  path: " : "    waits: ") +
              ctaText(path.cta) + " warp " + std::to_string(path.warp) +
              " lanes " + hexText(path.lanes, "0x%08llx") + " line " +
              std::to_string(path.ptxLine) + " " + path.instruction +
              (object < 0 ? ": " + path.waits : "") + "\n";
      text += path.overrun ? overrunText(*path.overrun) : "";
    }
  return text;
}

} // namespace

Json toJson(const DeadlockReport &report) {
  Json json;
  json["paths"] = Json::array();
  for (const BlockedPath &path : report.paths)
    json["paths"].push_back(toJson(path));
  json["objects"] = Json::array();
  for (const WaitObject &object : report.objects)
    json["objects"].push_back(toJson(object));
  json["exited_warps"] = report.exitedWarps;
  json["in_flight"] = report.inFlight;
  return json;
}

Finding withoutWaitList(Finding finding) {
  std::string &message = finding.message;
  size_t begin = message.find(":\n"), end = message.rfind('\n');
  if (begin != std::string::npos)
    message.replace(begin, end + 1 - begin, ".");
  return finding;
}

std::string describe(const DeadlockReport &report) {
  std::string text = "wait-for graph:\n";
  for (size_t i = 0; i < report.objects.size(); ++i) {
    const WaitObject &object = report.objects[i];
    text += "  " + titleOf(object);
    if (object.address)
      text += " at shared " + hexText(*object.address, "0x%llx");
    text += " of " + ctaText(object.cta) + stateText(object) + "\n";
    text += waitersText(report, int(i));
    text += listLine("    could still complete it", object.couldComplete,
                     "no warp can still reach such an instruction");
    if (!object.events.empty())
      text += listLine("    last events", object.events, "");
  }
  text += waitersText(report, -1);
  text += listLine("  exited warps", report.exitedWarps, "none");
  return text + listLine("  in flight", report.inFlight, "nothing");
}

} // namespace ptxsim
