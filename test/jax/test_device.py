"""The handler for CUDA, called as XLA calls it, with the simulator as the driver."""

import ctypes
import os
import re

import fmha.jax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import assert_close, reference
from fmha import _native

U64, POINTER = ctypes.c_uint64, ctypes.c_void_p
# Numbers of XLA_FFI_DataType.
TYPES = {"bool": 1, "int32": 4, "uint8": 6, "float16": 10, "float32": 11, "bfloat16": 16}


def structure(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": [("bytes", U64), ("extensions", POINTER), *fields]})


Version = structure("Version", ("major", ctypes.c_int), ("minor", ctypes.c_int))
Buffer = structure("Buffer", ("type", ctypes.c_int), ("data", POINTER), ("rank", ctypes.c_int64), ("dims", POINTER))
Operands = structure("Operands", ("count", ctypes.c_int64), ("types", POINTER), ("values", POINTER))
Attributes = structure("Attributes", ("count", ctypes.c_int64), ("types", POINTER), ("names", POINTER), ("values", POINTER))
ErrorRequest = structure("ErrorRequest", ("message", ctypes.c_char_p), ("code", ctypes.c_int))
StreamRequest = structure("StreamRequest", ("context", POINTER), ("stream", POINTER))
OrdinalRequest = structure("OrdinalRequest", ("context", POINTER), ("ordinal", ctypes.c_int32))
Api = structure("Api", ("version", Version), ("internal", POINTER), ("functions", POINTER * 18))
CallFrame = structure(
    "CallFrame", ("api", POINTER), ("context", POINTER), ("stage", ctypes.c_int), ("arguments", Operands), ("results", Operands),
    ("attributes", Attributes), ("future", POINTER),
)  # fmt: skip
Metadata = type("Metadata", (ctypes.Structure,), {"_fields_": [("bytes", U64), ("version", Version), ("traits", ctypes.c_uint32)]})
MetadataExtension = type(
    "MetadataExtension", (ctypes.Structure,), {"_fields_": [("bytes", U64), ("type", ctypes.c_int), ("next", POINTER), ("metadata", POINTER)]}
)
Text = type("Text", (ctypes.Structure,), {"_fields_": [("data", ctypes.c_char_p), ("bytes", U64)]})


class Xla:
    """What a handler sees of XLA: functions, and structures that live as long as this object."""

    def __init__(self, version=(0, 3)):
        self.kept, self.errors = [], []
        functions = [None] * 18
        for place, request, answer in ((0, ErrorRequest, self.fail), (4, StreamRequest, self.answer), (17, OrdinalRequest, self.answer)):
            function = self.keep(ctypes.CFUNCTYPE(POINTER, ctypes.POINTER(request))(answer))
            functions[place] = ctypes.cast(function, POINTER)
        self.api = Api(ctypes.sizeof(Api), None, Version(24, None, *version), None, (POINTER * 18)(*functions))

    def keep(self, value):
        self.kept.append(value)
        return value

    def fail(self, request):
        self.errors.append((request.contents.code, request.contents.message.decode()))
        return 1

    def answer(self, request):
        return None  # Of the default stream, and of device 0.

    def array(self, values):
        """The addresses of structures."""
        kept = [self.keep(value) for value in values]
        return ctypes.cast(self.keep((POINTER * len(kept))(*map(ctypes.addressof, kept))), POINTER)

    def operands(self, buffers):
        types = self.keep((ctypes.c_int * len(buffers))(*[1] * len(buffers)))
        return Operands(ctypes.sizeof(Operands), None, len(buffers), ctypes.cast(types, POINTER), self.array(buffers))

    def attributes(self, texts):
        names = self.array([Text(name.encode(), len(name)) for name in texts])
        values = self.array([Text(text.encode(), len(text.encode())) for text in texts.values()])
        types = self.keep((ctypes.c_int * len(texts))(*[4] * len(texts)))
        return Attributes(ctypes.sizeof(Attributes), None, len(texts), ctypes.cast(types, POINTER), names, values)

    def call(self, handler, frame):
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = POINTER, [ctypes.py_object, ctypes.c_char_p]
        return ctypes.CFUNCTYPE(POINTER, POINTER)(get(handler, None))(ctypes.addressof(frame))

    def frame(self, arguments=(), results=(), attributes={}, stage=3):
        return CallFrame(
            ctypes.sizeof(CallFrame), None, ctypes.addressof(self.api), None, stage, self.operands(arguments), self.operands(results),
            self.attributes(attributes), None,
        )  # fmt: skip


class Memory:
    """Arrays in the simulator's memory, as buffers of XLA."""

    def __init__(self, xla):
        self.xla, self.library = xla, ctypes.CDLL(os.environ["FMHA_DRIVER"])
        context = POINTER()
        assert self.library.cuInit(0) == 0
        assert self.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert self.library.cuCtxSetCurrent(context) == 0

    def buffer(self, array):
        address = U64()
        assert self.library.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 1))) == 0
        data = np.ascontiguousarray(array)
        assert self.library.cuMemcpyHtoD_v2(address, POINTER(data.ctypes.data), ctypes.c_size_t(data.nbytes)) == 0
        dims = self.xla.keep((ctypes.c_int64 * max(array.ndim, 1))(*array.shape))
        return Buffer(ctypes.sizeof(Buffer), None, TYPES[array.dtype.name], address.value, array.ndim, ctypes.cast(dims, POINTER))

    def read(self, buffer, like):
        data = np.empty(like.shape, like.dtype)
        assert self.library.cuCtxSynchronize() == 0
        assert self.library.cuMemcpyDtoH_v2(POINTER(data.ctypes.data), U64(buffer.data), ctypes.c_size_t(data.nbytes)) == 0
        return data


