# Read by CPack for each kind of package. The maintainer is whom Debian's own tools name, too.
set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
# The archive is one prefix, which may be unpacked anywhere.
if(CPACK_GENERATOR STREQUAL "TGZ")
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL python_package)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_PACKAGING_INSTALL_PREFIX "")
  set(CPACK_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
