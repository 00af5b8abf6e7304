#include "passes/analysis/row_reads.h"

#include <algorithm>
#include <limits>

#include "ops/index/slice_cuts.h"
#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using ops::is_open_end;
using ops::is_open_front;

constexpr std::size_t kStarts = 1, kEnds = 2, kAxes = 3, kSteps = 4;

/// The only element of a constant operand; `missing` where the operand is absent.
std::optional<std::int64_t> integer_operand(const Module& module, const Node& node,
                                            std::size_t operand,
                                            std::optional<std::int64_t> missing) {
  if (operand >= node.inputs.size() || !node.inputs[operand].valid()) return missing;
  return known_integer(module, node.inputs[operand]);
}

/// Whether the node reads along the axis of the rows; `axis` is the one that it names.
bool is_row_axis(const Module& module, ValueId stack, std::int64_t axis, std::int64_t rows_axis) {
  const ir::Type& type = module.value(stack).type;
  return type.ranked && tensor::normalise_axis(axis, type.rank()) == rows_axis;
}

/// Whether the value is the size of that axis of the stack, as a scalar or a list of one number.
bool counts_rows(const Module& module, ValueId value, ValueId stack, std::int64_t axis) {
  const int rank = module.value(stack).type.rank();
  if (const Node* dim = made_by(module, value, ops::dim_op))
    return dim->inputs[0] == stack &&
           tensor::normalise_axis(attr_of(*dim, "axis").integer(), rank) == axis;
  const Node* const pick = made_by(module, value, ops::gather_op);
  const Node* const shape =
      made_by(module, pick != nullptr ? pick->inputs[0] : value, ops::shape_op);
  if (shape == nullptr || shape->inputs[0] != stack) return false;
  const auto from = tensor::normalise_axis(attr_of(*shape, "start").integer(), rank);
  const ir::Type& sizes = module.value(shape->outputs[0]).type;
  if (!from || !sizes.is_static()) return false;
  const std::int64_t count = sizes.shape().elements();
  if (pick == nullptr) return count == 1 && *from == axis;
  const auto at = integer_operand(module, *pick, 1, {});
  return at && *at >= -count && *at < count && *from + (*at < 0 ? *at + count : *at) == axis;
}

/// Whether an index is the number of rows minus 1. Without rows it is -1, which is outside.
bool is_last_row(const Module& module, ValueId index, ValueId stack, std::int64_t axis) {
  const ir::Type& type = module.value(index).type;
  if (!type.is_static() || type.rank() > 1 || type.shape().elements() != 1) return false;
  if (const Node* sub = made_by(module, index, ops::sub_op))
    return integer_operand(module, *sub, 1, {}) == 1 &&
           counts_rows(module, sub->inputs[0], stack, axis);
  const Node* const add = made_by(module, index, ops::add_op);
  return add != nullptr && integer_operand(module, *add, 1, {}) == -1 &&
         counts_rows(module, add->inputs[0], stack, axis);
}

std::optional<RowRead> gathered(const Module& module, const Node& node, RowsOf stack, RowsOf origin,
                                std::optional<std::int64_t> rows) {
  if (is_last_row(module, node.inputs[1], stack.value, stack.axis) ||
      is_last_row(module, node.inputs[1], origin.value, origin.axis)) {
    const std::int64_t last = rows ? *rows - 1 : -1;
    const bool has_axis = module.value(node.inputs[1]).type.rank() == 1;
    return RowRead{.first = last, .last = last, .has_axis = has_axis};
  }
  const tensor::Tensor* constant = constant_of(module, node.inputs[1]);
  if (constant == nullptr || constant->elements() == 0 || constant->shape().rank() > 1)
    return std::nullopt;
  auto indices = to_integers(*constant);
  if (!indices) return std::nullopt;
  RowRead read{.has_axis = constant->shape().rank() == 1,
               .from_front = std::ranges::min(*indices) >= 0};
  for (std::int64_t& index : *indices) {
    if (rows && (index < -*rows || index >= *rows)) return std::nullopt;
    if (rows && index < 0) index += *rows;
  }
  const auto [first, last] = std::ranges::minmax(*indices);
  if (first < 0 && last >= 0) return std::nullopt;
  read.first = first;
  read.last = last;
  return read;
}

