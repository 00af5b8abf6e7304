// Lowers an element program over a call's operands to a plan: which functions run over which
// columns, in which order.
#include <algorithm>
#include <cstring>
#include <optional>

#include "kernels/join_steps.h"
#include "kernels/pointwise_plan.h"
#include "kernels/step_emitter.h"

namespace scanloom::kernels {
namespace {

using tensor::Operand;

template <int kBytes>
void copy_column(std::byte* out, const std::byte* a, const std::byte*, const std::byte*,
                 std::int64_t count) {
  std::memmove(out, a, static_cast<std::size_t>(count) * kBytes);
}

ElementFn copy_fn(int bytes) {
  switch (bytes) {
    case 1:
      return copy_column<1>;
    case 2:
      return copy_column<2>;
    case 4:
      return copy_column<4>;
    case 8:
      return copy_column<8>;
    default:
      return nullptr;
  }
}

using Value = StepValue;

struct Step {
  ElementFn fn = nullptr;
  Value out;
  StepArgs args;
};

struct LoweredSteps {
  std::vector<Step> steps;
  std::vector<std::pair<Value, Value>> spreads;  // single values, and the columns they fill
  int columns = 0;
};

/// Lowers the instructions of a program.
class InstructionSelector final : public StepEmitter {
 public:
  InstructionSelector(const PrepareCtx& ctx, PointwisePlan& plan, LoweredSteps& lowered)
      : StepEmitter(ctx.isa, plan.constants), ctx_(ctx), plan_(plan), lowered_(lowered) {}

  std::optional<Refusal> run() {
    const tensor::ScalarProgram& program = *ctx_.program;
    std::vector<Value> values;  // by register
    for (std::size_t i = 0; i < program.inputs.size(); ++i) values.push_back(input(i));
    const QuantizedSteps quantized = find_quantized(values);
    for (std::size_t i = 0; i < program.instrs.size(); ++i) {
      if (!quantized.is_needed[i]) {
        values.emplace_back();
        continue;
      }
      const std::optional<Value> value =
          quantized.pairs[i] ? emit_quantized_pair(*quantized.pairs[i], values)
          : quantized.at[i]  ? emit_quantized(*quantized.at[i], values)
                             : emit_instr(program.instrs[i], values);
      if (!value) return "an instruction is not defined for its element types";
      values.push_back(*value);
    }
    return store_results(values);
  }

 private:
  [[nodiscard]] QuantizedSteps find_quantized(const std::vector<Value>& inputs) const {
    const auto is_input = [&](std::int32_t reg) {
      return reg < static_cast<std::int32_t>(inputs.size());
    };
    const auto at = [&](std::int32_t reg) { return inputs[static_cast<std::size_t>(reg)]; };
    return find_quantized_steps(
        *ctx_.program,
        {.is_single = [&](std::int32_t reg) { return is_input(reg) && is_single(at(reg)); },
         .is_constant =
             [&](std::int32_t reg) {
               return is_input(reg) && at(reg).kind == Value::Kind::constant;
             }});
  }

  /// A single number that never changes is a constant of the program: a zero point of 0, say, takes
  /// no instructions.
  Value input(std::size_t i) {
    const DType dtype = ctx_.program->inputs[i];
    const Value given{Value::Kind::input, static_cast<int>(i), dtype};
    const void* const data = i < ctx_.constants.size() ? ctx_.constants[i] : nullptr;
    std::uint64_t bits = 0;
    // One element per window is single, too, but not the same in all of them.
    const bool is_number = is_single(given) && ctx_.inputs[i].elements() == 1;
    if (data == nullptr || !is_number || dtype_bytes(dtype) > sizeof(bits)) return given;
    std::memcpy(&bits, data, dtype_bytes(dtype));
    return constant(bits, dtype);
  }

  [[nodiscard]] bool is_single(const Value& v) const override {
    if (v.kind == Value::Kind::constant) return true;
    return v.kind == Value::Kind::input &&
           plan_.inputs[static_cast<std::size_t>(v.index)].lie == Lie::single;
  }

  // A single value is broadcast over its own column once per window.
  Value spread(const Value& v) override {
    if (!is_single(v)) return v;
    for (const auto& [from, to] : lowered_.spreads)
      if (from == v) return to;
    lowered_.spreads.emplace_back(v, new_column(v.dtype));
    return lowered_.spreads.back().second;
  }

