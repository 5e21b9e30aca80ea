# Compiler settings shared by every room, and the functions rooms use to declare a
# library and a unit test.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The packaged LLVM lies outside the loader's path, installed tools included.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness that its manual requires for precompiled headers.
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    "${CCACHE_PROGRAM}")
endif()

include(CheckLinkerFlag)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  check_linker_flag(CXX "-fuse-ld=lld" FMHA_HAVE_LLD)
  if(FMHA_HAVE_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

# fmha/Version.h, for everybody's --version.
configure_file("${PROJECT_SOURCE_DIR}/include/fmha/Version.h.in"
  "${PROJECT_BINARY_DIR}/include/fmha/Version.h" @ONLY)

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(FMHA_ENABLE_ASSERTIONS)
  add_compile_options(-UNDEBUG)
endif()
if(FMHA_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize=vptr -fno-sanitize-recover=undefined -g1)
  add_link_options(-fsanitize=address,undefined)
endif()
if(FMHA_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=thread)
elseif(FMHA_SANITIZE)
  # The packaged LLVM is not instrumented, so vptr checks across the border
  # would report its types; and a driver's functions come by dlsym, with other
  # names of the same types.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
  # GCC's guess at uninitialized values misfires in instrumented code, as its
  # manual says; AddressSanitizer's build is not the one that looks for them.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=address,undefined)
endif()

# Headers of the standard library and JSON cost a source of the simulator, the planner or
# the runtime 1 to 5 s, most of its time: precompiled once. A precompiled header serves
# sources with its options only. The preset gcc and clang-tidy use none and report missing
# includes.
find_package(nlohmann_json QUIET)
if(TARGET nlohmann_json::nlohmann_json AND CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND
   NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  set(FMHA_PRECOMPILE ON)
endif()

# fmha_add_pch(<name> [<options>...]): declares the precompiled headers of the libraries
# whose compiler options are the default ones and these.
function(fmha_add_pch name)
  file(WRITE "${PROJECT_BINARY_DIR}/${name}.cpp" "")
  add_library(${name} STATIC EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/${name}.cpp")
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE nlohmann_json::nlohmann_json)
  target_precompile_headers(${name} PRIVATE <algorithm> <array> <atomic> <bit> <charconv> <cmath>
    <cstdint> <cstdio> <cstring> <deque> <functional> <map> <memory> <mutex> <numeric>
    <optional> <set> <span> <sstream> <string> <string_view> <tuple> <unordered_map>
    <unordered_set> <variant> <vector> <nlohmann/json.hpp>)
  # What ccache needs to look at a precompiled header by its contents.
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp" ${ARGN})
endfunction()

# Options of the libraries that are OPTIMIZED in the build with AddressSanitizer. Other
# libraries are not optimized there, which saves minutes of compilation; tests of these
# would take more minutes than that.
set(FMHA_OPTIMIZED)
if(FMHA_SANITIZE AND NOT FMHA_SANITIZE STREQUAL "thread")
  set(FMHA_OPTIMIZED -O1)
endif()
if(FMHA_PRECOMPILE)
  fmha_add_pch(StandardPch)
  fmha_add_pch(StandardOptimizedPch ${FMHA_OPTIMIZED})
endif()

# fmha_add_library(<name> <sources>... [NO_PCH] [OPTIMIZED] [LINK_LIBS <libs>...])
# A static library of one room. Headers live under the same relative path in
# include/fmha. NO_PCH: its options differ from the default ones. OPTIMIZED: also in the
# sanitized build.
function(fmha_add_library name)
  cmake_parse_arguments(ARG "NO_PCH;OPTIMIZED" "" "LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_property(GLOBAL APPEND PROPERTY FMHA_LIBRARIES ${name})
  # Public headers are C++20, whoever includes them.
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  set(pch StandardPch)
  if(ARG_OPTIMIZED AND FMHA_OPTIMIZED)
    target_compile_options(${name} PRIVATE ${FMHA_OPTIMIZED})
    set(pch StandardOptimizedPch)
  endif()
  if(FMHA_PRECOMPILE AND NOT ARG_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM ${pch})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  # Helpers of tests and tools are no part of an installation.
  if(NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/(test|benchmark|tools)(/|$)")
    install(TARGETS ${name} EXPORT FmhaTargets ARCHIVE DESTINATION lib)
  endif()
endfunction()

# Builds every test with a label that begins with "unit" and nothing that only other
# tests need.
add_custom_target(fmha-unittests)

# Appends to `out` the targets of a folder and those below it that are part of all.
function(fmha_targets_of out folder)
  set(found ${${out}})
  get_property(inner DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(target IN LISTS inner)
    get_target_property(excluded ${target} EXCLUDE_FROM_ALL)
    get_target_property(type ${target} TYPE)
    if(NOT excluded AND NOT type STREQUAL "INTERFACE_LIBRARY")
      list(APPEND found ${target})
    endif()
  endforeach()
  foreach(below IN LISTS folders)
    fmha_targets_of(found "${below}")
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Adds the target fmha-all-but-unittests: all, but for the programs of tests with the
# label "unit".
function(fmha_add_target_without_unittests)
  set(targets)
  fmha_targets_of(targets "${PROJECT_SOURCE_DIR}")
  get_property(unittests GLOBAL PROPERTY FMHA_UNITTESTS)
  if(unittests)
    list(REMOVE_ITEM targets ${unittests})
  endif()
  add_custom_target(fmha-all-but-unittests DEPENDS ${targets})
endfunction()

# The headers of GoogleTest and of JSON cost every test file 3 s: precompiled
# once. The tests are optimized little. The libraries under test are optimized,
# except in a sanitized build, where compilation dominates.
find_package(GTest QUIET)
find_package(nlohmann_json QUIET)
set(FMHA_TEST_OPTIMIZATION $<IF:$<BOOL:${FMHA_SANITIZE}>,-O0,-O1>)
if(FMHA_BUILD_TESTS AND TARGET GTest::gmock AND TARGET nlohmann_json::nlohmann_json AND
   CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  file(WRITE "${PROJECT_BINARY_DIR}/FmhaTestPch.cpp" "")
  add_library(FmhaTestPch STATIC EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/FmhaTestPch.cpp")
  target_link_libraries(FmhaTestPch PUBLIC GTest::gtest GTest::gmock nlohmann_json::nlohmann_json)
  target_precompile_headers(FmhaTestPch PRIVATE <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
  # Compiled as the programs that use it are.
  set_target_properties(FmhaTestPch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(FmhaTestPch PRIVATE -fPIE "SHELL:-Xclang -fno-pch-timestamp"
    ${FMHA_TEST_OPTIMIZATION})
endif()

# fmha_add_unittest(<name> <sources>... [OPTIMIZED | EXHAUSTIVE] [LINK_LIBS <libs>...])
# One GoogleTest program, run by ctest under its own name. Its label decides in which
# builds scripts/test runs it. Data files lie in test/data, whose path the macro
# FMHA_TEST_DATA holds.
#   compiler        links MLIR: default build
#   unit            any other: sanitized build
#   unit-optimized  OPTIMIZED, tests code that only an optimized build has: both
#   exhaustive      EXHAUSTIVE, repeats thousands of times what other tests run under the
#                   sanitizers, where it would take minutes: default build
function(fmha_add_unittest name)
  cmake_parse_arguments(ARG "OPTIMIZED;EXHAUSTIVE" "" "LINK_LIBS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    FMHA_TEST_DATA="${PROJECT_SOURCE_DIR}/test/data")
  target_compile_options(${name} PRIVATE ${FMHA_TEST_OPTIMIZATION})
  if(TARGET FmhaTestPch)
    target_precompile_headers(${name} REUSE_FROM FmhaTestPch)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(MLIR IN_LIST ARG_LINK_LIBS)
    set_tests_properties(${name} PROPERTIES LABELS compiler)
    return()
  elseif(ARG_EXHAUSTIVE)
    set_tests_properties(${name} PROPERTIES LABELS exhaustive)
    return()
  endif()
  add_dependencies(fmha-unittests ${name})
  if(ARG_OPTIMIZED)
    set_tests_properties(${name} PROPERTIES LABELS unit-optimized)
  else()
    set_tests_properties(${name} PROPERTIES LABELS unit)
    set_property(GLOBAL APPEND PROPERTY FMHA_UNITTESTS ${name})
  endif()
endfunction()

