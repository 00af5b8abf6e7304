# Static libraries for builds that must run elsewhere (cmake --preset portable): see
# ScanloomDependencies.cmake. tools/packages/fetch.sh brings the source that Debian does not have as
# an archive fit for shared libraries.

# The archives are compiled for executables (-fPIE). They may become part of a shared library all
# the same, because the version scripts keep their symbols local.
find_package(pugixml REQUIRED)
set_property(TARGET pugixml::pugixml PROPERTY INTERFACE_LINK_LIBRARIES pugixml::static)
set(ZLIB_USE_STATIC_LIBS ON)

# Debian has fmt only as a shared library or as headers. Its headers contain all of it.
add_library(scanloom_fmt STATIC ${CMAKE_CURRENT_LIST_DIR}/portable/fmt.cpp)
# As with the shared library, so that the same sources compile to the same objects. The version
# scripts hide the symbols that this makes visible.
target_compile_definitions(scanloom_fmt PUBLIC FMT_SHARED)
add_library(fmt::fmt ALIAS scanloom_fmt)

# Debian's libre2.a reaches its thread-local variables as only executables can, so RE2 is compiled
# from the source of that package. The headers are those of libre2-dev, of the same version.
set(SCANLOOM_RE2_SOURCE ${PROJECT_SOURCE_DIR}/build/packages/re2
    CACHE PATH "Source of RE2, as tools/packages/fetch.sh re2 unpacks it")
if(NOT EXISTS ${SCANLOOM_RE2_SOURCE}/re2/re2.h)
  message(FATAL_ERROR "SCANLOOM_RE2_SOURCE (${SCANLOOM_RE2_SOURCE}) holds no re2/re2.h; "
                      "tools/packages/fetch.sh re2 unpacks it")
endif()
file(GLOB re2_sources ${SCANLOOM_RE2_SOURCE}/re2/*.cc)
add_library(scanloom_re2 STATIC ${re2_sources} ${SCANLOOM_RE2_SOURCE}/util/rune.cc
                                ${SCANLOOM_RE2_SOURCE}/util/strutil.cc)
target_include_directories(scanloom_re2 PRIVATE ${SCANLOOM_RE2_SOURCE})
target_compile_options(scanloom_re2 PRIVATE -w)
# Its tables of Unicode are generated while the package is built: they come from the archive.
find_library(SCANLOOM_RE2_TABLES libre2.a REQUIRED)
target_link_libraries(scanloom_re2 PUBLIC ${SCANLOOM_RE2_TABLES} Threads::Threads)
add_library(PkgConfig::re2 ALIAS scanloom_re2)

# scanloom_static_llvm(<target>): links the parts of LLVM that compile for this machine.
function(scanloom_static_llvm target)
  find_package(ZLIB REQUIRED)
  if(NOT TARGET zstd::libzstd_static)
    message(FATAL_ERROR "LLVM's archives need libzstd.a")
  endif()
  # LLVM's solver of constraints, which wants Z3, is used only by Clang.
  set_property(TARGET LLVMSupport PROPERTY INTERFACE_LINK_LIBRARIES rt dl m ZLIB::ZLIB
                                           zstd::libzstd_static LLVMDemangle)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(machine AArch64)
  else()
    set(machine X86)
  endif()
  llvm_map_components_to_libnames(libraries orcjit passes ${machine}CodeGen ${machine}Info
                                  ${machine}Desc)
  target_link_libraries(${target} PRIVATE ${libraries})
endfunction()
