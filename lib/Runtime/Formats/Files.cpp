//===- Files.cpp - Reads and writes whole files safely --------------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmha/Runtime/Files.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace fmha::runtime {

llvm::Error failure(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<std::string> readFile(llvm::StringRef path) {
  // A directory opens like a file on some systems and then reads as garbage.
  if (llvm::sys::fs::is_directory(path))
    return failure("cannot read '" + path +
                   "': expected a file, got a directory");
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return failure("cannot read '" + path +
                   "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes) {
  auto wrap = [&](llvm::Error error) {
    return failure("cannot write '" + path +
                   "': " + llvm::toString(std::move(error)));
  };
  // A rename cannot replace a device such as /dev/null, which never has a
  // partial state either.
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) &&
      status.type() == llvm::sys::fs::file_type::character_file) {
    std::error_code code;
    llvm::raw_fd_ostream stream(path, code);
    if (code)
      return wrap(llvm::errorCodeToError(code));
    stream << bytes;
    return llvm::Error::success();
  }
  auto temporary = llvm::sys::fs::TempFile::create(
      path + ".tmp-%%%%%%%%",
      llvm::sys::fs::all_read | llvm::sys::fs::all_write);
  if (!temporary)
    return wrap(temporary.takeError());
  {
    llvm::raw_fd_ostream stream(temporary->FD, /*shouldClose=*/false);
    stream << bytes;
    stream.flush();
    if (std::error_code code = stream.error()) {
      stream.clear_error();
      llvm::consumeError(temporary->discard());
      return wrap(llvm::errorCodeToError(code));
    }
  }
  if (llvm::Error error = temporary->keep(path)) {
    llvm::consumeError(temporary->discard());
    return wrap(std::move(error));
  }
  return llvm::Error::success();
}

} // namespace fmha::runtime
