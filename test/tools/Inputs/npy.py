"""Reading and writing .npy files without NumPy, for the tests of the tools.

npy.py FILE SHAPE [--type=<f4] [--fortran] [--truncate=BYTES]: writes an array of
small numbers, "2,3" for a shape of two dimensions."""

import ast
import struct
import sys

CODES = {"|u1": "B", "<f4": "f", "<f2": "e", "<f8": "d", "<i4": "i", "|b1": "?", ">f4": ">f"}


def encode(shape, values, descr="<f4", fortran=False):
    header = repr({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    code = CODES[descr]
    order = "" if code.startswith(">") else "<"
    body = struct.pack(f"{order}{code[:-1]}{len(values)}{code[-1]}", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body


def write(path, shape, values, descr="<f4"):
    with open(path, "wb") as file:
        file.write(encode(shape, values, descr))


def read(path):
    """The shape and the values of a version 1 file."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert not header["fortran_order"]
    body = data[10 + length :]
    code = CODES[header["descr"]]
    count = len(body) // struct.calcsize(code)
    return header["shape"], list(struct.unpack(f"<{count}{code}", body))


def main():
    options = dict(a[2:].split("=") if "=" in a else (a[2:], True) for a in sys.argv[3:])
    shape = [int(extent) for extent in sys.argv[2].split(",")]
    count = 1
    for extent in shape:
        count *= extent
    values = [(i * 7 % 11 - 5) / 4 for i in range(count)]
    if options.get("type") == "<i4":
        values = [int(value) for value in values]
    data = encode(shape, values, options.get("type", "<f4"), "fortran" in options)
    if "truncate" in options:
        data = data[: int(options["truncate"])]
    with open(sys.argv[1], "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()
