# scanloom.pc, for those who build without CMake: of the installed library, whose folder may be moved,
# and of the build tree, where pkg-config prefers the name scanloom-uninstalled.pc.

# scanloom_write_pc(<file> <prefix> <libdir> <includedir>): folders as pkg-config reads them, which
# knows ${prefix}, and ${pcfiledir}, the folder that the file is found in.
function(scanloom_write_pc file pc_prefix pc_libdir pc_includedir)
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/scanloom.pc.in ${file} @ONLY)
endfunction()

# scanloom_installed_pc(<file>): what is to be installed in <libdir>/pkgconfig. Folders that are
# given as absolute paths stay where they are, the others follow the file.
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
