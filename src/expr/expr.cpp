#include <scanloom/expr.h>

#include <cmath>
#include <limits>

#include "expr/apply.h"
#include "expr/node.h"
#include "tensor/view.h"

namespace scanloom {
namespace {

using expr::Node;
using tensor::Tensor;

template <class T>
bool holds(std::int64_t value) {
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
}

Tensor smallest(std::int64_t value) {
  if (holds<std::int8_t>(value)) return Tensor::scalar(static_cast<std::int8_t>(value));
  if (holds<std::int16_t>(value)) return Tensor::scalar(static_cast<std::int16_t>(value));
  if (holds<std::int32_t>(value)) return Tensor::scalar(static_cast<std::int32_t>(value));
  return Tensor::scalar(value);
}

Tensor smallest(double value) {
  const auto narrow = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(narrow) == value) return Tensor::scalar(narrow);
  return Tensor::scalar(value);
}

}  // namespace

Expr::Expr(std::shared_ptr<expr::Node> node, std::uint32_t output)
    : node_(std::move(node)), output_(output) {}

Expr::Expr(double value) : Expr(expr::constant_of(smallest(value))) { node_->weak = true; }
Expr::Expr(std::int64_t value) : Expr(expr::constant_of(smallest(value))) { node_->weak = true; }

const Error* Expr::error() const noexcept {
  static const std::string kNone;
  return node_ != nullptr && node_->error ? &*node_->error : nullptr;
}

DType Expr::dtype() const noexcept { return expr::type_of(*this).dtype; }
int Expr::rank() const noexcept { return expr::type_of(*this).rank(); }
std::span<const std::int64_t> Expr::sizes() const noexcept { return expr::type_of(*this).sizes; }

const std::string& Expr::name() const noexcept {
  static const std::string kNone;
  return node_ != nullptr && output_ < node_->names.size() ? node_->names[output_] : kNone;
}

Expr& Expr::named(std::string name) {
  if (node_ == nullptr) return *this;
  if (node_->names.size() <= output_) node_->names.resize(output_ + 1);
  node_->names[output_] = std::move(name);
  return *this;
}

Expr Expr::operator[](Expr index) const { return subtensor(*this, {Index::of(std::move(index))}); }

Expr input(std::string name, DType dtype, std::vector<std::int64_t> sizes) {
  if (sizes.size() > static_cast<std::size_t>(tensor::kMaxRank))
    return expr::failed(fail(Code::invalid_argument, "'{}' has {} axes, more than {}", name,
                             sizes.size(), tensor::kMaxRank));
  for (const std::int64_t size : sizes)
    if (size < -1)
      return expr::failed(
          fail(Code::invalid_argument,
               "'{}' has an axis of size {}; -1 means a size that each call provides", name, size));
  return expr::placeholder({dtype, std::move(sizes)}, std::move(name));
}

Expr constant(const View& value) {
  auto copy = tensor::copy_of(value, "a constant");
  if (!copy) return expr::failed(std::move(copy).error());
  return expr::constant_of(*std::move(copy));
}

Expr number(double value, DType dtype) {
  return cast(expr::constant_of(Tensor::scalar(value)), dtype);
}

}  // namespace scanloom
