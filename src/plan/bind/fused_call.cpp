// Emits the call that computes a group of nodes (fusion.h): merges their element programs into one.
#include <algorithm>

#include "kernels/conv_epilogue.h"
#include "opmath/reduction.h"
#include "ops/ops.h"
#include "ops/pointwise.h"
#include "ops/quantize/quantization.h"
#include "plan/bind/ask_kernel.h"
#include "plan/bind/context.h"
#include "plan/bind/fusion.h"
#include "plan/bind/walk.h"

namespace scanloom::plan {
namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// What is known of the few values of a group, by ValueId; searched one after the other.
template <class T>
class OfFewValues {
 public:
  T& operator[](std::uint32_t value) {
    const auto found = std::ranges::find(entries_, value, &Entry::value);
    return found != entries_.end() ? found->of : entries_.emplace_back(Entry{value, T{}}).of;
  }
  /// Precondition: there is an entry.
  [[nodiscard]] const T& at(std::uint32_t value) const {
    return std::ranges::find(entries_, value, &Entry::value)->of;
  }
  /// T() if there is no entry.
  [[nodiscard]] T of(std::uint32_t value) const {
    const auto found = std::ranges::find(entries_, value, &Entry::value);
    return found != entries_.end() ? found->of : T();
  }

 private:
  struct Entry {
    std::uint32_t value;
    T of;
  };
  std::vector<Entry> entries_;
};

/// The program of a group, with the values that its call reads and writes.
class GroupProgram {
 public:
  /// `convolved` is the result of the group's convolution, which is none of these nodes: the
  /// program's first input, if it is valid.
  GroupProgram(const BindContext& ctx, const FusedGroup& group, ValueId convolved = {})
      : ctx_(ctx) {
    if (convolved.valid()) add_input(convolved);
    for (const NodeId id : group.nodes)
      for (const ValueId input : ctx.module.node(id).inputs)
        if (input.valid()) ++read_by_group_[input.index];
    find_inputs(group);
    for (const NodeId id : group.nodes) add(ctx.module.node(id));
    for (const NodeId id : group.nodes) {
      const ValueId value = ctx.module.node(id).outputs[0];
      if (has_all_readers_of(value)) continue;
      outputs_.push_back(value);
      rows_.elements.results.push_back(registers_.at(value.index));
    }
  }

  [[nodiscard]] const kernels::RowProgram& program() const { return rows_; }
  [[nodiscard]] const std::vector<ValueId>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<ValueId>& outputs() const { return outputs_; }
  /// Whether nothing outside of the group reads the value's elements.
  [[nodiscard]] bool has_all_readers_of(ValueId value) const {
    const std::uint32_t reads = read_by_group_.of(value.index);
    return reads != 0 && reads == ctx_.uses_of_elements[value.index];
  }

 private:
  void add_input(ValueId input) {
    registers_[input.index] = static_cast<ir::Reg>(inputs_.size());
    inputs_.push_back(input);
    rows_.elements.inputs.push_back(ctx_.values.type(input).dtype);
  }

  void find_inputs(const FusedGroup& group) {
    std::vector<ValueId> made;
    for (const NodeId id : group.nodes) {
      const Node& node = ctx_.module.node(id);
      for (const ValueId input : node.inputs) {
        if (!input.valid() || std::ranges::find(made, input) != made.end()) continue;
        if (std::ranges::find(inputs_, input) == inputs_.end()) add_input(input);
      }
      made.push_back(node.outputs[0]);
    }
  }

  void add(const Node& node) {
    registers_[node.outputs[0].index] = node.op->scalar != nullptr   ? add_elements(node)
                                        : node.op == &ops::reduce_op ? add_reduction(node)
                                                                     : add_quantization(node);
  }

  ir::Reg append(const tensor::ScalarInstr& instr, std::optional<kernels::RowFold> fold = {}) {
    rows_.folds.push_back(fold);
    return rows_.elements.append(instr);
  }

  ir::Reg add_elements(const Node& node) {
    std::vector<std::optional<DType>> dtypes;
    std::vector<ir::Reg> registers;  // by register of the node's own program
    for (const ValueId input : node.inputs) {
      dtypes.push_back(input.valid() ? std::optional(ctx_.values.type(input).dtype) : std::nullopt);
      if (input.valid()) registers.push_back(registers_.at(input.index));
    }
    const tensor::ScalarProgram own = ops::pointwise_program(*node.op, dtypes, node.attrs);
    for (tensor::ScalarInstr instr : own.instrs) {
      for (std::int32_t& arg : instr.args)
        if (arg >= 0) arg = registers[static_cast<std::size_t>(arg)];
      registers.push_back(append(instr));
    }
    return registers[static_cast<std::size_t>(own.results[0])];
  }

