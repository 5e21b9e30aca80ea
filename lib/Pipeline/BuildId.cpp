//===- BuildId.cpp - Identify the build of the compiler ---------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuildId.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <link.h>

using namespace llvm;

namespace {
/// The loaded file that holds `address`.
struct LoadedFile {
  uintptr_t address;
  std::string path, buildId;
};
} // namespace

/// Returns the build id in the notes of one segment, or "". A note is a header,
/// a name and a description; the last two end at multiples of `alignment`,
/// counted from the start of the note.
static std::string buildIdIn(const char *notes, const char *end,
                             size_t alignment) {
  while (size_t(end - notes) >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const char *name = notes + sizeof note;
    size_t descriptionStart = alignTo(sizeof note + note.n_namesz, alignment);
    size_t size = alignTo(descriptionStart + note.n_descsz, alignment);
    if (size_t(end - notes) < size)
      break;
    bool isGnu = note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0;
    if (isGnu && note.n_type == NT_GNU_BUILD_ID)
      return toHex(StringRef(notes + descriptionStart, note.n_descsz),
                   /*LowerCase=*/true);
    notes += size;
  }
  return "";
}

static int visit(dl_phdr_info *info, size_t, void *opaque) {
  auto &file = *static_cast<LoadedFile *>(opaque);
  ArrayRef segments(info->dlpi_phdr, info->dlpi_phnum);
  bool holds = any_of(segments, [&](const ElfW(Phdr) & segment) {
    uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    return segment.p_type == PT_LOAD && file.address >= start &&
           file.address < start + segment.p_memsz;
  });
  if (!holds)
    return 0;
  // The program itself has no name here.
  file.path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
  for (const ElfW(Phdr) &segment : segments) {
    if (segment.p_type != PT_NOTE || !file.buildId.empty())
      continue;
    auto *notes =
        reinterpret_cast<const char *>(info->dlpi_addr + segment.p_vaddr);
    file.buildId =
        buildIdIn(notes, notes + segment.p_memsz, segment.p_align == 8 ? 8 : 4);
  }
  return 1;
}

std::string fmha::fileIdentity(const std::string &path) {
  sys::fs::file_status status;
  if (sys::fs::status(path, status))
    return "";
  auto changed = status.getLastModificationTime().time_since_epoch();
  return utostr(status.getSize()) + " " + itostr(changed.count());
}

const std::string &fmha::buildId() {
  static const std::string id = [] {
    LoadedFile file{reinterpret_cast<uintptr_t>(&fmha::buildId), "", ""};
    dl_iterate_phdr(visit, &file);
    return file.buildId.empty() ? fileIdentity(file.path) : file.buildId;
  }();
  return id;
}
