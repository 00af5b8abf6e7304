#include "plan/bind/pipelined_projection.h"

#include <algorithm>

#include "kernels/pipelined_projection.h"
#include "ops/ops.h"
#include "plan/bind/parallel_steps.h"
#include "plan/bind/projection.h"

namespace scanloom::plan {
namespace {

/// The calls that compute all rows that a loop scans, by index in Binding::calls.
struct ProjectionCalls {
  std::uint32_t product = 0;
  std::optional<std::uint32_t> sum;
  const float* bias = nullptr;  ///< of the sum
};

/// A call in the form in which kernels are asked about it.
struct KernelQuestion {
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

void run_by(BoundCall& call, const kernels::PipelinedCall& with) {
  call.run = with.run;
  call.prepared = with.prepared;
  call.pipelined.products = with.products;
  call.pipelined.bytes = with.bytes;
}

/// Pipelines the projections of one loop.
class ProjectionPipeline {
 public:
  ProjectionPipeline(BindContext& ctx, InstructionScope& end, BoundLoop& loop)
      : ctx_(ctx),
        end_(end),
        loop_(loop),
        node_(ctx.module.node(loop.node)),
        binding_(ctx.builder.binding()) {}

  /// Makes the steps compute the rows of that scanned port. Returns false if they cannot.
  bool pipeline(std::size_t port) {
    const auto projection = calls_of_port(port);
    return projection && pipeline(port, *projection);
  }

 private:
  [[nodiscard]] std::span<const Spot> spots_of_call(const BoundCall& call) const {
    return std::span<const Spot>(binding_.operands).subspan(call.first_operand);
  }

  /// Returns the calls of products that every step executes.
  [[nodiscard]] std::vector<std::uint32_t> products_of_step() const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t at = loop_.body; at < ctx_.builder.next(); at = end_of_block(binding_, at)) {
      const Instruction& instruction = binding_.code[at];
      if (instruction.op == Op::call &&
          binding_.calls[instruction.index].kernel == kernels::KernelId::contract)
        found.push_back(instruction.index);
    }
    return found;
  }

  /// Returns the call that was bound for a node, if that kernel runs it.
  [[nodiscard]] std::optional<std::uint32_t> call_of(ir::NodeId node,
                                                     kernels::KernelId kernel) const {
    for (std::size_t call = binding_.calls.size(); call-- > 0;)
      if (const BoundCall& bound = binding_.calls[call];
          bound.node == node && !bound.is_copy && bound.kernel == kernel)
        return static_cast<std::uint32_t>(call);
    return std::nullopt;
  }

  /// Whether the value is made before all loops, for one reader.
  [[nodiscard]] bool is_made_for_one(ir::ValueId value) const {
    const ir::NodeId producer = ctx_.module.value(value).producer;
    return ctx_.module.node(producer).parent == ctx_.module.top() &&
           ctx_.uses_of_elements[value.index] == 1;
  }

  /// Returns the data of a constant with one element per column of the rows; otherwise null.
  const float* bias_of(ir::ValueId value, ir::ValueId rows) {
    if (!ctx_.values.is_static(value) || ctx_.values.is_object(value)) return nullptr;
    const Spot spot = ctx_.values.at(value).spot;
    if (!is_static_tensor(spot) || spot.dtype != DType::f32) return nullptr;
    const std::byte* data = binding_.slots[static_cast<std::size_t>(spot.slot)].constant;
    const Layout& layout = ctx_.builder.layout(spot);
    const tensor::Shape dims = layout.dims, all = ctx_.values.type(rows).shape();
    const bool fits = data != nullptr && layout.contiguous && dims.rank() > 0 &&
                      dims.elements() == all[all.rank() - 1] &&
                      dims[dims.rank() - 1] == dims.elements();
    return fits ? reinterpret_cast<const float*>(data + spot.offset) : nullptr;
  }

