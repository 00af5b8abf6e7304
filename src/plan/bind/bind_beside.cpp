// Products of a recurrent loop's inputs, made beside those of its state
// (kernels/contract_beside.h). Both have been bound as usual; here their calls are replaced. The
// rows of the first lie where they did: those of the first steps are made before the loop, or
// before a block, the others by its steps, each long before the loop reads it. Nothing else reads
// them.
#include <algorithm>

#include "kernels/contract_beside.h"
#include "ops/ops.h"
#include "plan/bind/binder.h"
#include "plan/bind/independent_steps.h"

namespace scanloom::plan {
namespace {

bool is_product(const BoundCall& call) {
  return !call.is_copy && std::string_view(call.kernel) == "contract";
}

/// Of the products that every step makes, the calls.
std::vector<std::uint32_t> products_of_step(const Binding& binding, std::uint32_t body) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t at = body; at < binding.code.size(); at = end_of_block(binding, at)) {
    const Instruction& instruction = binding.code[at];
    if (instruction.op == Op::call && is_product(binding.calls[instruction.index]))
      found.push_back(instruction.index);
  }
  return found;
}

}  // namespace

/// What makes all rows that a loop walks over: a product, and perhaps a call that adds a constant
/// to its columns.
struct Binder::AllSteps {
  std::uint32_t product = 0;
  std::optional<std::uint32_t> sum;
  const float* bias = nullptr;
};

/// The one call that was bound for a node, by that kernel.
std::optional<std::uint32_t> Binder::call_of(ir::NodeId node, std::string_view kernel) const {
  for (std::size_t call = out_->calls.size(); call-- > 0;)
    if (const BoundCall& bound = out_->calls[call];
        bound.node == node && !bound.is_copy && bound.kernel == kernel)
      return static_cast<std::uint32_t>(call);
  return std::nullopt;
}

std::optional<std::uint32_t> Binder::product_call(ir::ValueId rows) const {
  const ir::NodeId producer = module_.value(rows).producer;
  const bool fits = producer.valid() && module_.node(producer).op == &ops::contract_op &&
                    module_.node(producer).parent == module_.top() &&
                    uses_of_elements_[rows.index] == 1;
  return fits ? call_of(producer, "contract") : std::nullopt;
}

/// The data of a constant that has one element for each column of the rows; else null.
const float* Binder::bias_of(ir::ValueId value, ir::ValueId rows) {
  if (!is_static(value) || is_object(value)) return nullptr;
  const Spot spot = location(value).spot;
  if (!spot.present() || spot.is_dynamic() || spot.dtype != DType::f32) return nullptr;
  const std::byte* data = out_->slots[static_cast<std::size_t>(spot.slot)].constant;
  const tensor::Shape dims = layout(spot).dims, all = type(rows).shape();
  const bool fits = data != nullptr && layout(spot).contiguous && dims.rank() > 0 &&
                    dims.elements() == all[all.rank() - 1] &&
                    dims[dims.rank() - 1] == dims.elements();
  return fits ? reinterpret_cast<const float*>(data + spot.offset) : nullptr;
}

