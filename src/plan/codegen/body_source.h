// A bound loop's instructions as the compiler takes them: calls of element programs, of reductions
// and of small products become nests, every other call stays a call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loopnest/loopnest.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {

struct Body {
  loopnest::BodySource source;
  std::vector<std::int64_t> parameters;        ///< that the run passes to the code
  std::vector<std::vector<ir::NodeId>> nodes;  ///< that each statement computes
};

/// The text of a body before and after each pass over its nests. Blocks inside of the body are
/// described with their own passes done.
struct NestTrace {
  struct Step {
    std::string_view pass;
    std::string before, after;
  };
  std::vector<Step> steps;
};

/// Whether binding knows how many steps the loop takes, one at least.
[[nodiscard]] bool has_known_trips(const BoundLoop& loop);
/// Returns the number of slices of a value of known sizes.
[[nodiscard]] std::int64_t slices_of(const Binding& binding, const BoundScanned& port);

/// The body of a loop that is bound to be stepped. The binding's buffers are placed, and those that
/// the body makes share no memory. Errors: unsupported (what cannot be part of machine code, naming
/// the node). `trace`, where there is one, is filled in.
Expected<Body> describe_body(const Plan& plan, const Binding& binding, const BoundLoop& loop,
                             NestTrace* trace = nullptr);

/// A part of such a body, as the body of a loop that takes one step.
Expected<Body> describe_outlined_region(const Plan& plan, const Binding& binding,
                                        const OutlinedRegion& outlined, NestTrace* trace = nullptr);

}  // namespace scanloom::plan
