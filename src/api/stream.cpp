// Stream: owns the values of a module's states between runs.
#include <algorithm>
#include <cstring>

#include "api/guard.h"
#include "api/impl.h"
#include "base/memory_budget.h"

namespace scanloom {

struct [[gnu::visibility("hidden")]] Stream::Impl {
  std::shared_ptr<Session::Impl> model;
  std::shared_ptr<Session::Impl> session;                       ///< runs the pushes
  std::shared_ptr<const Session::Impl::StreamProgram> program;  ///< null: states are named
  std::vector<std::optional<Value>> values;                     ///< by state; nullopt: initial
  std::vector<std::pair<std::string, Value>> starts;  ///< set by the user; first values are
                                                      ///< computed from them
  bool begun = false;                                 ///< a push has succeeded since the last reset

  Expected<Results> push(std::span<const Feed> feeds, const RunOptions& options);
  /// Switches to the model read without relying on equally named sizes, if the feeds contradict
  /// those. Errors: those of loading; invalid_argument if that model keeps other states.
  Expected<void> follow_sizes(std::span<const Feed> feeds);
  Expected<void> go_over_to(const std::shared_ptr<Session::Impl>& other);
  Expected<void> restore(const StreamState& state);
  /// Feeds of a push of `program`; those that begin states are moved to `first`.
  Expected<std::vector<Feed>> begin(std::span<const Feed> feeds, const RunOptions& options,
                                    std::vector<std::optional<Value>>& first) const;
  /// The state that is this input of the model.
  [[nodiscard]] std::optional<std::size_t> state_of(std::string_view input) const;
  /// Whether the input is only used to compute first values.
  [[nodiscard]] bool is_start(std::string_view input) const;
  [[nodiscard]] report::StreamUse use() const;
  /// Number of results of a push, which are the first outputs of `session`.
  [[nodiscard]] std::size_t result_count() const {
    return program ? program->outputs : session->own_outputs;
  }
  /// The error for an unknown state, listing the available ones.
  [[nodiscard]] Error unknown_state(std::string_view input) const;
  /// A copy of the new value of input `index` of `impl`.
  static Expected<Value> value_of(const Session::Impl& impl, std::size_t index, const View& value);
  /// Zeros count against the run's memory budget; `held`: the bytes that already do.
  Expected<Value> initial(const ir::State& state, std::span<const Feed> feeds, MemoryBudget& budget,
                          std::int64_t& held) const;
};

namespace {

/// Sizes that do not fit are those of the feed and of the kept state: the model is not to blame.
Error of_push(Error error) {
  if (error.code() != Code::invalid_model) return error;
  Error told(Code::invalid_argument, error.text());
  for (const std::string& note : error.notes()) told.note(note);
  told.note(
      "the stream keeps values of the sizes pushed or set before: call reset() to begin again");
  return told;
}

std::optional<std::size_t> index_of(std::span<const ValueInfo> infos, std::string_view name) {
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name) return i;
  return std::nullopt;
}

/// An error if a tensor of these sizes can never be fed to the input.
Expected<void> check_sizes(const ValueInfo& info, const tensor::Shape& shape) {
  if (!info.ranked) return {};
  if (info.shape.size() != static_cast<std::size_t>(shape.rank()))
    return fail(Code::invalid_argument, "state '{}' has rank {}, the value has sizes {}", info.name,
                info.shape.size(), shape.to_string());
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (const std::int64_t size = info.shape[static_cast<std::size_t>(axis)].size;
        size >= 0 && size != shape[axis])
      return fail(Code::invalid_argument,
                  "state '{}' has size {} on axis {}, the value has sizes {}", info.name, size,
                  axis, shape.to_string());
  return {};
}

}  // namespace

