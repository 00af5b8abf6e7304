// Refusal: why something is not done the faster way it was asked for. A kernel declines operands, a
// loop's body cannot be one element program, a region of a body cannot become machine code: the
// slower way is taken, and `explain` tells the reason. A refusal is no error.
#pragma once

#include <string>

#include "base/id.h"

namespace scanloom::ir {
struct NodeTag;
}

namespace scanloom {

struct Refusal {
  std::string reason;             ///< in the words of `explain`: lower case, no full stop
  Id<struct ir::NodeTag> node{};  ///< the node in the way; none where it is no single one

  Refusal(std::string why, Id<struct ir::NodeTag> in_the_way = {});
  Refusal(const char* why, Id<struct ir::NodeTag> in_the_way = {});
};

}  // namespace scanloom
