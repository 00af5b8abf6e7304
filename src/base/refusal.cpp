#include "base/refusal.h"

#include <utility>

namespace scanloom {

Refusal::Refusal(std::string why, Id<ir::NodeTag> in_the_way)
    : reason(std::move(why)), node(in_the_way) {}

Refusal::Refusal(const char* why, Id<ir::NodeTag> in_the_way) : reason(why), node(in_the_way) {}

}  // namespace scanloom
