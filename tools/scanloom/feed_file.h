// Files that --feed names.
#pragma once

#include <optional>
#include <string>

#include <scanloom/session.h>

namespace scanloom::cli {

/// FILE.npy, FILE.pb, FILE.npz, or FILE.npz:KEY.
struct FeedFile {
  std::string path;
  std::optional<std::string> key;  ///< of an archive; nullopt: the name of the input
};

/// Returns the file that WHAT of NAME=WHAT names; nullopt if it is not the name of one.
std::optional<FeedFile> feed_file(const std::string& what);

/// Reads the value of an input. Throws Failure.
View read_feed_file(const FeedFile& file, const ValueInfo& input);

}  // namespace scanloom::cli