/// Returns the rows between the bounds of a slice if the number of rows is not known.
std::optional<RowRead> sliced_of_any(std::int64_t start, std::int64_t end, std::int64_t step) {
  RowRead read{.backward = step < 0};
  if (step > 0 ? end <= start : start <= end) return std::nullopt;
  if (step > 0) {
    const bool from_back = start < 0 && (end < 0 || is_open_end(end));
    if (!from_back && (start < 0 || end < 0 || is_open_end(end))) return std::nullopt;
    read.first = start;
    read.last = from_back && end >= 0 ? -1 : end - 1;
  } else {
    const bool from_back = (start < 0 || is_open_end(start)) && end < 0 && !is_open_front(end);
    if (!from_back && (start < 0 || is_open_end(start) || (end < 0 && !is_open_front(end))))
      return std::nullopt;
    read.first = !from_back && end < 0 ? 0 : end + 1;
    read.last = from_back && start >= 0 ? -1 : start;
  }
  if (read.first > read.last) return std::nullopt;
  return read;
}

/// Returns the rows of a slice that takes at least one, as ops/index/slice.cpp cuts them.
std::optional<RowRead> sliced(const Module& module, const Node& node, std::int64_t start,
                              std::int64_t end, std::optional<std::int64_t> rows) {
  const auto step = integer_operand(module, node, kSteps, 1);
  if (!step || *step == 0 || *step == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  if (!rows) return sliced_of_any(start, end, *step);
  const bool forward = *step > 0;
  const auto cut = [&](std::int64_t bound, std::int64_t least) {
    return std::clamp<std::int64_t>(bound < 0 ? bound + *rows : bound, least,
                                    forward ? *rows : *rows - 1);
  };
  const std::int64_t from = cut(start, 0), to = cut(end, forward ? 0 : -1);
  const std::int64_t span = forward ? to - from : from - to, stride = forward ? *step : -*step;
  if (span < 1) return std::nullopt;
  const std::int64_t reach = (span - 1) / stride * stride;
  return RowRead{.first = forward ? from : from - reach,
                 .last = forward ? from + reach : from,
                 .backward = !forward,
                 .from_front = forward && start >= 0 && end >= 0};
}

}  // namespace

Readers::Readers(const Module& module, ir::RegionId region) {
  for (const NodeId id : module.region(region).nodes)
    for (const ValueId input : module.node(id).inputs) add(module, input, id);
  for (const ValueId yield : module.region(region).yields) add(module, yield, {});
  std::ranges::sort(entries_);
}

void Readers::add(const Module& module, ValueId value, NodeId reader) {
  if (value.valid() && module.value(value).producer.valid()) entries_.push_back({value, reader});
}

std::optional<std::vector<NodeId>> Readers::of(ValueId value) const {
  const auto [begin, end] = std::ranges::equal_range(entries_, value, {}, &Entry::value);
  std::vector<NodeId> readers;
  for (auto entry = begin; entry != end; ++entry) {
    if (!entry->reader.valid()) return std::nullopt;
    if (readers.empty() || readers.back() != entry->reader) readers.push_back(entry->reader);
  }
  return readers;
}

std::optional<RowRead> row_read(const Module& module, const Node& reader, RowsOf stack,
                                RowsOf origin, std::optional<std::int64_t> rows) {
  if (std::ranges::count(reader.inputs, stack.value) != 1 || reader.inputs[0] != stack.value)
    return std::nullopt;
  if (reader.op == &ops::gather_op)
    return is_row_axis(module, stack.value, reader.attrs[0].integer(), stack.axis)
               ? gathered(module, reader, stack, origin, rows)
               : std::nullopt;
  if (reader.op != &ops::slice_op) return std::nullopt;
  const auto start = integer_operand(module, reader, kStarts, {}),
             end = integer_operand(module, reader, kEnds, {});
  const auto along = integer_operand(module, reader, kAxes, 0);
  if (!start || !end || !along || !is_row_axis(module, stack.value, *along, stack.axis))
    return std::nullopt;
  return sliced(module, reader, *start, *end, rows);
}

}  // namespace scanloom::passes