Stream::Stream(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Expected<Stream> Session::stream() const {
  return guard([&]() -> Expected<Stream> {
    auto impl = std::make_shared<Stream::Impl>();
    impl->model = impl->session = impl_;
    if (impl_->plan->module.states.empty()) {
      SCANLOOM_TRY(impl->program, impl_->stream_program());
      impl->session = impl->program->steps;
    }
    impl->values.resize(impl->session->plan->module.states.size());
    return Stream(std::move(impl));
  });
}

/// The state's initial value, or zeros of the declared sizes, with symbols resolved from the feeds.
Expected<Value> Stream::Impl::initial(const ir::State& state, std::span<const Feed> feeds,
                                      MemoryBudget& budget, std::int64_t& held) const {
  if (state.initial.defined()) {
    const tensor::Shape& shape = state.initial.shape();
    return Value(state.initial.dtype(), {shape.begin(), shape.end()},
                 std::shared_ptr<const void>(state.initial.owner(), state.initial.data()));
  }
  const ValueInfo& info = session->inputs[state.input];
  if (info.kind == ValueKind::map)
    return fail(Code::unsupported, "state '{}' starts with zeros, but is a map", state.name)
        .note("give it an initial value with the stream's set");
  if (info.kind != ValueKind::tensor) return Value(info.kind, info.dtype, {});
  if (!info.ranked)
    return fail(Code::invalid_argument, "state '{}' starts with zeros, but its rank is unknown",
                state.name)
        .note("give it an initial value with the stream's set");
  tensor::Shape shape;
  for (std::size_t axis = 0; axis < info.shape.size(); ++axis) {
    std::int64_t size = info.shape[axis].size;
    for (const Feed& feed : feeds)
      for (const ValueInfo& other : session->inputs)
        if (other.name == feed.name && other.shape.size() == feed.value.shape.size())
          for (std::size_t i = 0; i < other.shape.size(); ++i)
            if (!info.shape[axis].name.empty() && other.shape[i].name == info.shape[axis].name) {
              if (size >= 0 && size != feed.value.shape[i])
                return fail(Code::invalid_argument,
                            "state '{}' starts with zeros of size '{}' on axis {}, which is {} in "
                            "one feed and {} in another",
                            state.name, info.shape[axis].name, axis, size, feed.value.shape[i])
                    .note("give it an initial value with the stream's set");
              size = feed.value.shape[i];
            }
    if (size < 0)
      return fail(Code::invalid_argument,
                  "state '{}' starts with zeros, but its size on axis {} is unknown", state.name,
                  axis)
          .note("give it an initial value with the stream's set");
    shape.push_back(size);
  }
  const auto elements = shape.checked_elements();
  const auto width = static_cast<std::int64_t>(dtype_bytes(info.dtype));
  const auto fits = [&] { return elements && *elements * width <= budget.bytes() - held; };
  if (!fits() && !(budget.measure(held) && fits()))
    return fail(Code::limit_reached,
                "state '{}' starts with zeros of sizes {}, but {} bytes of the memory budget are "
                "left",
                state.name, shape.to_string(), budget.bytes() - held)
        .note("raise it with the option max_memory");
  held += *elements * width;
  SCANLOOM_TRY(const tensor::Tensor zeros, tensor::Tensor::zeros(info.dtype, shape));
  return Value(info.dtype, {shape.begin(), shape.end()},
               std::shared_ptr<const void>(zeros.owner(), zeros.data()));
}

std::optional<std::size_t> Stream::Impl::state_of(std::string_view input) const {
  const std::vector<ir::State>& states = session->plan->module.states;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (states[i].is_hidden && states[i].name == input) return i;
  if (!index_of(model->inputs, input)) return std::nullopt;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (session->inputs[states[i].input].name == input) return i;
  return std::nullopt;
}

Error Stream::Impl::unknown_state(std::string_view input) const {
  std::string names;
  for (const ValueInfo& info : model->inputs)
    if (state_of(info.name) || is_start(info.name))
      names += (names.empty() ? "'" : ", '") + info.name + "'";
  return Error(Code::not_found, fmt::format("the session has no state '{}'", input))
      .note(names.empty() ? "none of its inputs begins a state" : "states begin with " + names);
}

bool Stream::Impl::is_start(std::string_view input) const {
  return program && program->initial && index_of(program->initial->inputs, input) &&
         !index_of(session->inputs, input);
}

Expected<std::vector<Feed>> Stream::Impl::begin(std::span<const Feed> feeds,
                                                const RunOptions& options,
                                                std::vector<std::optional<Value>>& first) const {
  std::vector<Feed> of_steps, of_initial;
  for (const Feed& feed : feeds) {
    const auto state = state_of(feed.name);
    if (begun && (state || is_start(feed.name)))
      return fail(Code::invalid_argument,
                  "input '{}' is only read when a stream begins, and this one has begun", feed.name)
          .note("call reset() to begin again");
    if (!index_of(model->inputs, feed.name))
      return fail(Code::invalid_argument, "the model has no input '{}'", feed.name)
          .note("its inputs are: " + names_of(std::span(model->inputs).first(model->own_inputs)));
    if (program->initial && index_of(program->initial->inputs, feed.name))
      of_initial.push_back(feed);
    if (state) {
      const std::size_t input = session->plan->module.states[*state].input;
      SCANLOOM_TRY(first[*state], value_of(*session, input, feed.value));
    } else if (!is_start(feed.name)) {
      of_steps.push_back(feed);
    }
  }
  const std::vector<ir::State>& states = session->plan->module.states;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (const ValueInfo& info = session->inputs[states[i].input]; !first[i] && state_of(info.name))
      return fail(Code::invalid_argument, "input '{}' ({}) is not fed", info.name, info.type)
          .note("it is needed when a stream begins: feed it to the first push, or set it");
  const bool computes = std::ranges::any_of(
      program->computed, [&](std::size_t state) { return !first[state].has_value(); });
  if (!computes) return of_steps;
  for (const auto& [name, value] : starts)
    if (std::ranges::find(of_initial, name, &Feed::name) == of_initial.end())
      of_initial.push_back({name, value.view()});
  SCANLOOM_TRY(const Results results, program->initial->run(of_initial, options, {}));
  for (std::size_t i = 0; i < program->computed.size(); ++i)
    if (!first[program->computed[i]]) first[program->computed[i]] = results[i];
  return of_steps;
}

report::StreamUse Stream::Impl::use() const {
  report::StreamUse use{std::vector<bool>(model->own_inputs), {}, model->options.low_latency};
  if (program) {
    for (std::size_t i = 0; i < model->own_inputs; ++i)
      use.is_set_first[i] =
          state_of(model->inputs[i].name).has_value() || is_start(model->inputs[i].name);
    return use;
  }
  for (const ir::State& state : model->plan->module.states) {
    if (state.is_hidden) continue;
    use.is_set_first[state.input] = true;
    use.states.emplace_back(model->inputs[state.input].name, model->outputs[state.output].name);
  }
  return use;
}

Expected<void> Stream::Impl::follow_sizes(std::span<const Feed> feeds) {
  if (model->shared_sizes.empty()) return {};
  std::vector<tensor::Shape> shapes(model->inputs.size());
  for (const Feed& feed : feeds)
    if (const auto at = index_of(model->inputs, feed.name);
        at && std::ssize(feed.value.shape) <= tensor::kMaxRank)
      shapes[*at] = tensor::Shape(std::span<const std::int64_t>(feed.value.shape));
  SCANLOOM_TRY(const std::shared_ptr<Session::Impl> other, model->unshared_for(shapes));
  return other ? go_over_to(other) : Expected<void>();
}

Expected<void> Stream::Impl::go_over_to(const std::shared_ptr<Session::Impl>& other) {
  SCANLOOM_TRY(auto others, other->stream_program());
  const auto same = [](const ir::State& a, const ir::State& b) { return a.name == b.name; };
  const std::vector<ir::State>& states = others->steps->plan->module.states;
  const bool is_new =
      !begun && starts.empty() &&
      std::ranges::none_of(values, [](const auto& kept) { return kept.has_value(); });
  if (!is_new && !std::ranges::equal(session->plan->module.states, states, same))
    return fail(Code::invalid_argument,
                "sizes that share a name in the model differ from this push on, which changes the "
                "states kept between pushes")
        .note("feed such sizes from the first push on, or call reset()");
  values.resize(states.size());
  model = other;
  program = std::move(others);
  session = program->steps;
  return {};
}

Expected<Results> Stream::Impl::push(std::span<const Feed> feeds, const RunOptions& options) {
  static constexpr bool kYes = true, kNo = false;
  if (program) SCANLOOM_CHECK_OK(follow_sizes(feeds));
  const std::vector<ir::State>& states = session->plan->module.states;
  std::vector<Feed> all(feeds.begin(), feeds.end());
  // First values are kept only if the push succeeds: a failed one may have had wrong sizes.
  std::vector<std::optional<Value>> first = values;
  if (program) {
    SCANLOOM_TRY(all, begin(feeds, options, first));
  }
  std::vector<Value> before;
  MemoryBudget budget(options.max_memory);
  std::int64_t held = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (first[i]) {
      before.push_back(*first[i]);
    } else {
      SCANLOOM_TRY(Value made, initial(states[i], feeds, budget, held));
      before.push_back(std::move(made));
    }
    all.push_back({session->inputs[states[i].input].name, before.back().view()});
    if (states[i].is_kept)
      all.push_back({session->inputs[*states[i].is_kept].name,
                     View{DType::boolean, {}, first[i] ? &kYes : &kNo}});
  }
  Expected<Results> run = session->run(all, options, {}, true);
  if (!run) {
    const bool keeps =
        std::ranges::any_of(values, [](const auto& kept) { return kept.has_value(); });
    return keeps ? of_push(std::move(run).error()) : std::move(run).error();
  }
  Results results = *std::move(run);
  // All together, and only after the run has succeeded.
  for (std::size_t i = 0; i < states.size(); ++i) values[i] = results[states[i].output];
  begun = true;
  const std::size_t count = result_count();
  if (count == session->outputs.size()) return results;
  Results own;
  own.report = results.report;
  for (std::size_t i = 0; i < count; ++i) own.add(session->outputs[i].name, results[i]);
  return own;
}

