// Lowers a row program over a call's operands: the steps, their phases, and the places of columns.
#include <algorithm>
#include <iterator>

#include "kernels/join_steps.h"
#include "kernels/rows_plan.h"
#include "kernels/step_emitter.h"

namespace scanloom::kernels {
namespace {

using tensor::Operand;
using Value = StepValue;

/// Columns of whole rows must leave room in L2.
constexpr std::int64_t kMaxRowBytes = 1 << 19;

/// Fewer bytes are summed before a thread has started.
constexpr std::int64_t kMinThreadedBytes = 1 << 19;

enum class Level : std::uint8_t { single, row, element };

struct RowColumn {
  Level level = Level::element;
  std::uint8_t bytes = 4;
  std::size_t phase = 0;      // that computes it
  std::size_t available = 0;  // the first phase that may read it
  std::size_t last_phase = 0;
  int last_step = -1;
  ValueId place = -1;
  int output = -1;         // that it is
  bool is_spread = false;  // the same in all chunks
};

struct EmittedRowStep {
  RowStep step;
  Value out;
  StepArgs args;
  std::size_t phase = 0;
  Value sum;  ///< fold_exp: its other result
};

/// How often the program reads its registers.
class RowUses {
 public:
  /// `size`: elements of a row.
  RowUses(const PrepareCtx& ctx, std::int64_t size)
      : rows_(*ctx.rows),
        is_interleaved_(size >= tensor::kMinInterleaved),
        counts_(rows_.elements.inputs.size() + rows_.elements.instrs.size()),
        joinable_(counts_.size()),
        scaled_(counts_.size()),
        is_summed_(counts_.size()),
        is_squared_(counts_.size()),
        is_per_row_(counts_.size()) {
    for (std::size_t i = 0; i < rows_.elements.inputs.size(); ++i)
      is_per_row_[i] = ctx.inputs[i].elements() == 1;
    for (std::size_t i = 0; i < rows_.elements.instrs.size(); ++i) {
      const tensor::ScalarInstr& instr = rows_.elements.instrs[i];
      for (std::size_t a = 0; a < std::size(instr.args); ++a) {
        if (instr.args[a] < 0) continue;
        const auto arg = static_cast<std::size_t>(instr.args[a]);
        ++counts_[arg];
        const bool joins = instr.op == tensor::ScalarOp::exp || instr.op == tensor::ScalarOp::sub;
        if (joins && a == 0 && !rows_.folds[i]) ++joinable_[arg];
        const bool scales = instr.op == tensor::ScalarOp::mul && instr.args[0] != instr.args[1];
        if (scales && a == 0) ++scaled_[arg];
        if (rows_.folds[i] == RowFold::sum) is_summed_[arg] = true;
      }
      const auto is_per_row = [&](std::int32_t arg) {
        return arg < 0 || is_per_row_[static_cast<std::size_t>(arg)];
      };
      is_per_row_[rows_.elements.inputs.size() + i] =
          rows_.folds[i].has_value() || std::ranges::all_of(instr.args, is_per_row);
    }
    for (const std::int32_t result : rows_.elements.results)
      ++counts_[static_cast<std::size_t>(result)];
    for (std::size_t i = 0; i < rows_.elements.instrs.size(); ++i)
      if (is_summed_square(i))
        is_squared_[static_cast<std::size_t>(rows_.elements.instrs[i].args[0])] = true;
  }

  /// Whether the instruction subtracts the maximum of x from x, and only an exponential and a
  /// difference read it, or another number of the row, and only a sum of squares and a product
  /// read it. They are joined with it, which is faster than storing it.
  [[nodiscard]] bool is_shift(std::size_t i) const {
    const tensor::ScalarInstr& instr = rows_.elements.instrs[i];
    const auto inputs = static_cast<std::int32_t>(rows_.elements.inputs.size());
    const std::size_t reg = rows_.elements.inputs.size() + i;
    if (instr.op != tensor::ScalarOp::sub || instr.args[0] >= inputs || instr.args[1] < inputs)
      return false;
    // The square reads it twice.
    if (is_interleaved_ && is_per_row_[static_cast<std::size_t>(instr.args[1])] &&
        is_squared_[reg] && counts_[reg] == 3 && scaled_[reg] == 1)
      return true;
    return rows_.folds[static_cast<std::size_t>(instr.args[1] - inputs)] == RowFold::max &&
           counts_[reg] == 2 && joinable_[reg] == 2;
  }

