// Files that a command writes. They must not replace what it reads, which a slip of the hand names
// after -o.
#pragma once

#include <string>
#include <string_view>

#include <scanloom/session.h>

#include "options.h"

namespace scanloom::cli {

/// Whether both name the same file, by whatever path or link. The files need not exist.
bool is_same_file(const std::string& a, const std::string& b);

/// Throws Failure if the file of an output option ("--out") is one that the model or a feed is read
/// from. Empty or "-": there is no file.
void expect_not_read(const std::string& option, const std::string& path, const Session& session,
                     const FeedArgs& feeds);

/// Throws Failure if the file of an output option could not be written, so that no work is done in
/// vain. Empty or "-": there is no file.
void expect_writable(const std::string& option, const std::string& path);

/// Writes a temporary file next to the target and renames it: whatever happens, the target holds
/// its old bytes or all of the new ones. Links are followed, permissions kept, and pipes and
/// devices written into. Throws Failure.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace scanloom::cli
