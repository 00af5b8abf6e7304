// The driver of shape inference: walks regions in order and calls each operator's infer. Loading
// runs it over a module's own types; binding runs it with numbers in place of symbols, evaluates
// what is known from sizes alone, and learns which sizes only the data decide.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ir/infer_ctx.h"
#include "ir/module.h"

namespace scanloom::ir {

/// Types and known values of every value of a module, by ValueId; taken_branch holds, per NodeId,
/// which side of a branch runs (0 then, 1 else, -1 not known).
struct Inference {
  std::vector<Type> types;
  std::vector<std::shared_ptr<const Known>> known;
  std::vector<std::int8_t> taken_branch;
  /// By RegionId: whether the region was inferred. The untaken side of a branch is not, and the
  /// types of its values mean nothing.
  std::vector<bool> visited;
  /// Whether some size depends on the step of a loop or on which side of a branch ran.
  bool varying_sizes = false;

  /// The value, where all of it is known before any run; nullptr otherwise.
  [[nodiscard]] const tensor::Tensor* constant(ValueId id) const {
    const std::shared_ptr<const Known>& value = known[id.index];
    return value && value->tensor ? &*value->tensor : nullptr;
  }
  [[nodiscard]] bool is_constant(ValueId id) const { return constant(id) != nullptr; }
  /// Whether all results are: the node need not run.
  [[nodiscard]] bool makes_constants(const Node& node) const {
    return std::ranges::all_of(node.outputs, [&](ValueId output) { return is_constant(output); });
  }
};

struct InferOptions {
  /// Run reference kernels of pure nodes whose small inputs are all known (binding).
  bool evaluate = false;
  std::int64_t max_evaluated_elements = 4096;
};

/// Infers everything below the top region, whose argument types are given. Errors name the node.
/// One whose sizes do not fit, in a region that may never run, is none: its results are unranked,
/// and running it is the error. `dims` receives the expressions and fresh symbols that come up.
Expected<Inference> infer(const Module& module, std::span<const Type> argument_types,
                          DimTable& dims, const InferOptions& options = {});

enum class Declared : std::uint8_t {
  refine,  ///< the module's own types tell what inference cannot know
  ignore,  ///< they are claims that nobody has checked
};

/// Infers with the module's own argument types and writes all types back into the module.
Expected<void> infer_types(Module& module, Declared declared = Declared::refine);

/// What both types allow: sizes that differ become fresh, ranks that differ unranked.
/// Precondition: same_kind(a, b).
Type join(const Type& a, const Type& b, DimTable& dims);

/// Whether element type and wraps are the same.
bool same_kind(const Type& a, const Type& b);

}  // namespace scanloom::ir
