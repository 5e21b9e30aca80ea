"""docs/raising.md is that of the tables, and each form and refusal of them has a test."""

import pytest
import raising_page
from generated import ROOT, entries

TESTS = ROOT / "test/Conversion/Raise"
REFUSALS = [arguments for _, arguments in entries(ROOT / raising_page.TABLES / "Refusals.def")]
NAMES = {a[3] or a[2]: a for macro, a in entries(ROOT / raising_page.TABLES / "NamedForms.def") if macro == "NAMED_FORM"}


def text_of(*patterns):
    return "\n".join(path.read_text(encoding="utf-8") for pattern in patterns for path in sorted(TESTS.glob(pattern)))


def test_the_page_is_up_to_date():
    raising_page.main(["--check"])


@pytest.mark.parametrize("name,id,text", REFUSALS)
def test_each_refusal_has_a_test(name, id, text):
    """Its longest words without {0} and {1} stand in an expectation, or its name does."""
    words = max((part for half in text.split("{0}") for part in half.split("{1}")), key=len)
    tests = text_of("*errors*", "*compute*", "*refused*")
    assert words.strip(" ;,") in tests or f" {id} " in tests or f'"{id}"' in tests


@pytest.mark.parametrize("name", NAMES)
def test_each_named_op_has_a_test_of_what_it_becomes(name):
    assert name in text_of("fmha-raise-named*.mlir")
