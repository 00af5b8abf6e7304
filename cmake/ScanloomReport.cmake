# The page of reports (src/report/page): our sources and two libraries that draw, as one file that
# becomes a part of libscanloom.so. Without these libraries only the data of reports are there.
# They are the building machine's, also for another machine. A file that was found before may be gone:
# pip builds in an environment that it removes.
foreach(library IN ITEMS SCANLOOM_D3 SCANLOOM_DAGRE)
  if(${library} AND NOT EXISTS "${${library}}")
    message(STATUS "${library}: there is no ${${library}}; looking for another")
    unset(${library} CACHE)
  endif()
endforeach()
find_file(SCANLOOM_D3 d3.min.js PATHS /usr/share/nodejs/d3/dist NO_DEFAULT_PATH
          NO_CMAKE_FIND_ROOT_PATH DOC "d3, from Debian's node-d3")
if(NOT SCANLOOM_DAGRE)
  file(GLOB netron_folders
       ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/netron)
  find_program(SCANLOOM_REPORT_PYTHON NAMES python3)
  foreach(python IN ITEMS ${Python_EXECUTABLE} ${SCANLOOM_REPORT_PYTHON})
    execute_process(
      COMMAND ${python} -c "import importlib.util as u; print(u.find_spec('netron').submodule_search_locations[0])"
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND netron_folders ${folder})
  endforeach()
  find_file(SCANLOOM_DAGRE dagre.js PATHS ${netron_folders} NO_DEFAULT_PATH
            NO_CMAKE_FIND_ROOT_PATH DOC "netron's layout of graphs, from the Python package index")
endif()

# Sets `message` to what keeps the two files from drawing the page; empty: nothing.
function(scanloom_check_report_libraries message)
  set(${message} "" PARENT_SCOPE)
  if(NOT SCANLOOM_D3 OR NOT SCANLOOM_DAGRE)
    set(${message} "node-d3 (Debian) or netron (PyPI) is missing" PARENT_SCOPE)
    return()
  endif()
  file(READ ${SCANLOOM_D3} d3 LIMIT 200)
  if(NOT d3 MATCHES "d3js.org v5")
    set(${message} "${SCANLOOM_D3} is not version 5 of d3" PARENT_SCOPE)
  endif()
  file(READ ${SCANLOOM_DAGRE} dagre)
  string(FIND "${dagre}" "export const { layout, Graph } = dagre;" exports)
  if(exports EQUAL -1)
    set(${message} "${SCANLOOM_DAGRE} is not that of the netron which pyproject.toml names" PARENT_SCOPE)
  endif()
endfunction()

function(scanloom_add_report_page target)
  scanloom_check_report_libraries(missing)
  if(missing AND SCANLOOM_PORTABLE)
    message(FATAL_ERROR "packages must hold the page of reports: ${missing}")
  elseif(missing)
    message(STATUS "Reports without their page: ${missing}")
    return()
  endif()
  set(page ${PROJECT_BINARY_DIR}/report/page.html)
  file(GLOB parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/report/page/*)
  add_custom_command(OUTPUT ${page} ${page}.digest.h
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${PROJECT_SOURCE_DIR}/src/report/page -DD3=${SCANLOOM_D3}
            -DDAGRE=${SCANLOOM_DAGRE} -DPAGE=${page}
            -P ${PROJECT_SOURCE_DIR}/cmake/JoinReportPage.cmake
    DEPENDS ${parts} ${SCANLOOM_D3} ${SCANLOOM_DAGRE}
            ${PROJECT_SOURCE_DIR}/cmake/JoinReportPage.cmake
    COMMENT "Joining the page of reports" VERBATIM)
  set(source ${PROJECT_SOURCE_DIR}/src/report/page.cpp)
  set_source_files_properties(${source} PROPERTIES
    OBJECT_DEPENDS "${page};${page}.digest.h" SKIP_UNITY_BUILD_INCLUSION ON
    COMPILE_DEFINITIONS "SCANLOOM_REPORT_PAGE=\"${page}\";SCANLOOM_REPORT_PAGE_DIGEST=\"${page}.digest.h\"")
  add_custom_target(scanloom_report_page DEPENDS ${page})
  add_dependencies(${target} scanloom_report_page)
endfunction()
