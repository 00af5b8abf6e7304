#include "frontends/onnx/node_outputs.h"

#include "frontends/onnx/types.h"
#include "frontends/onnx/unique_names.h"

namespace scanloom::onnx {
namespace {

using tensor::Type;

Expected<void> check_declared(const ImportState& state, const GraphFrame& frame, NameId name,
                              ir::ValueId id) {
  const auto found = frame.declared.find(name.index);
  if (found == frame.declared.end()) return {};
  const std::string_view text = state.reading.names.text(name);
  Expected<Type> declared = make_type(*found->second, state.reading.module.dims);
  if (!declared) return std::move(declared).error().at(fmt::format("the type of '{}'", text));
  Type& actual = state.reading.module.value(id).type;
  if (declared->dtype != actual.dtype || declared->wraps != actual.wraps) {
    Error error = invalid_model("output '{}' is declared {}, but the node produces {}", text,
                                describe_elements(*declared), describe_elements(actual));
    if (!state.reading.options.lenient)
      return std::move(error).note("the option lenient takes what the node produces");
    state.reading.diagnostics.warning("onnx: " + error.text());
    return {};
  }
  if (!declared->ranked) return {};
  if (!actual.ranked)
    actual = *std::move(declared);
  else if (declared->rank() != actual.rank())
    state.reading.diagnostics.warning(fmt::format("onnx: '{}' is declared with {} axes, but has {}",
                                                  text, declared->rank(), actual.rank()));
  return {};
}

Expected<void> bind_output(const ImportState& state, GraphFrame& frame, const NodeStep& step,
                           NameId name, Binding binding) {
  if (frame.clashing.contains(name.index)) return {};
  const std::string_view text = state.reading.names.text(name);
  const auto visible = frame.root->visible.find(name.index);
  if (visible != frame.root->visible.end() && visible->second > 0) {
    if (!state.reading.options.lenient)
      return invalid_model("output '{}' has the same name as a value outside {}: {}", text,
                           frame.label, describe_outer(state, name))
          .note("the option lenient lets it hide that value");
    state.reading.diagnostics.warning(fmt::format(
        "onnx: {}: output '{}' hides the value of that name outside", step.location, text));
  }
  if (binding.value.valid()) {
    ir::Value& value = state.reading.module.value(binding.value);
    if (value.name.empty()) value.name = shown_name(text);
    SCANLOOM_CHECK_OK(check_declared(state, frame, name, binding.value));
  }
  frame.scope.bind(name, std::move(binding));
  frame.show(name);
  return {};
}

}  // namespace

void bind_outputs(const ImportState& state, GraphFrame& frame, const NodeStep& step, NodeCtx& ctx) {
  for (std::size_t i = 0; i < step.facts.outputs.size(); ++i) {
    const NameId name = step.facts.outputs[i];
    if (!name.valid()) continue;
    Binding binding = std::move(ctx.outputs()[i]);
    Expected<void> bound =
        binding.is_absent()
            ? Expected<void>(fail(Code::unsupported, "output {} is not available", i))
            : bind_output(state, frame, step, name, std::move(binding));
    if (bound) continue;
    fail_at(state, frame, step.location, std::move(bound).error());
    if (frame.scope.find(name) == nullptr) frame.scope.bind(name, Binding::poison());
  }
}

}  // namespace scanloom::onnx