  Value add_step(ElementFn fn, DType dtype, const StepArgs& args) override {
    lowered_.steps.push_back({fn, new_column(dtype), args});
    return lowered_.steps.back().out;
  }

  Value new_column(DType dtype) { return {Value::Kind::column, lowered_.columns++, dtype}; }

  // The last step of a single result writes to its place; other results are copied there at the
  // end, since until then a result may share its memory with an input.
  std::optional<Refusal> store_results(const std::vector<Value>& values) {
    const tensor::ScalarProgram& program = *ctx_.program;
    for (std::size_t i = 0; i < program.results.size(); ++i) {
      const Value from = values[static_cast<std::size_t>(program.results[i])];
      const Value to{Value::Kind::output, static_cast<int>(i), from.dtype};
      if (from.dtype != ctx_.outputs[i].dtype) return "a result has another element type";
      if (program.results.size() == 1 && !lowered_.steps.empty() &&
          lowered_.steps.back().out == from) {
        lowered_.steps.back().out = to;
        return std::nullopt;
      }
      const ElementFn fn = copy_fn(static_cast<int>(dtype_bytes(from.dtype)));
      if (fn == nullptr) return "elements wider than 8 bytes";
      lowered_.steps.push_back({fn, to, {spread(from)}});
    }
    return std::nullopt;
  }

  const PrepareCtx& ctx_;
  PointwisePlan& plan_;
  LoweredSteps& lowered_;
};

void join_steps(Isa isa, std::vector<Step>& steps) {
  std::vector<JoinableStep> joinable;
  for (const Step& step : steps) joinable.push_back({step.fn, step.out, step.args});
  for (const StepJoin& join : find_joins(isa, joinable, {})) {
    steps[join.second].fn = join.fn;
    steps[join.second].args = join.args;
    steps[join.first].fn = nullptr;
  }
  std::erase_if(steps, [](const Step& step) { return step.fn == nullptr; });
}

/// Gives columns their offsets, and writes the steps to the plan.
class ColumnPlacement {
 public:
  ColumnPlacement(const LoweredSteps& lowered, PointwisePlan& plan)
      : lowered_(lowered), plan_(plan) {}

  void run() {
    place_columns();
    plan_.first_column = static_cast<ValueId>(plan_.constants.size());
    int next = plan_.first_column + places_;
    for (auto* operands : {&plan_.inputs, &plan_.outputs})
      for (PointwiseOperand& operand : *operands)
        if (operand.lie == Lie::strided) operand.column = static_cast<ValueId>(next++);
    plan_.first_operand = static_cast<ValueId>(next);
    for (auto* operands : {&plan_.inputs, &plan_.outputs})
      for (PointwiseOperand& operand : *operands)
        operand.value = operand.lie == Lie::strided ? operand.column : static_cast<ValueId>(next++);
    plan_.value_count = static_cast<ValueId>(next);
    choose_block();
    for (const auto& [from, to] : lowered_.spreads)
      plan_.spreads.push_back(
          {id(from), id(to), static_cast<std::uint8_t>(dtype_bytes(from.dtype))});
    for (const Step& step : lowered_.steps) {
      const ValueId out = id(step.out);
      const auto arg = [&](std::size_t i) {
        return step.args[i].kind == Value::Kind::none ? out : id(step.args[i]);
      };
      plan_.steps.push_back({step.fn, out, arg(0), arg(1), arg(2)});
    }
  }

 private:
  /// Columns and the operands' own lines take half of a small L1.
  void choose_block() {
    constexpr std::int64_t kColumnBytes = 16 * 1024;
    std::int64_t widest = 1;
    for (const Step& step : lowered_.steps)
      widest = std::max(widest, static_cast<std::int64_t>(dtype_bytes(step.out.dtype)));
    for (const auto& [from, to] : lowered_.spreads)
      widest = std::max(widest, static_cast<std::int64_t>(dtype_bytes(to.dtype)));
    for (const PointwiseOperand& input : plan_.inputs)
      widest = std::max<std::int64_t>(widest, input.bytes);
    const std::int64_t columns = std::max(1, plan_.first_operand - plan_.first_column);
    plan_.block = kMaxBlock;
    while (plan_.block > kMinBlock && plan_.block * widest * columns > kColumnBytes)
      plan_.block /= 2;
    plan_.column_bytes = plan_.block * widest;
  }

