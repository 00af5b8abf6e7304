// The steps in operators that pick or write elements by index: an index may point anywhere along
// its axis, but nowhere else.
#include "ops/ops.h"
#include "passes/lifting/step_rules.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

constexpr std::size_t kData = 0;
constexpr std::size_t kIndices = 1;
constexpr std::size_t kUpdates = 2;

std::optional<int> axis_of(const StepSite& s) {
  return tensor::normalise_axis(attr_of(s.node, "axis").integer(), s.type(kData).rank());
}

/// Returns how many indices a tuple has; nullopt if that is not known.
std::optional<int> tuple_length(const StepSite& s) {
  const ir::Dim length = s.type(kIndices).dims.back();
  if (!length.is_constant()) return std::nullopt;
  return static_cast<int>(length.value());
}

Error picks() { return across("it selects some of them"); }
Error others() { return across("it reads elements of other steps"); }

}  // namespace

Expected<int> steps_of_gather(const StepSite& s) {
  const auto axis = axis_of(s);
  if (!axis || (s.along(kData) && s.along(kIndices))) return others();
  if (s.along(kIndices)) return *axis + s.axis(kIndices);
  if (*axis == s.axis(kData)) return picks();
  return s.axis(kData) < *axis ? s.axis(kData) : s.axis(kData) + s.type(kIndices).rank() - 1;
}

// Along any other axis an index is at the position of its element.
Expected<int> steps_of_gather_elements(const StepSite& s) {
  const auto axis = axis_of(s);
  if (!s.along(kIndices)) return picks();
  const bool points = axis == s.axis(kIndices);
  if (s.along(kData) ? points || s.axis(kData) != s.axis(kIndices) : !points) return others();
  return s.axis(kIndices);
}

Expected<int> steps_of_gather_nd(const StepSite& s) {
  const int batch = static_cast<int>(attr_of(s.node, "batch_dims").integer());
  const auto length = tuple_length(s);
  if (!length) return across("the length of its indices is not known");
  const int last = s.type(kIndices).rank() - 1;
  if (s.along(kIndices)) {
    const bool in_batch = s.axis(kIndices) < batch;
    if (s.axis(kIndices) == last || s.along(kData) != in_batch ||
        (in_batch && s.axis(kData) != s.axis(kIndices)))
      return others();
    return s.axis(kIndices);
  }
  if (s.axis(kData) < batch + *length) return picks();
  return last + s.axis(kData) - batch - *length;
}

Expected<int> steps_of_scatter_elements(const StepSite& s) {
  for (const std::size_t i : {kData, kIndices, kUpdates})
    if (!s.along(i) || s.axis(i) != s.axis(kData))
      return across("its operands do not all have the steps on one axis");
  if (axis_of(s) == s.axis(kData)) return across("it writes elements of other steps");
  return s.axis(kData);
}

Expected<int> steps_of_scatter_nd(const StepSite& s) {
  const auto length = tuple_length(s);
  if (!length) return across("the length of its indices is not known");
  const bool updates = s.along(kData) && s.along(kUpdates) && !s.along(kIndices);
  if (!updates || s.axis(kData) < *length) return across("it writes elements of other steps");
  if (s.axis(kUpdates) != s.type(kIndices).rank() - 1 + s.axis(kData) - *length)
    return across("its operands have the steps on other axes");
  return s.axis(kData);
}

}  // namespace scanloom::passes
