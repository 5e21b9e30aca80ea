//===- LaunchPlans.cpp - Calls of attention() that come again -------------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// attention() in Python checks its arguments, finds the kernel and lists what
// it is given. That depends on the options and on the device, the type, the
// shape and the strides of each array, but not on addresses, which fmhaLaunch()
// checks itself. A plan keeps what came out, so that a call with the same
// description launches at once.
//
//===----------------------------------------------------------------------===//

#include "LoadedModule.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>

namespace nb = nanobind;
using namespace fmha::python;

namespace {

constexpr size_t mostArrays = 16, mostRank = 4;

/// What an argument of attention() is.
enum class Role { Option, Array, Pair, Stream };

constexpr std::pair<std::string_view, Role> specialArguments[] = {
    {"q", Role::Array},
    {"k", Role::Array},
    {"v", Role::Array},
    {"kv_lens", Role::Array},
    {"cu_seqlens_q", Role::Array},
    {"cu_seqlens_k", Role::Array},
    {"source2_lens", Role::Array},
    {"block_tables", Role::Array},
    {"topk", Role::Array},
    {"kv_num_blocks", Role::Array},
    {"kv_indices", Role::Array},
    {"full_kv_num_blocks", Role::Array},
    {"full_kv_indices", Role::Array},
    {"sink", Role::Array},
    {"k_scale", Role::Array},
    {"v_scale", Role::Array},
    {"q_scale", Role::Array},
    {"alibi", Role::Array},
    {"bias", Role::Array},
    {"attn_mask", Role::Array},
    {"key_new", Role::Array},
    {"value_new", Role::Array},
    {"rotary_cos", Role::Array},
    {"rotary_sin", Role::Array},
    {"out", Role::Array},
    {"source2", Role::Pair},
    {"stream", Role::Stream}};

/// Whether two options are the same: 1 is not True.
bool isSame(PyObject *a, PyObject *b) {
  if (a == b)
    return true;
  if (Py_TYPE(a) != Py_TYPE(b))
    return false;
  if (PyTuple_CheckExact(a)) {
    Py_ssize_t size = PyTuple_GET_SIZE(a);
    for (Py_ssize_t n = 0; n < size && size == PyTuple_GET_SIZE(b); ++n)
      if (!isSame(PyTuple_GET_ITEM(a, n), PyTuple_GET_ITEM(b, n)))
        return false;
    return size == PyTuple_GET_SIZE(b);
  }
  if (PyFloat_Check(a))
    return PyFloat_AS_DOUBLE(a) == PyFloat_AS_DOUBLE(b);
  // Nothing whose comparison could run code of others.
  return (PyUnicode_CheckExact(a) || PyLong_CheckExact(a)) &&
         PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

/// The arguments of one call.
struct Call {
  std::vector<PyObject *> options;
  std::array<BorrowedTensor, mostArrays> arrays;
  size_t count = 0;
  PyObject *out = nullptr;
  uint64_t stream = 0;
  /// Describes the arrays, without their addresses.
  std::vector<uint64_t> words;
  /// Names of the arrays; only where they are asked for.
  std::vector<std::string> *names = nullptr;

  void describe(const DLTensor &tensor);
  bool addArray(PyObject *value, std::string_view name);
  bool addPair(PyObject *value);
  bool add(Role role, std::string_view name, PyObject *value);
  uint64_t hash() const;
};

void Call::describe(const DLTensor &tensor) {
  const DLDataType &type = tensor.dtype;
  words.push_back(uint64_t(uint32_t(tensor.device.device_type)) << 32 |
                  uint32_t(tensor.device.device_id));
  words.push_back(uint64_t(uint32_t(tensor.ndim)) << 32 |
                  uint32_t(type.code) << 24 | uint32_t(type.bits) << 16 |
                  type.lanes);
  size_t at = words.size(), rank = size_t(tensor.ndim);
  words.resize(at + 2 * rank);
  auto *numbers = reinterpret_cast<int64_t *>(&words[at]);
  copyShape(tensor, numbers, numbers + rank);
}

bool Call::addArray(PyObject *value, std::string_view name) {
  if (count == mostArrays)
    return false;
  try {
    arrays[count] = BorrowedTensor(value);
  } catch (const std::exception &) {
    // The way without a plan says what is wrong.
    return false;
  }
  const DLTensor &tensor = *arrays[count++];
  if ((tensor.device.device_type != kDLCUDA &&
       tensor.device.device_type != kDLCUDAManaged) ||
      tensor.ndim < 0 || size_t(tensor.ndim) > mostRank)
    return false;
  describe(tensor);
  if (names)
    names->emplace_back(name);
  return true;
}

bool Call::addPair(PyObject *value) {
  if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != 2)
    return false;
  return addArray(PyTuple_GET_ITEM(value, 0), "k2") &&
         addArray(PyTuple_GET_ITEM(value, 1), "v2");
}

bool Call::add(Role role, std::string_view name, PyObject *value) {
  switch (role) {
  case Role::Option:
    options.push_back(value);
    return true;
  case Role::Stream:
    if (!PyLong_CheckExact(value))
      return false;
    stream = PyLong_AsUnsignedLongLong(value);
    if (!PyErr_Occurred())
      return true;
    PyErr_Clear();
    return false;
  case Role::Array:
  case Role::Pair:
    break;
  }
  // What is not there has a word, too.
  words.push_back(value == Py_None);
  if (value == Py_None)
    return true;
  if (role == Role::Pair)
    return addPair(value);
  if (name == "out")
    out = value;
  return addArray(value, name);
}

uint64_t Call::hash() const {
  uint64_t sum = 0;
  for (size_t n = 0; n < words.size(); ++n)
    sum += (words[n] ^ words[n] >> 17) * (2 * n + 1) * 0x9e3779b97f4a7c15;
  return sum ^ sum >> 29;
}

/// A tensor of the module: one of the arrays, or one that is made.
struct Use {
  bool isMade = false, isExchanged = false;
  size_t place = 0;
};

struct MadeArray {
  std::vector<size_t> shape;
  std::string type;
  bool zero = false;
};

struct Plan {
  std::vector<uint64_t> words;
  std::vector<nb::object> options;
  nb::object owner;
  /// Null if append() has to write the new keys first.
  LoadedModule *module = nullptr;
  std::vector<Use> uses;
  std::vector<MadeArray> made;
  uint64_t workspaceBytes = 0;
  /// When the plan was used last.
  uint64_t used = 0;

