# Writes scanloom.pc for builds without CMake: one for the installed library, whose folder may be
# moved, and one for the build tree, named scanloom-uninstalled.pc, which pkg-config prefers.

# scanloom_write_pc(<file> <prefix> <libdir> <includedir>): folders are in pkg-config's syntax,
# which knows ${prefix} and ${pcfiledir}, the folder of the file itself.
function(scanloom_write_pc file pc_prefix pc_libdir pc_includedir)
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/scanloom.pc.in ${file} @ONLY)
endfunction()

# scanloom_installed_pc(<file>): the file to install in <libdir>/pkgconfig. Folders given as
# absolute paths stay fixed; the others are relative to the file.
function(scanloom_installed_pc file)
  set(prefix ${CMAKE_INSTALL_PREFIX})
  if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(prefix "\${pcfiledir}/${up}")
  endif()
  foreach(folder LIBDIR INCLUDEDIR)
    set(${folder} "${CMAKE_INSTALL_${folder}}")
    if(NOT IS_ABSOLUTE "${${folder}}")
      set(${folder} "\${prefix}/${${folder}}")
    endif()
  endforeach()
  scanloom_write_pc(${file} "${prefix}" "${LIBDIR}" "${INCLUDEDIR}")
endfunction()
