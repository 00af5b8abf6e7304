# scanloom_precompile(<target> <group> <headers>...): headers that most sources of the
# group read, compiled once, by the group's first target. Each source still includes what it uses.
# Targets of the same group may be optimised less than its first one, not further: GCC 12 crashes.
function(scanloom_precompile target group)
  get_property(first GLOBAL PROPERTY SCANLOOM_PRECOMPILED_${group})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY SCANLOOM_PRECOMPILED_${group} ${target})
  endif()
endfunction()

# scanloom_join_sources(<target>): compiles several sources of a target as one if SCANLOOM_UNITY is
# on. Sources that run once per model spend most of their compile time on headers and standard
# containers that neighbouring sources use too: joined by eight, such layers take half the time to
# compile. Each source still includes what it uses and compiles alone: the preset debug checks that.
function(scanloom_join_sources target)
  if(SCANLOOM_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# scanloom_layer(<folder> [INNER_LOOPS | ONCE] [USES <folders>] [LIBRARIES <targets>]): one object library
# per folder of src/, which sees only the folders it uses. Sources are listed by the folder itself,
# so that adding an operator, a pass or a kernel touches no build file.
# INNER_LOOPS: most of a model's time passes there. Such layers are optimised further, and precompile
# the headers of others; everything above ir precompiles ir's headers too. ONCE: it runs when a model
# is loaded, and is compiled quickly.
function(scanloom_layer folder)
  cmake_parse_arguments(LAYER "INNER_LOOPS;ONCE" "" "USES;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" name ${folder})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  add_library(scanloom_${name} OBJECT ${sources})
  target_include_directories(scanloom_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src
                                                     ${PROJECT_SOURCE_DIR}/include)
  target_compile_definitions(scanloom_${name} PRIVATE SCANLOOM_BUILDING=1)
  target_link_libraries(scanloom_${name} PUBLIC fmt::fmt Threads::Threads
                                                ${LAYER_LIBRARIES})
  set(headers <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <map> <memory> <optional>
              <span> <string> <string_view> <unordered_map> <variant> <vector> <fmt/format.h>)
  if(SCANLOOM_SANITIZE MATCHES "undefined" AND NOT LAYER_INNER_LOOPS AND NOT folder STREQUAL ops)
    # Elements may be unaligned; the objects of programs are aligned.
    target_compile_options(scanloom_${name} PRIVATE -fno-sanitize=alignment)
  endif()
  set(group_suffix "")
  set(unoptimised "^(ops|frontends/.*|expr|grad|exporters/.*|loopnest|report|api)$")
  if(SCANLOOM_SANITIZE STREQUAL "thread")  # whose tests run in half a minute
    set(unoptimised "^(tensor|ir|opmath|kernels|ops|frontends/.*|expr|grad|exporters/.*|interp|passes|loopnest|plan|report|api)$")
  endif()
  if(SCANLOOM_SANITIZE AND folder MATCHES "${unoptimised}")
    # These layers take half of the compile time and little of the time of the tests, so optimising
    # them for sanitizers does not pay.
    target_compile_options(scanloom_${name} PRIVATE -O0)
    string(APPEND group_suffix _unoptimised)
    if(folder STREQUAL ops AND SCANLOOM_SANITIZE MATCHES "address")
      set(optimised conv.cpp max_pool.cpp average_pool.cpp)
      # Kernels are compared with these references for most of the time of their tests.
      list(TRANSFORM optimised PREPEND ${PROJECT_SOURCE_DIR}/src/ops/conv_pool/)
      set_source_files_properties(${optimised} PROPERTIES
        COMPILE_OPTIONS -O1 SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endif()
  if(SCANLOOM_BUILD_FUZZERS AND folder MATCHES "^(base|tensor|opmath|ir|ops|frontends/.*)$")
    # The fuzzer is guided by the coverage of these layers: tests/fuzz links them alone.
    target_compile_options(scanloom_${name} PRIVATE -fsanitize=fuzzer-no-link)
    string(APPEND group_suffix _fuzzed)
  endif()
  if(LAYER_INNER_LOOPS)
    if(SCANLOOM_SANITIZE)  # otherwise what is inlined would depend on the neighbours
      scanloom_join_sources(scanloom_${name})
    endif()
    scanloom_precompile(scanloom_${name} inner_loops${group_suffix} ${headers})
  else()
    scanloom_join_sources(scanloom_${name})
    target_compile_options(scanloom_${name} PRIVATE $<$<CONFIG:Release>:-O$<IF:$<BOOL:${LAYER_ONCE}>,1,2>>)
    scanloom_precompile(scanloom_${name} programs${group_suffix} ${headers}
      [["ir/infer.h"]] [["ir/module.h"]] [["ir/op_def.h"]] [["tensor/visit.h"]])
  endif()
  foreach(used IN LISTS LAYER_USES)
    string(REPLACE "/" "_" used_name ${used})
    target_link_libraries(scanloom_${name} PUBLIC scanloom_${used_name})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY SCANLOOM_LAYERS scanloom_${name})
endfunction()