  /// Whether the instruction is x x, and only a sum reads it, which is then one of squares.
  [[nodiscard]] bool is_summed_square(std::size_t i) const {
    const tensor::ScalarInstr& instr = rows_.elements.instrs[i];
    const std::size_t reg = rows_.elements.inputs.size() + i;
    return instr.op == tensor::ScalarOp::mul && instr.args[0] == instr.args[1] &&
           (instr.dtype == DType::f32 || instr.dtype == DType::f64) && !rows_.folds[i] &&
           counts_[reg] == 1 && is_summed_[reg];
  }

  /// Whether the instruction widens bytes, and only a sum reads it, which is then one of bytes.
  [[nodiscard]] bool is_summed_byte(std::size_t i) const {
    const tensor::ScalarInstr& instr = rows_.elements.instrs[i];
    const std::size_t reg = rows_.elements.inputs.size() + i;
    if (instr.op != tensor::ScalarOp::cast || instr.dtype != DType::i32 || rows_.folds[i] ||
        counts_[reg] != 1 || !is_summed_[reg])
      return false;
    const DType from = rows_.elements.register_dtype(instr.args[0]);
    return from == DType::u8 || from == DType::i8;
  }

 private:
  const RowProgram& rows_;
  bool is_interleaved_ = false;
  std::vector<int> counts_, joinable_, scaled_;
  std::vector<bool> is_summed_, is_squared_, is_per_row_;
};

Level level_of(const RowsPlan& plan, const std::vector<RowColumn>& columns, const Value& v) {
  const auto index = static_cast<std::size_t>(v.index);
  if (v.kind == Value::Kind::column) return columns[index].level;
  if (v.kind != Value::Kind::input) return Level::single;
  const RowOperand::Kind kind = plan.inputs[index].kind;
  return kind == RowOperand::Kind::single    ? Level::single
         : kind == RowOperand::Kind::per_row ? Level::row
                                             : Level::element;
}

/// A step whose result is of level `out`.
RowStep step_of(const RowsPlan& plan, const std::vector<RowColumn>& columns, ElementFn fn,
                Level out, const StepArgs& args) {
  RowStep step{.fn = fn};
  if (out == Level::row) {
    step.mode = RowStep::Mode::rows;
    return step;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const Level level = level_of(plan, columns, args[i]);
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(args[i].dtype));
    if (level == Level::row) step.mode = RowStep::Mode::by_row;
    step.row_steps[i] = level == Level::element ? bytes * plan.size
                        : level == Level::row   ? bytes
                                                : 0;
  }
  return step;
}

/// Joins steps that one function computes.
class RowJoiner {
 public:
  RowJoiner(Isa isa, const RowsPlan& plan, std::vector<EmittedRowStep>& steps,
            const std::vector<RowColumn>& columns)
      : isa_(isa), plan_(plan), steps_(steps), columns_(columns) {}

