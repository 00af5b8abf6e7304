#include "plan/body_source.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "ops/ops.h"
#include "ops/pointwise.h"
#include "plan/cost.h"
#include "plan/fuse_nests.h"
#include "tensor/contraction.h"

namespace scanloom::plan {
namespace {

using jit::Fold;
using jit::Nest;
using jit::NestOperand;
using tensor::ScalarInstr;
using tensor::ScalarOp;
using tensor::ScalarProgram;

/// Products of more are left to the kernel, which keeps tiles of both operands in registers.
constexpr std::int64_t kMostOfProduct = 4096;

class BodyMaker {
 public:
  BodyMaker(const Plan& plan, const Binding& binding, const BoundLoop& loop)
      : plan_(plan), module_(plan.module), binding_(binding), loop_(loop) {}

  Expected<jit::BodySource> make() {
    SCANLOOM_CHECK_OK(check_size());
    for (std::uint32_t at = loop_.body; at + 1 < loop_.exit; ++at) {
      const Instruction& instruction = binding_.code[at];
      if (instruction.op != Op::call) return refuse(instruction);
      SCANLOOM_CHECK_OK(add_call(instruction.index));
    }
    jit::BodySource source;
    source.name = describe(plan_, loop_.node);
    std::vector<Use> read_later;
    if (loop_.keep_going.present()) {
      source.keep_going =
          NestOperand{loop_.keep_going.slot, DType::boolean, loop_.keep_going.offset, {}};
      read_later.push_back(use_of(*source.keep_going, {}));
    }
    for (Part& part : fuse_nests(std::move(parts_), kArenaSlot, read_later)) {
      if (part.statement.call < 0) arrange_axes(part.statement.nest);
      source.statements.push_back(std::move(part.statement));
    }
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

  /// Large bodies are not worth compiling, and those with large values share memory.
  Expected<void> check_size() const {
    const std::size_t statements = loop_.exit - loop_.body - 1;
    if (statements > kMostStatementsOfBody)
      return fail(Code::unsupported, "{} instructions, {} are the most that are compiled at once",
                  statements, kMostStatementsOfBody);
    std::int64_t bytes = 0;
    for (std::uint32_t at = loop_.body; at + 1 < loop_.exit; ++at) {
      if (binding_.code[at].op != Op::call) continue;
      const BoundCall& call = binding_.calls[binding_.code[at].index];
      for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i)
        if (operand(call, i).slot == kArenaSlot)
          bytes += layout(operand(call, i)).dims.elements() *
                   static_cast<std::int64_t>(dtype_bytes(operand(call, i).dtype));
    }
    if (bytes > kMostBytesOfBody)
      return fail(Code::unsupported, "operands of {} bytes, {} are the most of a compiled body",
                  bytes, kMostBytesOfBody);
    return {};
  }

  Error refuse(const Instruction& instruction) const {
    const char* what = "a part whose sizes depend on data";
    if (instruction.op == Op::loop_begin || instruction.op == Op::compiled_loop) what = "a loop";
    if (instruction.op == Op::branch) what = "a branch";
    if (instruction.op == Op::object_call) what = "a sequence, an optional or a string";
    return fail(Code::unsupported, "{} holds {}", describe(plan_, loop_.node), what);
  }

  Expected<void> add_call(std::uint32_t index) {
    const BoundCall& call = binding_.calls[index];
    if (std::string_view(call.kernel) == "nothing") return {};
    std::optional<Nest> nest;
    if (call.outputs == 1 && operand(call, call.inputs).present() &&
        layout(operand(call, call.inputs)).dims.elements() > 0)
      nest = nest_of(call);
    if (nest && is_supported(*nest)) {
      parts_.push_back(
          {.statement = {.nest = *std::move(nest), .call = -1}, .reads = {}, .writes = {}});
      return {};
    }
    Part part;
    part.statement.call = static_cast<std::int32_t>(index);
    for (std::size_t i = 0; i < std::size_t{call.inputs} + call.outputs; ++i) {
      const Spot& spot = operand(call, i);
      if (!spot.present() || layout(spot).dims.elements() == 0) continue;
      (i < call.inputs ? part.reads : part.writes).push_back(use_of(spot));
    }
    parts_.push_back(std::move(part));
    return {};
  }

  [[nodiscard]] Use use_of(const NestOperand& operand,
                           const std::vector<std::int64_t>& sizes) const {
    return plan::use_of(operand, sizes);
  }
  [[nodiscard]] Use use_of(const Spot& spot) const {
    const Layout& where = layout(spot);
    NestOperand all{spot.slot, spot.dtype, spot.offset, {}};
    all.strides.assign(where.strides.begin(), where.strides.end());
    return plan::use_of(all, {where.dims.begin(), where.dims.end()});
  }