Expected<Results> Stream::push(std::span<const Feed> feeds, const RunOptions& options) {
  return guard([&] { return impl_->push(feeds, options); });
}

Expected<Value> Stream::Impl::value_of(const Session::Impl& impl, std::size_t input,
                                       const View& value) {
  const ir::Module& module = impl.plan->module;
  const ValueInfo& info = impl.inputs[input];
  if (info.kind != ValueKind::tensor) {
    const ir::ValueId argument = module.region(module.top()).args[input];
    SCANLOOM_TRY(const tensor::ObjectRef object,
                 to_object(value, module.value(argument).type, "state '" + info.name + "'"));
    return to_value(object);
  }
  if (value.dtype != info.dtype)
    return fail(Code::invalid_argument, "state '{}' is {}, the value is {}", info.name,
                dtype_onnx_name(info.dtype), dtype_onnx_name(value.dtype));
  if (value.shape.size() > static_cast<std::size_t>(tensor::kMaxRank))
    return fail(Code::invalid_argument, "state '{}' needs values of rank 0 to {}", info.name,
                tensor::kMaxRank);
  const tensor::Shape shape{std::span<const std::int64_t>(value.shape)};
  if (!shape.checked_elements())
    return fail(Code::invalid_argument,
                "state '{}' has sizes {}: one is negative, or they make more than 2^40 elements",
                info.name, shape.to_string());
  SCANLOOM_CHECK_OK(check_sizes(info, shape));
  if (value.data == nullptr && shape.elements() > 0)
    return fail(Code::invalid_argument, "state '{}' has sizes {} but no data", info.name,
                shape.to_string());
  if (!value.strides.empty() && (value.strides.size() != value.shape.size() ||
                                 !tensor::is_contiguous(shape.dims(), value.strides)))
    return fail(Code::invalid_argument, "state '{}' needs row-major values", info.name);
  SCANLOOM_TRY(const tensor::Tensor copy, tensor::Tensor::copy_of(value.dtype, shape, value.data));
  return Value(value.dtype, value.shape, std::shared_ptr<const void>(copy.owner(), copy.data()));
}

