"""The layouts that python/src/Jax/Abi.h declares are those of the header that jaxlib brings, byte by byte."""

import pathlib
import re
import shutil
import subprocess

import jax
import pytest

ABI = pathlib.Path(__file__).resolve().parents[2] / "python/src/Jax/Abi.h"
COMPILER = shutil.which("clang++-22") or shutil.which("c++")

# Our structure, XLA's, and pairs of fields; those of all structures come first.
HEAD = "structBytes struct_size extensions extension_start"
STRUCTURES = [
    ("Version", "Api_Version", f"{HEAD} major major_version minor minor_version"),
    ("Buffer", "Buffer", f"{HEAD} type dtype data data rank rank dims dims"),
    ("Text", "ByteSpan", "data ptr bytes len"),
    ("Operands", "Args", f"{HEAD} count size types types values args"),
    ("Operands", "Rets", f"{HEAD} count size types types values rets"),
    ("Attributes", "Attrs", f"{HEAD} count size types types names names values attrs"),
    ("ErrorRequest", "Error_Create_Args", f"{HEAD} message message code errc"),
    ("StreamRequest", "Stream_Get_Args", f"{HEAD} context ctx stream stream"),
    ("OrdinalRequest", "DeviceOrdinal_Get_Args", f"{HEAD} context ctx ordinal device_ordinal"),
    (
        "Api",
        "Api",
        f"{HEAD} version api_version createError XLA_FFI_Error_Create getStream XLA_FFI_Stream_Get getOrdinal XLA_FFI_DeviceOrdinal_Get",
    ),
    (
        "CallFrame",
        "CallFrame",
        f"{HEAD} api api context ctx stage stage arguments args results rets attributes attrs future future",
    ),
    ("Metadata", "Metadata", "structBytes struct_size version api_version traits traits"),
    ("MetadataExtension", "Metadata_Extension", "base extension_base metadata metadata"),
]
# XLA renamed the structure of extensions, which all others point to.
THEIR_EXTENSION = "std::remove_pointer_t<decltype(XLA_FFI_Buffer::extension_start)>"
NUMBERS = {
    "Bool": "DataType_PRED", "I32": "DataType_S32", "U8": "DataType_U8", "F16": "DataType_F16", "F32": "DataType_F32", "BF16": "DataType_BF16",
    "stringAttribute": "AttrType_STRING", "bufferArgument": "ArgType_BUFFER", "executeStage": "ExecutionStage_EXECUTE",
    "metadataExtension": "Extension_Metadata", "InvalidArgument": "Error_Code_INVALID_ARGUMENT",
    "ResourceExhausted": "Error_Code_RESOURCE_EXHAUSTED", "Internal": "Error_Code_INTERNAL", "majorVersion": "API_MAJOR",
}  # fmt: skip


def same_fields(ours, theirs, pairs):
    names = pairs.split()
    for own, other in zip(names[::2], names[1::2]):
        yield f"offsetof(abi::{ours}, {own}) == offsetof(Their{theirs}, {other})"
        yield f"sizeof(abi::{ours}::{own}) == sizeof(Their{theirs}::{other})"


def claims():
    """Conditions of C++, with XLA's structures as Their..., that hold if the layouts agree."""
    for ours, theirs, pairs in [*STRUCTURES, ("Extension", "Extension", "structBytes struct_size type type next next")]:
        yield from same_fields(ours, theirs, pairs)
    for own, other in NUMBERS.items():
        yield f"int(abi::{own}) == int(XLA_FFI_{other})"
    yield "int(XLA_FFI_ArgType_BUFFER) == int(XLA_FFI_RetType_BUFFER)"
    yield "abi::firstMinorVersion <= XLA_FFI_API_MINOR && XLA_FFI_API_MINOR <= abi::lastMinorVersion"


def compile_claims(folder, conditions, include):
    aliases = [f"using Their{theirs} = XLA_FFI_{theirs};" for _, theirs, _ in STRUCTURES] + [f"using TheirExtension = {THEIR_EXTENSION};"]
    lines = [f'#include "{ABI}"', "#include <type_traits>", '#include "xla/ffi/api/c_api.h"', "namespace abi = fmha::jax::abi;", *aliases]
    lines += [f"static_assert({condition});" for condition in conditions]
    source = folder / "claims.cpp"
    source.write_text("\n".join(lines) + "\n")
    return subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-Wno-invalid-offsetof", f"-I{include}", source], capture_output=True, text=True)


@pytest.mark.skipif(not COMPILER, reason="there is no compiler")
def test_layouts_agree(tmp_path):
    done = compile_claims(tmp_path, claims(), jax.ffi.include_dir())
    assert done.returncode == 0, done.stderr
    wrong = compile_claims(tmp_path, ["offsetof(abi::Buffer, data) == offsetof(TheirBuffer, dims)"], jax.ffi.include_dir())
    assert wrong.returncode != 0 and "static assertion failed" in wrong.stderr


def test_every_structure_and_number_is_compared():
    text = ABI.read_text()
    declared = {*re.findall(r"^struct (\w+) \{", text, re.M)}
    assert declared == {ours for ours, _, _ in STRUCTURES} | {"Extension"}
    enumerators = re.findall(r"(\w+) = -?\d+", re.sub(r"//.*", "", text))
    assert set(enumerators) == set(NUMBERS) | {"firstMinorVersion", "lastMinorVersion"}
