//===- Device.cpp - Global memory -------------------------------*- C++ -*-===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceImpl.h"

#include "fmha/PTX/Syntax/Parser.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <sys/mman.h>

using namespace ptxsim;

/// Unallocated space between allocations: farther than a wrong index of a
/// 32-bit element reaches from a small array.
static constexpr uint64_t kGuard = uint64_t(1) << 26;
static constexpr uint64_t kAlign = 256;
/// Start of the windows of the other spaces.
// Above it are the stack and libraries of a process, where host memory that
// kernels use keeps the host's addresses.
static constexpr uint64_t kEnd = 0x00007E8000000000ull;

static std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

Device::Device() : self(std::make_unique<Impl>()) {}
Device::~Device() = default;

void Release::operator()(uint8_t *bytes) const {
  if (from == From::Heap)
    std::free(bytes);
  else if (from == From::System)
    munmap(bytes, size);
}

uint64_t Device::Impl::place(uint64_t bytes, uint64_t align) {
  if (bytes == 0)
    throw Error(Error::Kind::Memory, "expected at least 1 byte, got 0");
  uint64_t base = (next + align - 1) / align * align;
  if (base > kEnd || bytes > kEnd - base)
    throw Error(Error::Kind::Memory,
                "no address room for " + std::to_string(bytes) + " bytes");
  next = (base + bytes + kGuard + kAlign - 1) / kAlign * kAlign;
  return base;
}

bool Device::Impl::overlaps(uint64_t base, uint64_t bytes) const {
  auto after = allocations.lower_bound(base + bytes);
  if (after == allocations.begin())
    return false;
  const Allocation &before = std::prev(after)->second;
  return before.base + before.size > base;
}

void Device::Impl::share(uint64_t base, uint64_t bytes, Release release) {
  Allocation allocation;
  allocation.base = base;
  allocation.size = bytes;
  allocation.bytes = {reinterpret_cast<uint8_t *>(base), release};
  allocation.written.reset(static_cast<uint8_t *>(std::calloc(bytes, 1)));
  allocation.untracked = true;
  if (!allocation.written)
    throw Error(Error::Kind::Memory,
                "no memory for " + std::to_string(bytes) + " bytes");
  allocations.emplace(base, std::move(allocation));
}

uint64_t Device::Impl::allocateManaged(uint64_t bytes, uint8_t poison) {
  constexpr uint64_t page = 4096;
  uint64_t base = place(bytes, page), whole = (bytes + page - 1) / page * page;
  void *wanted = reinterpret_cast<void *>(base);
  void *got = mmap(wanted, whole, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  // Tools such as sanitizers may reserve these addresses.
  if (got == MAP_FAILED)
    got = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED)
    throw Error(Error::Kind::Memory,
                "no memory for " + std::to_string(bytes) + " bytes");
  std::memset(got, poison, bytes);
  share(reinterpret_cast<uint64_t>(got), bytes, {Release::From::System, whole});
  return reinterpret_cast<uint64_t>(got);
}

uint64_t Device::Impl::allocate(uint64_t bytes, uint8_t poison,
                                uint64_t align) {
  uint64_t base = place(bytes, align);
  Allocation allocation;
  allocation.base = base;
  allocation.size = bytes;
  allocation.bytes.reset(static_cast<uint8_t *>(std::malloc(bytes)));
  allocation.written.reset(static_cast<uint8_t *>(std::calloc(bytes, 1)));
  if (!allocation.bytes || !allocation.written)
    throw Error(Error::Kind::Memory,
                "no memory for " + std::to_string(bytes) + " bytes");
  std::memset(allocation.bytes.get(), poison, bytes);
  allocations.emplace(base, std::move(allocation));
  return base;
}

Allocation *Device::Impl::findSlow(uint64_t address, uint64_t bytes) {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return nullptr;
  Allocation &found = std::prev(after)->second;
  uint64_t offset = address - found.base;
  if (offset >= found.size || bytes > found.size - offset)
    return nullptr;
  return &found;
}

Allocation &Device::Impl::require(uint64_t address, uint64_t bytes,
                                  const char *verb) {
  if (Allocation *found = find(address, bytes))
    return *found;
  throw Error(Error::Kind::Memory,
              std::string("cannot ") + verb + " " + std::to_string(bytes) +
                  " bytes at " + hex(address) +
                  ": expected a range inside one allocation");
}

uint64_t Device::allocate(uint64_t bytes, uint8_t poison) {
  return self->allocate(bytes, poison);
}

uint64_t Device::allocateManaged(uint64_t bytes, uint8_t poison) {
  return self->allocateManaged(bytes, poison);
}

void Device::map(void *memory, uint64_t bytes) {
  uint64_t base = reinterpret_cast<uint64_t>(memory);
  if (!memory || bytes == 0 || bytes > kSharedWindow - base)
    throw Error(Error::Kind::Memory, "cannot map " + std::to_string(bytes) +
                                         " bytes at " + hex(base) +
                                         ": expected memory of this process");
  if (self->overlaps(base, bytes))
    throw Error(Error::Kind::Memory, "cannot map " + std::to_string(bytes) +
                                         " bytes at " + hex(base) +
                                         ": an allocation overlaps them");
  self->share(base, bytes, {Release::From::Owner, bytes});
}

