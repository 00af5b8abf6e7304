#include "plan/codegen/nest_source.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "ir/scalar_ctx.h"
#include "opmath/reduction.h"
#include "ops/indices.h"
#include "ops/ops.h"

namespace scanloom::plan {
namespace {

using loopnest::Access;
using loopnest::Nest;
using tensor::ScalarOp;

/// Maximum nests of a gather by constant indices. The kernel handles more runs of indices.
constexpr std::size_t kMaxRuns = 8;

/// Sets the nest's axes to those of the result with more than one element, and adds its write.
void add_write(const CallView& call, Nest& nest) {
  const Layout& to = call.layout(call.output());
  Access write = first_element(call.output());
  for (int axis = 0; axis < to.dims.rank(); ++axis) {
    if (to.dims[axis] == 1) continue;
    nest.sizes.push_back(to.dims[axis]);
    write.strides.push_back(to.strides[axis]);
  }
  nest.writes.push_back(std::move(write));
}

/// Returns a read of the operand, broadcast to the axes of the result with more than one element.
Access broadcast(const CallView& call, const Spot& spot) {
  const Layout &from = call.layout(spot), &to = call.layout(call.output());
  Access read = first_element(spot);
  const int missing = to.dims.rank() - from.dims.rank();
  for (int axis = 0; axis < to.dims.rank(); ++axis) {
    if (to.dims[axis] == 1) continue;
    const int own = axis - missing;
    read.strides.push_back(own < 0 || from.dims[own] == 1 ? 0 : from.strides[own]);
  }
  return read;
}

/// Returns the bits of a one-element constant; nullopt for other operands.
std::optional<std::uint64_t> single_constant(const CallView& call, const Spot& spot) {
  const std::byte* const first = call.constant(spot);
  std::uint64_t bits = 0;
  if (first == nullptr || call.layout(spot).dims.elements() != 1 ||
      dtype_bytes(spot.dtype) > sizeof bits)
    return std::nullopt;
  std::memcpy(&bits, first, dtype_bytes(spot.dtype));
  return bits;
}

std::vector<Nest> copy_nests(const CallView& call) {
  const Spot &from = call.spot(0), &to = call.output();
  if (from.dtype != to.dtype || !(call.layout(from).dims == call.layout(to).dims)) return {};
  Nest nest;
  add_write(call, nest);
  Access read = broadcast(call, from);
  return {copying(std::move(nest.sizes), std::move(read), std::move(nest.writes[0]))};
}

/// Returns the node that computes the value if it has that operator; otherwise nullptr.
const ir::Node* maker(const ir::Module& module, ir::ValueId value, const ir::OpDef& op) {
  const ir::NodeId producer = module.value(value).producer;
  return producer.valid() && module.node(producer).op == &op ? &module.node(producer) : nullptr;
}

/// Maximum depth of nested maxima to search; each level doubles the number of operands.
constexpr int kMaxLevels = 4;

/// Whether no element of x - `greatest` is positive because `greatest` is a maximum over elements
/// that include the one of x. The operands of a difference or a binary maximum are broadcast alike.
/// A reduction of x that keeps its axes, or whose axes are inserted again, has the rank of x, so
/// equal lists of axes mean the same axes, even if counted from the end.
bool is_never_less(const ir::Module& module, ir::ValueId greatest, ir::ValueId x,
                   int levels = kMaxLevels) {
  if (const ir::Node* const greater = maker(module, greatest, ops::max_op))
    return levels > 0 && std::ranges::any_of(greater->inputs, [&](ir::ValueId operand) {
             return operand == x || is_never_less(module, operand, x, levels - 1);
           });
  const ir::Node* const unsqueezed = maker(module, greatest, ops::unsqueeze_op);
  const ir::Node* const reduced =
      maker(module, unsqueezed == nullptr ? greatest : unsqueezed->inputs[0], ops::reduce_op);
  if (reduced == nullptr || reduced->attrs[tensor::kReduceKind].text() != "max" ||
      reduced->inputs[0] != x)
    return false;
  const bool keeps = reduced->attrs[tensor::kReduceKeepdims].integer() != 0;
  const tensor::Attr& axes = reduced->attrs[tensor::kReduceAxes];
  const bool of_all = !axes.present() && reduced->inputs.size() == 1;  // a scalar, unless it keeps
  if (unsqueezed == nullptr) return keeps || of_all;
  const tensor::Attr& put_back = unsqueezed->attrs[0];
  return !keeps && (of_all || (axes.present() && put_back == axes));
}

/// Whether the value is x - m, where m is the maximum of elements of x and others, as in softmax
/// and log-sum-exp: never positive, but maybe NaN.
bool is_difference_from_greatest(const ir::Module& module, ir::ValueId value) {
  const ir::Node* const difference = maker(module, value, ops::sub_op);
  return difference != nullptr &&
         is_never_less(module, difference->inputs[1], difference->inputs[0]);
}

std::vector<Nest> pointwise_nests(const CallView& call) {
  const ir::Node& node = call.node();
  // The call has only the node's present operands. Constants become instructions, after all inputs.
  std::vector<const Spot*> operands;
  for (const ir::ValueId input : node.inputs)
    if (input.valid()) operands.push_back(&call.spot(operands.size()));
  if (operands.size() != call.inputs()) return {};
  Nest nest;
  add_write(call, nest);
  std::vector<ir::Reg> registers;
  for (const Spot* const from : operands) {
    registers.push_back(static_cast<ir::Reg>(nest.reads.size()));
    if (single_constant(call, *from)) continue;
    nest.reads.push_back(broadcast(call, *from));
    nest.program.inputs.push_back(from->dtype);
  }
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (const auto bits = single_constant(call, *operands[i]))
      registers[i] = nest.program.append(
          {.op = ScalarOp::constant, .dtype = operands[i]->dtype, .bits = *bits});
  std::vector<ir::Reg> by_input;  // -1: an optional one that is absent
  for (std::size_t i = 0; const ir::ValueId input : node.inputs)
    by_input.push_back(input.valid() ? registers[i++] : -1);
  ir::ScalarCtx ctx(nest.program, by_input, node.attrs);
  nest.program.results = {node.op->scalar(ctx)};
  if (node.op == &ops::exp_op && is_difference_from_greatest(call.module(), node.inputs[0])) {
    SCANLOOM_ASSERT(nest.program.instrs.back().op == ScalarOp::exp);
    nest.program.instrs.back().op = ScalarOp::exp_nonpositive;
  }
  return {std::move(nest)};
}

/// Returns a copy of `from`, which has these sizes and strides, to the part of the result that
/// begins at index `first` of `axis`.
Nest part_of_result(const CallView& call, Access from, const tensor::Shape& dims,
                    const tensor::Shape& strides, int axis, std::int64_t first) {
  const Layout& y = call.layout(call.output());
  Access to = first_element(call.output());
  if (first > 0) to.offset += bytes_of(to.dtype, first * y.strides[axis]);
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < dims.rank(); ++i) {
    if (dims[i] == 1) continue;
    sizes.push_back(dims[i]);
    from.strides.push_back(strides[i]);
    to.strides.push_back(y.strides[i]);
  }
  return copying(std::move(sizes), std::move(from), std::move(to));
}

/// Consecutive indices with a constant step.
struct IndexRun {
  std::int64_t first = 0, step = 0, count = 0;
};

std::vector<IndexRun> runs_of(const std::vector<std::int64_t>& positions) {
  std::vector<IndexRun> runs;
  for (const std::int64_t position : positions) {
    if (runs.empty()) {
      runs.push_back({position, 0, 1});
      continue;
    }
    IndexRun& run = runs.back();
    const std::int64_t step = position - (run.first + (run.count - 1) * run.step);
    if (run.count == 1) run.step = step;
    if (run.step == step)
      ++run.count;
    else
      runs.push_back({position, 0, 1});
  }
  return runs;
}

/// Returns constant indices as positions on an axis of that size; nullopt if they are not constants
/// or one is out of range.
std::optional<std::vector<std::int64_t>> constant_positions(const CallView& call, const Spot& spot,
                                                            std::int64_t size) {
  const std::byte* const first = call.constant(spot);
  const Layout& layout = call.layout(spot);
  if (first == nullptr || layout.dims.rank() > 1) return std::nullopt;
  const std::int64_t stride = layout.dims.rank() == 0 ? 0 : layout.strides[0];
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < layout.dims.elements(); ++i) {
    const std::byte* const at = first + bytes_of(spot.dtype, i * stride);
    std::int64_t index = 0;
    if (spot.dtype == DType::i32) {
      std::int32_t narrow = 0;
      std::memcpy(&narrow, at, sizeof narrow);
      index = narrow;
    } else {
      std::memcpy(&index, at, sizeof index);
    }
    positions.push_back(ops::position_of(index, size));
    if (positions.back() < 0) return std::nullopt;
  }
  return positions;
}

}  // namespace

