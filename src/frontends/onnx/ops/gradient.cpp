// Gradient (ai.onnx.preview.training 1): becomes a placeholder, which a higher layer expands.
#include <string_view>
#include <vector>

#include "frontends/onnx/ops/converters.h"
#include "ir/gradient_op.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Returns the value of a name that an attribute mentions.
Expected<ValueId> named_value(NodeCtx& ctx, std::string_view attribute, std::string_view name) {
  Binding* const binding = ctx.site().scope.find(ctx.reading().names.intern(name));
  if (binding == nullptr || binding->is_absent())
    return invalid_model("attribute '{}' names '{}', which nothing before this node produces",
                         attribute, shown_name(name));
  if (binding->poisoned)
    return invalid_model("attribute '{}' names '{}', which cannot be read", attribute,
                         shown_name(name));
  const ValueId value = binding->materialise(ctx.builder());
  if (ctx.module().value(value).name.empty()) ctx.module().value(value).name = shown_name(name);
  return value;
}

/// Appends the values of a list of names.
Expected<void> add_named(NodeCtx& ctx, std::string_view attribute, std::vector<ValueId>& values) {
  SCANLOOM_TRY(const AttributeProto* const list, ctx.attribute(attribute, AttributeKind::texts));
  if (list == nullptr) return {};
  for (const std::string_view name : list->texts) {
    SCANLOOM_TRY(values.emplace_back(), named_value(ctx, attribute, name));
  }
  return {};
}

}  // namespace

Expected<void> convert_gradient(NodeCtx& ctx) {
  SCANLOOM_TRY(const AttributeProto* const y, ctx.attribute("y", AttributeKind::text));
  if (y == nullptr) return invalid_model("attribute 'y' is missing");
  std::vector<ValueId> operands(1);
  SCANLOOM_TRY(operands[0], named_value(ctx, "y", y->text));
  SCANLOOM_CHECK_OK(add_named(ctx, "xs", operands));
  const std::size_t wrt = operands.size() - 1;
  SCANLOOM_CHECK_OK(add_named(ctx, "zs", operands));
  const std::size_t count = operands.size() - 1;
  if (wrt == 0) return invalid_model("attribute 'xs' is missing");
  if (static_cast<std::size_t>(ctx.input_count()) != count)
    return invalid_model("it has {} {}, but 'xs' and 'zs' name {}", ctx.input_count(),
                         ctx.input_count() == 1 ? "input" : "inputs", count);
  if (static_cast<std::size_t>(ctx.output_count()) > wrt)
    return invalid_model("it has {} outputs, but 'xs' names {}", ctx.output_count(), wrt);
  for (int i = 0; i < ctx.input_count(); ++i) {
    SCANLOOM_TRY(operands.emplace_back(), ctx.in(i));
  }
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ir::gradient_op, std::move(operands),
                                  {{"wrt", static_cast<std::int64_t>(wrt)}},
                                  static_cast<std::size_t>(ctx.output_count())));
  for (int i = 0; i < ctx.output_count(); ++i)
    ctx.set_output(i, ctx.module().node(node).outputs[static_cast<std::size_t>(i)]);
  return {};
}

}  // namespace scanloom::onnx