  [[nodiscard]] bool is_supported(const Nest& nest) const {
    return plan_.options.compiler->check(nest.program) &&
           std::ranges::all_of(nest.folds, [&](const Fold& fold) {
             return plan_.options.compiler->check(fold.program).has_value();
           });
  }

  std::optional<Nest> nest_of(const BoundCall& call) const {
    if (std::string_view(call.kernel) == "copy") return copy_of(call);
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
    if (init.constant == nullptr || layout(spot).dims.elements() != 1) return std::nullopt;
    std::uint64_t bits = 0;
    std::memcpy(&bits, init.constant + spot.offset, dtype_bytes(spot.dtype));
    return bits;
  }

  std::optional<Nest> copy_of(const BoundCall& call) const {
    Nest nest;
    add_write(nest, operand(call, 1));
    nest.reads.push_back(broadcast(operand(call, 0), layout(operand(call, 1))));
    if (nest.reads[0].dtype != nest.writes[0].dtype) return std::nullopt;
    nest.program = {.inputs = {nest.reads[0].dtype}, .instrs = {}, .results = {0}};
    return nest;
  }

  std::optional<Nest> pointwise_of(const BoundCall& call, const ir::Node& node) const {
    Nest nest;
    const Spot& to = operand(call, call.inputs);
    add_write(nest, to);
    // The operands of the call are those of the node that are there.
    std::vector<std::optional<DType>> dtypes;
    std::size_t present = 0;
    for (const ir::ValueId input : node.inputs)
      dtypes.push_back(input.valid() ? std::optional(operand(call, present++).dtype)
                                     : std::nullopt);
    if (present != call.inputs) return std::nullopt;
    const ScalarProgram program = ops::pointwise_program(*node.op, dtypes, node.attrs);
    // Constants move into the program.
    std::vector<std::int32_t> registers(call.inputs, -1);
    for (std::size_t i = 0; i < call.inputs; ++i) {
      if (constant(operand(call, i))) continue;
      registers[i] = static_cast<std::int32_t>(nest.reads.size());
      nest.reads.push_back(broadcast(operand(call, i), layout(to)));
      nest.program.inputs.push_back(operand(call, i).dtype);
    }
    for (std::size_t i = 0; i < call.inputs; ++i)
      if (const auto bits = constant(operand(call, i)))
        registers[i] = nest.program.append(
            {.op = ScalarOp::constant, .dtype = operand(call, i).dtype, .bits = *bits});
    for (ScalarInstr instr : program.instrs) {
      for (std::int32_t& arg : instr.args)
        if (arg >= 0) arg = registers[static_cast<std::size_t>(arg)];
      registers.push_back(nest.program.append(instr));
    }
    nest.program.results = {registers[static_cast<std::size_t>(program.results[0])]};
    return nest;
  }

  /// One result per element of the nest, folded over `fold`'s axes.
  void add_fold(Nest& nest, Fold fold) const {
    nest.program.inputs.push_back(fold.dtype);
    nest.program.results = {0};
    nest.folds.push_back(std::move(fold));
  }

