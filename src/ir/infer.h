// The driver of shape inference: walks regions in order and calls each operator's infer. Loading
// runs it on a module's own types; binding runs it with numbers instead of symbols, evaluates what
// is known from sizes alone, and finds out which sizes only the data decide.
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
/// which region of a branch runs (0 then, 1 else, -1 not known).
struct Inference {
  std::vector<Type> types;
  std::vector<std::shared_ptr<const Known>> known;
  std::vector<std::int8_t> taken_branch;
  /// By RegionId: whether the region was inferred. The untaken region of a branch is not; the types
  /// of its values are meaningless.
  std::vector<bool> visited;
  /// Whether some size depends on the step of a loop or on which region of a branch ran.
  bool varying_sizes = false;

  /// The value, if all of it is known before any run; nullptr otherwise.
  [[nodiscard]] const tensor::Tensor* constant(ValueId id) const {
    const std::shared_ptr<const Known>& value = known[id.index];
    return value && value->tensor ? &*value->tensor : nullptr;
  }
  [[nodiscard]] bool is_constant(ValueId id) const { return constant(id) != nullptr; }
  /// Whether all results are constants, so that the node need not run.
  [[nodiscard]] bool makes_constants(const Node& node) const {
    return std::ranges::all_of(node.outputs, [&](ValueId output) { return is_constant(output); });
  }
};

struct InferOptions {
  /// Runs reference kernels of pure nodes whose small inputs are all known (binding).
  bool evaluate = false;
  std::int64_t max_evaluated_elements = 4096;
};

/// Infers everything below the top region, whose argument types are given. Errors name the node. In
/// a region that may never run, sizes that do not fit are not an error: the node's results are
/// unranked, and running it fails. `dims` receives new expressions and fresh symbols.
Expected<Inference> infer(const Module& module, std::span<const Type> argument_types,
                          DimTable& dims, const InferOptions& options = {});

enum class Declared : std::uint8_t {
  refine,  ///< the module's own types fill in what inference cannot know
  ignore,  ///< the module's own types are unchecked claims
};

/// Infers from the module's own argument types and writes all types back to the module.
Expected<void> infer_types(Module& module, Declared declared = Declared::refine);

/// The least type that covers both: sizes that differ become fresh, ranks that differ unranked.
/// Precondition: same_kind(a, b).
Type join(const Type& a, const Type& b, DimTable& dims);

/// Whether element type and wraps are equal.
bool same_kind(const Type& a, const Type& b);

}  // namespace scanloom::ir
