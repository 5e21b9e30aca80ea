"""Prints the tracks and slices of a trace in Perfetto's format: perfetto.py FILE."""

import pathlib
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """Yields number and value of each field; only varints and bytes are known."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        assert key & 7 in (0, 2), key
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
            assert at <= len(data)
        yield key >> 3, value


def main():
    open_slices = {}
    for number, packet in fields(pathlib.Path(sys.argv[1]).read_bytes()):
        assert number == 1
        packet = dict(fields(packet))
        if 60 in packet:
            track = dict(fields(packet[60]))
            print(f"track {track[1]}: {track[2].decode()}")
            continue
        event = dict(fields(packet[11]))
        if event[9] == 1:
            assert event[11] not in open_slices
            open_slices[event[11]] = packet[8], event[23].decode()
        else:
            begin, name = open_slices.pop(event[11])
            assert event[9] == 2 and begin < packet[8]
            print(f"track {event[11]}: {begin} to {packet[8]} {name}")
    assert not open_slices


if __name__ == "__main__":
    main()
