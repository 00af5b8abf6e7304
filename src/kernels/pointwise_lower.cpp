// Lowers an element program over a call's operands to a plan: which functions run over which
// columns, in which order.
#include <algorithm>
#include <cstring>
#include <optional>

#include "kernels/pointwise_plan.h"
#include "kernels/simd.h"

namespace scanloom::kernels {
namespace {

using tensor::Operand;
using tensor::ScalarInstr;
using tensor::ScalarOp;

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

/// A value while steps are emitted. Columns get their offsets at the end, when lifetimes are known.
struct Value {
  enum class Kind : std::uint8_t { none, constant, column, input, output };
  Kind kind = Kind::none;
  int index = 0;
  DType dtype = DType::f32;

  friend bool operator==(const Value&, const Value&) = default;
};

struct Step {
  ElementFn fn = nullptr;
  Value out;
  std::array<Value, 3> args;
};

struct LoweredSteps {
  std::vector<Step> steps;
  std::vector<std::pair<Value, Value>> spreads;  // single values, and the columns they fill
  int columns = 0;
};

/// Selects the functions that compute the program's instructions.
class InstructionSelector {
 public:
  InstructionSelector(const PrepareCtx& ctx, PointwisePlan& plan, LoweredSteps& lowered)
      : ctx_(ctx), plan_(plan), lowered_(lowered) {}

  std::optional<Refusal> run() {
    const tensor::ScalarProgram& program = *ctx_.program;
    for (std::size_t i = 0; i < program.inputs.size(); ++i)
      values_.push_back({Value::Kind::input, static_cast<int>(i), program.inputs[i]});
    for (const ScalarInstr& instr : program.instrs) {
      const std::optional<Value> value = lower_instr(instr);
      if (!value) return "an instruction is not defined for its element types";
      values_.push_back(*value);
    }
    return store_results();
  }

 private:
  [[nodiscard]] const SimdTables& simd() const { return simd_tables(ctx_.isa); }
  [[nodiscard]] const Value& value(std::int32_t reg) const {
    return values_[static_cast<std::size_t>(reg)];
  }
  Value new_column(DType dtype) { return {Value::Kind::column, lowered_.columns++, dtype}; }

  Value constant(std::uint64_t bits, DType dtype) {
    plan_.constants.push_back(bits);
    return {Value::Kind::constant, static_cast<int>(plan_.constants.size()) - 1, dtype};
  }

  [[nodiscard]] bool is_single(const Value& v) const {
    if (v.kind == Value::Kind::constant) return true;
    return v.kind == Value::Kind::input &&
           plan_.inputs[static_cast<std::size_t>(v.index)].lie == Lie::single;
  }

  // Returns the value as a column. A single value is broadcast over its own column once per window.
  Value spread(const Value& v) {
    if (!is_single(v)) return v;
    for (const auto& [from, to] : lowered_.spreads)
      if (from == v) return to;
    lowered_.spreads.emplace_back(v, new_column(v.dtype));
    return lowered_.spreads.back().second;
  }

  Value emit(ElementFn fn, DType dtype, std::array<Value, 3> args) {
    const bool folds = std::ranges::all_of(args, [](const Value& v) {
      return v.kind == Value::Kind::none || v.kind == Value::Kind::constant;
    });
    if (folds) return fold(fn, dtype, args);
    lowered_.steps.push_back({fn, new_column(dtype), args});
    return lowered_.steps.back().out;
  }

  Value fold(ElementFn fn, DType dtype, const std::array<Value, 3>& args) {
    std::array<std::uint64_t, 3> bits{};
    for (std::size_t i = 0; i < 3; ++i)
      if (args[i].kind == Value::Kind::constant)
        bits[i] = plan_.constants[static_cast<std::size_t>(args[i].index)];
    std::uint64_t result = 0;
    const auto at = [&](std::size_t i) { return reinterpret_cast<const std::byte*>(&bits[i]); };
    fn(reinterpret_cast<std::byte*>(&result), at(0), at(1), at(2), 1);
    return constant(result, dtype);
  }

  // Broadcasts single arguments if the function needs columns, unless all of them are constant.
  Value emit_columns(ElementFn fn, DType dtype, std::array<Value, 3> args) {
    const bool folds = std::ranges::all_of(args, [](const Value& v) {
      return v.kind == Value::Kind::none || v.kind == Value::Kind::constant;
    });
    if (!folds)
      for (Value& arg : args)
        if (arg.kind != Value::Kind::none) arg = spread(arg);
    return emit(fn, dtype, args);
  }

