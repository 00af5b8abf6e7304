# Compiles the Python extension with the headers of another Python than the one that builds:
# SCANLOOM_PYTHON_HEADERS holds include/python3.N. From 3.12 on the extension is for Python's stable
# ABI, for which Debian 12's own Python 3.11 is too old; before, it is for this version alone, on the
# machine that is compiled for. The results are what find_package(Python ...) sets.
file(GLOB folder ${SCANLOOM_PYTHON_HEADERS}/include/python3.*)
if(NOT folder MATCHES "/python(3\\.[0-9]+)$")
  message(FATAL_ERROR "SCANLOOM_PYTHON_HEADERS (${SCANLOOM_PYTHON_HEADERS}) holds no "
                      "include/python3.N; tools/packages/fetch.sh python unpacks it")
endif()
set(Python_VERSION ${CMAKE_MATCH_1})
# Debian's pyconfig.h includes that of the architecture by a path from the folder above.
set(Python_INCLUDE_DIRS ${folder} ${SCANLOOM_PYTHON_HEADERS}/include)
add_library(Python::Module INTERFACE IMPORTED)
if(Python_VERSION VERSION_GREATER_EQUAL 3.12)
  add_library(Python::SABIModule INTERFACE IMPORTED)
  set(NB_SUFFIX_S .abi3.so CACHE INTERNAL "")
  set(SKBUILD_SOSABI abi3)
else()
  string(REPLACE "." "" digits ${Python_VERSION})
  set(SKBUILD_SOABI cpython-${digits}-${CMAKE_LIBRARY_ARCHITECTURE})
endif()
