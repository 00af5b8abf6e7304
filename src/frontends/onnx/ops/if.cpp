// Converts If to the branch node. Both regions receive every value that either of them reads.
#include "frontends/onnx/body.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/types.h"
#include "ir/infer.h"
#include "ops/ops.h"

namespace scanloom::onnx {
namespace {

class OpenIf : public OpenNode {
 public:
  explicit OpenIf(ir::NodeId branch) : branch_(branch) {}

  Expected<void> finish(NodeCtx& ctx, std::vector<BodyResult> results) override {
    ir::Module& module = ctx.module();
    for (std::size_t i = 0; i < results[0].outputs.size(); ++i) {
      ir::ValueId sides[2];
      for (std::size_t side = 0; side < 2; ++side) {
        sides[side] = results[side].value(i);
        module.region(results[side].builder->region()).yields.push_back(sides[side]);
      }
      const tensor::Type &then_type = ctx.type(sides[0]), &else_type = ctx.type(sides[1]);
      if (then_type.dtype != else_type.dtype || then_type.wraps != else_type.wraps)
        return invalid_model("output {} is {} in then_branch and {} in else_branch", i,
                             describe_elements(then_type), describe_elements(else_type));
      ctx.set_output(static_cast<int>(i),
                     module.add_output(branch_, ir::join(then_type, else_type, module.dims)));
    }
    return {};
  }

 private:
  ir::NodeId branch_;
};

Expected<void> check_condition(NodeCtx& ctx, ir::ValueId condition) {
  const tensor::Type& type = ctx.type(condition);
  if (!type.is_tensor() || type.dtype != DType::boolean)
    return invalid_model("{} is {}, but a boolean is needed", ctx.describe_input(0),
                         describe_elements(type));
  return check_one_element(ctx.describe_input(0), type);
}

}  // namespace

Expected<void> convert_if(NodeCtx& ctx) {
  SCANLOOM_TRY(const ir::ValueId condition, ctx.in(0));
  SCANLOOM_CHECK_OK(check_condition(ctx, condition));
  SCANLOOM_TRY(const Body then_body, Body::of(ctx, "then_branch"));
  SCANLOOM_TRY(const Body else_body, Body::of(ctx, "else_branch"));
  const auto outputs = static_cast<std::size_t>(ctx.output_count());
  SCANLOOM_CHECK_OK(then_body.check_counts(ctx, 0, "branches read outer names", outputs,
                                           "the outputs of the node"));
  SCANLOOM_CHECK_OK(else_body.check_counts(ctx, 0, "branches read outer names", outputs,
                                           "the outputs of the node"));
  const Captures captures(ctx);
  std::vector<ir::ValueId> operands = {condition};
  operands.insert(operands.end(), captures.operands().begin(), captures.operands().end());
  const ir::NodeId branch = ctx.module().add_node(ctx.builder().region(), ir::branch_op,
                                                  std::move(operands), {}, {}, ctx.site().location);
  auto open = std::make_unique<OpenIf>(branch);
  for (const Body* const body : {&then_body, &else_body}) {
    BodyRequest request = request_body(ctx, *body, branch);
    captures.enter(ctx, *body, request);
    open->bodies.push_back(std::move(request));
  }
  ctx.open(std::move(open));
  return {};
}

}  // namespace scanloom::onnx