  void join() {
    std::vector<JoinableStep> joinable;
    for (const EmittedRowStep& each : steps_) {
      const RowStep::Mode mode = each.step.mode;
      const bool may = mode != RowStep::Mode::fill && !each.step.folds();
      joinable.push_back({may ? each.step.fn : nullptr, each.out, each.args, each.phase});
    }
    std::vector<Value> results;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].output >= 0) results.push_back({Value::Kind::column, static_cast<int>(i)});
    std::vector<bool> is_gone(steps_.size());
    for (const StepJoin& found : find_joins(isa_, joinable, results)) {
      EmittedRowStep& into = steps_[found.second];
      const std::uint8_t bytes = into.step.bytes;
      into.step =
          step_of(plan_, columns_, found.fn, level_of(plan_, columns_, into.out), found.args);
      into.step.bytes = bytes;
      into.args = found.args;
      is_gone[found.first] = true;
    }
    join_exponentials(is_gone);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (!is_gone[i]) steps_[kept++] = steps_[i];
    steps_.resize(kept);
  }

 private:
  /// Sums up exponentials of differences while they are computed, where sums have parts.
  void join_exponentials(std::vector<bool>& is_gone) {
    if (plan_.size < tensor::kMinInterleaved) return;
    const auto reads = [](const EmittedRowStep& each, const Value& value) {
      return std::ranges::find(each.args, value) != each.args.end();
    };
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const EmittedRowStep& sum = steps_[s];
      if (is_gone[s] || sum.step.mode != RowStep::Mode::fold || sum.step.fold.add_exp == nullptr)
        continue;
      const auto made = std::ranges::find(steps_, sum.args[0], &EmittedRowStep::out);
      if (made == steps_.end() || made->phase != sum.phase || !is_exp_of_shift(*made)) continue;
      made->step.mode = RowStep::Mode::fold_exp;
      made->step.fold = sum.step.fold;
      made->step.parts = sum.step.parts;
      made->sum = sum.out;
      is_gone[s] = true;
      made->step.stores = columns_[static_cast<std::size_t>(made->out.index)].output >= 0;
      for (std::size_t i = 0; i < steps_.size(); ++i)
        made->step.stores |= !is_gone[i] && reads(steps_[i], made->out);
    }
  }

  /// Whether the step computes exponentials of differences to one element per row.
  [[nodiscard]] bool is_exp_of_shift(const EmittedRowStep& each) const {
    if (each.step.mode != RowStep::Mode::by_row ||
        level_of(plan_, columns_, each.args[0]) != Level::element)
      return false;
    const auto is_of = [&](VectorFns (*fns)(tensor::ScalarOp)) {
      const ElementFn fn = joined_fns(isa_).joined(fns(tensor::ScalarOp::sub).second_single,
                                                   fns(tensor::ScalarOp::exp_nonpositive).columns);
      return fn != nullptr && each.step.fn == fn;
    };
    return is_of(simd_tables(isa_).f32_elements) || is_of(simd_tables(isa_).f64_elements);
  }

  Isa isa_;
  const RowsPlan& plan_;
  std::vector<EmittedRowStep>& steps_;
  const std::vector<RowColumn>& columns_;
};

class RowSelector final : public StepEmitter {
 public:
  RowSelector(const PrepareCtx& ctx, RowsPlan& plan)
      : StepEmitter(ctx.isa, plan.constants), ctx_(ctx), plan_(plan), uses_(ctx, plan.size) {}

  std::optional<Refusal> run() {
    const RowProgram& rows = *ctx_.rows;
    std::vector<Value> values;
    for (std::size_t i = 0; i < rows.elements.inputs.size(); ++i)
      values.push_back({Value::Kind::input, static_cast<int>(i), rows.elements.inputs[i]});
    const QuantizedSteps quantized = find_quantized(values);
    for (std::size_t i = 0; i < rows.elements.instrs.size(); ++i) {
      if (!quantized.is_needed[i] || uses_.is_summed_square(i) || uses_.is_summed_byte(i) ||
          uses_.is_shift(i)) {
        values.emplace_back();  // computed where it is read
        continue;
      }
      const std::optional<Value> value =
          quantized.at[i] ? emit_quantized_at(*quantized.at[i], values) : emit(i, values);
      if (!value) return "an instruction is not defined for its element types";
      values.push_back(*value);
    }
    if (auto why = take_results(values)) return why;
    RowJoiner(ctx_.isa, plan_, steps, columns).join();
    return std::nullopt;
  }

  /// Whether nothing else is done with each element.
  [[nodiscard]] bool only_sums_bytes() const {
    return std::ranges::all_of(steps, [](const EmittedRowStep& each) {
      const bool is_fold = each.step.mode == RowStep::Mode::fold;
      return each.step.mode == RowStep::Mode::rows ||
             (is_fold && dtype_bytes(each.args[0].dtype) == 1);
    });
  }

