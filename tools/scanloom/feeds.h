// Makes the tensors of a run from --feed, --dim and --random.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <scanloom/session.h>

#include "npy.h"
#include "options.h"

namespace scanloom::cli {

/// What feeds hold that nobody gave.
struct MadeUp {
  std::vector<std::string> values;  ///< inputs without a --feed, which got random numbers
  std::vector<std::string> sizes;   ///< open sizes, as --dim names them, which were taken as 1
};

/// Returns one tensor per input of the model. Throws Failure if an input has no feed or two, if a
/// feed has no input, or if the generated tensors together need more than `max_memory` bytes (0:
/// default_max_memory()). Adds what was made up to `made_up`, unless it is null.
std::vector<NamedView> make_feeds(const Session& session, const FeedArgs& args,
                                  std::int64_t max_memory = 0, MadeUp* made_up = nullptr);

/// Returns tensors only for the inputs that --feed names. Throws Failure as make_feeds does.
std::vector<NamedView> make_given_feeds(const Session& session, const FeedArgs& args);

/// Returns the files that --feed names, without reading them. Throws Failure if a --feed is not of
/// the form NAME=WHAT.
std::vector<std::string> feed_files(const Session& session, const FeedArgs& args);

/// Converts tensors to the arguments of a run; the result refers to the names in `tensors`.
std::vector<Feed> as_feeds(const std::vector<NamedView>& tensors);

}  // namespace scanloom::cli