@pytest.fixture
def recorded(monkeypatch):
    """Returns the buffers, the results and the attributes of the custom call that a function makes."""

    def record(function, *arguments):
        found = []

        def ffi_call(name, results):
            assert name == "fmha_attention"

            def call(*operands, **attributes):
                shapes = [np.zeros(result.shape, result.dtype) for result in results]
                found.append(([np.asarray(operand) for operand in operands], shapes, attributes))
                return list(map(jnp.asarray, shapes))

            return call

        monkeypatch.setattr(jax.ffi, "ffi_call", ffi_call)
        with jax.disable_jit():
            function(*arguments)
        monkeypatch.undo()
        (one,) = found
        return one

    return record


def launch(operands, results, attributes):
    """Calls the handler on the call that was recorded; returns what it writes, and XLA's errors."""
    xla = Xla()
    memory = Memory(xla)
    given = [memory.buffer(array) for array in operands]
    made = [memory.buffer(array) for array in results]
    status = xla.call(_native.xla_handler("CUDA"), xla.frame(given, made, attributes))
    assert bool(status) == bool(xla.errors)
    return [memory.read(buffer, like) for buffer, like in zip(made, results)] if not status else [], xla.errors


def attend(options, bias=None, mask=None, lengths=None):
    """Returns a function that makes the call alone, without what surrounds it."""
    given = {name: array for name, array in (("bias", bias), ("attn_mask", mask), ("kv_lens", lengths)) if array is not None}
    return lambda q, k, v: fmha.jax._call._call(options, {"q": q, "k": k, "v": v, **given})


def options(**change):
    usual = dict(scale=None, mask="none", window=(None, None), lse=True, target="sm_100a")
    return fmha.jax._call.Options(**usual | change)


def check(recorded, operands, function, expected):
    out, lse, *workspace = launch(*recorded(function, *operands))[0]
    want, want_lse, spread = expected
    assert_close(out, expected)
    assert np.allclose(lse.swapaxes(1, 2), want_lse, rtol=1e-5, atol=1e-5)
    return workspace


