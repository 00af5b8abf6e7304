# scanloom_hide(<target> <script>): in a portable build, links <target> with a static libstdc++, and
# exports only what the version script in cmake/portable names; programs have no script. libgcc_s,
# which comes with glibc everywhere, stays shared: exceptions that pass through several libraries need
# one unwinder, since each aborts on the context of another. In other builds it does nothing.
if(SCANLOOM_PORTABLE)
  # Defines a function that the archives use and glibc has had only since 2.36.
  add_library(scanloom_glibc OBJECT ${CMAKE_CURRENT_LIST_DIR}/portable/arc4random.cpp)
endif()

function(scanloom_hide target script)
  if(NOT SCANLOOM_PORTABLE)
    return()
  endif()
  target_link_libraries(${target} PRIVATE scanloom_glibc)
  target_link_options(${target} PRIVATE -static-libstdc++ -shared-libgcc -Wl,--gc-sections -Wl,-s)
  if(script)
    set(script ${PROJECT_SOURCE_DIR}/cmake/portable/${script})
    target_link_options(${target} PRIVATE -Wl,--version-script=${script})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
  set_property(TARGET ${target} PROPERTY BUILD_WITH_INSTALL_RPATH ON)
endfunction()