Expected<void> Stream::set(std::string_view input, const View& value) {
  return guard([&]() -> Expected<void> {
    if (const auto state = impl_->state_of(input)) {
      const std::size_t at = impl_->session->plan->module.states[*state].input;
      SCANLOOM_TRY(impl_->values[*state], Impl::value_of(*impl_->session, at, value));
      return {};
    }
    if (!impl_->is_start(input)) return impl_->unknown_state(input);
    if (impl_->begun)
      return fail(Code::invalid_argument,
                  "input '{}' is only read when a stream begins, and this one has begun", input)
          .note("call reset() to begin again");
    const Session::Impl& initial = *impl_->program->initial;
    SCANLOOM_TRY(Value start, Impl::value_of(initial, *index_of(initial.inputs, input), value));
    std::erase_if(impl_->starts, [&](const auto& set) { return set.first == input; });
    impl_->starts.emplace_back(input, std::move(start));
    return {};
  });
}

Expected<Value> Stream::get(std::string_view state) const {
  return guard([&]() -> Expected<Value> {
    const std::vector<ir::State>& states = impl_->session->plan->module.states;
    const auto found = std::ranges::find(states, state, &ir::State::name);
    if (impl_->program)
      return fail(Code::not_found, "the session has no state '{}'", state)
          .note("what its loops carry gets names with the option low_latency");
    if (found == states.end()) return fail(Code::not_found, "the session has no state '{}'", state);
    const auto at = static_cast<std::size_t>(found - states.begin());
    if (impl_->values[at]) return *impl_->values[at];
    if (found->is_kept)
      return fail(Code::not_found, "the first push computes the initial value of state '{}'",
                  state);
    MemoryBudget budget;
    std::int64_t held = 0;
    return impl_->initial(*found, {}, budget, held);
  });
}

