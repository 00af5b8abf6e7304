# libscanloom_images.so: the only part that links libraries of image formats. libscanloom.so loads it
# when the first model with ImageDecoder is read. A format whose library is missing is left out.
file(GLOB image_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/images/*.cpp)
add_library(scanloom_images MODULE ${image_sources})
target_include_directories(scanloom_images PRIVATE ${PROJECT_SOURCE_DIR}/src
                                                   ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(scanloom_images PRIVATE SCANLOOM_BUILDING=1)
foreach(format IN ITEMS PNG:libpng JPEG:libjpeg TIFF:libtiff-4 WEBP:libwebp OPENJPEG:libopenjp2)
  string(REPLACE ":" ";" pair ${format})
  list(GET pair 0 name)
  list(GET pair 1 package)
  pkg_check_modules(image_${name} IMPORTED_TARGET ${package})
  if(image_${name}_FOUND)
    target_link_libraries(scanloom_images PRIVATE PkgConfig::image_${name})
    target_compile_definitions(scanloom_images PRIVATE SCANLOOM_WITH_${name}=1)
  endif()
endforeach()
install(TARGETS scanloom_images LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