  ir::Reg add_quantization(const Node& node) {
    ir::ScalarCtx ctx(rows_.elements, {}, {});
    const auto reg = [&](std::size_t i) {
      const bool present = i < node.inputs.size() && node.inputs[i].valid();
      return present ? registers_.at(node.inputs[i].index) : ir::Reg{-1};
    };
    const DType to = ctx_.values.type(node.outputs[0]).dtype;
    const bool quantizes = node.op == &ops::quantize_linear_op;
    const ir::Reg result = quantizes ? ops::quantized_element(ctx, reg(0), reg(1), reg(2), to)
                                     : ops::dequantized_element(ctx, reg(0), reg(1), reg(2), to);
    rows_.folds.resize(rows_.elements.instrs.size());
    return result;
  }

  ir::Reg add_reduction(const Node& node) {
    const tensor::Reduction& kind = *tensor::find_reduction(node.attrs[tensor::kReduceKind].text());
    const DType dtype = ctx_.values.type(node.outputs[0]).dtype;
    const ir::Reg folded = append({.op = tensor::ScalarOp::add,
                                   .dtype = dtype,
                                   .args = {registers_.at(node.inputs[0].index), -1, -1}},
                                  kind.fold);
    ir::ScalarCtx end(rows_.elements, {}, {});
    const tensor::Shape dims = ctx_.values.type(node.inputs[0]).shape();
    const std::int64_t count =
        dims.elements() / ctx_.values.type(node.outputs[0]).shape().elements();
    ir::Reg result = folded;
    using Finish = tensor::Reduction::Finish;
    if (kind.finish == Finish::mean)
      result = end.binary(tensor::ScalarOp::div, folded,
                          end.constant(static_cast<double>(count), dtype));
    if (kind.finish == Finish::sqrt) result = end.unary(tensor::ScalarOp::sqrt, folded);
    if (kind.finish == Finish::log) result = end.unary(tensor::ScalarOp::log, folded);
    rows_.folds.resize(rows_.elements.instrs.size());
    return result;
  }

