# The packaged LLVM/MLIR 22.1, linked as two shared libraries. Its version file
# wants major.minor, so "22" alone is refused.
find_package(MLIR 22.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# The package does not set the path of llvm-tblgen.
set(LLVM_TABLEGEN_EXE "${LLVM_TOOLS_BINARY_DIR}/llvm-tblgen")
separate_arguments(FMHA_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")

# What a library of the compiler links: the headers as system headers (they do
# not compile free of warnings) and the dylibs.
add_library(FmhaMLIRHeaders INTERFACE)
target_include_directories(FmhaMLIRHeaders SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(FmhaMLIRHeaders INTERFACE ${FMHA_LLVM_DEFINITIONS})
install(TARGETS FmhaMLIRHeaders EXPORT FmhaTargets)

# fmha_add_mlir_library(<name> <sources>... [LLVM_ONLY] [LINK_LIBS ...] [DEPENDS ...])
# As fmha_add_library, for rooms that include MLIR headers, or LLVM's alone. Such
# code is built without exceptions, as MLIR is.
function(fmha_add_mlir_library name)
  cmake_parse_arguments(ARG "LLVM_ONLY" "" "" ${ARGN})
  fmha_add_library(${name} ${ARG_UNPARSED_ARGUMENTS} NO_PCH)
  target_link_libraries(${name} PUBLIC FmhaMLIRHeaders)
  target_compile_options(${name} PRIVATE -fno-exceptions -funwind-tables)
  # Dumping methods in MLIR's headers are kept wherever they are seen.
  if(TARGET FmhaMLIRPch AND NOT ARG_LLVM_ONLY)
    target_precompile_headers(${name} REUSE_FROM FmhaMLIRPch)
  endif()
endfunction()

# Nearly all of a compiler source's time goes into headers of MLIR and of the two
# dialects: precompiled once, they cost 0.3 s a file instead of 8 to 25 s. A change of a
# dialect's header, or of one that it includes, recompiles every source of the
# compiler, so that none of the project's other headers belongs here. The preset gcc
# and clang-tidy use none and report missing includes.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  file(WRITE "${PROJECT_BINARY_DIR}/FmhaMLIRPch.cpp" "")
  add_library(FmhaMLIRPch STATIC "${PROJECT_BINARY_DIR}/FmhaMLIRPch.cpp")
  target_compile_features(FmhaMLIRPch PUBLIC cxx_std_20)
  target_link_libraries(FmhaMLIRPch PUBLIC FmhaMLIRHeaders)
  target_include_directories(FmhaMLIRPch PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")
  target_precompile_headers(FmhaMLIRPch PRIVATE
    <mlir/Dialect/Affine/Utils.h>
    <mlir/Dialect/Arith/IR/Arith.h>
    <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/GPU/IR/GPUDialect.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h>
    <mlir/Dialect/LLVMIR/NVVMDialect.h>
    <mlir/Dialect/Linalg/IR/Linalg.h>
    <mlir/Dialect/Math/IR/Math.h>
    <mlir/Dialect/MemRef/IR/MemRef.h>
    <mlir/Dialect/SCF/IR/SCF.h>
    <mlir/Dialect/Tensor/IR/Tensor.h>
    <mlir/Dialect/Vector/IR/VectorOps.h>
    <mlir/IR/ImplicitLocOpBuilder.h>
    <mlir/IR/SymbolTable.h>
    <mlir/Pass/Pass.h>
    <mlir/Transforms/DialectConversion.h>
    <llvm/ADT/TypeSwitch.h>
    <fmha/Dialect/FMHA/IR/FMHA.h>
    <fmha/Dialect/Tile/IR/Tile.h>)
  add_dependencies(FmhaMLIRPch FmhaAttributesIncGen FmhaDialectIncGen FmhaTileIncGen
    FmhaTargetIncGen)
  # What ccache needs to look at a precompiled header by its contents.
  target_compile_options(FmhaMLIRPch PRIVATE -fno-exceptions -funwind-tables
    "SHELL:-Xclang -fno-pch-timestamp")
endif()

# fmha_add_mlir_tool(<name> <sources>... [LINK_LIBS ...])
function(fmha_add_mlir_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# Links the archives of LLVM and MLIR instead of their shared libraries, and exports none of
# their symbols: the result runs where there is no LLVM, or another one in the same process.
function(fmha_link_static_mlir name)
  file(GLOB archives "${LLVM_LIBRARY_DIR}/libMLIR*.a" "${LLVM_LIBRARY_DIR}/libLLVM*.a")
  if(NOT archives)
    message(FATAL_ERROR "FMHA_STATIC_LLVM: expected libMLIR*.a and libLLVM*.a in "
      "${LLVM_LIBRARY_DIR}, found none; scripts/setup installs them")
  endif()
  find_package(ZLIB REQUIRED)
  find_library(FMHA_ZSTD NAMES libzstd.a zstd REQUIRED)
  target_link_libraries(${name} PRIVATE -Wl,--start-group ${archives} -Wl,--end-group
    ZLIB::ZLIB "${FMHA_ZSTD}")
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--icf=all -Wl,--exclude-libs,ALL -Wl,-s)
endfunction()

# tablegen() searches the include directories of the folder it runs in.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories("${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")
