# Compiler settings that every target shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

find_program(SCANLOOM_CCACHE ccache)
if(SCANLOOM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Settings that ccache needs for precompiled headers (see its manual's section on them). ccache
  # must compare the headers themselves (CCACHE_DEPEND) instead of the preprocessed text. Otherwise
  # a header that differs only by a comment gives back the older precompiled header; GCC then
  # rejects its checksum, and "#pragma once" no longer holds. The namespace leaves older entries
  # alone.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 CCACHE_NAMESPACE=scanloom-depend
      ${SCANLOOM_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()
find_program(SCANLOOM_LLD ld.lld)
if(SCANLOOM_LLD AND NOT CMAKE_CROSSCOMPILING)  # cross compilers look for it by another name
  add_link_options(-fuse-ld=lld)
endif()

# Products and sums keep the order and rounding that the source states, on every machine.
# Designated initialisers leave out what has a default.
add_compile_options(-ffp-contract=off -Wall -Wextra -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms on "text" + std::string (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651) and
  # on moved variants (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105562). Precompiled standard
  # headers cause the same false alarms about lengths of strings.
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow
                      -Wno-array-bounds)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++'s stable_sort calls a function that its own headers call deprecated.
  add_compile_options(-Wno-deprecated-declarations)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_compile_options(-march=x86-64-v2)
endif()
if(SCANLOOM_SANITIZE)
  add_compile_options(-fsanitize=${SCANLOOM_SANITIZE} -fno-omit-frame-pointer)
  if(SCANLOOM_SANITIZE MATCHES "undefined")
    # The plug-in is built without run-time types, as LLVM is, and compiled loops have no type
    # signature before their first instruction, so there is nothing to check there. The other
    # sanitizer finds addresses that are null or outside an object; checking each access and the
    # arithmetic of pointers here, too, would double the compile time.
    add_compile_options(-fno-sanitize=vptr,null,object-size,pointer-overflow
                        $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  endif()
  add_link_options(-fsanitize=${SCANLOOM_SANITIZE})
endif()
if(SCANLOOM_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "libFuzzer comes with Clang: cmake --preset asan-ubsan")
  endif()
endif()
# Internal assertions are checked in every build except an optimised one.
add_compile_definitions($<$<NOT:$<CONFIG:Release>>:SCANLOOM_CHECKED=1>)
