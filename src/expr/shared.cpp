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
  variable.is_own = false;
  return variable.value;
}

void set_value(SharedVariable& variable, tensor::Tensor value, bool is_own) {
  const std::scoped_lock lock(variable.mutex);
  variable.value = std::move(value);
  variable.is_own = is_own;
}

namespace {

/// Locks in one order for all, that of addresses. A variable may be named twice.
std::vector<std::unique_lock<std::mutex>> locked(const SharedVariables& variables) {
  std::vector<SharedVariable*> sorted;
  for (const auto& variable : variables) sorted.push_back(variable.get());
  std::ranges::sort(sorted);
  const auto [first, last] = std::ranges::unique(sorted);
  sorted.erase(first, last);
  std::vector<std::unique_lock<std::mutex>> locks;
  for (SharedVariable* variable : sorted) locks.emplace_back(variable->mutex);
  return locks;
}

}  // namespace

std::vector<tensor::Tensor> values_of(const SharedVariables& variables) {
  std::vector<tensor::Tensor> values;
  values.reserve(variables.size());
  const auto locks = locked(variables);
  for (const auto& variable : variables) {
    variable->is_own = false;
    values.push_back(variable->value);
  }
  return values;
}

HeldValues::HeldValues(SharedVariables variables) : variables_(std::move(variables)) {
  values_.reserve(variables_.size());
  const auto locks = locked(variables_);
  for (const auto& variable : variables_) values_.push_back(variable->value);
}

void HeldValues::give_back() {
  const auto locks = locked(variables_);
  values_.clear();
}

namespace {

/// Whether nothing else holds the value to be written. Precondition: the variable's lock.
bool may_write(const SharedVariable& variable, const tensor::Tensor& value) {
  const bool is_value = variable.value.data() == value.data();
  return is_value && variable.is_own && value.owner().use_count() == 2;
}

}  // namespace

Expected<void> set_values(const SharedVariables& variables, std::vector<NextValue> next) {
  std::vector<bool> copied(next.size());
  for (std::size_t i = 0; i < next.size();) {
    // Large copies are made without the locks. Held values do not change: calls that write to them
    // wait for their turn.
    auto locks = locked(variables);
    for (i = 0; i < next.size(); ++i)
      if (next[i].write && !copied[i] && !may_write(*variables[i], next[i].value)) break;
    if (i < next.size()) {
      locks.clear();
      const tensor::Tensor& value = next[i].value;
      SCANLOOM_TRY(next[i].value,
                   tensor::Tensor::copy_of(value.dtype(), value.shape(), value.data()));
      copied[i] = true;
      i = 0;
      continue;
    }
    for (std::size_t k = 0; k < next.size(); ++k) {
      if (next[k].write) next[k].write(const_cast<void*>(next[k].value.data()));
      variables[k]->is_own = static_cast<bool>(next[k].write);
      // The previous value is released after unlocking.
      std::swap(variables[k]->value, next[k].value);
    }
  }
  return {};
}

Turn::~Turn() {
  for (const auto& variable : taken_) {
    variable->is_updated = false;
    variable->turn.unlock();
  }
}

Expected<void> Turn::take(SharedVariables variables) {
  std::ranges::sort(variables);
  taken_.reserve(variables.size());
  for (auto& variable : variables) {
    variable->turn.lock();
    if (variable->is_updated) {
      variable->turn.unlock();
      return fail(
          Code::invalid_argument,
          "a call that updates shared variable '{}' was made during another call that updates it",
          variable->name);
    }
    variable->is_updated = true;
    taken_.push_back(std::move(variable));
  }
  return {};
}

Expected<void> check_shared(const Expr& variable) {
  if (variable.error() != nullptr) return *variable.error();
  if (is_shared(variable)) return {};
  return fail(Code::invalid_argument, "{} is not a shared variable", describe(variable));
}

Expected<void> check_update(const Expr& variable, const Expr& next) {
  SCANLOOM_CHECK_OK(check_shared(variable));
  if (!next.defined())
    return fail(Code::invalid_argument, "the update of {} is missing", describe(variable));
  if (next.error() != nullptr) return *next.error();
  if (next.dtype() == variable.dtype() && next.rank() == variable.rank()) return {};
  return fail(Code::invalid_argument, "the update of {} is {}, but the variable is {}{}",
              describe(variable), to_string(type_of(next)), to_string(type_of(variable)),
              next.dtype() == variable.dtype()
                  ? ""
                  : fmt::format("; cast it to {}", dtype_name(variable.dtype())));
}