StreamState Stream::save() const {
  StreamState saved;
  const std::vector<ir::State>& states = impl_->session->plan->module.states;
  for (std::size_t i = 0; i < states.size(); ++i)
    if (impl_->values[i]) saved.states.add(states[i].name, *impl_->values[i]);
  for (const auto& [name, value] : impl_->starts) saved.starts.add(name, value);
  saved.begun = impl_->begun;
  saved.contradicted = impl_->model->source.distinct_sizes;
  return saved;
}

/// Precondition: the stream has neither begun nor been set.
Expected<void> Stream::Impl::restore(const StreamState& state) {
  if (state.contradicted && program && !model->source.distinct_sizes) {
    const std::scoped_lock lock(model->unshared_mutex);
    SCANLOOM_TRY(const std::shared_ptr<Session::Impl> other, model->make_unshared());
    SCANLOOM_CHECK_OK(go_over_to(other));
  }
  const std::vector<ir::State>& states = session->plan->module.states;
  for (std::size_t i = 0; i < state.states.size(); ++i) {
    const auto at = std::ranges::find(states, state.states.name(i), &ir::State::name);
    if (at == states.end())
      return fail(Code::invalid_argument, "a stream of this session has no state '{}'",
                  state.states.name(i))
          .note("it was saved by a stream of another model, or with other options");
    SCANLOOM_TRY(values[static_cast<std::size_t>(at - states.begin())],
                 value_of(*session, at->input, state.states[i].view()));
  }
  for (std::size_t i = 0; i < state.starts.size(); ++i) {
    const std::string& name = state.starts.name(i);
    if (!is_start(name)) return unknown_state(name);
    const Session::Impl& initial_of = *program->initial;
    SCANLOOM_TRY(Value start,
                 value_of(initial_of, *index_of(initial_of.inputs, name), state.starts[i].view()));
    starts.emplace_back(name, std::move(start));
  }
  begun = state.begun;
  return {};
}

Expected<void> Stream::restore(const StreamState& state) {
  return guard([&]() -> Expected<void> {
    auto restored = std::make_shared<Impl>();
    restored->model = impl_->model;
    restored->session = impl_->session;
    restored->program = impl_->program;
    restored->values.resize(impl_->values.size());
    SCANLOOM_CHECK_OK(restored->restore(state));
    impl_ = std::move(restored);
    return {};
  });
}

std::string Stream::explain() const { return impl_->session->explain(); }

Expected<std::string> Stream::report(const ReportOptions& options) const {
  return guard([&] {
    const Session::Impl& session = *impl_->session;
    Session::Impl::Kept kept{*impl_->model, {}, impl_->use()};
    for (const std::optional<Value>& value : impl_->values) {
      kept.sizes.emplace_back();
      if (value) kept.sizes.back() = value->shape();
    }
    return session.report(
        {.inputs = session.own_inputs, .outputs = impl_->result_count(), .kept = &kept}, options);
  });
}

void Stream::reset() {
  std::fill(impl_->values.begin(), impl_->values.end(), std::nullopt);
  impl_->starts.clear();
  impl_->begun = false;
}

}  // namespace scanloom
