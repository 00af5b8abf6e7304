// From --feed, --dim and --random to the tensors of a run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <scanloom/session.h>

#include "npy.h"
#include "options.h"

namespace scanloom::cli {

/// One tensor per input of the model. Throws Failure when an input has no feed, or a feed no input.
std::vector<NamedView> make_feeds(const Session& session, const FeedArgs& args);

/// The same as a run takes it; refers to the names in `tensors`.
std::vector<Feed> as_feeds(const std::vector<NamedView>& tensors);

}  // namespace scanloom::cli
