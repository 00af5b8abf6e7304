#include "folders.h"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "failure.h"

namespace scanloom::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCMakeFile = "scanloom-config.cmake";
constexpr std::string_view kHeader = "scanloom/session.h";

/// The folder of this program, whatever link it was called by.
fs::path program_folder() {
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  if (problem) fail(Code::not_found, "the program cannot be found: " + problem.message());
  return program.parent_path();
}

/// Whether a folder holds a file.
bool holds(const fs::path& folder, std::string_view file) {
  std::error_code problem;
  return !folder.empty() && fs::exists(folder / file, problem);
}

/// Returns the include folder of a build tree, which its file for pkg-config names; empty for other
/// trees.
fs::path source_headers(const fs::path& tree) {
  constexpr std::string_view kKey = "includedir=";
  std::ifstream file(tree / "scanloom-uninstalled.pc");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kKey)) return line.substr(kKey.size());
  return {};
}

}  // namespace

std::string cmake_folder() {
  const fs::path here = program_folder();
  const fs::path installed = (here / SCANLOOM_TO_CMAKE_FILES).lexically_normal();
  for (const fs::path& folder : {installed, here.parent_path()})
    if (holds(folder, kCMakeFile)) return folder.string();
  fail(Code::not_found,
       "the files for CMake are not installed: there is no " + (installed / kCMakeFile).string());
}

std::string include_folder() {
  const fs::path here = program_folder();
  const fs::path installed = (here / SCANLOOM_TO_HEADERS).lexically_normal();
  for (const fs::path& folder : {installed, source_headers(here.parent_path())})
    if (holds(folder, kHeader)) return folder.string();
  fail(Code::not_found,
       "the headers are not installed: there is no " + (installed / kHeader).string());
}

}  // namespace scanloom::cli
