// Builds random modules: picks values at random and adds nodes to them where they fit. The member
// functions are split into files by what they add.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/module.h"
#include "ops/ops.h"
#include "tensor/tensor.h"

namespace scanloom::differential {

using Integers = std::vector<std::int64_t>;

/// Limits on the elements of a value that others are made from, and of a state that grows.
inline constexpr std::int64_t kMaxElements = 1024;
inline constexpr std::int64_t kMaxGrowing = 64;
inline constexpr int kDeepest = 3;

inline bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

/// Sizes that only a run knows are taken as if they were 32.
std::int64_t elements_of(const ir::Type& type);

/// Whether numpy's broadcasting takes both.
bool broadcast(const ir::Type& a, const ir::Type& b);

/// Makes one module.
class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  /// Call it once.
  ir::Module run();

 private:
  struct Scope {
    ir::RegionId region;
    int depth = 0;
    std::vector<ir::ValueId> values;  ///< of known rank, in the order in which they were made
  };

  // Chance.
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <class T, std::size_t N>
  T one_of(const T (&items)[N]) {
    return items[between(0, static_cast<int>(N) - 1)];
  }
  DType some_dtype();
  tensor::Shape some_shape();
  tensor::Tensor some_tensor(DType dtype, const tensor::Shape& shape);

  // Values of a scope: later ones are preferred.
  [[nodiscard]] const ir::Type& type(ir::ValueId value) const { return module_.value(value).type; }
  static ir::Dim dim(const ir::Type& type, int axis) {
    return type.dims[static_cast<std::size_t>(axis)];
  }
  /// A value that fits, later ones preferred.
  template <class F>
  std::optional<ir::ValueId> pick(const Scope& scope, F&& fits) {
    std::vector<ir::ValueId> found;
    for (const ir::ValueId value : scope.values)
      if (fits(type(value))) found.push_back(value);
    if (found.empty()) return std::nullopt;
    const int last = static_cast<int>(found.size()) - 1;
    return found[static_cast<std::size_t>(std::max(between(0, last), between(0, last)))];
  }
  std::optional<ir::ValueId> any(const Scope& scope) {
    return pick(scope, [](const ir::Type&) { return true; });
  }
  std::optional<ir::ValueId> with_axes(const Scope& scope) {
    return pick(scope, [](const ir::Type& t) {
      return t.rank() > 0 && t.is_static() && elements_of(t) > 0;
    });
  }
  std::optional<ir::ValueId> partner(const Scope& scope, ir::ValueId a);
  /// Some values of the scope, different ones, now and then such as have sizes of a run.
  std::vector<ir::ValueId> some(const Scope& scope, int count);
  /// Whether `part` fits into `whole` on every axis except `axis`.
  static bool fits_beside(const ir::Type& part, const ir::Type& whole, int axis);

  // Nodes.
  ir::ValueId constant(const Scope& scope, tensor::Tensor value) {
    return ir::Builder(module_, scope.region).constant(std::move(value));
  }
  Scope make_inputs();
  ir::ValueId integers(const Scope& scope, const Integers& numbers);
  /// Adds a node, where the operator takes these operands.
  std::optional<ir::ValueId> add(Scope& scope, const ir::OpDef& op, std::vector<ir::ValueId> inputs,
                                 std::vector<ir::NamedAttr> attrs = {});
  void grow(Scope& scope, int count);
  void add_something(Scope& scope);
  void add_unary(Scope& scope);
  void add_binary(Scope& scope);
  void add_compare(Scope& scope);
  void add_where(Scope& scope);
  void add_cast(Scope& scope);
  std::optional<ir::ValueId> reduce(Scope& scope, ir::ValueId x, const char* kind,
                                    const Integers& axes, bool keep);
  void add_reduce(Scope& scope);
  /// Over one axis of each, and sometimes with a common first one.
  void add_product(Scope& scope);
  void add_min_max(Scope& scope);
  void add_softmax(Scope& scope);
  void add_cumulative(Scope& scope);
  void add_power(Scope& scope);
  /// Quantized and, mostly, back again.
  void add_levels(Scope& scope);
  /// A convolution or a pool along the last axis.
  void add_window(Scope& scope);
  /// The sum of the positions of nonzero elements. Only the run knows their number: no machine
  /// code.
  void add_places(Scope& scope);
  /// Numbers by a key, which may depend on the step.
  void add_draw(Scope& scope);
  void add_number(Scope& scope);
  void add_concat(Scope& scope);
  void add_slice(Scope& scope);
  /// Adds a gather whose indices are constants or the position of a maximum or minimum.
  void add_gather(Scope& scope);
  void add_view(Scope& scope);
  void add_scatter(Scope& scope);
  /// The value with others scattered into it, if any fit.
  std::optional<ir::ValueId> scattered(Scope& scope, ir::ValueId x);
  /// Like scattered, into a window that usually contains the updates.
  std::optional<ir::ValueId> scattered_slice(Scope& scope, ir::ValueId x);
  void add_pick(Scope& scope);
  /// Tuples of indices along the last axis.
  void add_tuples(Scope& scope);
  /// Around some axes, or cut from them.
  void add_pad(Scope& scope);

  // Values of a wanted type.
  ir::ValueId some_indices(Scope& scope, const ir::Type& like, std::int64_t size);
  /// One element that depends on a value of that dtype, if there is one.
  std::optional<ir::ValueId> summary(Scope& scope, DType dtype);
  /// Precondition: `base` has the type.
  ir::ValueId like(Scope& scope, ir::ValueId base);
  /// By a value or, where there is one that only the run knows, by a size.
  ir::ValueId condition(Scope& scope);
  /// A trip count that data decide, perhaps below 0.
  ir::ValueId decided_count(Scope& scope);
  /// Returns the state with a value appended or prepended, if one fits.
  ir::ValueId grown(Scope& scope, ir::ValueId state, int axis);

  // Regions.
  Scope open(const Scope& outer, ir::NodeId owner, const std::vector<ir::Type>& arguments);
  std::vector<ir::Type> types_of(const std::vector<ir::ValueId>& values) const;
  void add_branch(Scope& scope);
  /// Sequences of equal length, each with the axis of its steps.
  std::vector<std::pair<ir::ValueId, int>> some_sequences(const Scope& scope,
                                                          std::optional<ir::Dim> steps);
  void add_loop(Scope& scope);
  /// The body of a loop, its yields and its further ports. `steps`: none where only data tell.
  void fill(Scope& body, ir::NodeId loop, ir::LoopPorts& ports, std::optional<ir::Dim> steps,
            const std::vector<int>& growing_axes);

  ir::Module module_;
  std::mt19937_64 random_;
  ir::ValueId steps_;
};

}  // namespace scanloom::differential
