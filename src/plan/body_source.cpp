#include "plan/body_source.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <string_view>

#include "ir/scalar_ctx.h"
#include "ops/ops.h"
#include "plan/cost.h"
#include "plan/fuse_nests.h"
#include "tensor/contraction.h"
#include "tensor/scalar_eval.h"

namespace scanloom::plan {
namespace {

using jit::Fold;
using jit::Nest;
using jit::NestOperand;
using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;

/// Operations that LLVM emits lane by lane.
bool is_per_lane(const ScalarInstr& instr) {
  const bool divides = instr.op == ScalarOp::div || instr.op == ScalarOp::mod_floor ||
                       instr.op == ScalarOp::mod_trunc;
  return instr.op == ScalarOp::pow || (divides && !is_real(instr.dtype));
}

/// About how many operations a nest becomes: its programs are emitted once for each width of
/// vectors that its lanes are divided into.
std::int64_t emitted_of(const Nest& nest) {
  const std::int64_t lanes = nest.sizes.empty() ? 1 : nest.sizes.back();
  const std::int64_t widths =
      std::min<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(lanes)), 8);
  std::int64_t operations = 0;
  const auto count = [&](const ScalarProgram& program) {
    for (const ScalarInstr& instr : program.instrs)
      operations += is_per_lane(instr) ? std::min<std::int64_t>(lanes, 64) : widths;
  };
  const auto load = [&](const NestOperand& operand) {
    const std::int64_t stride = nest.sizes.empty() ? 0 : operand.strides[nest.sizes.size() - 1];
    operations += stride == 0 || stride == 1 ? widths : std::min<std::int64_t>(lanes, 64);
  };
  count(nest.program);
  for (const NestOperand& operand : nest.reads) load(operand);
  for (const NestOperand& operand : nest.writes) load(operand);
  for (const Fold& fold : nest.folds) {
    count(fold.program);
    for (const NestOperand& operand : fold.reads) load(operand);
  }
  return operations;
}

/// The kinds of `reduce`: what is done with each element, and with the result at the end.
struct Reduction {
  std::string_view kind;
  Fold::Kind fold;
  std::optional<ScalarOp> each = std::nullopt, last = std::nullopt;
};
constexpr Reduction kReductions[] = {
    {"sum", Fold::Kind::sum},
    {"prod", Fold::Kind::prod},
    {"max", Fold::Kind::max},
    {"min", Fold::Kind::min},
    {"mean", Fold::Kind::sum, std::nullopt, ScalarOp::div},
    {"sum_square", Fold::Kind::sum, ScalarOp::mul},
    {"l1", Fold::Kind::sum, ScalarOp::abs},
    {"l2", Fold::Kind::sum, ScalarOp::mul, ScalarOp::sqrt},
    {"log_sum", Fold::Kind::sum, std::nullopt, ScalarOp::log},
};

class BodyMaker {
 public:
  BodyMaker(const Plan& plan, const Binding& binding, const BoundLoop& loop)
      : plan_(plan), module_(plan.module), binding_(binding), loop_(loop) {}

  Expected<jit::BodySource> make() {
    if (!loop_.why_no_body.empty())
      return fail(Code::unsupported, "{} {}", describe(plan_, loop_.node), loop_.why_no_body);
    for (std::uint32_t at = loop_.body; at + 1 < loop_.exit; ++at)
      add_call(binding_.code[at].index);
    jit::BodySource source;
    std::vector<Use> read_later;
    if (loop_.keep_going.present()) {
      source.keep_going =
          NestOperand{loop_.keep_going.slot, DType::boolean, loop_.keep_going.offset, {}};
      read_later.push_back(plan::use_of(*source.keep_going, {}));
    }
    std::int64_t emitted = 0;
    for (Part& part : fuse_nests(std::move(parts_), kArenaSlot, read_later)) {
      if (part.statement.call < 0) arrange_axes(part.statement.nest);
      emitted += emitted_of(part.statement.nest);
      source.statements.push_back(std::move(part.statement));
    }
    if (emitted > kMaxEmittedOfBody)
      return fail(Code::unsupported, "{} takes {} operations of machine code, {} are the most",
                  describe(plan_, loop_.node), emitted, kMaxEmittedOfBody);
    for (const BoundScanned& port : loop_.scanned)
      source.moves.push_back({port.argument.slot, port.step_bytes});
    for (const BoundStacked& port : loop_.stacked)
      source.moves.push_back({port.row.slot, port.step_bytes});
    for (const BoundCarried& port : loop_.carried)
      source.swaps.push_back({port.argument.slot, port.next.slot});
    return source;
  }

