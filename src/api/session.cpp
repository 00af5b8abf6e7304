#include <scanloom/session.h>

#include <algorithm>
#include <iterator>

#include "api/guard.h"
#include "api/impl.h"
#include "api/jit_plugin.h"
#include "base/cpu.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "ir/size_names.h"
#include "tensor/symbol_name.h"

namespace scanloom {
namespace {

/// The inferred type, completed by the file's declaration.
tensor::Type output_type(const ir::Module& module, std::size_t i) {
  tensor::Type type = module.value(module.region(module.top()).yields[i]).type;
  if (i >= module.declared_outputs.size()) return type;
  const tensor::Type& declared = module.declared_outputs[i];
  if (!declared.ranked || declared.wraps != type.wraps) return type;
  if (!type.ranked) {
    type.ranked = true;
    type.dims = declared.dims;
  }
  if (type.rank() != declared.rank()) return type;
  const auto is_name = [&](tensor::Dim dim) {
    return !tensor::symbol_name(module.dims, dim).empty();
  };
  // A name of the model says more than an expression that was inferred, such as max(0,x.0).
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
    tensor::Dim& dim = type.dims[axis];
    const tensor::Dim other = declared.dims[axis];
    if (module.dims.is_fresh(dim) || (!dim.is_constant() && !is_name(dim) && is_name(other)))
      dim = other;
  }
  return type;
}

/// The name that the model gives a size; "2*x.1" for an expression of sizes; empty for one without
/// a name.
std::string size_text(const ir::Module& module, tensor::Dim dim) {
  if (module.dims.is_fresh(dim)) return {};
  std::string text = tensor::symbol_name(module.dims, dim);
  if (text.empty()) text = module.dims.to_string(dim);
  return to_valid_utf8(ir::has_numbered_size(text) ? ir::SizeNames(module).in(text) : text);
}

ValueInfo describe_value(const ir::Module& module, const tensor::Type& type,
                         const std::string& name) {
  ValueInfo info;
  info.name = to_valid_utf8(name);
  info.dtype = type.dtype;
  info.ranked = type.ranked;
  std::string text = "tensor(" + std::string(dtype_onnx_name(type.dtype)) + ")";
  for (auto wrap = type.wraps.rbegin(); wrap != type.wraps.rend(); ++wrap)
    text = is_map(*wrap)
               ? fmt::format("map({},{})", dtype_onnx_name(tensor::key_dtype(*wrap)), text)
               : fmt::format("{}({})", *wrap == tensor::Wrap::sequence ? "seq" : "optional", text);
  info.type = text;
  if (!type.is_tensor()) info.kind = value_kind(kind_of(type.wraps.front()));
  for (const tensor::Dim dim : type.dims) {
    ValueInfo::Dim shown;
    if (dim.is_constant())
      shown.size = dim.value();
    else
      shown.name = size_text(module, dim);
    info.shape.push_back(shown);
  }
  return info;
}

/// Whether a value can have both types, judging by the sizes that are numbers.
bool may_agree(const tensor::Type& a, const tensor::Type& b) {
  if (!a.ranked || !b.ranked) return true;
  return std::ranges::equal(a.dims, b.dims, [](tensor::Dim x, tensor::Dim y) {
    return !x.is_constant() || !y.is_constant() || x == y;
  });
}

/// Adds the pairs of SessionOptions::states to the module's states.
Expected<void> add_states(ir::Module& module, const SessionOptions& options) {
  const ir::Region& top = module.region(module.top());
  for (const auto& [input, output] : options.states) {
    ir::State state;
    state.name = input;
    const auto arg = std::find_if(top.args.begin(), top.args.end(),
                                  [&](ir::ValueId id) { return module.value(id).name == input; });
    const auto yield = std::find(module.output_names.begin(), module.output_names.end(), output);
    if (arg == top.args.end())
      return fail(Code::not_found, "state '{}': the model has no input of that name", input);
    if (yield == module.output_names.end())
      return fail(Code::not_found, "state '{}': the model has no output '{}'", input, output);
    state.input = static_cast<std::uint32_t>(arg - top.args.begin());
    state.output = static_cast<std::uint32_t>(yield - module.output_names.begin());
    const tensor::Type& in = module.value(*arg).type;
    const tensor::Type& out = module.value(top.yields[state.output]).type;
    if (in.wraps != out.wraps)
      return ir::with_size_names(
          fail(Code::invalid_argument, "state '{}' is {}, but output '{}' is {}", input,
               to_string(in, module.dims), output, to_string(out, module.dims)),
          module);
    if (in.dtype != out.dtype)
      return fail(Code::invalid_argument, "state '{}' is {}, but output '{}' is {}", input,
                  dtype_name(in.dtype), output, dtype_name(out.dtype));
    if (!may_agree(in, out))
      return ir::with_size_names(
          fail(Code::invalid_argument, "state '{}' is {}, but output '{}' is {}", input,
               to_string(in, module.dims), output, to_string(out, module.dims)),
          module);
    module.states.push_back(std::move(state));
  }
  return {};
}

}  // namespace

void Results::add(std::string name, Value value) {
  value.name_ = std::move(name);
  values_.push_back(std::move(value));
}

const Value* Results::find(std::string_view name) const noexcept {
  const auto found = std::ranges::find(values_, name, &Value::name);
  return found == values_.end() ? nullptr : &*found;
}