def test_the_kernel_runs_on_device_memory(recorded, problem, random):
    operands = problem(33, 65)
    mask = random(2, 1, 33, 65, dtype=jnp.float32) > -0.5
    bias = random(1, 4, 1, 65, dtype=jnp.float32)
    lengths = jnp.array([65, 40], jnp.int32)
    expected = reference(*operands, bias, mask, key_value_seq_lengths=lengths)
    for _ in range(2):  # The second call finds the kernel loaded.
        check(recorded, operands, attend(options(), bias, mask, lengths), expected)
    check(recorded, operands, attend(options(mask="causal-top-left", scale=0.5)), reference(*operands, is_causal=True, scale=0.5))


def test_splits_have_a_workspace_of_xla(recorded, problem):
    operands = problem(1, 6000, batch=1)
    assert check(recorded, operands, attend(options()), reference(*operands))


def test_a_workspace_that_is_too_small_is_an_error(recorded, problem):
    operands, results, attributes = recorded(attend(options()), *problem(1, 6000, batch=1))
    _, errors = launch(operands, [*results[:-1], results[-1][:16]], attributes)
    assert [(code, text[:20]) for code, text in errors] == [(3, "workspace: expected ")]


def test_a_kernel_for_another_gpu_is_an_error(recorded, problem):
    launch(*recorded(attend(options()), *problem(5, 9)))  # The simulator is one of sm_100a from here on.
    _, errors = launch(*recorded(attend(options(target="sm_90a")), *problem(5, 9)))
    assert errors == [(3, "target: expected one for a GPU of compute capability 10.0, got sm_90a; trace the call with target= of that GPU")]


def test_a_shape_that_does_not_fit_is_an_error(recorded, problem):
    operands, results, attributes = recorded(attend(options()), *problem(5, 9))
    _, errors = launch([operands[0], operands[1][:, :8], operands[2]], results, attributes)
    assert len(errors) == 1 and errors[0][0] == 3 and "tensor 'v': expected the shape [2, 8, 2, 64], got [2, 9, 2, 64]" in errors[0][1]


@pytest.mark.parametrize("platform", ["cpu", "CUDA"])
def test_another_call_than_ours_is_an_error(platform):
    xla = Xla()
    assert xla.call(_native.xla_handler(platform), xla.frame())
    assert xla.errors == [(3, "expected a string as the attribute 'inputs' of the call, got none; call fmha.jax")]


@pytest.mark.parametrize(("version", "answered"), [((0, 1), 1), ((0, 4), 4), ((0, 9), 5)])
def test_a_handler_says_for_which_version_it_is(version, answered):
    xla = Xla(version)
    metadata = Metadata(ctypes.sizeof(Metadata), Version(24, None, 9, 9), 9)
    extension = MetadataExtension(ctypes.sizeof(MetadataExtension), 1, None, ctypes.addressof(metadata))
    frame = xla.frame()
    frame.extensions = ctypes.addressof(extension)
    assert not xla.call(_native.xla_handler("cpu"), frame)
    assert (metadata.version.major, metadata.version.minor, metadata.traits) == (0, answered, 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda xla, frame: setattr(frame, "bytes", 40), "XLA: expected call frames of at least .* bytes, got 40; install a version of jax"),
        (lambda xla, frame: setattr(xla.api, "bytes", 8), "XLA: expected a table of functions of at least .* bytes, got 8"),
        (lambda xla, frame: setattr(xla.api.version, "major", 1), r"XLA: expected version 0 of its FFI, got 1\.3"),
        (lambda xla, frame: setattr(frame, "stage", 2), "XLA: expected the stage of execution, got 2"),
    ],
)
def test_another_layout_of_xla_is_an_error(change, message):
    xla = Xla()
    frame = xla.frame()
    change(xla, frame)
    assert xla.call(_native.xla_handler("CUDA"), frame)
    ((code, text),) = xla.errors
    assert code == 13 and re.match(message, text), text
