"""The summary must not lose a failure, whatever report it stands in."""

import pytest
import summary

CTEST = """<testsuite>
 <testcase name="unit" classname="unit" status="{unit}"/>
 <testcase name="plain" classname="plain" status="run"/>
</testsuite>"""
GTEST = """<testsuites><testsuite name="S">
 <testcase name="a" status="run" result="completed" classname="S"/>
 <testcase name="b" status="run" result="completed" classname="S">{failure}</testcase>
 <testcase name="c" status="notrun" result="suppressed" classname="S"/>
</testsuite></testsuites>"""


@pytest.fixture
def reports(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text)

    write.path = tmp_path
    return write


def run(reports, capsys):
    status = summary.main(reports.path, "1")
    return status, capsys.readouterr().out


def test_counts_the_cases_of_a_program_in_place_of_its_entry(reports, capsys):
    reports("ctest-all.xml", CTEST.format(unit="run"))
    reports("unit.xml", GTEST.format(failure=""))
    status, text = run(reports, capsys)
    assert status == 0
    assert "3 passed, 1 skipped in 1s" in text


def test_failed_case_is_named_and_fails(reports, capsys):
    reports("ctest-all.xml", CTEST.format(unit="fail"))
    reports("unit.xml", GTEST.format(failure="<failure message='x'/>"))
    status, text = run(reports, capsys)
    assert status == 1
    assert "FAILED S.b" in text and "1 failed" in text


@pytest.mark.parametrize("report", [None, "<testsuites", GTEST.format(failure="")])
def test_crashed_program_counts_as_failed(reports, capsys, report):
    reports("ctest-all.xml", CTEST.format(unit="fail"))
    if report:
        reports("unit.xml", report)
    status, text = run(reports, capsys)
    assert status == 1
    assert "1 failed" in text


def test_no_report_at_all_is_a_failure(reports, capsys):
    assert run(reports, capsys)[0] == 1
