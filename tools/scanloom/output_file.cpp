#include "output_file.h"

#include <filesystem>
#include <system_error>

#include "failure.h"
#include "feeds.h"

namespace scanloom::cli {
namespace {

namespace fs = std::filesystem;

/// Empty if the system cannot follow it.
fs::path full_path(const std::string& path) {
  std::error_code none;
  return fs::weakly_canonical(fs::absolute(path, none), none);
}

}  // namespace

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  if (fs::equivalent(a, b, none)) return true;
  const fs::path path = full_path(a);
  return !path.empty() && path == full_path(b);
}

void expect_not_read(const std::string& option, const std::string& path, const Session& session,
                     const FeedArgs& feeds) {
  if (path.empty() || path == "-") return;
  const auto refuse = [&](const std::string& what) {
    throw Failure(Error(Code::invalid_argument, option + ": '" + path + "' is a file of " + what)
                      .note("it would be overwritten; choose another name"));
  };
  for (const std::string& file : session.files())
    if (is_same_file(path, file)) refuse("the model");
  for (const std::string& file : feed_files(session, feeds))
    if (is_same_file(path, file)) refuse("a feed");
}

}  // namespace scanloom::cli