Nest copying(std::vector<std::int64_t> sizes, Access from, Access to) {
  // Copy bytes, so that booleans other than 0 and 1 keep their bits.
  if (to.dtype == DType::boolean) from.dtype = to.dtype = DType::u8;
  Nest nest;
  nest.sizes = std::move(sizes);
  nest.program = {.inputs = {from.dtype}, .instrs = {}, .results = {0}};
  nest.reads = {std::move(from)};
  nest.writes = {std::move(to)};
  return nest;
}

Access first_element(const Spot& spot) { return {spot.slot, spot.dtype, spot.offset, {}}; }

tensor::Operand CallView::without_address(const Spot& spot) const {
  const Layout& where = layout(spot);
  return {.slot = nullptr,
          .offset = spot.offset,
          .dims = where.dims.data(),
          .strides = where.strides.data(),
          .rank = where.dims.rank(),
          .dtype = spot.dtype,
          .contiguous = where.contiguous};
}

std::vector<Nest> concat_nests(const CallView& call) {
  if (call.inputs() > kMaxRuns) return {};
  const int axis = ops::checked_axis(call.node().attrs[0], call.layout(call.output()).dims.rank());
  std::vector<Nest> nests;
  std::int64_t done = 0;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    const Layout& from = call.layout(call.spot(i));
    if (from.dims.elements() > 0)
      nests.push_back(
          part_of_result(call, first_element(call.spot(i)), from.dims, from.strides, axis, done));
    done += from.dims[axis];
  }
  return nests;
}

