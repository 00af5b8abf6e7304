# Builds libscanloom.so from all layers and scanloom_core (the same objects, statically) for the
# tests, and writes the files that find_package(scanloom) and pkg-config read, for the installed
# library and for the build tree.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(ScanloomPkgConfig)
if(SCANLOOM_BUILD_PYTHON)
  set(CMAKE_INSTALL_LIBDIR lib)  # the package's folder is a prefix of its own
endif()

get_property(layers GLOBAL PROPERTY SCANLOOM_LAYERS)
set(objects)
foreach(layer IN LISTS layers)
  list(APPEND objects $<TARGET_OBJECTS:${layer}>)
endforeach()

add_library(scanloom SHARED ${objects})
add_library(scanloom::scanloom ALIAS scanloom)
target_include_directories(scanloom PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(scanloom PUBLIC cxx_std_20)
target_link_libraries(scanloom PRIVATE fmt::fmt hwy::hwy PkgConfig::re2 pugixml::pugixml Threads::Threads
                                       ${CMAKE_DL_LIBS})
# One file and not a chain of links, since wheels hold no links.
set_target_properties(scanloom PROPERTIES SOVERSION ${PROJECT_VERSION_MAJOR})
scanloom_hide(scanloom scanloom.map)

add_library(scanloom_core STATIC EXCLUDE_FROM_ALL ${objects})
target_include_directories(scanloom_core PUBLIC ${PROJECT_SOURCE_DIR}/src
                                                ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(scanloom_core PUBLIC fmt::fmt hwy::hwy PkgConfig::re2 pugixml::pugixml Threads::Threads
                                           ${CMAKE_DL_LIBS})

install(TARGETS scanloom EXPORT scanloom-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        NAMELINK_COMPONENT development)
install(DIRECTORY include/scanloom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT scanloom-targets NAMESPACE scanloom::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/scanloom COMPONENT development)
export(EXPORT scanloom-targets NAMESPACE scanloom::
       FILE ${PROJECT_BINARY_DIR}/scanloom-targets.cmake)
configure_package_config_file(cmake/scanloom-config.cmake.in
  ${PROJECT_BINARY_DIR}/scanloom-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/scanloom)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/scanloom-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/scanloom-config.cmake
              ${PROJECT_BINARY_DIR}/scanloom-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/scanloom COMPONENT development)

scanloom_installed_pc(${PROJECT_BINARY_DIR}/scanloom.pc)
scanloom_write_pc(${PROJECT_BINARY_DIR}/scanloom-uninstalled.pc "\${pcfiledir}"
                  "\${prefix}/lib" ${PROJECT_SOURCE_DIR}/include)
install(FILES ${PROJECT_BINARY_DIR}/scanloom.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# Keeps the layout of the source tree, so that links between the documents work.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)
install(FILES README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation
        PATTERN __pycache__ EXCLUDE)
