#include "passes/row_reads.h"

#include <algorithm>
#include <limits>

#include "ops/ops.h"
#include "passes/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr std::size_t kStarts = 1, kEnds = 2, kAxes = 3, kSteps = 4;

/// The only element of a constant operand; `missing` where the operand is absent.
std::optional<std::int64_t> single(const Module& module, const Node& node, std::size_t operand,
                                   std::optional<std::int64_t> missing) {
  if (operand >= node.inputs.size() || !node.inputs[operand].valid()) return missing;
  const tensor::Tensor* constant = constant_of(module, node.inputs[operand]);
  if (constant == nullptr || constant->elements() != 1) return std::nullopt;
  const auto values = to_integers(*constant);
  if (!values) return std::nullopt;
  return (*values)[0];
}

/// A bound that can only mean the last row and beyond, as ops/slice.cpp has it.
bool is_open_end(std::int64_t end) {
  return end == std::numeric_limits<std::int32_t>::max() || end > std::int64_t{1} << 40;
}

/// The node reads from the axis of the rows; `axis` is what it names.
bool is_row_axis(const Module& module, ValueId stack, std::int64_t axis, std::int64_t rows_axis) {
  const ir::Type& type = module.value(stack).type;
  return type.ranked && tensor::normalise_axis(axis, type.rank()) == rows_axis;
}

std::optional<RowRead> gathered(const Module& module, const Node& node,
                                std::optional<std::int64_t> rows) {
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

/// Slices of at least one row, in steps forward.
std::optional<RowRead> sliced(const Module& module, const Node& node, std::int64_t start,
                              std::int64_t end, std::optional<std::int64_t> rows) {
  const auto step = single(module, node, kSteps, 1);
  if (!step || *step < 1) return std::nullopt;
  RowRead read{.from_front = start >= 0 && end >= 0};
  if (!rows) {
    const bool is_last = start == -1 && is_open_end(end), is_first = start == 0 && end == 1;
    if (!is_last && !is_first) return std::nullopt;
    read.first = read.last = start;
    return read;
  }
  const auto cut = [&](std::int64_t bound) {
    return std::clamp<std::int64_t>(bound < 0 ? bound + *rows : bound, 0, *rows);
  };
  const std::int64_t first = cut(start), span = cut(end) - first;
  if (span < 1) return std::nullopt;
  read.first = first;
  read.last = first + (span - 1) / *step * *step;
  return read;
}

}  // namespace

StackReaders::StackReaders(const Module& module, ir::RegionId region) {
  for (const NodeId id : module.region(region).nodes)
    for (const ValueId input : module.node(id).inputs) add(module, input, id);
  for (const ValueId yield : module.region(region).yields) add(module, yield, {});
  std::ranges::sort(entries_);
}

void StackReaders::add(const Module& module, ValueId value, NodeId reader) {
  if (!value.valid() || !module.value(value).producer.valid()) return;
  const Node& producer = module.node(module.value(value).producer);
  if (producer.op != &ir::loop_op || module.value(value).index < producer.loop->carried) return;
  entries_.push_back({value, reader});
}

std::optional<std::vector<NodeId>> StackReaders::of(ValueId stack) const {
  const auto [begin, end] = std::ranges::equal_range(entries_, stack, {}, &Entry::stack);
  std::vector<NodeId> readers;
  for (auto entry = begin; entry != end; ++entry) {
    if (!entry->reader.valid()) return std::nullopt;
    if (readers.empty() || readers.back() != entry->reader) readers.push_back(entry->reader);
  }
  return readers;
}

std::optional<RowRead> row_read(const Module& module, const Node& reader, ValueId stack,
                                std::int64_t axis, std::optional<std::int64_t> rows) {
  if (std::ranges::count(reader.inputs, stack) != 1 || reader.inputs[0] != stack)
    return std::nullopt;
  if (reader.op == &ops::gather_op)
    return is_row_axis(module, stack, reader.attrs[0].integer(), axis)
               ? gathered(module, reader, rows)
               : std::nullopt;
  if (reader.op != &ops::slice_op) return std::nullopt;
  const auto start = single(module, reader, kStarts, {}), end = single(module, reader, kEnds, {});
  const auto along = single(module, reader, kAxes, 0);
  if (!start || !end || !along || !is_row_axis(module, stack, *along, axis)) return std::nullopt;
  return sliced(module, reader, *start, *end, rows);
}

}  // namespace scanloom::passes
