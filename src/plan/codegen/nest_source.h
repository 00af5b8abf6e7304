// What a bound call does, as nests of loops that the compiler takes.
#pragma once

#include <optional>
#include <vector>

#include "loopnest/loopnest.h"
#include "plan/binding.h"
#include "plan/plan.h"

namespace scanloom::plan {

/// A call with what its operands are. It refers to all that it is made of.
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
  /// Operand i of the node, which may be absent (of an element program: the i-th that is there);
  /// outputs follow the inputs.
  [[nodiscard]] const Spot& spot(std::size_t i) const {
    return binding_.operands[call_.first_operand + i];
  }
  /// An input that may be absent; nullptr then. Not of element programs.
  [[nodiscard]] const Spot* optional_input(std::size_t i) const {
    return i < inputs() && spot(i).present() ? &spot(i) : nullptr;
  }
  [[nodiscard]] const Spot& output() const { return spot(inputs()); }
  [[nodiscard]] const Layout& layout(const Spot& spot) const {
    return binding_.layouts[static_cast<std::size_t>(spot.layout)];
  }
  /// The first element of a constant; nullptr where the operand is none.
  [[nodiscard]] const std::byte* constant(const Spot& spot) const {
    const SlotInit& init = binding_.slots[static_cast<std::size_t>(spot.slot)];
    return init.constant == nullptr ? nullptr : init.constant + spot.offset;
  }
  /// An operand that shape inference and kernels of operators take.
  [[nodiscard]] tensor::Operand without_address(const Spot& spot) const;

 private:
  const Plan& plan_;
  const Binding& binding_;
  const BoundCall& call_;
};

/// Nests that do, in their order, what the call does; none where it stays a call: kernels are
/// better at it, or it has no such form. Preconditions: sizes are known, one output of one element
/// or more.
std::vector<loopnest::Nest> nests_of(const CallView& call);

// The same for single operators, in files of their own.
std::optional<loopnest::Nest> reduction_nest(const CallView& call);
std::optional<loopnest::Nest> arg_min_max_nest(const CallView& call);
std::optional<loopnest::Nest> product_nest(const CallView& call);
std::optional<loopnest::Nest> quantization_nest(const CallView& call);
std::vector<loopnest::Nest> concat_nests(const CallView& call);
std::vector<loopnest::Nest> gather_nests(const CallView& call);
std::vector<loopnest::Nest> pad_nests(const CallView& call);
std::vector<loopnest::Nest> window_nests(const CallView& call);

/// Returns the nests of gathers and scatters by any number of indices. `index` is that of the call.
std::vector<loopnest::Nest> indexed_nests(const CallView& call, std::int32_t index);

/// A gather, or a scatter in place, by one index that is known only at run time. The functions
/// return nullopt for other calls.
struct SlicedNest {
  loopnest::DynamicSlice slice;
  loopnest::Nest nest;
};
std::optional<SlicedNest> dynamic_slice_nest(const CallView& call);
/// Handles scatters in place to a window of one index, in a file of its own.
std::optional<SlicedNest> dynamic_window_nest(const CallView& call);

/// Returns the nests of a scatter in place to a window of two or more indices.
std::vector<loopnest::Nest> indexed_window(const CallView& call, std::int32_t index);

/// Whether the call writes to a part of its first operand, which is its result, too.
bool updates_in_place(const ir::OpDef* op, const Spot& from, const Spot& to);

/// The bytes that `elements` elements take.
inline std::int64_t bytes_of(DType dtype, std::int64_t elements) {
  return elements * static_cast<std::int64_t>(dtype_bytes(dtype));
}
/// The element of the operand that lies first.
loopnest::Access first_element(const Spot& spot);
/// A nest that gives what it reads.
loopnest::Nest copying(std::vector<std::int64_t> sizes, loopnest::Access from, loopnest::Access to);

}  // namespace scanloom::plan
