# cmake --install: headers, libraries, and a package file, so that another
# project says find_package(Fmha). fmha_add_library has put the static libraries
# into the export set FmhaTargets, fmha_add_mlir_tool has installed the tools.
include(CMakePackageConfigHelpers)

set(FMHA_CMAKE_DIR lib/cmake/Fmha)

foreach(pattern IN ITEMS "*.h" "*.td" "*.def" "*.inc")
  list(APPEND FMHA_HEADER_PATTERNS PATTERN "${pattern}")
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/fmha" "${PROJECT_BINARY_DIR}/include/fmha"
  DESTINATION include FILES_MATCHING ${FMHA_HEADER_PATTERNS})
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/fmha-c"
  DESTINATION include FILES_MATCHING PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION share/doc/fmha)

# Loaded at run time by name; no target links them.
foreach(library IN ITEMS ptxsim fmha_mgpu FmhaPlugin)
  if(TARGET ${library})
    install(TARGETS ${library} LIBRARY DESTINATION lib)
  endif()
endforeach()
foreach(tool IN ITEMS fmha-layout ptx-sim)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION bin)
  endif()
endforeach()

configure_package_config_file("${PROJECT_SOURCE_DIR}/scripts/cmake/FmhaConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/cmake/FmhaConfig.cmake" INSTALL_DESTINATION ${FMHA_CMAKE_DIR})
write_basic_package_version_file("${PROJECT_BINARY_DIR}/cmake/FmhaConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/cmake/FmhaConfig.cmake"
  "${PROJECT_BINARY_DIR}/cmake/FmhaConfigVersion.cmake" DESTINATION ${FMHA_CMAKE_DIR})

install(EXPORT FmhaTargets NAMESPACE Fmha:: DESTINATION ${FMHA_CMAKE_DIR})