std::vector<Nest> gather_nests(const CallView& call) {
  const Spot &data = call.spot(0), &indices = call.spot(1);
  const Layout& from = call.layout(data);
  const int axis = ops::checked_axis(call.node().attrs[0], from.dims.rank());
  const auto positions = constant_positions(call, indices, from.dims[axis]);
  if (!positions) return {};
  const std::vector<IndexRun> runs = runs_of(*positions);
  if (runs.size() > kMaxRuns) return {};
  const bool keeps_axis = call.layout(indices).dims.rank() == 1;
  std::vector<Nest> nests;
  std::int64_t done = 0;
  for (const IndexRun& run : runs) {
    tensor::Shape dims = from.dims, strides = from.strides;
    Access first = first_element(data);
    first.offset += bytes_of(data.dtype, run.first * from.strides[axis]);
    dims[axis] = run.count;
    strides[axis] = run.step * from.strides[axis];
    if (!keeps_axis) {
      dims.erase(axis);
      strides.erase(axis);
    }
    nests.push_back(
        part_of_result(call, std::move(first), dims, strides, keeps_axis ? axis : 0, done));
    done += run.count;
  }
  return nests;
}

bool updates_in_place(const ir::OpDef* op, const Spot& from, const Spot& to) {
  return op != nullptr && op->writes_part && from.present() && !from.is_object() &&
         from.slot == to.slot && from.offset == to.offset && from.buffer == to.buffer;
}