Error Results::unknown(std::string_view name) const {
  std::string names;
  for (const Value& value : values_) names += (names.empty() ? "'" : ", '") + value.name() + "'";
  return Error(Code::not_found, fmt::format("unknown result '{}'", name))
      .note(names.empty() ? "there are no results" : "the results are " + names);
}

Session::Session(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::span<const ValueInfo> Session::inputs() const noexcept {
  return std::span(impl_->inputs).first(impl_->own_inputs);
}
std::span<const ValueInfo> Session::outputs() const noexcept {
  return std::span(impl_->outputs).first(impl_->own_outputs);
}
std::vector<ValueInfo> Session::states() const {
  std::vector<ValueInfo> states;
  for (const ir::State& state : impl_->plan->module.states) {
    states.push_back(impl_->inputs[state.input]);
    states.back().name = state.name;
  }
  return states;
}
std::span<const ValueInfo> Session::defaults() const noexcept { return impl_->defaults; }
const ModelInfo& Session::info() const noexcept { return impl_->info; }
const std::vector<std::string>& Session::files() const noexcept { return impl_->files; }

std::vector<std::string> Session::warnings() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->warnings;
}

void Session::Impl::warn(std::string text) const {
  text = to_valid_utf8(text);
  if (options.on_warning) options.on_warning(text);
  const std::scoped_lock lock(mutex);
  warnings.push_back(std::move(text));
}

Expected<std::shared_ptr<Session::Impl>> Session::Impl::make(const Source& source,
                                                             const SessionOptions& options) {
  Diagnostics diagnostics;
  SCANLOOM_TRY(Loaded loaded, load_module(source, options, diagnostics));
  SCANLOOM_CHECK_OK(add_states(loaded.module, options));
  std::shared_ptr<Impl> impl = of_module(std::move(loaded.module), options);
  for (const std::string& warning : diagnostics.warnings()) impl->warn(warning);
  // The plan itself streams named states.
  if (impl->plan->module.states.empty()) impl->for_streams = std::move(loaded.for_streams);
  impl->summing_pass = loaded.summing_pass;
  impl->info = std::move(loaded.info);
  impl->defaults = std::move(loaded.defaults);
  impl->input_ranges = std::move(loaded.input_ranges);
  const auto add_aliases = [](std::vector<ValueInfo>& infos, auto& aliases) {
    for (std::size_t i = 0; i < infos.size() && i < aliases.size(); ++i)
      infos[i].aliases = std::move(aliases[i]);
  };
  add_aliases(impl->inputs, loaded.input_aliases);
  add_aliases(impl->outputs, loaded.output_aliases);
  impl->source = source;
  if (!source.path.empty()) impl->files.push_back(source.path);
  std::ranges::move(loaded.weights_files, std::back_inserter(impl->files));
  if (!options.strict)
    impl->shared_sizes = scanloom::shared_sizes(impl->plan->module, impl->own_inputs);
  for (const std::string_view warning : {isa_warning(), threads_warning()})
    if (!warning.empty()) impl->warn(std::string(warning));
  return impl;
}

std::shared_ptr<Session::Impl> Session::Impl::of_module(ir::Module module,
                                                        const SessionOptions& options) {
  auto impl = std::make_shared<Session::Impl>();
  impl->options = options;
  const ir::Region& top = module.region(module.top());
  for (const ir::ValueId id : top.args)
    impl->inputs.push_back(describe_value(module, module.value(id).type, module.value(id).name));
  for (std::size_t i = 0; i < top.yields.size(); ++i)
    impl->outputs.push_back(describe_value(module, output_type(module, i), module.output_names[i]));
  impl->own_inputs = impl->inputs.size();
  impl->own_outputs = impl->outputs.size();
  for (const ir::State& state : module.states) {
    if (!state.is_hidden) continue;
    impl->own_inputs -= state.is_kept ? 2 : 1;
    --impl->own_outputs;
  }
  plan::PlanOptions plan_options;
  plan_options.threads = options.threads > 0 ? options.threads : available_cores();
  if (!options.speculate) plan_options.speculation = plan::SpeculationMode::never;
  plan_options.always_compile = options.execution == Execution::compiled;
  if (options.execution == Execution::automatic || plan_options.always_compile)
    plan_options.compiler = jit_compiler(plan_options.why_no_compiler);
  else if (options.execution == Execution::interpreted)
    plan_options.why_no_compiler = "the interpreter was requested";
  impl->plan = plan::make_plan(std::move(module), plan_options);
  return impl;
}

Expected<Session> Session::load(const std::string& path, const SessionOptions& options) {
  return guard([&]() -> Expected<Session> {
    SCANLOOM_TRY(const Source source, Source::of_file(path));
    SCANLOOM_TRY(std::shared_ptr<Impl> impl, Impl::make(source, options));
    return Session(std::move(impl));
  });
}

Expected<Session> Session::load_bytes(std::span<const std::byte> bytes,
                                      const SessionOptions& options) {
  return guard([&]() -> Expected<Session> {
    // Weights may alias the bytes as long as the session exists, so it keeps its own copy.
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    const std::string_view view(reinterpret_cast<const char*>(copy->data()), copy->size());
    SCANLOOM_TRY(auto impl, Impl::make({copy, view, {}}, options));
    return Session(std::move(impl));
  });
}

Expected<Results> Session::run(std::span<const Feed> feeds, const RunOptions& options,
                               std::span<const std::string> outputs) const {
  return guard([&] { return impl_->run(feeds, options, outputs); });
}

}  // namespace scanloom