  std::optional<Nest> reduce_of(const BoundCall& call, const ir::Node& node) const {
    const std::string_view kind = node.attrs[0].text();
    const tensor::Attr& axes = node.attrs[1];
    const bool keeps = node.attrs[2].integer() != 0;
    const Spot &from = operand(call, 0), &to = operand(call, call.inputs);
    const bool real = from.dtype == DType::f32 || from.dtype == DType::f64;
    if (call.inputs > 1 && operand(call, 1).present()) return std::nullopt;
    if (!real && kind != "sum" && kind != "max" && kind != "min") return std::nullopt;
    if (!real && dtype_bytes(from.dtype) < 4) return std::nullopt;
    Nest nest;
    Fold fold;
    fold.dtype = from.dtype;
    NestOperand read{from.slot, from.dtype, from.offset, {}},
        write{to.slot, to.dtype, to.offset, {}};
    std::vector<std::int64_t> inner;
    const Layout &x = layout(from), &y = layout(to);
    int result_axis = 0;
    std::int64_t count = 1;
    for (int axis = 0; axis < x.dims.rank(); ++axis) {
      const bool reduced =
          !axes.present() || std::ranges::any_of(axes.integers(), [&](std::int64_t given) {
            return given == axis || given + x.dims.rank() == axis;
          });
      const int own = result_axis;
      if (!reduced || keeps) ++result_axis;
      if (reduced) count *= x.dims[axis];
      if (x.dims[axis] == 1) continue;
      if (reduced) {
        fold.sizes.push_back(x.dims[axis]);
        inner.push_back(x.strides[axis]);
      } else {
        nest.sizes.push_back(x.dims[axis]);
        read.strides.push_back(x.strides[axis]);
        write.strides.push_back(y.strides[own]);
      }
    }
    if (count == 0) return std::nullopt;
    read.strides.insert(read.strides.end(), inner.begin(), inner.end());
    fold.reads.push_back(std::move(read));
    nest.writes.push_back(std::move(write));
    fold.program = {.inputs = {from.dtype}, .instrs = {}, .results = {0}};
    const auto each = [&](ScalarOp op, std::int32_t b) {
      fold.program.results = {
          fold.program.append({.op = op, .dtype = from.dtype, .args = {0, b, -1}})};
    };
    if (kind == "max") fold.kind = Fold::Kind::max;
    if (kind == "min") fold.kind = Fold::Kind::min;
    if (kind == "prod") fold.kind = Fold::Kind::prod;
    if (kind == "sum_square" || kind == "l2") each(ScalarOp::mul, 0);
    if (kind == "l1") each(ScalarOp::abs, -1);
    add_fold(nest, std::move(fold));
    if (kind == "mean") {
      const double size = static_cast<double>(count);
      std::uint64_t bits = 0;
      const auto narrow = static_cast<float>(size);
      if (from.dtype == DType::f32)
        std::memcpy(&bits, &narrow, sizeof narrow);
      else
        std::memcpy(&bits, &size, sizeof size);
      const std::int32_t divisor =
          nest.program.append({.op = ScalarOp::constant, .dtype = from.dtype, .bits = bits});
      nest.program.results = {nest.program.append(
          {.op = ScalarOp::div, .dtype = from.dtype, .args = {0, divisor, -1}})};
    }
    if (kind == "l2" || kind == "log_sum")
      nest.program.results = {
          nest.program.append({.op = kind == "l2" ? ScalarOp::sqrt : ScalarOp::log,
                               .dtype = from.dtype,
                               .args = {0, -1, -1}})};
    return nest;
  }

  std::optional<Nest> product_of(const BoundCall& call, const ir::Node& node) const {
    const Spot &a = operand(call, 0), &b = operand(call, 1), &to = operand(call, 2);
    if (dtype_bytes(a.dtype) < 4 || dtype_bytes(a.dtype) > 8) return std::nullopt;
    const std::vector<tensor::Operand> bound{bind(a), bind(b), bind(to)};
    const auto axes = tensor::contraction_of(node.attrs[0].text(), bound[0], bound[1], bound[2]);
    if (!axes) return std::nullopt;
    const std::int64_t results = axes->batch.elements() * axes->m.elements() * axes->n.elements();
    if (results * axes->k.elements() > kMostOfProduct || axes->k.elements() == 0)
      return std::nullopt;
    struct Kept {
      std::int64_t size, a, b, out;
    };
    std::vector<Kept> kept;
    for (const auto* list : {&axes->batch, &axes->m, &axes->n})
      for (const tensor::ContractionAxis& axis : list->view())
        kept.push_back({axis.size, axis.a, axis.b, axis.out});
    std::ranges::stable_sort(kept, [](const Kept& x, const Kept& y) { return x.out > y.out; });
    Nest nest;
    Fold fold{.kind = Fold::Kind::multiply_add,
              .dtype = a.dtype,
              .sizes = {},
              .program = {},
              .reads = {}};
    NestOperand left{a.slot, a.dtype, a.offset, {}}, right{b.slot, b.dtype, b.offset, {}},
        write{to.slot, to.dtype, to.offset, {}};
    for (const Kept& axis : kept) {
      nest.sizes.push_back(axis.size);
      left.strides.push_back(axis.a);
      right.strides.push_back(axis.b);
      write.strides.push_back(axis.out);
    }
    for (const tensor::ContractionAxis& axis : axes->k.view()) {
      fold.sizes.push_back(axis.size);
      left.strides.push_back(axis.a);
      right.strides.push_back(axis.b);
    }
    fold.reads = {std::move(left), std::move(right)};
    fold.program = {.inputs = {a.dtype, b.dtype}, .instrs = {}, .results = {0, 1}};
    nest.writes.push_back(std::move(write));
    add_fold(nest, std::move(fold));
    return nest;
  }

  /// Sizes and strides, without an address.
  [[nodiscard]] tensor::Operand bind(const Spot& spot) const {
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
