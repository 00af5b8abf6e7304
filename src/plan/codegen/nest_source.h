// Turns a bound call into loop nests for the compiler. Used by body_source.cpp; the nest_*.cpp
// files each handle some operators.
#pragma once

#include <optional>
#include <vector>

#include "loopnest/loopnest.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {

/// A call with access to its node and operands. Keeps references to its arguments.
class CallView {
 public:
  CallView(const Plan& plan, const Binding& binding, const BoundCall& call)
      : plan_(plan), binding_(binding), call_(call) {}

  [[nodiscard]] ir::NodeId node_id() const { return call_.node; }
  [[nodiscard]] const ir::Module& module() const { return plan_.module; }
  [[nodiscard]] const ir::Node& node() const { return plan_.module.node(call_.node); }
  [[nodiscard]] bool is_copy() const { return call_.is_copy; }
  [[nodiscard]] std::size_t inputs() const { return call_.inputs; }
  [[nodiscard]] std::size_t outputs() const { return call_.outputs; }
  /// Returns operand i of the node, which may be absent; outputs follow the inputs. For an element
  /// program, absent operands are not counted.
  [[nodiscard]] const Spot& spot(std::size_t i) const {
    return binding_.operands[call_.first_operand + i];
  }
  /// Returns an optional input, nullptr if it is absent. Not for element programs.
  [[nodiscard]] const Spot* optional_input(std::size_t i) const {
    return i < inputs() && spot(i).present() ? &spot(i) : nullptr;
  }
  [[nodiscard]] const Spot& output() const { return spot(inputs()); }
  [[nodiscard]] const Layout& layout(const Spot& spot) const {
    return binding_.layouts[static_cast<std::size_t>(spot.layout)];
  }
  /// Returns the first element of a constant; nullptr if the operand is not a constant.
  [[nodiscard]] const std::byte* constant(const Spot& spot) const {
    const SlotInit& init = binding_.slots[static_cast<std::size_t>(spot.slot)];
    return init.constant == nullptr ? nullptr : init.constant + spot.offset;
  }
  /// Returns the spot as an operand without address, for shape inference and kernels.
  [[nodiscard]] tensor::Operand without_address(const Spot& spot) const;

 private:
  const Plan& plan_;
  const Binding& binding_;
  const BoundCall& call_;
};

/// Returns nests that together, in order, do what the call does. Empty if it stays a call: a kernel
/// is faster, or no such form exists. Preconditions: sizes are known, and there is one output with
/// at least one element.
std::vector<loopnest::Nest> nests_of(const CallView& call);

// Same as nests_of, for single operators.
std::optional<loopnest::Nest> reduction_nest(const CallView& call);
std::optional<loopnest::Nest> arg_min_max_nest(const CallView& call);
std::optional<loopnest::Nest> product_nest(const CallView& call);
std::optional<loopnest::Nest> quantization_nest(const CallView& call);
std::vector<loopnest::Nest> concat_nests(const CallView& call);
std::vector<loopnest::Nest> gather_nests(const CallView& call);
std::vector<loopnest::Nest> pad_nests(const CallView& call);
std::vector<loopnest::Nest> window_nests(const CallView& call);

/// Same as nests_of, for gathers and scatters by any number of indices. `index` is the call's.
std::vector<loopnest::Nest> indexed_nests(const CallView& call, std::int32_t index);

/// Returns the nest of a gather, or an in-place scatter, by one index that only the run knows;
/// nullopt for other calls.
struct SlicedNest {
  loopnest::DynamicSlice slice;
  loopnest::Nest nest;
};
std::optional<SlicedNest> dynamic_slice_nest(const CallView& call);
/// Same as dynamic_slice_nest, for in-place scatters to a window at one index.
std::optional<SlicedNest> dynamic_window_nest(const CallView& call);

/// Returns the nests of an in-place scatter to a window at two or more indices.
std::vector<loopnest::Nest> indexed_window(const CallView& call, std::int32_t index);

/// Whether the call writes a part of its first operand, which is also its result.
bool updates_in_place(const ir::OpDef* op, const Spot& from, const Spot& to);

/// Returns the size of `elements` elements in bytes.
inline std::int64_t bytes_of(DType dtype, std::int64_t elements) {
  return elements * static_cast<std::int64_t>(dtype_bytes(dtype));
}
/// Returns an access to the operand's first element.
loopnest::Access first_element(const Spot& spot);
/// Returns a nest that copies `from` to `to`.
loopnest::Nest copying(std::vector<std::int64_t> sizes, loopnest::Access from, loopnest::Access to);

}  // namespace scanloom::plan