  std::vector<EmittedRowStep> steps;
  std::vector<RowColumn> columns;
  std::vector<std::pair<Value, Value>> spreads, row_spreads;

 private:
  /// What quantizes or dequantizes by parameters that are the same for all elements.
  [[nodiscard]] QuantizedSteps find_quantized(const std::vector<Value>& inputs) const {
    const auto is_single = [&](std::int32_t reg) {
      return reg < static_cast<std::int32_t>(inputs.size()) &&
             level_of(inputs[static_cast<std::size_t>(reg)]) == Level::single;
    };
    return find_quantized_steps(
        ctx_.rows->elements,
        {.is_single = is_single, .is_constant = [](std::int32_t) { return false; }});
  }

  std::optional<Value> emit_quantized_at(const QuantizedStep& step,
                                         const std::vector<Value>& values) {
    level_ = std::max(Level::row, level_of(values[static_cast<std::size_t>(step.x)]));
    return emit_quantized(step, values);
  }

  /// Whether the instruction is exp(x - m) with the maximum m of x, as in softmax: its argument is
  /// not positive, though it may be NaN.
  [[nodiscard]] bool is_exp_of_difference(std::size_t i) const {
    const RowProgram& rows = *ctx_.rows;
    const auto inputs = static_cast<std::int32_t>(rows.elements.inputs.size());
    const tensor::ScalarInstr& instr = rows.elements.instrs[i];
    if (instr.op != tensor::ScalarOp::exp || instr.args[0] < inputs) return false;
    const tensor::ScalarInstr& from = instr_at(instr.args[0]);
    if (from.op != tensor::ScalarOp::sub || from.args[1] < inputs) return false;
    const auto& fold = rows.folds[static_cast<std::size_t>(from.args[1] - inputs)];
    return fold == RowFold::max && instr_at(from.args[1]).args[0] == from.args[0] &&
           !rows.folds[static_cast<std::size_t>(instr.args[0] - inputs)];
  }
  [[nodiscard]] const tensor::ScalarInstr& instr_at(std::int32_t reg) const {
    return ctx_.rows->elements
        .instrs[static_cast<std::size_t>(reg) - ctx_.rows->elements.inputs.size()];
  }
  [[nodiscard]] static tensor::ScalarInstr nonpositive(tensor::ScalarInstr instr) {
    instr.op = tensor::ScalarOp::exp_nonpositive;
    return instr;
  }

  std::optional<Value> emit(std::size_t i, const std::vector<Value>& values) {
    const RowProgram& rows = *ctx_.rows;
    const tensor::ScalarInstr& instr = rows.elements.instrs[i];
    const auto at = [&](std::int32_t reg) { return values[static_cast<std::size_t>(reg)]; };
    if (rows.folds[i]) {
      const Value& from = at(instr.args[0]);
      if (from.kind != Value::Kind::none) return fold(*rows.folds[i], from, from.dtype);
      const tensor::ScalarInstr& summed = instr_at(instr.args[0]);
      if (summed.op == tensor::ScalarOp::cast)
        return fold(RowFold::sum, at(summed.args[0]), summed.dtype);
      const Value& squared = at(summed.args[0]);
      if (squared.kind != Value::Kind::none)
        return fold(RowFold::sum_square, squared, summed.dtype);
      const tensor::ScalarInstr& shift = instr_at(summed.args[0]);
      return fold(RowFold::sum_square, at(shift.args[0]), summed.dtype, at(shift.args[1]));
    }
    if (instr.args[0] >= 0 && at(instr.args[0]).kind == Value::Kind::none)
      return emit_shifted(i, values);
    level_ = Level::row;
    for (const std::int32_t arg : instr.args)
      if (arg >= 0) level_ = std::max(level_, level_of(at(arg)));
    return emit_instr(is_exp_of_difference(i) ? nonpositive(instr) : instr, values);
  }

