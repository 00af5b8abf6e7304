# Compiles the Python extension for the stable ABI with the headers of another Python than the one
# that builds: SCANLOOM_STABLE_ABI_HEADERS holds include/python3.N, and Debian 12's own Python 3.11 is
# too old for it. The results are what find_package(Python ... Development.SABIModule) sets.
file(GLOB folder ${SCANLOOM_STABLE_ABI_HEADERS}/include/python3.*)
if(NOT folder MATCHES "/python(3\\.[0-9]+)$" OR CMAKE_MATCH_1 VERSION_LESS 3.12)
  message(FATAL_ERROR "SCANLOOM_STABLE_ABI_HEADERS (${SCANLOOM_STABLE_ABI_HEADERS}) holds no "
                      "include/python3.12 or later; tools/packages/fetch.sh python unpacks it")
endif()
set(Python_VERSION ${CMAKE_MATCH_1})
# Debian's pyconfig.h includes that of the architecture by a path from the folder above.
set(Python_INCLUDE_DIRS ${folder} ${SCANLOOM_STABLE_ABI_HEADERS}/include)
add_library(Python::Module INTERFACE IMPORTED)
add_library(Python::SABIModule INTERFACE IMPORTED)
set(NB_SUFFIX_S .abi3.so CACHE INTERNAL "")
set(SKBUILD_SOSABI abi3)
