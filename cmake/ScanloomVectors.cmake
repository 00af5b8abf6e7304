# How the sources in src/kernels/simd, which are one fifth of all compile time, are compiled in builds
# that are not optimised. Each instruction set compiles the same text.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  return()
endif()
set(vector_folder ${PROJECT_SOURCE_DIR}/src/kernels/simd)

# Highway passes immediates through inline functions; GCC folds them only where it optimises.
# Clang does not need that, and the tests with ThreadSanitizer call little of this code.
set(vector_level -O1)
if(SCANLOOM_SANITIZE STREQUAL "thread")
  set(vector_level -O0)
elseif(SCANLOOM_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Addresses are checked by calls: checks in place are a third of the compile time of unrolled code.
  list(APPEND vector_level -fsanitize-address-outline-instrumentation)
endif()
file(GLOB vector_sources ${vector_folder}/*.cpp)
set_source_files_properties(${vector_sources} PROPERTIES COMPILE_OPTIONS "${vector_level}"
                                                         SKIP_PRECOMPILE_HEADERS ON
                                                         SKIP_UNITY_BUILD_INCLUSION ON)
if(NOT SCANLOOM_SANITIZE)
  return()
endif()

# Threads are shared above this code, so the tests with ThreadSanitizer mask the wider instruction sets
# (SCANLOOM_ISA in CMakePresets.json).
file(GLOB wide_sources ${vector_folder}/*avx2.cpp ${vector_folder}/*avx512.cpp ${vector_folder}/*vnni.cpp)
if(SCANLOOM_SANITIZE STREQUAL "thread")
  set_source_files_properties(${wide_sources} PROPERTIES COMPILE_OPTIONS "-O0;-fno-sanitize=all")
  return()
endif()

# Checks of undefined behaviour take most of the compile time. They are made in the form for SSE4,
# which every machine runs, and those of addresses in every form.
set_source_files_properties(${wide_sources} PROPERTIES
                            COMPILE_OPTIONS "${vector_level};-fno-sanitize=undefined")

# Tiles that are unrolled take Clang minutes to optimise with any checks.
file(GLOB unrolled_sources ${vector_folder}/block_columns_*.cpp ${vector_folder}/conv_depthwise_*.cpp)
set_property(SOURCE ${unrolled_sources} APPEND PROPERTY COMPILE_OPTIONS -O0)

# The tests run on the machine that compiles them. What it cannot run need not be watched.
function(scanloom_do_not_watch pattern features)
  include(CheckCXXSourceRuns)
  list(TRANSFORM features REPLACE "(.+)" "__builtin_cpu_supports(\"\\1\")")
  list(JOIN features " && " supported)
  string(MAKE_C_IDENTIFIER "SCANLOOM_RUNS${pattern}" answer)
  check_cxx_source_runs("int main() { return ${supported} ? 0 : 1; }" ${answer})
  if(NOT ${answer})
    file(GLOB sources ${vector_folder}/*${pattern}.cpp)
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-O0;-fno-sanitize=all")
  endif()
endfunction()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT CMAKE_CROSSCOMPILING)
  scanloom_do_not_watch(avx2 "avx2;fma;f16c")
  scanloom_do_not_watch(avx512 "avx512f;avx512bw;avx512dq;avx512vl;avx512cd")
  scanloom_do_not_watch(s_vnni "avx512f;avx512bw;avx512vl;avx512vnni")
  scanloom_do_not_watch(avx_vnni "avx2;avxvnni")
endif()
