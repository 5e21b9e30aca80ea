"""Makes the scripts importable for their tests."""

import pathlib
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path[:0] = [str(SCRIPTS / room) for room in ("build", "check")]
