# Adds to the installed files of a portable build what packages need: the licences of all that is
# linked in, and CPack's settings for Debian packages and the archive (tools/packages/packages.sh).

# Each is a folder of /usr/share/doc. protozero, Highway, CLI11 and nlohmann-json are headers.
foreach(package IN ITEMS libfmt-dev libre2-dev libpugixml-dev libhwy-dev zlib1g-dev libzstd-dev
        llvm-19-dev libprotozero-dev libcli11-dev nlohmann-json3-dev gcc-12-base)
  set(text ${SCANLOOM_AARCH64_ROOT}/usr/share/doc/${package}/copyright)
  if(NOT EXISTS ${text})
    set(text /usr/share/doc/${package}/copyright)
  endif()
  if(NOT EXISTS ${text})
    message(FATAL_ERROR "${text} is missing: packages must hold the licences of what is linked in")
  endif()
  file(REAL_PATH ${text} text)
  install(FILES ${text} RENAME ${package} DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences
          COMPONENT library)
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/src/report/page/licences.txt RENAME report-page
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences COMPONENT library)

# The Python package without libraries, as tools/packages/packages.sh takes it from the wheels.
install(DIRECTORY ${PROJECT_BINARY_DIR}/python-package/ DESTINATION lib/python3/dist-packages
        COMPONENT python_package EXCLUDE_FROM_ALL OPTIONAL)

set(CPACK_PACKAGE_NAME scanloom)
set(CPACK_PACKAGE_VENDOR "The Scanloom developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/ScanloomCpack.cmake)
set(CPACK_COMPONENTS_ALL library development documentation tools python_package)
set(CPACK_COMPONENT_LIBRARY_GROUP library)
set(CPACK_COMPONENT_DEVELOPMENT_GROUP development)
set(CPACK_COMPONENT_DOCUMENTATION_GROUP development)
set(CPACK_COMPONENT_TOOLS_GROUP tools)
set(CPACK_COMPONENT_PYTHON_PACKAGE_GROUP python_package)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # and a call of ldconfig
set(this_library "libscanloom${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libscanloom${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libc6 (>= 2.34), libgcc-s1 (>= 4.2)")
set(CPACK_COMPONENT_GROUP_LIBRARY_DESCRIPTION "Runs, compiles and streams loops over tensors
 The library and its loop compiler.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libscanloom-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${this_library}")
set(CPACK_COMPONENT_GROUP_DEVELOPMENT_DESCRIPTION "Headers and documents of Scanloom
 For programs in C and C++.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME scanloom)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${this_library}")
set(CPACK_COMPONENT_GROUP_TOOLS_DESCRIPTION "Command line of Scanloom
 Runs, shows, measures and converts ONNX models and OpenVINO IRs.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_PACKAGE_NAME python3-scanloom)
set(CPACK_DEBIAN_PYTHON_PACKAGE_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_PACKAGE_DEPENDS
    "${this_library}, python3 (>= 3.11), python3-numpy (>= 1:1.23)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_PACKAGE_CONTROL_EXTRA
    ${PROJECT_SOURCE_DIR}/tools/packages/python3-scanloom/postinst
    ${PROJECT_SOURCE_DIR}/tools/packages/python3-scanloom/prerm)
set(CPACK_COMPONENT_GROUP_PYTHON_PACKAGE_DESCRIPTION "Python interface of Scanloom
 The interface of onnxruntime, and functions and loops in the style of Theano.")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
include(CPack)