namespace {

/// Whether the call has one index, for the first axis, and no batch.
bool is_index_of_first_axis(const CallView& call) {
  const Layout& indices = call.layout(call.spot(1));
  if (indices.dims.elements() != 1) return false;
  const tensor::Attr& attr = call.node().attrs[0];
  return call.node().op != &ops::gather_nd_op || attr.integer() == 0;
}

/// Returns a nest that writes or adds one slice in place.
std::optional<SlicedNest> written_nest(const CallView& call) {
  const Spot &data = call.spot(0), &updates = call.spot(2);
  const std::string& reduction = call.node().attrs[0].text();
  const bool adds =
      reduction == "add" && (is_floating_point(data.dtype) || data.dtype == DType::i64);
  if ((reduction != "none" && !adds) || !is_index_of_first_axis(call) ||
      !updates_in_place(call.node().op, data, call.output()))
    return std::nullopt;
  const Layout &from = call.layout(updates), &to = call.layout(data);
  SlicedNest made;
  made.slice = {.index = first_element(call.spot(1)),
                .size = to.dims[0],
                .bytes = bytes_of(data.dtype, to.strides[0]),
                .into = true};
  std::vector<std::int64_t> sizes;
  Access read = first_element(updates), write = first_element(data);
  const int tuple_axes = from.dims.rank() - (to.dims.rank() - 1);
  for (int i = 1; i < to.dims.rank(); ++i) {
    if (to.dims[i] == 1) continue;
    sizes.push_back(to.dims[i]);
    read.strides.push_back(from.strides[tuple_axes + i - 1]);
    write.strides.push_back(to.strides[i]);
  }
  made.nest = copying(std::move(sizes), std::move(read), std::move(write));
  if (adds) {
    made.nest.reads.push_back(made.nest.writes[0]);
    made.nest.program = {.inputs = {data.dtype, data.dtype}, .instrs = {}, .results = {}};
    made.nest.program.results = {
        made.nest.program.append({.op = ScalarOp::add, .dtype = data.dtype, .args = {1, 0, -1}})};
  }
  return made;
}

}  // namespace

std::optional<SlicedNest> dynamic_slice_nest(const CallView& call) {
  if (call.is_copy()) return std::nullopt;
  const ir::OpDef* const op = call.node().op;
  if (op == &ops::scatter_nd_op) return written_nest(call);
  if (op == &ops::scatter_slice_op) return dynamic_window_nest(call);
  if (op != &ops::gather_op && op != &ops::gather_nd_op) return std::nullopt;
  if (!is_index_of_first_axis(call)) return std::nullopt;
  const Spot &data = call.spot(0), &indices = call.spot(1);
  const Layout &from = call.layout(data), &to = call.layout(call.output());
  const int axis =
      op == &ops::gather_op ? ops::checked_axis(call.node().attrs[0], from.dims.rank()) : 0;
  SlicedNest made;
  made.slice = {.index = first_element(indices),
                .size = from.dims[axis],
                .bytes = bytes_of(data.dtype, from.strides[axis])};
  std::vector<std::int64_t> sizes;
  Access read = first_element(data), write = first_element(call.output());
  // The axes of the index, each of size 1, replace the chosen axis.
  const int added = to.dims.rank() - from.dims.rank();
  for (int i = 0; i < from.dims.rank(); ++i) {
    if (i == axis || from.dims[i] == 1) continue;
    sizes.push_back(from.dims[i]);
    read.strides.push_back(from.strides[i]);
    write.strides.push_back(to.strides[i < axis ? i : i + added]);
  }
  made.nest = copying(std::move(sizes), std::move(read), std::move(write));
  return made;
}

std::vector<Nest> nests_of(const CallView& call) {
  const auto alone = [](std::optional<Nest> nest) {
    std::vector<Nest> nests;
    if (nest) nests.push_back(*std::move(nest));
    return nests;
  };
  if (call.is_copy()) return copy_nests(call);
  const ir::OpDef* const op = call.node().op;
  if (op->scalar != nullptr) return pointwise_nests(call);
  if (op == &ops::reduce_op) return alone(reduction_nest(call));
  if (op == &ops::argmax_op || op == &ops::argmin_op) return alone(arg_min_max_nest(call));
  if (op == &ops::contract_op) return alone(product_nest(call));
  if (op == &ops::quantize_linear_op || op == &ops::dequantize_linear_op)
    return alone(quantization_nest(call));
  if (op == &ops::concat_op) return concat_nests(call);
  if (op == &ops::gather_op) return gather_nests(call);
  if (op == &ops::pad_op) return pad_nests(call);
  if (op == &ops::scatter_slice_op) return window_nests(call);
  return {};
}

}  // namespace scanloom::plan
