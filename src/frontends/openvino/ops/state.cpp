// ReadValue and Assign: a variable is a state of the module.
#include <algorithm>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/types.h"
#include "ir/infer.h"

namespace scanloom::openvino {

using ir::ValueId;
using tensor::Tensor;
using tensor::Type;

namespace {

Expected<std::string> variable_of(LayerCtx& ctx) {
  std::string id = ctx.attributes.text("variable_id");
  if (id.empty()) return invalid_model("attribute 'variable_id' is missing");
  return id;
}

Variable* find_variable(LayerCtx& ctx, const std::string& id) {
  auto& variables = ctx.reading().variables;
  const auto found = std::ranges::find(variables, id, &Variable::id);
  return found == variables.end() ? nullptr : &*found;
}

/// Error: the layer's declaration contradicts that of another layer of the variable.
Expected<void> check_declared(LayerCtx& ctx, const std::string& id, const Type& variable) {
  const std::string word = ctx.attributes.text("variable_type", "dynamic");
  DType dtype = variable.dtype;
  if (!is_dynamic_type(word)) {
    SCANLOOM_TRY(dtype, ctx.attributes.dtype("variable_type"));
  }
  SCANLOOM_TRY(const Type own,
               type_of(dtype, ctx.attributes.text("variable_shape", "..."), ctx.module().dims));
  if (may_be_equal(own, variable)) return {};
  return invalid_model("variable '{}' is {} here, but {} where it was read before", id,
                       to_string(own, ctx.module().dims), to_string(variable, ctx.module().dims));
}

Expected<void> check_first(LayerCtx& ctx, const std::string& id, const Type& type, ValueId first) {
  if (!first.valid() || may_be_equal(ctx.type(first), type)) return {};
  return invalid_model("variable '{}' is {}, but begins as {}", id,
                       to_string(type, ctx.module().dims), describe_type(ctx, first));
}

/// Returns the stored value, or `first` if there is none; a branch, so only one of them is
/// computed.
Expected<ValueId> kept_or(LayerCtx& ctx, const Variable& variable, ValueId first) {
  ir::Module& module = ctx.module();
  const ir::NodeId branch =
      module.add_node(ctx.builder().region(), ir::branch_op,
                      {variable.is_kept, variable.argument, first}, {}, {}, ctx.site().location);
  for (std::size_t side = 0; side < 2; ++side) {
    const ir::RegionId region = module.add_region(branch, side == 0 ? "kept" : "first");
    module.node(branch).regions.push_back(region);
    ValueId arguments[2];
    arguments[0] = module.add_argument(region, ctx.type(variable.argument));
    arguments[1] = module.add_argument(region, ctx.type(first));
    module.region(region).yields.push_back(arguments[side]);
  }
  return module.add_output(branch,
                           ir::join(ctx.type(variable.argument), ctx.type(first), module.dims));
}

/// A variable that bodies read or assign must start with a constant, because a value computed in a
/// body does not exist before its first step.
Expected<void> read_in_bodies(LayerCtx& ctx, const std::string& id, ValueId first) {
  if (first.valid() && ctx.constant(0) == nullptr)
    return fail(Code::unsupported,
                "variable '{}' is used in bodies, but its initial value is computed", id)
        .note("give it a constant as its initial value");
  SCANLOOM_TRY(const ValueId value, entered_value(ctx.reading(), id));
  Variable& variable = *find_variable(ctx, id);
  if (first.valid() && !variable.has_initial) {
    SCANLOOM_CHECK_OK(check_first(ctx, id, ctx.type(variable.argument), first));
    variable.initial = *ctx.constant(0);
    variable.has_initial = true;
  }
  ctx.set_output(0, Binding::of(value));
  return {};
}

}  // namespace

Expected<void> convert_read_value(LayerCtx& ctx) {
  SCANLOOM_TRY(const std::string id, variable_of(ctx));
  SCANLOOM_TRY(const ValueId first, ctx.optional_in(0));
  if (ctx.reading().variable_uses.in_bodies(id)) return read_in_bodies(ctx, id, first);
  Variable* variable = find_variable(ctx, id);
  if (variable == nullptr) {
    Variable made;
    made.id = id;
    SCANLOOM_TRY(const VariableType found, variable_type(ctx.reading(), id, first));
    made.is_guessed = found.is_guessed;
    SCANLOOM_CHECK_OK(check_first(ctx, id, found.type, first));
    if (const Tensor* const known = ctx.constant(0)) {
      made.initial = *known;
    } else {
      SCANLOOM_TRY(made.initial, initial_zeros(id, found.begins));
    }
    ir::Module& module = ctx.module();
    made.argument = module.add_argument(module.top(), found.type, id);
    if (first.valid() && ctx.constant(0) == nullptr)
      made.is_kept = module.add_argument(module.top(), Type::scalar(DType::boolean), id + "/kept");
    ctx.reading().variables.push_back(std::move(made));
    variable = &ctx.reading().variables.back();
  }
  SCANLOOM_CHECK_OK(check_declared(ctx, id, ctx.type(variable->argument)));
  SCANLOOM_CHECK_OK(check_first(ctx, id, ctx.type(variable->argument), first));
  if (!variable->is_kept.valid()) {
    ctx.set_output(0, Binding::of(variable->argument));
    return {};
  }
  SCANLOOM_TRY(const ValueId value, kept_or(ctx, *variable, first));
  variable->read = value;
  ctx.set_output(0, Binding::of(value));
  return {};
}

Expected<void> convert_assign(LayerCtx& ctx) {
  SCANLOOM_TRY(const std::string id, variable_of(ctx));
  SCANLOOM_TRY(const ValueId value, ctx.in(0));
  SCANLOOM_CHECK_OK(assign_variable(ctx.reading(), id, value));
  if (ctx.output_count() > 0) ctx.alias_output();
  return {};
}

}  // namespace scanloom::openvino
