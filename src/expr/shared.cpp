#include "expr/shared.h"

#include <scanloom/shared.h>

#include <algorithm>

#include "expr/apply.h"
#include "expr/substitute.h"
#include "ops/ops.h"
#include "tensor/view.h"

namespace scanloom {
namespace expr {

tensor::Tensor value_of(SharedVariable& variable) {
  const std::scoped_lock lock(variable.mutex);
  return variable.value;
}

void set_value(SharedVariable& variable, tensor::Tensor value) {
  const std::scoped_lock lock(variable.mutex);
  variable.value = std::move(value);
}

Expected<void> check_update(const Expr& variable, const Expr& next) {
  if (variable.error() != nullptr) return *variable.error();
  if (!next.defined())
    return fail(Code::invalid_argument, "the update of {} is missing", describe(variable));
  if (next.error() != nullptr) return *next.error();
  if (next.dtype() == variable.dtype() && next.rank() == variable.rank()) return {};
  return fail(Code::invalid_argument, "the update of {} is {}, the variable {}; cast it first",
              describe(variable), to_string(type_of(next)), to_string(type_of(variable)));
}

Expr default_update(const Expr& variable) {
  const SharedVariable& shared = *variable.node()->shared;
  if (!shared.next.defined()) return {};
  Replacements self{{key_of(shared.self), variable}};
  return substituted({shared.next}, self).front();
}

std::vector<Expr> shared_variables(std::span<const Expr> outputs) {
  std::vector<Expr> found;
  const auto take = [&](const Expr& x) {
    if (x.defined() && x.node()->kind == Kind::shared && std::ranges::find(found, x) == found.end())
      found.push_back(x);
  };
  for (const Expr& x : outputs) take(x);
  for (const Node* node : reachable(outputs))
    for (const Expr& x : node->inputs) take(x);
  std::ranges::sort(found, {}, [](const Expr& x) { return x.node()->id; });
  return found;
}

// Sizes stay open unless said: another value may have others.
Expr shared_of(std::string name, tensor::Tensor value, std::vector<std::int64_t> sizes) {
  auto shared = std::make_shared<SharedVariable>();
  shared->name = name;
  sizes.resize(static_cast<std::size_t>(value.shape().rank()), -1);
  shared->sizes = sizes;
  StaticType type{value.dtype(), std::move(sizes)};
  shared->value = std::move(value);
  auto node = std::make_shared<Node>(Kind::shared, std::vector{std::move(type)});
  node->shared = std::move(shared);
  node->names = {std::move(name)};
  return Expr(std::move(node));
}

Expected<void> check_sizes(const SharedVariable& variable, std::span<const std::int64_t> sizes) {
  for (std::size_t axis = 0; axis < variable.sizes.size(); ++axis)
    if (variable.sizes[axis] >= 0 && variable.sizes[axis] != sizes[axis])
      return fail(Code::invalid_argument,
                  "shared variable '{}' is of size {} on axis {} by its type, the new value of {}",
                  variable.name, variable.sizes[axis], axis, sizes[axis]);
  return {};
}

}  // namespace expr

Shared::Shared(std::string name, const View& value, const Axes& units) {
  auto copy = tensor::copy_of(value, "shared variable '" + name + "'");
  if (!copy) {
    variable_ = expr::failed(std::move(copy).error());
    return;
  }
  std::vector<std::int64_t> sizes(value.shape.size(), -1);
  for (const std::int64_t axis : units) {
    if (axis < 0 || axis >= std::ssize(sizes)) {
      variable_ = expr::failed(fail(Code::invalid_argument,
                                    "shared variable '{}' has {} axes, but axis {} broadcasts",
                                    name, sizes.size(), axis));
      return;
    }
    sizes[static_cast<std::size_t>(axis)] = 1;
  }
  variable_ = expr::shared_of(std::move(name), *std::move(copy), std::move(sizes));
  const Expected<void> fits = expr::check_sizes(*variable_.node()->shared, value.shape);
  if (!fits) variable_ = expr::failed(fits.error());
}

Value Shared::value() const {
  const tensor::Tensor now = expr::value_of(*variable_.node()->shared);
  return Value(now.dtype(), {now.shape().begin(), now.shape().end()},
               std::shared_ptr<const void>(now.owner(), now.data()));
}

Expected<void> Shared::set(const View& value) {
  if (value.dtype != variable_.dtype() || static_cast<int>(value.shape.size()) != variable_.rank())
    return fail(Code::invalid_argument, "{} is {} with {} axes, the new value {} with {}",
                expr::describe(variable_), dtype_name(variable_.dtype()), variable_.rank(),
                dtype_name(value.dtype), value.shape.size());
  SCANLOOM_CHECK_OK(expr::check_sizes(*variable_.node()->shared, value.shape));
  SCANLOOM_TRY(tensor::Tensor copy, tensor::copy_of(value, expr::describe(variable_)));
  expr::set_value(*variable_.node()->shared, std::move(copy));
  return {};
}

bool is_shared(const Expr& x) noexcept {
  return x.defined() && x.node()->kind == expr::Kind::shared;
}

Expr Shared::default_update() const { return expr::default_update(variable_); }

void Shared::set_default_update(const Expr& next) {
  expr::SharedVariable& shared = *variable_.node()->shared;
  shared.self = expr::placeholder(expr::type_of(variable_), variable_.name());
  expr::Replacements self{{expr::key_of(variable_), shared.self}};
  shared.next = next.defined() ? expr::substituted({next}, self).front() : Expr();
}

Expr Updates::operator[](const Shared& variable) const {
  for (const auto& [known, next] : entries_)
    if (known == variable) return next;
  return {};
}

void Updates::set(const Shared& variable, Expr next) {
  for (auto& [known, old] : entries_)
    if (known == variable) {
      old = std::move(next);
      return;
    }
  entries_.emplace_back(variable, std::move(next));
}

Expected<void> Updates::merge(const Updates& other) {
  for (const auto& [variable, next] : other.entries_) {
    const Expr old = (*this)[variable];
    if (old.defined() && !(old == next))
      return fail(Code::invalid_argument, "two different updates of {}",
                  expr::describe(variable.variable()));
    set(variable, next);
  }
  return {};
}

RandomStreams::RandomStreams(std::uint64_t seed) : seed_(seed) {}

Expr RandomStreams::draw(const char* kind, const Expr& shape, DType dtype) {
  if (shape.error() != nullptr) return shape;
  // The number of the draw, and the key: that of the seed, and of the stream in it.
  const std::vector<std::uint64_t> key{0, seed_ * 0x9e3779b97f4a7c15u + streams_.size()};
  Shared stream(expr::shared_of("random stream " + std::to_string(streams_.size()),
                                tensor::Tensor::of<std::uint64_t>({2}, key), {2}));
  const Expr one =
      expr::constant_of(tensor::Tensor::of<std::uint64_t>({2}, std::vector<std::uint64_t>{1, 0}));
  stream.variable().node()->shared->counts = true;
  stream.set_default_update(expr::apply(ops::add_op, {stream, one}));
  streams_.push_back(stream);
  return expr::apply(ops::draw_op, {stream.variable(), shape_of({shape})},
                     {{"kind", kind}, {"to", dtype}});
}

Expr RandomStreams::uniform(const Expr& shape, DType dtype) {
  return draw("uniform", shape, dtype);
}
Expr RandomStreams::normal(const Expr& shape, DType dtype) { return draw("normal", shape, dtype); }

void RandomStreams::seed(std::uint64_t seed) {
  seed_ = seed;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const std::uint64_t key[2] = {0, seed_ * 0x9e3779b97f4a7c15u + i};
    (void)streams_[i].set(view(key, {2}));
  }
}

Updates RandomStreams::updates() const {
  Updates all;
  for (const Shared& stream : streams_) all.set(stream, stream.default_update());
  return all;
}

}  // namespace scanloom
