// The folders that other projects build with: headers, and files for CMake.
#pragma once

#include <string>

namespace scanloom::cli {

/// Returns the folder with `scanloom-config.cmake`, for CMake's scanloom_DIR. Throws Failure
/// (not_found) if these files are not installed with this program.
std::string cmake_folder();
/// Returns the folder with `scanloom/session.h`, for a compiler's -I. Throws Failure like
/// cmake_folder().
std::string include_folder();

}  // namespace scanloom::cli
