# cmake -DFOLDER= -DD3= -DDAGRE= -DPAGE= -P: writes the page with its styles, its scripts and the
# libraries in it, and a header with its digest. Nothing is fetched when the page is opened.
cmake_minimum_required(VERSION 3.25)

function(expect_once text wanted)
  string(FIND "${${text}}" "${wanted}" first)
  string(FIND "${${text}}" "${wanted}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "the ${text} of reports must have '${wanted}' exactly once")
  endif()
endfunction()

function(replace_once text wanted content)
  expect_once(${text} "${wanted}")
  string(REPLACE "${wanted}" "${content}" joined "${${text}}")
  set(${text} "${joined}" PARENT_SCOPE)
endfunction()

file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/style.css style)
file(READ ${FOLDER}/licences.txt licences)
file(READ ${D3} d3)
file(READ ${DAGRE} dagre)

# netron's layout is a module; a page that is opened from a file cannot import one.
set(exports "export const { layout, Graph } = dagre;")
replace_once(dagre "${exports}" "return dagre.layout;")
set(dagre "const layout_graph = (() => {\n${dagre}\n})();")

# In alphabetical order, but main.js, which uses all others, last.
file(GLOB scripts ${FOLDER}/*.js)
list(SORT scripts)
list(REMOVE_ITEM scripts ${FOLDER}/main.js)
set(own "")
foreach(script IN LISTS scripts ITEMS ${FOLDER}/main.js)
  file(READ ${script} text)
  string(APPEND own "${text}\n")
endforeach()

foreach(part IN ITEMS d3 dagre own)
  string(FIND "${${part}}" "</script" closing)
  if(NOT closing EQUAL -1)
    message(FATAL_ERROR "the script '${part}' of the page has '</script' in it")
  endif()
endforeach()
replace_once(page "@STYLE@" "${style}")
# A page is passed on without the library, so it carries the licences of what it contains.
replace_once(page "@D3@" "/*\n${licences}*/\n${d3}")
replace_once(page "@DAGRE@" "${dagre}")
replace_once(page "@SCRIPT@" "${own}")
expect_once(page "@SCANLOOM_REPORT_DATA@")
file(WRITE ${PAGE} "${page}")
string(SHA256 digest "${page}")
file(WRITE ${PAGE}.digest.h "// ${digest}\n")