  /// An instruction whose first argument is a shift, which is computed in the same phase.
  std::optional<Value> emit_shifted(std::size_t i, std::vector<Value> values) {
    const tensor::ScalarInstr& instr = ctx_.rows->elements.instrs[i];
    if (instr.args[1] >= 0)
      first_phase_ = available(values[static_cast<std::size_t>(instr.args[1])]);
    const auto shift = static_cast<std::size_t>(instr.args[0]);
    const std::optional<Value> shifted = emit(shift - ctx_.rows->elements.inputs.size(), values);
    first_phase_ = 0;
    if (!shifted) return std::nullopt;
    values[shift] = *shifted;
    return emit(i, values);
  }

  /// The first phase that may read the value.
  [[nodiscard]] std::size_t available(const Value& v) const {
    return v.kind == Value::Kind::column ? columns[at(v)].available : 0;
  }

  [[nodiscard]] Level level_of(const Value& v) const {
    return kernels::level_of(plan_, columns, v);
  }
  [[nodiscard]] bool is_single(const Value& v) const override {
    return v.kind != Value::Kind::none && level_of(v) < level_;
  }

  Value new_column(DType dtype, Level level) {
    columns.push_back({.level = level, .bytes = static_cast<std::uint8_t>(dtype_bytes(dtype))});
    return {Value::Kind::column, static_cast<int>(columns.size()) - 1, dtype};
  }

  Value spread(const Value& v) override {
    if (!is_single(v)) return v;
    if (level_of(v) == Level::row) return fill(v);
    auto& list = level_ == Level::row ? row_spreads : spreads;
    for (const auto& [from, to] : list)
      if (from == v) return to;
    list.emplace_back(v, new_column(v.dtype, level_));
    columns.back().is_spread = true;
    return list.back().second;
  }

  Value fill(const Value& v) {
    for (const EmittedRowStep& step : steps)
      if (step.step.mode == RowStep::Mode::fill && step.args[0] == v) return step.out;
    return append({.mode = RowStep::Mode::fill}, v.dtype, Level::element, {v});
  }

  Value add_step(ElementFn fn, DType dtype, const StepArgs& args) override {
    return append(step_of(plan_, columns, fn, level_, args), dtype, level_, args);
  }

  /// `shift`: what is subtracted from each element, or none.
  std::optional<Value> fold(RowFold fold, const Value& from, DType result,
                            const Value& shift = {}) {
    level_ = Level::element;
    const bool is_shifted = shift.kind != Value::Kind::none;
    RowStep step{.mode = is_shifted ? RowStep::Mode::fold_shifted : RowStep::Mode::fold};
    if (level_of(shift) == Level::row)
      step.row_steps[1] = static_cast<std::int64_t>(dtype_bytes(shift.dtype));
    if (result == DType::f32) step.fold = simd().f32_folds(fold);
    if (result == DType::f64) step.fold = simd().f64_folds(fold);
    if (result == DType::i32 && fold == RowFold::sum) step.fold = simd().integer_sums(from.dtype);
    if (step.fold.rows == nullptr) return std::nullopt;
    step.parts = static_cast<std::int16_t>(plan_.folds++);
    return append(step, result, Level::row, {spread(from), shift});
  }

  Value append(RowStep step, DType dtype, Level level, const StepArgs& args) {
    std::size_t phase = first_phase_;
    for (const Value& arg : args) phase = std::max(phase, available(arg));
    const Value out = new_column(dtype, level);
    RowColumn& column = columns[at(out)];
    column.phase = column.last_phase = phase;
    column.available = phase + (step.folds() ? 1 : 0);
    for (const Value& arg : args)
      if (arg.kind == Value::Kind::column)
        columns[at(arg)].last_phase = std::max(columns[at(arg)].last_phase, phase);
    step.bytes = column.bytes;
    steps.push_back({step, out, args, phase});
    return out;
  }

  /// Results are computed where they are stored.
  std::optional<Refusal> take_results(const std::vector<Value>& values) {
    const tensor::ScalarProgram& program = ctx_.rows->elements;
    for (std::size_t i = 0; i < program.results.size(); ++i) {
      const Value& from = values[static_cast<std::size_t>(program.results[i])];
      const Level wanted =
          plan_.outputs[i].kind == RowOperand::Kind::per_row ? Level::row : Level::element;
      if (from.kind != Value::Kind::column || level_of(from) != wanted ||
          columns[at(from)].output >= 0 || columns[at(from)].is_spread ||
          from.dtype != ctx_.outputs[i].dtype)
        return "a result that is not computed by a step of its own";
      columns[at(from)].output = static_cast<int>(i);
    }
    return std::nullopt;
  }
  static std::size_t at(const Value& v) { return static_cast<std::size_t>(v.index); }