Expr default_update(const Expr& variable) {
  if (!is_shared(variable)) return variable.error() != nullptr ? variable : Expr();
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

// Sizes stay open unless given: another value may have other sizes.
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

Expected<void> check_replacement(const Expr& old, const Expr& other) {
  SCANLOOM_CHECK_OK(check_shared(other));
  if (other.dtype() != old.dtype() || other.rank() != old.rank())
    return fail(Code::invalid_argument, "{} is {}, but its replacement is {}", describe(old),
                to_string(type_of(old)), to_string(type_of(other)));
  SharedVariable& replacing = *other.node()->shared;
  const std::scoped_lock lock(replacing.mutex);
  const tensor::Shape& shape = replacing.value.shape();
  return check_sizes(*old.node()->shared, {shape.begin(), shape.end()});
}

Expected<void> check_sizes(const SharedVariable& variable, std::span<const std::int64_t> sizes) {
  for (std::size_t axis = 0; axis < variable.sizes.size(); ++axis)
    if (variable.sizes[axis] >= 0 && variable.sizes[axis] != sizes[axis])
      return fail(
          Code::invalid_argument,
          "shared variable '{}' has size {} on axis {} by its type, but the new value has {}",
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
  variable_.node()->shared->is_own = true;
  const Expected<void> fits = expr::check_sizes(*variable_.node()->shared, value.shape);
  if (!fits) variable_ = expr::failed(fits.error());
}

Value Shared::value() const {
  if (!is_shared(variable_)) return {};
  const tensor::Tensor now = expr::value_of(*variable_.node()->shared);
  return Value(now.dtype(), {now.shape().begin(), now.shape().end()},
               std::shared_ptr<const void>(now.owner(), now.data()));
}

Expected<void> Shared::set(const View& value) {
  SCANLOOM_CHECK_OK(expr::check_shared(variable_));
  if (value.dtype != variable_.dtype() || static_cast<int>(value.shape.size()) != variable_.rank())
    return fail(Code::invalid_argument, "{} is {} with {} axes, but the new value is {} with {}",
                expr::describe(variable_), dtype_name(variable_.dtype()), variable_.rank(),
                dtype_name(value.dtype), value.shape.size());
  SCANLOOM_CHECK_OK(expr::check_sizes(*variable_.node()->shared, value.shape));
  SCANLOOM_TRY(tensor::Tensor copy, tensor::copy_of(value, expr::describe(variable_)));
  expr::set_value(*variable_.node()->shared, std::move(copy), true);
  return {};
}

bool is_shared(const Expr& x) noexcept {
  return x.defined() && x.node()->kind == expr::Kind::shared;
}

Expr Shared::default_update() const { return expr::default_update(variable_); }

void Shared::set_default_update(const Expr& next) {
  if (!is_shared(variable_)) return;
  expr::SharedVariable& shared = *variable_.node()->shared;
  if (next.defined())
    if (const auto fits = expr::check_update(variable_, next); !fits) {
      shared.next = expr::failed(fits.error());
      return;
    }
  shared.self = expr::placeholder(expr::type_of(variable_), variable_.name());
  expr::Replacements self{{expr::key_of(variable_), shared.self}};
  shared.next = next.defined() ? expr::substituted({next}, self).front() : Expr();
}

Updates Updates::failed(Expr bad) {
  Updates updates;
  updates.failed_ = std::move(bad);
  return updates;
}

Expr Updates::operator[](const Shared& variable) const {
  if (error() != nullptr) return failed_;
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
  if (other.error() != nullptr) failed_ = other.failed_;
  if (error() != nullptr) return *error();
  for (const auto& [variable, next] : other.entries_) {
    const Expr old = (*this)[variable];
    if (old.defined() && !(old == next)) {
      if (is_shared(variable) && variable.variable().node()->shared->counts) {
        set(variable, maximum(old, next));
        continue;
      }
      return fail(Code::invalid_argument, "two different updates of {}",
                  expr::describe(variable.variable()));
    }
    set(variable, next);
  }
  return {};
}

namespace {

/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): each bit of x changes about
/// half of the result's.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Returns the key of a stream. It mixes seed and number, since their sum would give two seeds the
/// same streams in another order.
std::uint64_t key_of_stream(std::uint64_t seed, std::size_t stream) {
  return mixed(mixed(seed) ^ stream);
}

}  // namespace

RandomStreams::RandomStreams(std::uint64_t seed) : seed_(seed) {}

Expr RandomStreams::draw(const char* kind, const Expr& shape, DType dtype) {
  if (shape.error() != nullptr) return shape;
  // The number of the sample, and the key, which is made from the seed and the stream.
  const std::vector<std::uint64_t> key{0, key_of_stream(seed_, streams_.size())};
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
    const std::uint64_t key[2] = {0, key_of_stream(seed_, i)};
    (void)streams_[i].set(view(key, {2}));
  }
}

Updates RandomStreams::updates() const {
  Updates all;
  for (const Shared& stream : streams_) all.set(stream, stream.default_update());
  return all;
}

}  // namespace scanloom
