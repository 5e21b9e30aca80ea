# Z3::Library, the solver of modulo schedules.
find_path(Z3_INCLUDE_DIR NAMES z3++.h PATH_SUFFIXES z3)
find_library(Z3_LIBRARY NAMES z3)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Z3 REQUIRED_VARS Z3_LIBRARY Z3_INCLUDE_DIR)
mark_as_advanced(Z3_INCLUDE_DIR Z3_LIBRARY)
if(Z3_FOUND AND NOT TARGET Z3::Library)
  add_library(Z3::Library UNKNOWN IMPORTED)
  set_target_properties(Z3::Library PROPERTIES
    IMPORTED_LOCATION "${Z3_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Z3_INCLUDE_DIR}")
endif()