 private:
  [[nodiscard]] const Spot& operand(const BoundCall& call, std::size_t i) const {
    return binding_.operands[call.first_operand + i];
  }
  [[nodiscard]] const Layout& layout(const Spot& spot) const {
    return binding_.layouts[static_cast<std::size_t>(spot.layout)];
  }

  void add_call(std::uint32_t index) {
    const BoundCall& call = binding_.calls[index];
    if (call.run == tensor::do_nothing) return;
    std::optional<Nest> nest;
    if (call.outputs == 1 && operand(call, call.inputs).present() &&
        layout(operand(call, call.inputs)).dims.elements() > 0)
      nest = nest_of(call);
    if (nest && is_small(*nest) && is_supported(*nest)) {
      parts_.push_back(
          {.statement = {.nest = *std::move(nest), .call = -1}, .reads = {}, .writes = {}});
      return;
    }
    Part part;
    part.statement.call = static_cast<std::int32_t>(index);
    for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i) {
      const Spot& spot = operand(call, i);
      if (!spot.present() || layout(spot).dims.elements() == 0) continue;
      (i < call.inputs ? part.reads : part.writes).push_back(use_of(spot));
    }
    parts_.push_back(std::move(part));
  }

  [[nodiscard]] Use use_of(const Spot& spot) const {
    const Layout& where = layout(spot);
    NestOperand all{spot.slot, spot.dtype, spot.offset, {}};
    all.strides.assign(where.strides.begin(), where.strides.end());
    return plan::use_of(all, {where.dims.begin(), where.dims.end()});
  }

  [[nodiscard]] static bool is_small(const Nest& nest) {
    std::int64_t count = tensor::Shape(nest.sizes).elements();
    for (const Fold& fold : nest.folds) count *= tensor::Shape(fold.sizes).elements();
    return count <= kMaxElementsOfNest;
  }

  [[nodiscard]] bool is_supported(const Nest& nest) const {
    return plan_.options.compiler->check(nest.program) &&
           std::ranges::all_of(nest.folds, [&](const Fold& fold) {
             return plan_.options.compiler->check(fold.program).has_value();
           });
  }

  std::optional<Nest> nest_of(const BoundCall& call) const {
    if (call.is_copy) return copy_of(call);
    const ir::Node& node = module_.node(call.node);
    if (node.op->scalar != nullptr) return pointwise_of(call, node);
    if (node.op == &ops::reduce_op) return reduce_of(call, node);
    if (node.op == &ops::contract_op) return product_of(call, node);
    return std::nullopt;
  }

  /// The axes of a value that have more than one element, and an operand of its element type.
  void add_write(Nest& nest, const Spot& spot) const {
    const Layout& to = layout(spot);
    NestOperand write{spot.slot, spot.dtype, spot.offset, {}};
    for (int axis = 0; axis < to.dims.rank(); ++axis) {
      if (to.dims[axis] == 1) continue;
      nest.sizes.push_back(to.dims[axis]);
      write.strides.push_back(to.strides[axis]);
    }
    nest.writes.push_back(std::move(write));
  }

  /// An operand that is broadcast to the axes of `to` that have more than one element.
  [[nodiscard]] NestOperand broadcast(const Spot& spot, const Layout& to) const {
    const Layout& from = layout(spot);
    NestOperand read{spot.slot, spot.dtype, spot.offset, {}};
    const int missing = to.dims.rank() - from.dims.rank();
    for (int axis = 0; axis < to.dims.rank(); ++axis) {
      if (to.dims[axis] == 1) continue;
      const int own = axis - missing;
      read.strides.push_back(own < 0 || from.dims[own] == 1 ? 0 : from.strides[own]);
    }
    return read;
  }

  /// The bits of a constant of one element.
  [[nodiscard]] std::optional<std::uint64_t> constant(const Spot& spot) const {
    const SlotInit& init = binding_.slots[static_cast<std::size_t>(spot.slot)];
    std::uint64_t bits = 0;
    if (init.constant == nullptr || layout(spot).dims.elements() != 1 ||
        dtype_bytes(spot.dtype) > sizeof bits)
      return std::nullopt;
    std::memcpy(&bits, init.constant + spot.offset, dtype_bytes(spot.dtype));
    return bits;
  }

  std::optional<Nest> copy_of(const BoundCall& call) const {
    const Spot &from = operand(call, 0), &to = operand(call, call.inputs);
    if (from.dtype != to.dtype || !(layout(from).dims == layout(to).dims)) return std::nullopt;
    Nest nest;
    add_write(nest, to);
    nest.reads.push_back(broadcast(from, layout(to)));
    // All bits, also of booleans that are neither 0 nor 1.
    if (to.dtype == DType::boolean) nest.reads[0].dtype = nest.writes[0].dtype = DType::u8;
    nest.program = {.inputs = {nest.reads[0].dtype}, .instrs = {}, .results = {0}};
    return nest;
  }

  std::optional<Nest> pointwise_of(const BoundCall& call, const ir::Node& node) const {
    Nest nest;
    const Spot& to = operand(call, call.inputs);
    add_write(nest, to);
    // The operands of the call are those of the node that are there. Constants become instructions,
    // which come after all inputs.
    std::vector<const Spot*> operands;
    for (const ir::ValueId input : node.inputs)
      if (input.valid()) operands.push_back(&operand(call, operands.size()));
    if (operands.size() != call.inputs) return std::nullopt;
    std::vector<ir::Reg> registers;
    for (const Spot* const from : operands) {
      registers.push_back(static_cast<ir::Reg>(nest.reads.size()));
      if (constant(*from)) continue;
      nest.reads.push_back(broadcast(*from, layout(to)));
      nest.program.inputs.push_back(from->dtype);
    }
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (const auto bits = constant(*operands[i]))
        registers[i] = nest.program.append(
            {.op = ScalarOp::constant, .dtype = operands[i]->dtype, .bits = *bits});
    std::vector<ir::Reg> by_input;  // -1: an optional one that is absent
    for (std::size_t i = 0; const ir::ValueId input : node.inputs)
      by_input.push_back(input.valid() ? registers[i++] : -1);
    ir::ScalarCtx ctx(nest.program, by_input, node.attrs);
    nest.program.results = {node.op->scalar(ctx)};
    return nest;
  }

  /// One result per element of the nest, folded over `fold`'s axes.
  void add_fold(Nest& nest, Fold fold) const {
    nest.program.inputs.push_back(fold.dtype);
    nest.program.results = {0};
    nest.folds.push_back(std::move(fold));
  }

  std::optional<Nest> reduce_of(const BoundCall& call, const ir::Node& node) const {
    const auto* const kind = std::ranges::find(kReductions, node.attrs[0].text(), &Reduction::kind);
    const Spot &from = operand(call, 0), &to = operand(call, call.inputs);
    if (kind == std::end(kReductions) || (call.inputs > 1 && operand(call, 1).present()))
      return std::nullopt;
    if (!is_real(from.dtype) && (kind->each || kind->last || dtype_bytes(from.dtype) < 4))
      return std::nullopt;  // computed in another type
    Nest nest;
    Fold fold{.kind = kind->fold,
              .dtype = from.dtype,
              .sizes = {},
              .program = {.inputs = {from.dtype}, .instrs = {}, .results = {0}},
              .reads = {}};
    const std::int64_t count = divide_axes(node, from, to, nest, fold);
    const bool extreme = kind->fold == Fold::Kind::max || kind->fold == Fold::Kind::min;
    if (count == 0 || (extreme && nest.sizes.empty() && count > kMaxExtremeOfNest))
      return std::nullopt;
    if (kind->each) {
      const std::int32_t second = *kind->each == ScalarOp::mul ? 0 : -1;
      fold.program.results = {
          fold.program.append({.op = *kind->each, .dtype = from.dtype, .args = {0, second, -1}})};
    }
    add_fold(nest, std::move(fold));
    if (kind->last) {
      std::int32_t second = -1;
      if (*kind->last == ScalarOp::div)
        second = nest.program.append(
            {.op = ScalarOp::constant,
             .dtype = from.dtype,
             .bits = tensor::scalar_bits(static_cast<double>(count), from.dtype)});
      nest.program.results = {
          nest.program.append({.op = *kind->last, .dtype = from.dtype, .args = {0, second, -1}})};
    }
    return nest;
  }

  /// The axes of a reduction: those that stay become the nest's, the others the fold's. Returns how
  /// many elements each result is of.
  std::int64_t divide_axes(const ir::Node& node, const Spot& from, const Spot& to, Nest& nest,
                           Fold& fold) const {
    const tensor::Attr& axes = node.attrs[1];
    const bool keeps = node.attrs[2].integer() != 0;
    const Layout &x = layout(from), &y = layout(to);
    NestOperand read{from.slot, from.dtype, from.offset, {}};
    NestOperand write{to.slot, to.dtype, to.offset, {}};
    std::vector<std::int64_t> inner;
    std::int64_t count = 1;
    int own = 0;
    for (int axis = 0; axis < x.dims.rank(); ++axis) {
      const auto names = [&](std::int64_t given) {
        return given == axis || given + x.dims.rank() == axis;
      };
      const bool reduced = !axes.present() || std::ranges::any_of(axes.integers(), names);
      const int result_axis = reduced && !keeps ? -1 : own++;
      if (reduced) count *= x.dims[axis];
      if (x.dims[axis] == 1) continue;
      (reduced ? fold.sizes : nest.sizes).push_back(x.dims[axis]);
      (reduced ? inner : read.strides).push_back(x.strides[axis]);
      if (!reduced) write.strides.push_back(y.strides[result_axis]);
    }
    read.strides.insert(read.strides.end(), inner.begin(), inner.end());
    fold.reads.push_back(std::move(read));
    nest.writes.push_back(std::move(write));
    return count;
  }

  std::optional<Nest> product_of(const BoundCall& call, const ir::Node& node) const {
    const Spot &a = operand(call, 0), &b = operand(call, 1), &to = operand(call, 2);
    if (dtype_bytes(a.dtype) < 4 || dtype_bytes(a.dtype) > 8) return std::nullopt;
    const auto axes = tensor::contraction_of(node.attrs[0].text(), without_address(a),
                                             without_address(b), without_address(to));
    if (!axes) return std::nullopt;
    const std::int64_t results = axes->batch.elements() * axes->m.elements() * axes->n.elements();
    if (results * axes->k.elements() > kMaxProductOfNest || axes->k.elements() == 0)
      return std::nullopt;
    // The axes of the result as it lies, so that what reads it may join.
    std::vector<tensor::ContractionAxis> kept;
    for (const auto* list : {&axes->batch, &axes->m, &axes->n})
      kept.insert(kept.end(), list->view().begin(), list->view().end());
    std::ranges::stable_sort(kept, std::ranges::greater(), &tensor::ContractionAxis::out);
    Nest nest;
    Fold fold{.kind = Fold::Kind::multiply_add,
              .dtype = a.dtype,
              .sizes = {},
              .program = {.inputs = {a.dtype, b.dtype}, .instrs = {}, .results = {0, 1}},
              .reads = {{a.slot, a.dtype, a.offset, {}}, {b.slot, b.dtype, b.offset, {}}}};
    NestOperand write{to.slot, to.dtype, to.offset, {}};
    for (const tensor::ContractionAxis& axis : kept) {
      nest.sizes.push_back(axis.size);
      write.strides.push_back(axis.out);
    }
    kept.insert(kept.end(), axes->k.view().begin(), axes->k.view().end());
    for (const tensor::ContractionAxis& axis : kept) {
      fold.reads[0].strides.push_back(axis.a);
      fold.reads[1].strides.push_back(axis.b);
    }
    for (const tensor::ContractionAxis& axis : axes->k.view()) fold.sizes.push_back(axis.size);
    nest.writes.push_back(std::move(write));
    add_fold(nest, std::move(fold));
    if (results * axes->k.elements() <= kMaxProductAcross) return nest;
    Nest arranged = nest;
    arrange_axes(arranged);
    for (const NestOperand& read : arranged.folds[0].reads)
      if (const std::int64_t along =
              arranged.sizes.empty() ? 0 : read.strides[arranged.sizes.size() - 1];
          along != 0 && along != 1)
        return std::nullopt;
    return nest;
  }

  [[nodiscard]] tensor::Operand without_address(const Spot& spot) const {
    const Layout& where = layout(spot);
    return {.slot = nullptr,
            .offset = spot.offset,
            .dims = where.dims.data(),
            .strides = where.strides.data(),
            .rank = where.dims.rank(),
            .dtype = spot.dtype,
            .contiguous = where.contiguous};
  }

  const Plan& plan_;
  const ir::Module& module_;
  const Binding& binding_;
  const BoundLoop& loop_;
  std::vector<Part> parts_;
};

}  // namespace

Expected<jit::BodySource> describe_body(const Plan& plan, const Binding& binding,
                                        const BoundLoop& loop) {
  for (const BoundCarried& port : loop.carried)
    if (port.buffer_a == kNone)
      return fail(Code::unsupported, "{}: the size of a state depends on data",
                  describe(plan, loop.node));
  for (const BoundScanned& port : loop.scanned)
    if (port.argument.is_dynamic() || port.argument.is_object())
      return fail(Code::unsupported, "{}: the size of a slice depends on data",
                  describe(plan, loop.node));
  for (const BoundStacked& port : loop.stacked)
    if (port.result.is_dynamic() || port.result.is_object())
      return fail(Code::unsupported, "{}: the number of rows depends on data",
                  describe(plan, loop.node));
  return BodyMaker(plan, binding, loop).make();
}

}  // namespace scanloom::plan
