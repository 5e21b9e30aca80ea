"""The command fmha."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from ._doctor import examine

_MARKS = {"ok": "ok", "missing": "--", "failed": "FAILED"}


def doctor(as_json: bool) -> int:
    """Prints what the installation has. Returns 1 if something that is there does not work."""
    checks = examine()
    failed = any(check.status == "failed" for check in checks)
    if as_json:
        print(json.dumps({"schema_version": 1, "ok": not failed, "checks": [dataclasses.asdict(check) for check in checks]}, indent=2))
    else:
        for check in checks:
            print(f"{_MARKS[check.status]:7}{check.name:11}{check.text}")
    return int(failed)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fmha", description="Attention kernels for Hopper and Blackwell, and a PTX simulator.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser(
        "doctor",
        help="say what this installation has",
        description="Checks the package, the simulator, driver, GPU, ptxas, kernel cache, libraries and plugin. Exit status: 0, or 1 if something "
        "that is there does not work; what is only missing is marked --.",
    )
    one.add_argument("--json", action="store_true", help="one JSON object: schema_version, ok, checks [{name, status, text, details}]")
    given = parser.parse_args(arguments)
    return doctor(given.json)


if __name__ == "__main__":
    sys.exit(main())