/// Of the rows that port i of the loop walks over, where nothing else reads them.
std::optional<Binder::AllSteps> Binder::all_steps(const BoundLoop& loop, std::size_t i) {
  const ir::Node& node = module_.node(loop.node);
  const ir::ValueId rows = node.inputs[node.loop->first_scanned_input() + i];
  const BoundScanned& port = loop.scanned[i];
  if (port.slices.part != 1 || port.outer.is_dynamic() || port.outer.is_object())
    return std::nullopt;
  AllSteps found;
  std::uint32_t last = 0;
  if (const auto product = product_call(rows)) {
    last = found.product = *product;
  } else {
    const ir::NodeId sum = module_.value(rows).producer;
    if (!sum.valid() || module_.node(sum).op != &ops::add_op ||
        module_.node(sum).parent != module_.top() || uses_of_elements_[rows.index] != 1)
      return std::nullopt;
    const std::vector<ir::ValueId>& terms = module_.node(sum).inputs;
    const std::size_t at = product_call(terms[0]) ? 0 : 1;
    const auto product_of_sum = product_call(terms[at]);
    found.sum = call_of(sum, "pointwise");
    if (!product_of_sum || !found.sum || !is_static(terms[at]) ||
        type(terms[at]).shape() != type(rows).shape())
      return std::nullopt;
    found.bias = bias_of(terms[1 - at], rows);
    if (found.bias == nullptr) return std::nullopt;
    found.product = *product_of_sum;
    last = *found.sum;
  }
  const BoundCall& call = out_->calls[last];
  const Spot& made = out_->operands[call.first_operand + call.inputs];
  const bool same = made.slot == port.outer.slot && made.buffer == port.outer.buffer &&
                    made.offset == port.outer.offset &&
                    layout(made).strides == layout(port.outer).strides;
  return same && layout(made).contiguous ? std::optional(found) : std::nullopt;
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

/// Of the rows that a product of a block reads, where others have made them for all steps.
const BlockInput* Binder::input_of_block(const BoundLoop& loop, std::uint32_t product) const {
  const BoundCall& call = out_->calls[product];
  for (const BlockInput& input : loop.blocks.inputs)
    for (std::uint32_t i = 0; i < call.inputs; ++i) {
      const Spot& spot = out_->operands[call.first_operand + i];
      if (spot.slot == input.slot && spot.offset == 0) return &input;
    }
  return nullptr;
}

void Binder::make_beside(BoundLoop& loop) {
  const ir::Node& node = module_.node(loop.node);
  if (loop_depth_ != 1 || node.parent != module_.top() ||
      independent_steps(module_, loop.node, inference_, uses_))
    return;
  for (std::size_t i = 0; i < loop.scanned.size(); ++i) {
    const auto all = all_steps(loop, i);
    if (all && make_beside(loop, i, *all)) return;
  }
}

bool Binder::make_beside(BoundLoop& loop, std::size_t port, const AllSteps& all) {
  const std::vector<std::uint32_t> products = products_of_step(*out_, loop.body);
  std::vector<Question> asked;
  for (const std::uint32_t index : products) asked.push_back(question_of(index));
  const Question asked_of_all = question_of(all.product);
  std::vector<kernels::PrepareCtx> ctxs;
  for (const Question& question : asked) ctxs.push_back(question.ctx());
  const BoundScanned& walk = loop.scanned[port];
  const ir::Node& node = module_.node(loop.node);
  const ir::ValueId rows_value = node.inputs[node.loop->first_scanned_input() + port];
  const BlockInput* const input = input_of_block(loop, all.product);
  const std::int64_t steps = type(rows_value).shape()[static_cast<int>(walk.slices.axis)];
  const std::int64_t rows =
      loop.blocks.ports.empty() || !loop.blocks.ports[port] ? steps : loop.blocks.steps;
  const auto made = kernels::contract_beside(
      asked_of_all.ctx(), all.bias,
      {walk.first_bytes, walk.step_bytes, rows, input != nullptr ? steps : rows}, ctxs);
  if (!made) return false;
  const BoundCall& product = out_->calls[all.product];
  const auto a = static_cast<std::uint32_t>(made->a_input);
  const Spot x_spot = out_->operands[product.first_operand + a];
  Location x = location(module_.node(product.node).inputs[a]);
  // What lay otherwise than kernels want it has been copied.
  if (x_spot.buffer != kNone && x.spot.buffer != x_spot.buffer) x.buffers = {x_spot.buffer};
  x.spot = x_spot;  // of a block, where rows are made in blocks
  const Location rows_at = location(rows_value);
  // Where the first row of all is; binding keeps alive what blocks read.
  const Location whole = input != nullptr ? Location{input->from, {}} : x;
  make_first_rows(all, made->first_rows, whole, rows_at);
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (made->steps[i].run == nullptr) continue;
    BoundCall& call = out_->calls[products[i]];
    const std::span<const Spot> spots = std::span(out_->operands).subspan(call.first_operand);
    const std::vector<Location> inputs{
        {spots[0], {}}, {spots[1], {}}, x, {walk.argument, rows_at.buffers}, whole};
    call.first_operand = add_operands(inputs, {{spots[2], {}}, rows_at});
    call.inputs = 5;
    call.outputs = 2;
    call.node_beside = module_.value(rows_value).producer;
    replace_call(call, made->steps[i]);
  }
  // The note of the blocks is of this port.
  const bool noted = rows < steps && std::ranges::count(loop.blocks.ports, true) == 1;
  loop.notes.rows_made +=
      noted ? ", beside the steps"
            : fmt::format("; rows of {} are made beside the steps", module_.describe(rows_value));
  return true;
}

/// Where the rows are made: before that, their memory may be another value's.
void Binder::make_first_rows(const AllSteps& all, const kernels::BesideCall& with,
                             const Location& whole, const Location& rows) {
  BoundCall& product = out_->calls[all.product];
  BoundCall& first = out_->calls[all.sum.value_or(all.product)];
  const std::span<const Spot> spots = std::span(out_->operands).subspan(product.first_operand);
  first.first_operand = add_operands({{spots[0], {}}, {spots[1], {}}, whole}, {rows});
  first.inputs = 3;
  first.outputs = 1;
  first.kernel = product.kernel;
  replace_call(first, with);
  if (!all.sum) return;
  const Spot& made = out_->operands[product.first_operand + product.inputs];
  if (made.buffer != kNone && made.buffer != rows.spot.buffer) arena_.drop(made.buffer);
  product.kernel = "nothing";
  product.run = tensor::do_nothing;
  product.inputs = product.outputs = 0;
}

void Binder::replace_call(BoundCall& call, const kernels::BesideCall& with) {
  call.run = with.run;
  call.prepared = with.prepared;
  call.products_beside = with.products;
  call.bytes_beside = with.bytes;
}

}  // namespace scanloom::plan
