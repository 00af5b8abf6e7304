# The libraries of others that the engine links: shared ones of the system, or, where
# SCANLOOM_PORTABLE is on, static ones, so that what is built runs on any Linux with a glibc of the
# same age or newer. Either way the targets have the same names.
find_package(Threads REQUIRED)
find_package(hwy REQUIRED)
find_package(PkgConfig REQUIRED)
if(SCANLOOM_PORTABLE)
  include(ScanloomPortable)
  return()
endif()
find_package(fmt REQUIRED)
find_package(pugixml REQUIRED)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
# Its -pthread is Threads::Threads' own; with equal flags all layers share one precompiled header.
set_property(TARGET PkgConfig::re2 PROPERTY INTERFACE_COMPILE_OPTIONS "")