  std::optional<Value> as_compute(const Value& v) {
    const DType compute = compute_dtype(v.dtype);
    if (compute == v.dtype) return v;
    ElementFn fn = simd().conversion(v.dtype, compute);
    if (fn == nullptr) fn = widen_fn(v.dtype);
    if (fn == nullptr) return std::nullopt;
    return emit_columns(fn, compute, {v});
  }

  std::optional<Value> lower_instr(const ScalarInstr& instr) {
    if (instr.op == ScalarOp::constant) return constant(instr.bits, instr.dtype);
    if (instr.op == ScalarOp::select) return lower_select(instr);
    if (instr.op == ScalarOp::cast) return lower_cast(instr);
    return lower_arithmetic(instr);
  }

  std::optional<Value> lower_select(const ScalarInstr& instr) {
    const ElementFn fn = simd().choice(static_cast<int>(dtype_bytes(instr.dtype)));
    if (fn == nullptr) return std::nullopt;
    return emit_columns(fn, instr.dtype,
                        {value(instr.args[0]), value(instr.args[1]), value(instr.args[2])});
  }

  std::optional<Value> lower_cast(const ScalarInstr& instr) {
    const Value& from = value(instr.args[0]);
    if (from.dtype == instr.dtype) return from;
    if (const ElementFn direct = simd().conversion(from.dtype, instr.dtype); direct != nullptr)
      return emit_columns(direct, instr.dtype, {from});
    const std::optional<Value> wide = as_compute(from);
    if (!wide) return std::nullopt;
    const ElementFn fn = convert_fn(wide->dtype, instr.dtype);
    if (fn == nullptr) return std::nullopt;
    return emit_columns(fn, instr.dtype, {*wide});
  }

  // Computes in i32, whose results are the low bits of those in i64.
  std::optional<Value> lower_integers(const ScalarInstr& instr) {
    std::array<Value, 3> args;
    for (std::size_t i = 0; i < 2 && instr.args[i] >= 0; ++i) args[i] = value(instr.args[i]);
    const bool compares = tensor::scalar_op_compares(instr.op);
    return emit_vectors(instr.op, DType::i32, compares ? DType::boolean : DType::i32, args);
  }

  std::optional<Value> lower_arithmetic(const ScalarInstr& instr) {
    if (instr.dtype == DType::i32)
      if (const std::optional<Value> out = lower_integers(instr)) return out;
    const DType compute = compute_dtype(instr.dtype);
    std::array<Value, 3> args;
    for (std::size_t i = 0; i < 2 && instr.args[i] >= 0; ++i) {
      const std::optional<Value> wide = as_compute(value(instr.args[i]));
      if (!wide) return std::nullopt;
      args[i] = *wide;
    }
    const bool compares = tensor::scalar_op_compares(instr.op);
    const DType result = compares ? DType::boolean : compute;
    std::optional<Value> out = emit_vectors(instr.op, compute, result, args);
    if (!out) {
      const ElementFn fn = plain_fn(instr.op, compute, dtype_file_bits(instr.dtype));
      if (fn == nullptr) return std::nullopt;
      out = emit_columns(fn, result, args);
    }
    if (compares || compute == instr.dtype) return out;
    const ElementFn direct = simd().conversion(compute, instr.dtype);
    return emit_columns(direct != nullptr ? direct : narrow_fn(instr.dtype), instr.dtype, {*out});
  }

  std::optional<Value> emit_vectors(ScalarOp op, DType dtype, DType result,
                                    const std::array<Value, 3>& args) {
    VectorFns fns;
    if (dtype == DType::f32) fns = simd().f32_elements(op);
    if (dtype == DType::f64) fns = simd().f64_elements(op);
    if (dtype == DType::i32) fns = simd().i32_elements(op);
    if (result == DType::boolean && fns.columns == nullptr) fns = simd().comparison(op, dtype);
    if (fns.columns == nullptr) return std::nullopt;
    const bool first = is_single(args[0]), second = is_single(args[1]);
    if (first && !second && fns.first_single != nullptr)
      return emit(fns.first_single, result, args);
    if (second && !first && fns.second_single != nullptr)
      return emit(fns.second_single, result, args);
    return emit_columns(fns.columns, result, args);
  }

  // The last step of a single result writes to its place; other results are copied there at the
  // end, since until then a result may share its memory with an input.
  std::optional<Refusal> store_results() {
    const tensor::ScalarProgram& program = *ctx_.program;
    for (std::size_t i = 0; i < program.results.size(); ++i) {
      const Value from = value(program.results[i]);
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
  std::vector<Value> values_;  // by register
};

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
    plan_.column_bytes = kBlock * 8;
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
  ColumnPlacement(lowered, plan).run();
  return std::nullopt;
}

}  // namespace scanloom::kernels
