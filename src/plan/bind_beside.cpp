// Products of a recurrent loop's inputs, made beside those of its state
// (kernels/contract_beside.h). Both have been bound as usual; here their calls are replaced. The
// rows of the first lie where they did: those of the first steps are made before the loop, the
// others by its steps, each long before the loop reads it. Nothing else reads them.
#include <algorithm>

#include "kernels/contract_beside.h"
#include "ops/ops.h"
#include "plan/binder.h"
#include "plan/independent_steps.h"

namespace scanloom::plan {
namespace {

bool is_product(const BoundCall& call) {
  return !call.is_copy && std::string_view(call.kernel) == "contract";
}

/// Behind both sides.
std::uint32_t end_of(const Binding& binding, const BoundBranch& branch) {
  return binding.code[branch.otherwise - 1].index;
}

/// Of the products that every step makes, the calls.
std::vector<std::uint32_t> products_of_step(const Binding& binding, std::uint32_t body) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t at = body; at < binding.code.size(); ++at) {
    const Instruction& instruction = binding.code[at];
    if (instruction.op == Op::branch)
      at = end_of(binding, binding.branches[instruction.index]) - 1;
    else if (instruction.op == Op::loop_begin)
      at = binding.loops[instruction.index].exit - 1;
    else if (instruction.op == Op::call && is_product(binding.calls[instruction.index]))
      found.push_back(instruction.index);
  }
  return found;
}

}  // namespace

/// The call that makes all rows that port i of the loop walks over, and that nothing else reads.
std::optional<std::uint32_t> Binder::product_of_all_steps(const BoundLoop& loop,
                                                          std::size_t i) const {
  const ir::Node& node = module_.node(loop.node);
  const ir::ValueId rows = node.inputs[node.loop->first_scanned_input() + i];
  const ir::NodeId producer = module_.value(rows).producer;
  const BoundScanned& port = loop.scanned[i];
  if (!producer.valid() || module_.node(producer).op != &ops::contract_op ||
      module_.node(producer).parent != module_.top() || uses_[rows.index] != 1 ||
      port.slices.part != 1 || port.outer.is_dynamic() || port.outer.is_object())
    return std::nullopt;
  for (std::size_t call = out_->calls.size(); call-- > 0;) {
    const BoundCall& bound = out_->calls[call];
    if (bound.node != producer || !is_product(bound)) continue;
    const Spot& made = out_->operands[bound.first_operand + bound.inputs];
    const bool same = made.slot == port.outer.slot && made.buffer == port.outer.buffer &&
                      made.offset == port.outer.offset && made.layout == port.outer.layout;
    return same ? std::optional(static_cast<std::uint32_t>(call)) : std::nullopt;
  }
  return std::nullopt;
}

/// A call as kernels are asked about it.
struct Binder::Question {
  std::vector<tensor::Operand> inputs, outputs;
  std::vector<const void*> constants;
  std::span<const tensor::Attr> attrs;
  kernels::PackCache* packs = nullptr;

  [[nodiscard]] kernels::PrepareCtx ctx() const {
    return {.inputs = inputs,
            .outputs = outputs,
            .constants = constants,
            .attrs = attrs,
            .packs = packs};
  }
};

Binder::Question Binder::question_of(std::uint32_t index) {
  const BoundCall& call = out_->calls[index];
  const std::span<const Spot> spots = std::span(out_->operands).subspan(call.first_operand);
  Question asked{.inputs = operands_of(spots.first(call.inputs)),
                 .outputs = operands_of(spots.subspan(call.inputs, call.outputs)),
                 .attrs = module_.node(call.node).attrs};
  bool of_plan = false;
  asked.constants = constants_of(spots.first(call.inputs), of_plan);
  if (of_plan) asked.packs = &plan_->packs;
  return asked;
}

void Binder::make_beside(BoundLoop& loop) {
  const ir::Node& node = module_.node(loop.node);
  if (loop_depth_ != 1 || node.parent != module_.top() ||
      independent_steps(module_, loop.node, inference_, uses_))
    return;
  for (std::size_t i = 0; i < loop.scanned.size(); ++i) {
    const auto all = product_of_all_steps(loop, i);
    if (all && make_beside(loop, i, *all)) return;
  }
}

bool Binder::make_beside(BoundLoop& loop, std::size_t port, std::uint32_t all) {
  const std::vector<std::uint32_t> steps = products_of_step(*out_, loop.body);
  std::vector<Question> asked;
  for (const std::uint32_t index : steps) asked.push_back(question_of(index));
  const Question asked_of_all = question_of(all);
  std::vector<kernels::PrepareCtx> ctxs;
  for (const Question& question : asked) ctxs.push_back(question.ctx());
  const BoundScanned& walk = loop.scanned[port];
  const auto made =
      kernels::contract_beside(asked_of_all.ctx(), {walk.first_bytes, walk.step_bytes}, ctxs);
  if (!made) return false;
  BoundCall& first_rows = out_->calls[all];
  const ir::Node& product = module_.node(first_rows.node);
  const auto a = static_cast<std::uint32_t>(made->a_input);
  const Spot x_spot = out_->operands[first_rows.first_operand + a];
  Location x = location(product.inputs[a]);
  // What lay otherwise than kernels want it has been copied.
  if (x.spot.buffer != x_spot.buffer) x = {x_spot, {x_spot.buffer}};
  const Location rows = location(product.outputs[0]);
  replace_call(first_rows, made->first_rows);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (made->steps[i].run == nullptr) continue;
    BoundCall& call = out_->calls[steps[i]];
    const std::span<const Spot> spots = std::span(out_->operands).subspan(call.first_operand);
    const std::vector<Location> inputs{
        {spots[0], {}}, {spots[1], {}}, x, {walk.argument, rows.buffers}};
    call.first_operand = add_operands(inputs, {{spots[2], {}}, rows});
    call.inputs = 4;
    call.outputs = 2;
    replace_call(call, made->steps[i]);
  }
  loop.made_beside =
      fmt::format("rows of {} are made beside its steps", module_.describe(product.outputs[0]));
  return true;
}

void Binder::replace_call(BoundCall& call, const kernels::BesideCall& with) {
  call.run = with.run;
  call.prepared = with.prepared;
  call.products_beside = with.products;
  call.bytes_beside = with.bytes;
}

}  // namespace scanloom::plan
