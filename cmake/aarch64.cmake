# Toolchain file: Debian's cross compiler for AArch64, tests run by qemu-aarch64 (docs/checks.md).
# The libraries' packages for arm64 are installed (multi-arch), or unpacked under SCANLOOM_AARCH64_ROOT.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(SCANLOOM_AARCH64_ROOT "$ENV{SCANLOOM_AARCH64_ROOT}" CACHE PATH "Where packages for arm64 lie")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SCANLOOM_AARCH64_ROOT)
set(libraries ${SCANLOOM_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${SCANLOOM_AARCH64_ROOT}/ /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${SCANLOOM_AARCH64_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${SCANLOOM_AARCH64_ROOT}")

add_link_options(-Wl,-rpath-link,${libraries})
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=${libraries})