void Device::free(uint64_t address) {
  if (!self->allocations.count(address))
    throw Error(Error::Kind::Memory, "cannot free " + hex(address) +
                                         ": expected the address of an "
                                         "allocation");
  self->allocations.erase(address);
  self->last = nullptr;
  finishAll();
}

void Device::finish(uint64_t stream, uint64_t launches) {
  self->grids.finish(stream, launches);
}

void Device::finishAll() { self->grids.finishAll(); }

uint64_t Device::launches() const { return self->launches; }

void Device::write(uint64_t address, std::span<const std::byte> bytes) {
  if (bytes.empty())
    return;
  Allocation &to = self->require(address, bytes.size(), "write");
  std::memcpy(to.bytes.get() + (address - to.base), bytes.data(), bytes.size());
  std::memset(to.written.get() + (address - to.base), 1, bytes.size());
}

void Device::read(uint64_t address, std::span<std::byte> bytes) const {
  if (bytes.empty())
    return;
  Allocation &from = self->require(address, bytes.size(), "read");
  std::memcpy(bytes.data(), from.bytes.get() + (address - from.base),
              bytes.size());
}

void Device::fill(uint64_t address, std::byte value, uint64_t bytes) {
  if (bytes == 0)
    return;
  Allocation &to = self->require(address, bytes, "fill");
  std::memset(to.bytes.get() + (address - to.base), int(value), bytes);
  std::memset(to.written.get() + (address - to.base), 1, bytes);
}

std::optional<std::pair<uint64_t, uint64_t>>
Device::allocationOf(uint64_t address) const {
  if (Allocation *found = self->find(address, 1))
    return std::pair{found->base, found->size};
  return std::nullopt;
}

uint64_t Device::addressOf(const Module &module, std::string_view variable) {
  return self->addressOf(*module.impl().tree, variable);
}

uint64_t Device::Impl::addressOf(const syntax::Module &module,
                                 std::string_view variable) {
  if (!modules[module.serial]) {
    modules[module.serial] = true;
    placeVariables(module);
  }
  auto found = placed.find({module.serial, std::string(variable)});
  if (found == placed.end())
    throw Error(Error::Kind::Memory,
                "module " + module.name +
                    " has no .global or .const variable '" +
                    std::string(variable) + "'");
  return found->second;
}

static bool isGlobal(const syntax::Variable &variable) {
  return variable.space == syntax::Variable::Space::Global ||
         variable.space == syntax::Variable::Space::Const;
}

/// Returns the bits of one element of an initializer, given the addresses of
/// variables.
static uint64_t
elementBits(const syntax::Operand &element, unsigned bits,
            const std::function<uint64_t(std::string_view)> &addressOf) {
  if (element.kind == syntax::Operand::Kind::Name) {
    uint64_t address = addressOf(element.name) + uint64_t(element.offset);
    // A mask such as 0xFF00 selects one byte of the address.
    if (element.bits)
      return (address & element.bits) >> std::countr_zero(element.bits);
    return address;
  }
  if (element.kind == syntax::Operand::Kind::Float && element.floatBits == 64 &&
      bits == 32)
    return std::bit_cast<uint32_t>(float(std::bit_cast<double>(element.bits)));
  return element.bits;
}

void Device::Impl::placeVariables(const syntax::Module &module) {
  for (const syntax::Variable &variable : module.variables) {
    if (!isGlobal(variable) || sizeOf(variable) == 0)
      continue;
    // Variables without an initializer are zero (PTX ISA 5.4.4).
    uint64_t address = allocate(sizeOf(variable), 0, alignOf(variable));
    Allocation &place = allocations.at(address);
    std::memset(place.written.get(), 1, place.size);
    placed[{module.serial, std::string(variable.name)}] = address;
  }
  auto lookup = [&](std::string_view name) -> uint64_t {
    auto found = placed.find({module.serial, std::string(name)});
    return found == placed.end() ? 0 : found->second;
  };
  for (const syntax::Variable &variable : module.variables) {
    if (!isGlobal(variable) || variable.initializer.empty())
      continue;
    Allocation &place = allocations.at(lookup(variable.name));
    unsigned bits = syntax::typeBits(variable.type);
    uint64_t bytes = bits / 8;
    for (size_t i = 0; i < variable.initializer.size(); ++i) {
      if ((i + 1) * bytes > place.size)
        throw Error(Error::Kind::Syntax,
                    "line " + std::to_string(variable.line) +
                        ": more initial values than elements of '" +
                        std::string(variable.name) + "'",
                    variable.line);
      uint64_t value = elementBits(variable.initializer[i], bits, lookup);
      std::memcpy(place.bytes.get() + i * bytes, &value,
                  std::min<uint64_t>(bytes, 8));
    }
  }
}