  // Assigns offsets to columns in turn: a step's result may reuse the bytes of a dead column.
  void place_columns() {
    std::vector<int> last_use(static_cast<std::size_t>(lowered_.columns), -1);
    place_of_.assign(static_cast<std::size_t>(lowered_.columns), -1);
    for (const auto& [from, to] : lowered_.spreads) place_of_[at(to)] = places_++;
    for (std::size_t s = 0; s < lowered_.steps.size(); ++s)
      for (const Value& arg : lowered_.steps[s].args)
        if (arg.kind == Value::Kind::column) last_use[at(arg)] = static_cast<int>(s);
    std::vector<int> unused;
    for (std::size_t s = 0; s < lowered_.steps.size(); ++s) {
      const Value& out = lowered_.steps[s].out;
      if (out.kind == Value::Kind::column) {
        if (unused.empty()) unused.push_back(places_++);
        place_of_[at(out)] = unused.back();
        unused.pop_back();
      }
      for (const Value& arg : lowered_.steps[s].args) {
        if (arg.kind != Value::Kind::column || last_use[at(arg)] != static_cast<int>(s)) continue;
        last_use[at(arg)] = -1;
        if (!is_spread(arg)) unused.push_back(place_of_[at(arg)]);
      }
    }
  }
  [[nodiscard]] bool is_spread(const Value& v) const {
    return std::ranges::any_of(lowered_.spreads,
                               [&](const auto& pair) { return pair.second == v; });
  }
  static std::size_t at(const Value& v) { return static_cast<std::size_t>(v.index); }

  [[nodiscard]] ValueId id(const Value& v) const {
    switch (v.kind) {
      case Value::Kind::none:
        return 0;
      case Value::Kind::constant:
        return static_cast<ValueId>(v.index);
      case Value::Kind::column:
        return static_cast<ValueId>(plan_.first_column + place_of_[at(v)]);
      case Value::Kind::input:
        return plan_.inputs[at(v)].value;
      case Value::Kind::output:
        return plan_.outputs[at(v)].value;
    }
    return 0;
  }

  const LoweredSteps& lowered_;
  PointwisePlan& plan_;
  std::vector<int> place_of_;  // by column
  int places_ = 0;
};

std::optional<Refusal> why_not(const PrepareCtx& ctx) {
  if (ctx.program == nullptr) return "not a pointwise operator";
  if (ctx.program->results.size() != ctx.outputs.size() || ctx.outputs.empty())
    return "the numbers of results and outputs differ";
  // Value ids have 16 bits.
  if (ctx.program->instrs.size() > 4000) return "a very long program";
  std::size_t present = 0;
  for (const Operand& input : ctx.inputs) {
    if (!input.present()) continue;
    if (present >= ctx.program->inputs.size() || input.dtype != ctx.program->inputs[present])
      return "operands do not match the program";
    ++present;
    if (dtype_bytes(input.dtype) > 8) return "elements wider than 8 bytes";
    const auto both = tensor::broadcast(input.shape(), ctx.outputs[0].shape());
    if (!both || *both != ctx.outputs[0].shape()) return "sizes do not broadcast";
  }
  for (const Operand& output : ctx.outputs)
    if (output.shape() != ctx.outputs[0].shape()) return "results differ in size";
  if (present != ctx.program->inputs.size()) return "operands do not match the program";
  return std::nullopt;
}

}  // namespace

bool is_flat(const PointwisePlan& plan) {
  const auto in_place = [](const PointwiseOperand& o) { return o.lie != Lie::strided; };
  return !plan.empty && plan.window == 0 && std::ranges::all_of(plan.inputs, in_place) &&
         std::ranges::all_of(plan.outputs, in_place);
}

std::optional<Refusal> lower(const PrepareCtx& ctx, PointwisePlan& plan) {
  if (auto why = why_not(ctx)) return why;
  lay_out(ctx, plan);
  LoweredSteps lowered;
  if (auto why = InstructionSelector(ctx, plan, lowered).run()) return why;
  join_steps(ctx.isa, lowered.steps);
  ColumnPlacement(lowered, plan).run();
  return std::nullopt;
}

}  // namespace scanloom::kernels
