"""The command fmha."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys

from ._doctor import examine

# Flags are those that a tool's own --help names, so that the script knows every tool and version.
_COMPLETION = r'''_fmha() {
  local words
  if [[ $2 == -* ]]; then
    words=$("$1" ${COMP_WORDS[1]:+$([[ $1 == fmha && ${COMP_WORDS[1]} != -* ]] && echo "${COMP_WORDS[1]}")} --help 2>/dev/null |
      grep -oE -- '--[a-z0-9][a-z0-9-]*=?' | sort -u)
  elif [[ $1 == fmha && $COMP_CWORD == 1 ]]; then
    words="doctor completion"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$2"))
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o default -F _fmha fmha fmha-compile fmha-layout fmha-run ptx-sim ptx-mutate
'''

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


def completion(shell: str) -> int:
    """Prints the functions that complete flags."""
    print(("autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else "") + _COMPLETION, end="")
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fmha", description="Attention kernels for Ampere to Blackwell GPUs, and a PTX simulator.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser(
        "doctor",
        help="say what this installation has",
        description="Checks the package, the simulator, driver, GPU, ptxas, kernel cache, libraries and plugin. Exit status: 0, or 1 if something "
        "that is there does not work; what is only missing is marked --.",
    )
    one.add_argument("--json", action="store_true", help="one JSON object: schema_version, ok, checks [{name, status, text, details}]")
    two = commands.add_parser(
        "completion",
        help="print completion of flags for a shell",
        description='Prints completion of the flags of fmha and of the tools of a build, for ~/.bashrc: eval "$(fmha completion bash)".',
    )
    two.add_argument("shell", choices=("bash", "zsh"))
    given = parser.parse_args(arguments)
    try:
        code = doctor(given.json) if given.command == "doctor" else completion(given.shell)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has what it wants. Python would report the pipe once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