  bool matches(const Call &call) const {
    auto same = [](const nb::object &a, PyObject *b) {
      return isSame(a.ptr(), b);
    };
    return words == call.words &&
           std::ranges::equal(options, call.options, same);
  }
  nb::object launch(const Call &call) const;
};

/// Tensors in the module's order, with shapes of their own.
struct Tensors {
  std::array<DLTensor, mostArrays + 4> tensors;
  std::array<std::array<int64_t, 2 * mostRank>, mostArrays + 4> shapes;
  std::vector<const DLTensor *> pointers;

  /// `isExchanged`: with the length before the heads, whatever the layout.
  void add(const DLTensor &tensor, bool isExchanged) {
    size_t n = pointers.size(), rank = size_t(tensor.ndim);
    int64_t *shape = shapes[n].data(), *strides = shape + mostRank;
    copyShape(tensor, shape, strides);
    if (isExchanged) {
      std::swap(shape[rank - 3], shape[rank - 2]);
      std::swap(strides[rank - 3], strides[rank - 2]);
    }
    tensors[n] = tensor;
    tensors[n].shape = shape;
    tensors[n].strides = strides;
    pointers.push_back(&tensors[n]);
  }
};

DLTensor tensorOf(const Made &array, std::array<int64_t, mostRank> &shape) {
  for (size_t d = 0; d < array.ndim(); ++d)
    shape[d] = int64_t(array.shape(d));
  nb::dlpack::dtype type = array.dtype();
  return {const_cast<void *>(static_cast<const void *>(array.data())),
          {kDLCUDA, array.device_id()},
          int32_t(array.ndim()),
          {type.code, type.bits, type.lanes},
          shape.data(),
          nullptr,
          0};
}

nb::object Plan::launch(const Call &call) const {
  Tensors tensors;
  std::vector<Made> fresh;
  int device = call.arrays[0]->device.device_id;
  for (const MadeArray &wanted : made)
    fresh.push_back(deviceEmpty(wanted.shape, wanted.type, device, wanted.zero,
                                call.stream));
  for (const Use &use : uses) {
    std::array<int64_t, mostRank> shape;
    tensors.add(use.isMade ? tensorOf(fresh[use.place], shape)
                           : *call.arrays[use.place],
                use.isExchanged);
  }
  nb::object out = nb::borrow(call.out);
  module->launch(tensors.pointers.data(), tensors.pointers.size(),
                 workspaceBytes, call.stream);
  if (fresh.empty())
    return out;
  nb::list results;
  if (out.is_valid())
    results.append(out);
  for (const Made &array : fresh)
    results.append(nb::cast(array));
  return nb::len(results) == 1 ? nb::object(results[0]) : nb::tuple(results);
}

/// The plans of calls that were made last.
class LaunchPlans {
public:
  /// Launches with the plan of an earlier call with these arguments. Returns
  /// None if there is no plan, and False if that call needed append() first.
  nb::object again(const nb::dict &arguments) {
    Call call;
    if (!read(arguments, call))
      return nb::none();
    auto [first, last] = plans.equal_range(call.hash());
    for (auto found = first; found != last; ++found)
      if (found->second->matches(call)) {
        // Another call may drop the plan while this one launches.
        std::shared_ptr<Plan> plan = found->second;
        plan->used = ++uses;
        return plan->module ? plan->launch(call) : nb::object(nb::bool_(false));
      }
    return nb::none();
  }

