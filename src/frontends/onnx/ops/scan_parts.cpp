#include "frontends/onnx/ops/scan_parts.h"

#include <algorithm>

#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Type;

std::string without_braces(std::string text) {
  std::ranges::replace(text, '{', '(');
  std::ranges::replace(text, '}', ')');
  return text;
}

Expected<ScanCounts> ScanCounts::of(NodeCtx& ctx, int first_input) {
  SCANLOOM_TRY(const std::int64_t scanned, ctx.required_integer("num_scan_inputs"));
  if (scanned < 1)
    return invalid_model("attribute 'num_scan_inputs' is {}, but at least 1 is needed", scanned);
  const int inputs = std::max(ctx.input_count() - first_input, 0);
  if (scanned > inputs)
    return invalid_model("attribute 'num_scan_inputs' is {}, but the node has {} inputs{}", scanned,
                         inputs, first_input == 0 ? "" : " besides sequence_lens");
  ScanCounts counts;
  counts.scanned = static_cast<std::size_t>(scanned);
  counts.states = static_cast<std::size_t>(inputs) - counts.scanned;
  const auto outputs = static_cast<std::size_t>(ctx.output_count());
  if (outputs < counts.states)
    return invalid_model("it has {} outputs, fewer than its {} states", outputs, counts.states);
  counts.stacked = outputs - counts.states;
  return counts;
}

Expected<std::vector<std::int64_t>> scan_list(NodeCtx& ctx, const char* name, std::size_t count,
                                              const char* of) {
  if (!ctx.has_attribute(name)) return std::vector<std::int64_t>(count, 0);
  SCANLOOM_TRY(auto values, ctx.integers(name));
  if (values.size() != count)
    return invalid_model("attribute '{}' has {} entries, but the node has {} {}", name,
                         values.size(), count, of);
  return values;
}

Expected<std::vector<std::int64_t>> scan_directions(NodeCtx& ctx, const char* name,
                                                    std::size_t count, const char* of) {
  SCANLOOM_TRY(auto values, scan_list(ctx, name, count, of));
  for (std::size_t i = 0; i < count; ++i)
    if (values[i] != 0 && values[i] != 1)
      return invalid_model("attribute '{}' has {} at position {}, but must be 0 or 1", name,
                           values[i], i);
  return values;
}

std::optional<tensor::Dim> known_size(NodeCtx& ctx, ValueId value, int axis) {
  const Type& type = ctx.type(value);
  if (!type.ranked) return std::nullopt;
  return type.dims[static_cast<std::size_t>(axis)];
}

Expected<ValueId> common_size(NodeCtx& ctx, const std::vector<MeasuredAxis>& axes,
                              const std::string& unit) {
  const MeasuredAxis& first = axes.front();
  const auto first_size = known_size(ctx, first.value, first.axis);
  SCANLOOM_TRY(ValueId size, ctx.op(ops::dim_op, {first.value}, {{"axis", first.axis}}));
  for (std::size_t i = 1; i < axes.size(); ++i) {
    const MeasuredAxis& other = axes[i];
    const auto other_size = known_size(ctx, other.value, other.axis);
    if (first_size && other_size) {
      if (*first_size == *other_size) continue;
      // In other regions the node may never run.
      const bool always_runs = ctx.builder().region() == ctx.module().top();
      if (always_runs && first_size->is_constant() && other_size->is_constant())
        return invalid_model("{} has {} {} on axis {}, {} has {}", other.words, other_size->value(),
                             unit, other.axis, first.words, first_size->value());
    }
    SCANLOOM_TRY(const ValueId others, ctx.op(ops::dim_op, {other.value}, {{"axis", other.axis}}));
    const std::string text = without_braces(other.words) + " has {} " + unit + " on axis " +
                             std::to_string(other.axis) + ", " + without_braces(first.words) +
                             " has {}";
    SCANLOOM_TRY(size, ctx.op(ops::check_equal_op, {others, size}, {{"text", text}}));
  }
  return size;
}

}  // namespace scanloom::onnx
