# The suites that other programs drive: lit and pytest. Each writes a JUnit
# report into build/reports, which scripts/build/summary.py adds up.

find_program(FMHA_LIT NAMES lit llvm-lit
  HINTS "${LLVM_TOOLS_BINARY_DIR}" /usr/lib/llvm-22/bin)
if(FMHA_LIT)
  get_filename_component(FMHA_LLVM_TOOLS_DIR "${FMHA_LIT}" DIRECTORY)
endif()

# The project's own virtual environment, unless the caller names an interpreter.
find_program(FMHA_PYTHON NAMES python python3
  HINTS "${PROJECT_SOURCE_DIR}/.venv/bin")
if(Python_EXECUTABLE)
  set(FMHA_PYTHON "${Python_EXECUTABLE}")
endif()

# The test "lit".
function(fmha_add_lit_suite)
  if(NOT FMHA_LIT)
    message(WARNING "No lit found: the lit tests are left out")
    return()
  endif()
  configure_file(lit.site.cfg.py.in lit.site.cfg.py @ONLY)
  set(command "${FMHA_LIT}" -v --order=lexical)
  add_test(NAME lit COMMAND ${command}
    "--xunit-xml-output=${PROJECT_BINARY_DIR}/reports/lit.xml"
    "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(lit PROPERTIES LABELS lit PROCESSORS 2)
endfunction()

# fmha_add_pytest(<folder> [ENVIRONMENT <name>]): the pytest files of test/<folder>, with the
# package of the build tree importable. ENVIRONMENT: in that of python/environments/<name>.lock;
# the test is skipped where its packages cannot be installed.
function(fmha_add_pytest folder)
  cmake_parse_arguments(ARG "" "ENVIRONMENT" "" ${ARGN})
  set(test pytest-${folder})
  set(python "${FMHA_PYTHON}")
  if(ARG_ENVIRONMENT)
    list(APPEND python "${PROJECT_SOURCE_DIR}/scripts/build/environment.py" ${ARG_ENVIRONMENT})
  endif()
  add_test(NAME ${test} COMMAND ${python} -m pytest -q -p no:cacheprovider
    "--junitxml=${PROJECT_BINARY_DIR}/reports/${test}.xml"
    "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
  set_tests_properties(${test} PROPERTIES LABELS pytest SKIP_RETURN_CODE 77 ENVIRONMENT
    "PYTHONPATH=${PROJECT_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1;FMHA_BUILD_DIR=${PROJECT_BINARY_DIR}")
endfunction()
