// Describes a bound loop's instructions to the compiler. Calls of element programs, reductions and
// small products become nests; every other call stays a call.
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
  std::vector<std::int64_t> parameters;        ///< passed by the run to the code
  std::vector<std::vector<ir::NodeId>> nodes;  ///< computed by each statement
};

/// The text of a body before and after each pass over its nests. Blocks inside the body are printed
/// after their own passes.
struct NestTrace {
  struct Step {
    std::string_view pass;
    std::string before, after;
  };
  std::vector<Step> steps;
};

/// Whether binding knows how many steps the loop takes, and it is at least one.
[[nodiscard]] bool has_known_trips(const BoundLoop& loop);
/// Returns the number of slices. Precondition: the scanned value has known sizes.
[[nodiscard]] std::int64_t slices_of(const Binding& binding, const BoundScanned& port);

/// Returns the loop whose body, if it is compiled, contains this loop; nullptr if there is none.
[[nodiscard]] const BoundLoop* loop_whose_body_holds(const Binding& binding, const BoundLoop& loop);

/// Returns the body of a stepped loop. Precondition: the binding's buffers are placed, and those
/// that the body writes share no memory. Errors: unsupported (an instruction that cannot be machine
/// code, naming the node). Fills in `trace` unless it is null.
Expected<Body> describe_body(const Plan& plan, const Binding& binding, const BoundLoop& loop,
                             NestTrace* trace = nullptr);

/// Returns an outlined region of such a body, as the body of a loop that takes one step.
Expected<Body> describe_outlined_region(const Plan& plan, const Binding& binding,
                                        const OutlinedRegion& outlined, NestTrace* trace = nullptr);

}  // namespace scanloom::plan
