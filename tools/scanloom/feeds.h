// From --feed, --dim and --random to the tensors of a run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <scanloom/session.h>

#include "npy.h"
#include "options.h"

namespace scanloom::cli {

/// One tensor per input of the model. Throws Failure when an input has no feed or two of them, when
/// a feed has no input, or when the tensors that are made need more than `max_memory` bytes
/// together (0: default_max_memory()).
std::vector<NamedView> make_feeds(const Session& session, const FeedArgs& args,
                                  std::int64_t max_memory = 0);

/// Tensors of those inputs alone that --feed names. Throws Failure as make_feeds does.
std::vector<NamedView> make_given_feeds(const Session& session, const FeedArgs& args);

/// The same as a run takes it; refers to the names in `tensors`.
std::vector<Feed> as_feeds(const std::vector<NamedView>& tensors);

}  // namespace scanloom::cli