  /// The calls of a projection, where its results are for the loop alone.
  std::optional<ProjectionCalls> calls_of(const Projection& nodes, ir::ValueId rows) {
    const auto product = call_of(nodes.product, kernels::KernelId::contract);
    if (!product || !is_made_for_one(rows) || !is_made_for_one(nodes.rows)) return std::nullopt;
    if (!nodes.sum.valid()) return ProjectionCalls{.product = *product};
    const auto sum = call_of(nodes.sum, kernels::KernelId::pointwise);
    if (!sum || !ctx_.values.is_static(nodes.rows) ||
        ctx_.values.type(nodes.rows).shape() != ctx_.values.type(rows).shape())
      return std::nullopt;
    const float* const bias = bias_of(nodes.bias, rows);
    if (bias == nullptr) return std::nullopt;
    return ProjectionCalls{.product = *product, .sum = sum, .bias = bias};
  }

  [[nodiscard]] ir::ValueId rows_of(std::size_t port) const {
    return node_.inputs[node_.loop->first_scanned_input() + port];
  }

  /// Returns the calls that compute the port's rows, if nothing else reads them.
  std::optional<ProjectionCalls> calls_of_port(std::size_t i) {
    const BoundScanned& port = loop_.scanned[i];
    if (port.slices.part != 1 || !is_static_tensor(port.outer)) return std::nullopt;
    const auto nodes = projection_of(ctx_.module, ctx_.inference, rows_of(i));
    const auto found = nodes ? calls_of(*nodes, rows_of(i)) : std::nullopt;
    if (!found) return std::nullopt;
    const BoundCall& call = binding_.calls[found->sum.value_or(found->product)];
    const Spot& made = spots_of_call(call)[call.inputs];
    const Layout &own = ctx_.builder.layout(made), &walked = ctx_.builder.layout(port.outer);
    const bool same = made.slot == port.outer.slot && made.buffer == port.outer.buffer &&
                      made.offset == port.outer.offset && own.strides == walked.strides;
    return same && own.contiguous ? found : std::nullopt;
  }

  [[nodiscard]] KernelQuestion question_of(std::uint32_t index) const {
    const BoundCall& call = binding_.calls[index];
    const std::span<const Spot> spots = spots_of_call(call);
    KernelQuestion asked{
        .inputs = operands_of(ctx_.builder.binding(), spots.first(call.inputs)),
        .outputs = operands_of(ctx_.builder.binding(), spots.subspan(call.inputs, call.outputs)),
        .attrs = ctx_.module.node(call.node).attrs};
    bool of_plan = false;
    asked.constants = constants_of(ctx_.builder.binding(), spots.first(call.inputs), of_plan);
    if (of_plan) asked.packs = &ctx_.plan->packs;
    return asked;
  }

  /// Returns the rows that a block's product reads, if other nodes computed them for all steps.
  [[nodiscard]] const BlockInput* input_of_block(std::uint32_t product) const {
    const BoundCall& call = binding_.calls[product];
    for (const BlockInput& input : loop_.blocks.inputs)
      for (const Spot& spot : spots_of_call(call).first(call.inputs))
        if (spot.slot == input.slot && spot.offset == 0) return &input;
    return nullptr;
  }

  std::optional<kernels::PipelinedCalls> ask_kernel(std::size_t port,
                                                    const ProjectionCalls& projection,
                                                    const std::vector<std::uint32_t>& products,
                                                    std::int64_t rows, std::int64_t steps) const {
    std::vector<KernelQuestion> asked;
    for (const std::uint32_t index : products) asked.push_back(question_of(index));
    std::vector<kernels::PrepareCtx> ctxs;
    for (const KernelQuestion& question : asked) ctxs.push_back(question.ctx());
    const KernelQuestion of_all = question_of(projection.product);
    const BoundScanned& walk = loop_.scanned[port];
    return kernels::pipelined_projection(of_all.ctx(), projection.bias,
                                         {walk.first_bytes, walk.step_bytes, rows, steps}, ctxs);
  }