  const PrepareCtx& ctx_;
  RowsPlan& plan_;
  RowUses uses_;
  std::size_t first_phase_ = 0;  ///< of the steps that are appended
  Level level_ = Level::element;
};

/// Orders the steps by phase, and gives columns their places.
class RowPlacement {
 public:
  RowPlacement(RowSelector& selected, RowsPlan& plan) : selected_(selected), plan_(plan) {}

  /// Returns false if the values that outlive a phase are too many.
  bool run() {
    std::ranges::stable_sort(selected_.steps, {}, [](const EmittedRowStep& each) {
      return 2 * each.phase + (is_of_rows(each) ? 0 : 1);
    });
    for (std::size_t s = 0; s < selected_.steps.size(); ++s)
      for (const Value& arg : selected_.steps[s].args)
        if (arg.kind == Value::Kind::column) column(arg).last_step = static_cast<int>(s);
    place();
    number();
    write();
    return plan_.block * plan_.size * block_places_ * plan_.element_bytes <= kMaxRowBytes ||
           plan_.is_one_chunk();
  }

 private:
  static bool is_of_rows(const EmittedRowStep& each) {
    return each.step.mode == RowStep::Mode::rows;
  }
  RowColumn& column(const Value& v) { return selected_.columns[static_cast<std::size_t>(v.index)]; }
  [[nodiscard]] bool outlives_phase(const RowColumn& column) const {
    return column.last_phase > column.phase && !column.is_spread && !plan_.is_one_chunk();
  }

  void place() {
    for (auto* list : {&selected_.row_spreads, &selected_.spreads})
      for (const auto& [from, to] : *list) {
        RowColumn& filled = column(to);
        filled.place =
            static_cast<ValueId>(filled.level == Level::row ? row_places_++ : chunk_places_++);
      }
    std::vector<ValueId> unused;
    for (std::size_t s = 0; s < selected_.steps.size(); ++s) {
      RowColumn& made = column(selected_.steps[s].out);
      plan_.element_bytes = std::max<std::int64_t>(plan_.element_bytes, made.bytes);
      if (made.output < 0) made.place = place_of(made, unused);
      if (const Value& sum = selected_.steps[s].sum;
          sum.kind != Value::Kind::none && column(sum).output < 0)
        column(sum).place = static_cast<ValueId>(row_places_++);
      release(s, unused);
    }
  }

  ValueId place_of(const RowColumn& made, std::vector<ValueId>& unused) {
    if (made.level == Level::row) return static_cast<ValueId>(row_places_++);
    if (outlives_phase(made)) return static_cast<ValueId>(block_places_++);
    if (unused.empty()) return static_cast<ValueId>(chunk_places_++);
    const ValueId place = unused.back();
    unused.pop_back();
    return place;
  }

  void release(std::size_t s, std::vector<ValueId>& unused) {
    for (const Value& arg : selected_.steps[s].args) {
      if (arg.kind != Value::Kind::column) continue;
      RowColumn& read = column(arg);
      if (read.last_step != static_cast<int>(s) || read.output >= 0 || read.is_spread ||
          read.level != Level::element || outlives_phase(read))
        continue;
      read.last_step = -1;
      unused.push_back(read.place);
    }
  }