  const BindContext& ctx_;
  OfFewValues<std::uint32_t> read_by_group_;  // reads within the group
  OfFewValues<ir::Reg> registers_;
  std::vector<ValueId> inputs_, outputs_;
  kernels::RowProgram rows_;
};

std::vector<Location> locations_of(BindContext& ctx, const std::vector<ValueId>& values) {
  std::vector<Location> locations;
  for (const ValueId value : values) locations.push_back(ctx.values.at(value));
  return locations;
}

bool are_static(const std::vector<Location>& inputs) {
  return std::ranges::all_of(inputs, [](const Location& input) {
    return !input.spot.present() || is_static_tensor(input.spot);
  });
}

/// Emits the call of a prepared kernel for all nodes of a group. Its results are `values`.
void emit_group_call(BindContext& ctx, const FusedGroup& group, kernels::KernelId kernel,
                     kernels::Prepared prepared, const std::vector<Location>& inputs,
                     const std::vector<ValueId>& values) {
  std::int64_t& scratch = ctx.builder.binding().scratch_bytes;
  scratch = std::max(scratch, prepared.scratch_bytes);
  const std::uint32_t packed = prepared.packed;
  std::vector<Location> outputs;
  for (const ValueId value : values) {
    outputs.push_back(ctx.values.result(value));
    ctx.values.set(value, outputs.back());
  }
  BoundCall call = call_of_node(ctx.module.node(group.nodes.back()), group.nodes.back());
  call.run = prepared.run != nullptr ? prepared.run : kernels::kernel(kernel).run;
  call.kernel = kernel;
  call.prepared = std::move(prepared.state);
  call.fused_before = {group.nodes.begin(), group.nodes.end() - 1};
  ctx.builder.emit_call(std::move(call), inputs, outputs, packed);
}

/// Emits the group's call. Returns whether the kernel takes it.
bool emit_fused(BindContext& ctx, const FusedGroup& group, const GroupProgram& made) {
  const std::vector<Location> inputs = locations_of(ctx, made.inputs());
  if (!are_static(inputs)) return false;
  align(ctx.builder, inputs);
  std::vector<Spot> results;
  for (const ValueId value : made.outputs())
    results.push_back(
        {.layout = ctx.values.result_layout(value), .dtype = ctx.values.type(value).dtype});
  std::vector<tensor::Operand> out;
  for (const Spot& spot : results) out.push_back(operand_of(ctx.builder.layout(spot), spot.dtype));
  const bool reduces = group.first_reduced < group.dims.rank();
  const kernels::KernelId kernel = reduces ? kernels::KernelId::rows : kernels::KernelId::pointwise;
  const std::vector<Spot> spots = spots_of(inputs);
  const std::vector<tensor::Operand> in = operands_of(ctx.builder.binding(), spots);
  bool of_plan = true;
  const std::vector<const void*> constants = constants_of(ctx.builder.binding(), spots, of_plan);
  kernels::RowProgram program = made.program();
  program.dims = group.dims;
  program.first_reduced = group.first_reduced;
  kernels::PrepareCtx asked{in, out, constants, {}, &program.elements, nullptr};
  asked.rows = &program;
  kernels::Prepared prepared = kernels::kernel(kernel).prepare(asked);
  if (prepared.refusal) return false;
  emit_group_call(ctx, group, kernel, std::move(prepared), inputs, made.outputs());
  return true;
}

/// Emits one call for a convolution and the element program of all other nodes of the group, which
/// begins with its result. Returns whether the kernel takes it.
bool emit_convolution(BindContext& ctx, const FusedGroup& group, const GroupProgram& made) {
  const Node& convolution = ctx.module.node(group.convolution);
  if (made.outputs().size() != 1 || !made.has_all_readers_of(convolution.outputs[0])) return false;
  std::vector<Location> inputs = ctx.values.of_inputs(convolution);
  inputs.resize(kernels::kConvOperands);
  bool of_plan = true, all_of_plan = true;
  // Only the constants of the convolution are packed.
  static_cast<void>(constants_of(ctx.builder.binding(), spots_of(inputs), of_plan));
  for (const ValueId value : std::span(made.inputs()).subspan(1))
    inputs.push_back(ctx.values.at(value));
  if (!are_static(inputs)) return false;
  std::vector<const void*> constants =
      constants_of(ctx.builder.binding(), spots_of(inputs), all_of_plan);
  const ValueId result = made.outputs()[0];
  const std::vector<tensor::Operand> out{
      operand_of(ctx.builder.layout({.layout = ctx.values.result_layout(result)}),
                 ctx.values.type(result).dtype)};
  const std::vector<tensor::Operand> in = operands_of(ctx.builder.binding(), spots_of(inputs));
  const kernels::PrepareCtx asked{in,
                                  out,
                                  constants,
                                  convolution.attrs,
                                  &made.program().elements,
                                  of_plan ? &ctx.plan->packs : nullptr};
  const kernels::KernelDef& kernel = kernels::kernel(kernels::KernelId::conv);
  kernels::Prepared prepared = ask_kernel(ctx.builder, kernel, asked, inputs, [&] {
    std::ranges::copy(constants_of(ctx.builder.binding(), spots_of(inputs), all_of_plan),
                      constants.begin());
  });
  if (prepared.refusal) return false;
  emit_group_call(ctx, group, kernels::KernelId::conv, std::move(prepared), inputs, made.outputs());
  return true;
}

Expected<void> bind_one_by_one(BindContext& ctx, const FusedGroup& group) {
  for (const NodeId id : group.nodes) SCANLOOM_CHECK_OK(bind_alone(ctx, id));
  return {};
}

Expected<void> bind_convolution(BindContext& ctx, const FusedGroup& group) {
  FusedGroup rest = group;
  rest.convolution = {};
  std::erase(rest.nodes, group.convolution);
  const ValueId convolved = ctx.module.node(group.convolution).outputs[0];
  if (emit_convolution(ctx, group, GroupProgram(ctx, rest, convolved))) return {};
  SCANLOOM_CHECK_OK(bind_alone(ctx, group.convolution));
  return rest.nodes.size() > 1 ? bind_group(ctx, rest) : bind_one_by_one(ctx, rest);
}

}  // namespace

Expected<void> bind_group(BindContext& ctx, const FusedGroup& group) {
  if (group.convolution.valid()) return bind_convolution(ctx, group);
  const GroupProgram made(ctx, group);
  if (!made.outputs().empty() && emit_fused(ctx, group, made)) return {};
  return bind_one_by_one(ctx, group);
}

}  // namespace scanloom::plan