  using Uses = std::vector<std::pair<std::string, bool>>;
  using MadeList = std::vector<
      std::tuple<std::string, std::vector<size_t>, std::string, bool>>;

  /// Keeps what a call with `arguments` has launched: `module`, on the arrays
  /// `used` in its order, each with whether length and heads are exchanged,
  /// of which `made` were made: name, shape, type and whether they are zero.
  void keep(const nb::dict &arguments, const nb::object &module,
            const Uses &used, const MadeList &made, uint64_t workspaceBytes);

  /// Keeps that append() comes before a call with `arguments`.
  void keepAppend(const nb::dict &arguments) {
    Call call;
    if (read(arguments, call))
      add(call, Plan());
  }

private:
  bool read(const nb::dict &arguments, Call &call);
  void add(const Call &call, Plan plan);
  void dropOldest();

  static constexpr size_t mostPlans = 256;
  std::vector<Role> roles;
  std::unordered_multimap<uint64_t, std::shared_ptr<Plan>> plans;
  uint64_t uses = 0;
};

Role roleOf(PyObject *name) {
  std::string_view text = PyUnicode_AsUTF8(name);
  for (auto [special, role] : specialArguments)
    if (special == text)
      return role;
  return Role::Option;
}

bool LaunchPlans::read(const nb::dict &arguments, Call &call) {
  PyObject *name = nullptr, *value = nullptr;
  // attention() always has the same arguments, in the same order.
  if (roles.empty())
    for (Py_ssize_t at = 0; PyDict_Next(arguments.ptr(), &at, &name, &value);)
      roles.push_back(roleOf(name));
  if (roles.size() != arguments.size())
    return false;
  call.options.reserve(roles.size());
  call.words.reserve(64);
  size_t n = 0;
  for (Py_ssize_t at = 0; PyDict_Next(arguments.ptr(), &at, &name, &value); ++n)
    if (!call.add(roles[n],
                  roles[n] == Role::Array ? PyUnicode_AsUTF8(name) : "", value))
      return false;
  return true;
}

void LaunchPlans::dropOldest() {
  auto oldest = std::ranges::min_element(
      plans, {}, [](const auto &entry) { return entry.second->used; });
  plans.erase(oldest);
}

void LaunchPlans::add(const Call &call, Plan plan) {
  plan.words = call.words;
  for (PyObject *option : call.options)
    plan.options.push_back(nb::borrow(option));
  plan.used = ++uses;
  while (plans.size() >= mostPlans)
    dropOldest();
  plans.emplace(call.hash(), std::make_shared<Plan>(std::move(plan)));
}

void LaunchPlans::keep(const nb::dict &arguments, const nb::object &module,
                       const Uses &used, const MadeList &made,
                       uint64_t workspaceBytes) {
  Call call;
  std::vector<std::string> names;
  call.names = &names;
  if (!read(arguments, call))
    return;
  Plan plan;
  for (const auto &[name, shape, type, zero] : made)
    plan.made.push_back({shape, type, zero});
  for (const auto &[name, isExchanged] : used) {
    auto array = std::ranges::find(names, name);
    auto fresh = std::ranges::find_if(
        made, [&](const auto &one) { return std::get<0>(one) == name; });
    if (array == names.end() && fresh == made.end())
      throw nb::value_error(("no array '" + name + "'").c_str());
    bool isMade = array == names.end();
    plan.uses.push_back(
        {isMade, isExchanged,
         size_t(isMade ? fresh - made.begin() : array - names.begin())});
  }
  plan.owner = module;
  plan.module = nb::cast<LoadedModule *>(module);
  plan.workspaceBytes = workspaceBytes;
  add(call, std::move(plan));
}

} // namespace

void fmha::python::bindLaunchPlans(nb::module_ &module) {
  nb::class_<LaunchPlans>(module, "LaunchPlans")
      .def(nb::init<>())
      .def("again", &LaunchPlans::again, nb::arg("arguments"))
      .def("keep", &LaunchPlans::keep, nb::arg("arguments"), nb::arg("module"),
           nb::arg("used"), nb::arg("made"), nb::arg("workspace_bytes"))
      .def("keep_append", &LaunchPlans::keepAppend, nb::arg("arguments"));
}