  void number() {
    for (RowOperand& input : plan_.inputs) {
      plan_.element_bytes = std::max<std::int64_t>(plan_.element_bytes, input.bytes);
      // Gathered for each block and chunk, or once.
      if (input.kind == RowOperand::Kind::per_row)
        input.value = static_cast<ValueId>(row_places_++);
      else if (input.kind == RowOperand::Kind::strided ||
               (input.kind == RowOperand::Kind::inner && plan_.block > 1))
        input.value = static_cast<ValueId>(chunk_places_++);
      else
        input.value = -1;
    }
    plan_.first_row_column = static_cast<ValueId>(plan_.constants.size());
    plan_.first_chunk_column = static_cast<ValueId>(plan_.first_row_column + row_places_);
    plan_.first_block_column = static_cast<ValueId>(plan_.first_chunk_column + chunk_places_);
    plan_.first_operand = static_cast<ValueId>(plan_.first_block_column + block_places_);
    ValueId next = plan_.first_operand;
    for (RowOperand& input : plan_.inputs) {
      if (input.value < 0)
        input.value = next++;
      else
        input.value = static_cast<ValueId>(input.value + (input.kind == RowOperand::Kind::per_row
                                                              ? plan_.first_row_column
                                                              : plan_.first_chunk_column));
    }
    for (RowOperand& output : plan_.outputs) output.value = next++;
    plan_.value_count = next;
  }

  void write() {
    for (const auto& [from, to] : selected_.row_spreads)
      plan_.row_spreads.push_back({id(from), id(to), column(to).bytes});
    for (const auto& [from, to] : selected_.spreads)
      plan_.spreads.push_back({id(from), id(to), column(to).bytes});
    for (const EmittedRowStep& each : selected_.steps) {
      plan_.phases.resize(std::max(plan_.phases.size(), each.phase + 1));
      RowStep step = each.step;
      step.out = id(each.out);
      if (each.sum.kind != Value::Kind::none) step.sum = id(each.sum);
      for (std::size_t i = 0; i < 3; ++i)
        step.args[i] = each.args[i].kind == Value::Kind::none ? step.out : id(each.args[i]);
      RowPhase& phase = plan_.phases[each.phase];
      (is_of_rows(each) ? phase.rows : phase.elements).push_back(step);
    }
  }

  [[nodiscard]] ValueId id(const Value& v) {
    if (v.kind == Value::Kind::constant) return static_cast<ValueId>(v.index);
    if (v.kind == Value::Kind::input) return plan_.inputs[static_cast<std::size_t>(v.index)].value;
    const RowColumn& found = column(v);
    if (found.output >= 0) return plan_.outputs[static_cast<std::size_t>(found.output)].value;
    const ValueId first = found.level == Level::row ? plan_.first_row_column
                          : outlives_phase(found)   ? plan_.first_block_column
                                                    : plan_.first_chunk_column;
    return static_cast<ValueId>(first + found.place);
  }

  RowSelector& selected_;
  RowsPlan& plan_;
  int row_places_ = 0, chunk_places_ = 0, block_places_ = 0;
};

std::optional<Refusal> why_not_rows(const PrepareCtx& ctx) {
  if (ctx.rows == nullptr) return "not a program over rows";
  if (ctx.rows->elements.instrs.size() > 4000) return "a very long program";
  if (ctx.rows->dims.rank() > tensor::kMaxRank) return "too many axes";
  for (const Operand& output : ctx.outputs)
    if (!output.contiguous) return "a result that is not row-major";
  return std::nullopt;
}

}  // namespace

std::int64_t RowsPlan::slot_bytes() const {
  const auto lines = [](std::int64_t bytes) { return (bytes + 63) / 64 * 64; };
  return lines(2 * 8 * value_count) + folds * tensor::kMaxParts * 8 +
         (first_chunk_column - first_row_column) * lines(block * 8) +
         (first_block_column - first_chunk_column) * lines(chunk * element_bytes) +
         (first_operand - first_block_column) * lines(block * size * element_bytes);
}

std::optional<Refusal> lower_rows(const PrepareCtx& ctx, RowsPlan& plan) {
  if (auto why = why_not_rows(ctx)) return why;
  lay_out_rows(ctx, plan);
  RowSelector selected(ctx, plan);
  if (auto why = selected.run()) return why;
  if (selected.only_sums_bytes() && plan.rows * plan.size < kMinThreadedBytes) plan.slots = 1;
  if (!RowPlacement(selected, plan).run()) return "more values than the cache holds";
  return std::nullopt;
}

}  // namespace scanloom::kernels
