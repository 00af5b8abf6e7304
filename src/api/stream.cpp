// Stream: owns the values of a module's states between runs.
#include <algorithm>
#include <cstring>

#include "api/guard.h"
#include "api/impl.h"

namespace scanloom {

struct Stream::Impl {
  std::shared_ptr<Session::Impl> session;
  std::vector<std::optional<Value>> values;  ///< by state; nullopt: initial

  Expected<Results> push(std::span<const Feed> feeds, const RunOptions& options);
  /// `left`, of the memory budget of the run, pays for zeros.
  Expected<Value> initial(const ir::State& state, std::span<const Feed> feeds,
                          std::int64_t& left) const;
};

namespace {

/// Whether a tensor of those sizes can ever be fed to the input.
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

Stream Session::stream() const {
  auto impl = std::make_shared<Stream::Impl>();
  impl->session = impl_;
  impl->values.resize(impl_->plan->module.states.size());
  return Stream(std::move(impl));
}

/// The state's initial value, or zeros of the declared sizes; symbols take their value from feeds.
Expected<Value> Stream::Impl::initial(const ir::State& state, std::span<const Feed> feeds,
                                      std::int64_t& left) const {
  if (state.initial.defined()) {
    const tensor::Shape& shape = state.initial.shape();
    return Value(state.initial.dtype(), {shape.begin(), shape.end()},
                 std::shared_ptr<const void>(state.initial.owner(), state.initial.data()));
  }
  const ValueInfo& info = session->inputs[state.input];
  if (info.kind != ValueKind::tensor) return Value(info.kind, info.dtype, {});
  if (!info.ranked)
    return fail(Code::invalid_argument,
                "state '{}' starts with zeros, but its number of axes is not known", state.name)
        .note("give it a value once, with the stream's set");
  tensor::Shape shape;
  for (std::size_t axis = 0; axis < info.shape.size(); ++axis) {
    std::int64_t size = info.shape[axis].size;
    for (const Feed& feed : feeds)
      for (const ValueInfo& other : session->inputs)
        if (other.name == feed.name && other.shape.size() == feed.value.shape.size())
          for (std::size_t i = 0; i < other.shape.size(); ++i)
            if (!info.shape[axis].name.empty() && other.shape[i].name == info.shape[axis].name)
              size = feed.value.shape[i];
    if (size < 0)
      return fail(Code::invalid_argument,
                  "state '{}' starts with zeros, but its size on axis {} is not known", state.name,
                  axis)
          .note("give it a value once, with the stream's set");
    shape.push_back(size);
  }
  const auto elements = shape.checked_elements();
  const auto width = static_cast<std::int64_t>(dtype_bytes(info.dtype));
  if (!elements || *elements * width > left)
    return fail(Code::limit_reached,
                "state '{}' starts with zeros of sizes {}, {} bytes of the memory budget are left",
                state.name, shape.to_string(), left)
        .note("raise it with the option max_memory");
  left -= *elements * width;
  SCANLOOM_TRY(const tensor::Tensor zeros, tensor::Tensor::zeros(info.dtype, shape));
  return Value(info.dtype, {shape.begin(), shape.end()},
               std::shared_ptr<const void>(zeros.owner(), zeros.data()));
}

Expected<Results> Stream::Impl::push(std::span<const Feed> feeds, const RunOptions& options) {
  const std::vector<ir::State>& states = session->plan->module.states;
  std::vector<Feed> all(feeds.begin(), feeds.end());
  // What this push starts with is kept only by its success: a failed one may have had wrong sizes.
  std::vector<Value> before;
  std::int64_t left = options.max_memory > 0 ? options.max_memory : runtime::default_max_memory();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (values[i]) {
      before.push_back(*values[i]);
    } else {
      SCANLOOM_TRY(Value first, initial(states[i], feeds, left));
      before.push_back(std::move(first));
    }
    all.push_back({session->inputs[states[i].input].name, before.back().view()});
  }
  SCANLOOM_TRY(Results results, session->run(all, options, {}));
  // All at once, and only after the run has succeeded.
  for (std::size_t i = 0; i < states.size(); ++i) values[i] = results[states[i].output];
  return results;
}

Expected<Results> Stream::push(std::span<const Feed> feeds, const RunOptions& options) {
  return guard([&] { return impl_->push(feeds, options); });
}

Expected<void> Stream::set(std::string_view input, const View& value) {
  return guard([&]() -> Expected<void> {
    const std::vector<ir::State>& states = impl_->session->plan->module.states;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const ValueInfo& info = impl_->session->inputs[states[i].input];
      if (info.name != input) continue;
      if (info.kind != ValueKind::tensor) {
        const ir::Module& module = impl_->session->plan->module;
        const ir::ValueId argument = module.region(module.top()).args[states[i].input];
        SCANLOOM_TRY(const tensor::BoxRef box,
                     to_box(value, module.value(argument).type, "state '" + info.name + "'"));
        SCANLOOM_TRY(impl_->values[i], to_value(box));
        return {};
      }
      if (value.dtype != info.dtype)
        return fail(Code::invalid_argument, "state '{}' is {}, the value is {}", input,
                    dtype_onnx_name(info.dtype), dtype_onnx_name(value.dtype));
      if (value.shape.size() > static_cast<std::size_t>(tensor::kMaxRank))
        return fail(Code::invalid_argument, "state '{}' needs values of rank 0 to {}", input,
                    tensor::kMaxRank);
      const tensor::Shape shape{std::span<const std::int64_t>(value.shape)};
      if (!shape.checked_elements())
        return fail(Code::invalid_argument, "state '{}' has sizes {}: negative, or more than 2^40",
                    input, shape.to_string());
      SCANLOOM_CHECK_OK(check_sizes(info, shape));
      if (value.data == nullptr && shape.elements() > 0)
        return fail(Code::invalid_argument, "state '{}' has sizes {} but no data", input,
                    shape.to_string());
      if (!value.strides.empty() && (value.strides.size() != value.shape.size() ||
                                     !tensor::is_contiguous(shape.dims(), value.strides)))
        return fail(Code::invalid_argument, "state '{}' needs row-major values", input);
      SCANLOOM_TRY(const tensor::Tensor copy,
                   tensor::Tensor::copy_of(value.dtype, shape, value.data));
      impl_->values[i] =
          Value(value.dtype, value.shape, std::shared_ptr<const void>(copy.owner(), copy.data()));
      return {};
    }
    return fail(Code::not_found, "the session keeps no state '{}'", input);
  });
}

void Stream::reset() { std::fill(impl_->values.begin(), impl_->values.end(), std::nullopt); }

}  // namespace scanloom
