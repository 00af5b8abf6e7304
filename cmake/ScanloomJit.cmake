# libscanloom_jit.so: the only part that links LLVM. libscanloom.so loads it when the first loop is
# compiled, so that only programs that compile loops pay for LLVM.
if(DEFINED CMAKE_C_COMPILER)
  enable_language(C)  # LLVM's own find modules try that compiler where one is named
endif()
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
file(GLOB jit_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/jit/*.cpp)
add_library(scanloom_jit MODULE ${jit_sources} $<TARGET_OBJECTS:scanloom_base>
                                $<TARGET_OBJECTS:scanloom_tensor>)
target_include_directories(scanloom_jit PRIVATE ${PROJECT_SOURCE_DIR}/src
                                                ${PROJECT_SOURCE_DIR}/include)
target_include_directories(scanloom_jit SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(scanloom_jit PRIVATE ${LLVM_DEFINITIONS})
# LLVM does most of the work, and is already optimised.
target_compile_options(scanloom_jit PRIVATE -fno-rtti $<$<CONFIG:Release>:-O1>)
if(SCANLOOM_SANITIZE MATCHES "undefined")
  target_compile_options(scanloom_jit PRIVATE -fno-sanitize=alignment)  # as the layers of programs
endif()
if(SCANLOOM_SANITIZE STREQUAL "thread")
  target_compile_options(scanloom_jit PRIVATE -O0)  # as the layers of programs
endif()
scanloom_join_sources(scanloom_jit)
scanloom_precompile(scanloom_jit jit <algorithm> <array> <cstdint> <functional> <map> <memory> <optional> <span>
                    <string> <variant> <vector> <llvm/IR/IRBuilder.h> <llvm/IR/Module.h>)
target_link_libraries(scanloom_jit PRIVATE fmt::fmt Threads::Threads)
if(SCANLOOM_PORTABLE)
  scanloom_static_llvm(scanloom_jit)
else()
  target_link_libraries(scanloom_jit PRIVATE LLVM)
  target_link_directories(scanloom_jit PRIVATE ${LLVM_LIBRARY_DIRS})
endif()
scanloom_hide(scanloom_jit scanloom_jit.map)
install(TARGETS scanloom_jit LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
