//===- BorrowedTensor.cpp - Arrays of other libraries, by DLPack ----------===//
//
// Part of the fmha project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadedModule.h"

namespace nb = nanobind;
using namespace fmha::python;

namespace {

/// Calls array.__dlpack__(stream=-1), or without the keyword where it is
/// unknown.
nb::object askForCapsule(nb::handle array) {
  static PyObject *method = PyUnicode_InternFromString("__dlpack__");
  static PyObject *keywords = PyTuple_Pack(1, PyUnicode_FromString("stream"));
  static PyObject *none = PyLong_FromLong(-1);
  PyObject *given[] = {array.ptr(), none};
  PyObject *capsule = PyObject_VectorcallMethod(
      method, given, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = PyObject_CallMethodNoArgs(array.ptr(), method);
  }
  if (!capsule)
    nb::raise_python_error();
  return nb::steal(capsule);
}

/// Whether the array is a tensor that PyTorch traces with: it exports an
/// address where there is no data.
bool isWithoutData(nb::handle array) {
  return std::string_view(Py_TYPE(array.ptr())->tp_name) == "FakeTensor";
}

/// DLManagedTensorVersioned of DLPack 1.
struct Versioned {
  uint32_t major, minor;
  void *context, *deleter;
  uint64_t flags;
  DLTensor tensor;
};

/// DLPackExchangeAPI of DLPack 1.3, as far as we use it.
struct Exchange {
  uint32_t major, minor;
  void *previous, *allocate, *fromObject, *toObject;
  /// Fills in what is valid as long as the object; not 0 for an exception.
  int (*view)(void *object, DLTensor *tensor);
};
using View = decltype(Exchange::view);

/// Returns the function of a type that says by itself, and not by a type that
/// it inherits from, how its objects are exchanged; or null.
View findView(PyTypeObject *type) {
  PyObject *members = type->tp_dict;
  PyObject *capsule =
      members ? PyDict_GetItemString(members, "__dlpack_c_exchange_api__")
              : nullptr;
  if (!capsule || !PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
    return nullptr;
  auto *exchange = static_cast<Exchange *>(
      PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  return exchange->major == 1 ? exchange->view : nullptr;
}

/// The same, remembered for the types that were met first.
View viewOf(nb::handle array) {
  static std::vector<std::pair<PyTypeObject *, View>> known;
  constexpr size_t most = 16;
  PyTypeObject *type = Py_TYPE(array.ptr());
  for (auto [other, view] : known)
    if (other == type)
      return view;
  View view = findView(type);
  if (known.size() < most) {
    // The type lives on, so that no other one gets its address.
    Py_INCREF(reinterpret_cast<PyObject *>(type));
    known.emplace_back(type, view);
  }
  return view;
}

/// Whether a library would decline to export the array, as it takes part in
/// differentiation.
bool needsGradient(nb::handle array) {
  static PyObject *name = PyUnicode_InternFromString("requires_grad");
  PyObject *value = PyObject_GetAttr(array.ptr(), name);
  PyErr_Clear();
  bool needs = value && value != Py_False;
  Py_XDECREF(value);
  return needs;
}

} // namespace

BorrowedTensor::BorrowedTensor(nb::handle array) {
  if (View view = viewOf(array); view && !needsGradient(array)) {
    if (!view(array.ptr(), &tensor)) {
      owner = nb::borrow(array);
      return;
    }
    PyErr_Clear();
  }
  if (isWithoutData(array))
    throw nb::type_error("expected a tensor with data");
  owner = askForCapsule(array);
  // Either kind of a managed tensor begins or ends with the tensor.
  if (void *found = PyCapsule_GetPointer(owner.ptr(), "dltensor")) {
    tensor = *static_cast<const DLTensor *>(found);
    return;
  }
  PyErr_Clear();
  void *found = PyCapsule_GetPointer(owner.ptr(), "dltensor_versioned");
  if (!found)
    PyErr_Clear();
  if (!found || static_cast<Versioned *>(found)->major != 1)
    throw nb::type_error("expected a capsule of DLPack 1 or before");
  tensor = static_cast<Versioned *>(found)->tensor;
}

void fmha::python::copyShape(const DLTensor &tensor, int64_t *shape,
                             int64_t *strides) {
  int64_t step = 1;
  for (int32_t d = tensor.ndim; d-- > 0; step *= tensor.shape[d]) {
    shape[d] = tensor.shape[d];
    strides[d] = tensor.strides ? tensor.strides[d] : step;
  }
}
