// Turns gathers and scatters into nests. Indexed elements are not contiguous and cannot be loaded
// as vectors, but the nest can be fused with the nests that compute on the gathered elements.
#include "ops/indices.h"
#include "ops/ops.h"
#include "plan/codegen/nest_source.h"

namespace scanloom::plan {
namespace {

using loopnest::Access;
using loopnest::DynamicIndex;
using loopnest::Nest;
using tensor::ScalarOp;

/// For longer index tuples, the kernel, which works block by block, is as fast.
constexpr std::int64_t kMaxIndices = 3;

/// An axis of the nest being built, with the strides of the operands along it.
struct Axis {
  std::int64_t size = 1;
  std::int64_t read = 0, index = 0, write = 0;
};

DynamicIndex index_of(const Spot& spot, std::int64_t elements_on, const Layout& picked, DType dtype,
                      int axis) {
  return {.slot = spot.slot,
          .dtype = spot.dtype,
          .offset = spot.offset + bytes_of(spot.dtype, elements_on),
          .size = picked.dims[axis],
          .bytes = bytes_of(dtype, picked.strides[axis])};
}

/// Returns a copy along the axes. `indices` offset its read or, with `into`, its write.
Nest copy_of(const std::vector<Axis>& axes, Access from, Access to,
             std::vector<DynamicIndex> indices, bool into) {
  std::vector<std::int64_t> sizes;
  for (const Axis& axis : axes) {
    if (axis.size == 1) continue;
    sizes.push_back(axis.size);
    from.strides.push_back(axis.read);
    to.strides.push_back(axis.write);
    for (DynamicIndex& index : indices) index.strides.push_back(axis.index);
  }
  (into ? to : from).indices = std::move(indices);
  return copying(std::move(sizes), std::move(from), std::move(to));
}

std::vector<Nest> gathered(const CallView& call) {
  const Spot &data = call.spot(0), &indices = call.spot(1);
  const Layout &from = call.layout(data), &at = call.layout(indices);
  const Layout& to = call.layout(call.output());
  const int axis = ops::checked_axis(call.node().attrs[0], from.dims.rank());
  std::vector<Axis> axes;
  for (int i = 0; i < to.dims.rank(); ++i) {
    Axis& own = axes.emplace_back(Axis{.size = to.dims[i], .write = to.strides[i]});
    if (i < axis)
      own.read = from.strides[i];
    else if (i < axis + at.dims.rank())
      own.index = at.strides[i - axis];
    else
      own.read = from.strides[i - at.dims.rank() + 1];
  }
  return {copy_of(axes, first_element(data), first_element(call.output()),
                  {index_of(indices, 0, from, data.dtype, axis)}, false)};
}

std::vector<Nest> gathered_elements(const CallView& call) {
  const Spot &data = call.spot(0), &indices = call.spot(1);
  const Layout &from = call.layout(data), &at = call.layout(indices);
  const Layout& to = call.layout(call.output());
  const int along = ops::checked_axis(call.node().attrs[0], from.dims.rank());
  std::vector<Axis> axes;
  for (int i = 0; i < to.dims.rank(); ++i)
    axes.push_back({to.dims[i], i == along ? 0 : from.strides[i], at.strides[i], to.strides[i]});
  return {copy_of(axes, first_element(data), first_element(call.output()),
                  {index_of(indices, 0, from, data.dtype, along)}, false)};
}

/// Returns the indices of the tuples along the last axis. They index the axes of `into` from
/// `first` on.
std::vector<DynamicIndex> tuple_of(const CallView& call, const Layout& into, DType dtype,
                                   int first) {
  const Spot& indices = call.spot(1);
  const Layout& at = call.layout(indices);
  const int last = at.dims.rank() - 1;
  std::vector<DynamicIndex> tuple;
  for (std::int64_t i = 0; i < at.dims[last]; ++i)
    tuple.push_back(
        index_of(indices, i * at.strides[last], into, dtype, first + static_cast<int>(i)));
  return tuple;
}

std::vector<Nest> gathered_tuples(const CallView& call) {
  const Spot& data = call.spot(0);
  const Layout &from = call.layout(data), &at = call.layout(call.spot(1));
  const Layout& to = call.layout(call.output());
  const int batch = static_cast<int>(call.node().attrs[0].integer()), outer = at.dims.rank() - 1;
  const std::int64_t length = at.dims[outer];
  if (length < 1 || length > kMaxIndices) return {};
  std::vector<Axis> axes;
  for (int i = 0; i < to.dims.rank(); ++i) {
    Axis& own = axes.emplace_back(Axis{.size = to.dims[i], .write = to.strides[i]});
    if (i < outer) own.index = at.strides[i];
    if (i < batch) own.read = from.strides[i];
    if (i >= outer) own.read = from.strides[batch + static_cast<int>(length) + i - outer];
  }
  return {copy_of(axes, first_element(data), first_element(call.output()),
                  tuple_of(call, from, data.dtype, batch), false)};
}

/// Sets how a scatter combines updates with the existing elements. Returns false if only the kernel
/// supports it, so that the call stays.
bool set_update(const CallView& call, std::size_t reduction, Nest& nest) {
  const std::string& kind = call.node().attrs[reduction].text();
  const DType dtype = call.output().dtype;
  if (kind == "none") return true;
  if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::i32 && dtype != DType::i64)
    return false;
  const ScalarOp op = kind == "add"   ? ScalarOp::add
                      : kind == "mul" ? ScalarOp::mul
                      : kind == "max" ? ScalarOp::max
                                      : ScalarOp::min;
  nest.update.inputs = {dtype, dtype};
  nest.update.results = {nest.update.append({.op = op, .dtype = dtype, .args = {0, 1, -1}})};
  return true;
}

/// Returns the scatter along `axes`, after a copy of the data it writes into unless the two share
/// memory.
std::vector<Nest> scattered(const CallView& call, const std::vector<Axis>& axes,
                            std::vector<DynamicIndex> indices, std::size_t reduction) {
  const Spot& data = call.spot(0);
  const Layout &from = call.layout(data), &to = call.layout(call.output());
  std::vector<Nest> nests;
  if (!updates_in_place(call.node().op, data, call.output())) {
    std::vector<Axis> all;
    for (int i = 0; i < to.dims.rank(); ++i)
      all.push_back({to.dims[i], from.strides[i], 0, to.strides[i]});
    nests.push_back(copy_of(all, first_element(data), first_element(call.output()), {}, false));
  }
  nests.push_back(copy_of(axes, first_element(call.spot(2)), first_element(call.output()),
                          std::move(indices), true));
  if (!set_update(call, reduction, nests.back())) return {};
  return nests;
}

std::vector<Nest> scattered_elements(const CallView& call) {
  const Layout &at = call.layout(call.spot(1)), &from = call.layout(call.spot(2));
  const Layout& to = call.layout(call.output());
  const int along = ops::checked_axis(call.node().attrs[0], to.dims.rank());
  std::vector<Axis> axes;
  for (int i = 0; i < to.dims.rank(); ++i)
    axes.push_back({at.dims[i], from.strides[i], at.strides[i], i == along ? 0 : to.strides[i]});
  return scattered(call, axes, {index_of(call.spot(1), 0, to, call.output().dtype, along)}, 1);
}

std::vector<Nest> scattered_tuples(const CallView& call) {
  const Layout &at = call.layout(call.spot(1)), &from = call.layout(call.spot(2));
  const Layout& to = call.layout(call.output());
  const int outer = at.dims.rank() - 1;
  const std::int64_t length = at.dims[outer];
  if (length < 1 || length > kMaxIndices) return {};
  std::vector<Axis> axes;
  for (int i = 0; i < from.dims.rank(); ++i) {
    Axis& own = axes.emplace_back(Axis{.size = from.dims[i], .read = from.strides[i]});
    if (i < outer)
      own.index = at.strides[i];
    else
      own.write = to.strides[static_cast<int>(length) + i - outer];
  }
  return scattered(call, axes, tuple_of(call, to, call.output().dtype, 0), 0);
}

using NestsOf = std::vector<Nest> (*)(const CallView&);

/// Returns nullptr for other operators. These operators have no optional operands.
NestsOf nests_by_operator(const ir::OpDef* op) {
  if (op == &ops::gather_op) return gathered;
  if (op == &ops::gather_elements_op) return gathered_elements;
  if (op == &ops::gather_nd_op) return gathered_tuples;
  if (op == &ops::scatter_elements_op) return scattered_elements;
  if (op == &ops::scatter_nd_op) return scattered_tuples;
  return nullptr;
}

}  // namespace

std::vector<Nest> indexed_nests(const CallView& call, std::int32_t index) {
  if (call.node().op == &ops::scatter_slice_op && !call.is_copy())
    return indexed_window(call, index);
  const NestsOf nests_of_call = nests_by_operator(call.node().op);
  if (nests_of_call == nullptr || call.is_copy()) return {};
  for (std::size_t i = 0; i < call.inputs(); ++i)
    if (call.layout(call.spot(i)).dims.elements() == 0) return {};
  std::vector<Nest> nests = nests_of_call(call);
  if (!nests.empty()) nests.back().calls = {index};
  return nests;
}

}  // namespace scanloom::plan