  bool pipeline(std::size_t port, const ProjectionCalls& projection) {
    const std::vector<std::uint32_t> products = products_of_step();
    const BoundScanned& walk = loop_.scanned[port];
    const ir::ValueId value = rows_of(port);
    const BlockInput* const input = input_of_block(projection.product);
    const std::int64_t steps = ctx_.values.type(value).shape()[static_cast<int>(walk.slices.axis)];
    const bool in_blocks = !loop_.blocks.ports.empty() && loop_.blocks.ports[port];
    const std::int64_t rows = in_blocks ? loop_.blocks.steps : steps;
    const auto made = ask_kernel(port, projection, products, rows, input != nullptr ? steps : rows);
    if (!made) return false;
    const Location x = operand_with_rows(projection.product, made->a_input);
    const Location rows_at = ctx_.values.at(value);
    // Where the first row of all is; binding keeps alive what blocks read.
    const Location whole = input != nullptr ? Location{input->from, {}} : x;
    make_first_rows(projection, made->first_rows, whole, rows_at);
    for (std::size_t i = 0; i < products.size(); ++i) {
      if (made->steps[i].run == nullptr) continue;
      BoundCall& call = binding_.calls[products[i]];
      const std::span<const Spot> spots = spots_of_call(call);
      const std::vector<Location> inputs{
          {spots[0], {}}, {spots[1], {}}, x, {walk.argument, rows_at.buffers}, whole};
      call.first_operand = end_.operands(inputs, {{spots[2], {}}, rows_at});
      call.inputs = 5;
      call.outputs = 2;
      call.pipelined.node = ctx_.module.value(value).producer;
      run_by(call, made->steps[i]);
    }
    // The note of the blocks is of this port.
    const bool noted = rows < steps && std::ranges::count(loop_.blocks.ports, true) == 1;
    loop_.notes.rows_made += noted ? ", pipelined with the steps"
                                   : fmt::format("; rows of {} are pipelined with the steps",
                                                 ctx_.module.describe(value));
    return true;
  }

  /// The operand of the product that has a row for every step.
  Location operand_with_rows(std::uint32_t product, int a_input) {
    const BoundCall& call = binding_.calls[product];
    const auto a = static_cast<std::uint32_t>(a_input);
    const Spot spot = spots_of_call(call)[a];
    Location x = ctx_.values.at(ctx_.module.node(call.node).inputs[a]);
    // What lay otherwise than kernels want it has been copied.
    if (spot.buffer != kNone && x.spot.buffer != spot.buffer) x.buffers = {spot.buffer};
    x.spot = spot;  // of a block, where rows are made in blocks
    return x;
  }

  /// Where the rows are made: before that, their memory may be another value's.
  void make_first_rows(const ProjectionCalls& projection, const kernels::PipelinedCall& with,
                       const Location& whole, const Location& rows) {
    BoundCall& product = binding_.calls[projection.product];
    BoundCall& first = binding_.calls[projection.sum.value_or(projection.product)];
    const std::span<const Spot> spots = spots_of_call(product);
    first.first_operand = end_.operands({{spots[0], {}}, {spots[1], {}}, whole}, {rows});
    first.inputs = 3;
    first.outputs = 1;
    first.kernel = product.kernel;
    run_by(first, with);
    if (!projection.sum) return;
    const Spot& made = spots_of_call(product)[product.inputs];
    if (made.buffer != kNone && made.buffer != rows.spot.buffer) ctx_.builder.drop(made.buffer);
    product.kernel = CallKernel::nothing();
    product.run = tensor::do_nothing;
    product.inputs = product.outputs = 0;
  }

  BindContext& ctx_;
  InstructionScope& end_;
  BoundLoop& loop_;
  const ir::Node& node_;
  Binding& binding_;
};

}  // namespace

void pipeline_projection(BindContext& ctx, InstructionScope& end, BoundLoop& loop) {
  if (ctx.builder.loop_depth() != 1 || ctx.module.node(loop.node).parent != ctx.module.top() ||
      parallel_steps(ctx.module, loop.node, ctx.inference, ctx.values.uses()))
    return;
  ProjectionPipeline pipeline(ctx, end, loop);
  for (std::size_t i = 0; i < loop.scanned.size(); ++i)
    if (pipeline.pipeline(i)) return;
}

}  // namespace scanloom::plan
