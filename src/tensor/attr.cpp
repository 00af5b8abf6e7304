#include "tensor/attr.h"

#include <algorithm>
#include <bit>

namespace scanloom::tensor {
namespace {

bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}
bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::ranges::equal(a, b, [](double x, double y) { return same(x, y); });
}
bool same(const Tensor& a, const Tensor& b) { return identical(a, b); }
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}

}  // namespace

Attr::Attr() noexcept = default;
Attr::Attr(std::int64_t value) : value_(value) {}
Attr::Attr(int value) : value_(std::int64_t{value}) {}
Attr::Attr(bool value) : value_(std::int64_t{value}) {}
Attr::Attr(double value) : value_(value) {}
Attr::Attr(std::string value) : value_(std::move(value)) {}
Attr::Attr(const char* value) : value_(std::string(value)) {}
Attr::Attr(std::vector<std::int64_t> value) : value_(std::move(value)) {}
Attr::Attr(std::vector<double> value) : value_(std::move(value)) {}
Attr::Attr(Tensor value) : value_(std::move(value)) {}
Attr::Attr(DType value) : value_(value) {}
Attr::Attr(const Attr& other) = default;
Attr::Attr(Attr&& other) noexcept = default;
Attr& Attr::operator=(const Attr& other) = default;
Attr& Attr::operator=(Attr&& other) noexcept = default;
Attr::~Attr() = default;

bool operator==(const Attr& a, const Attr& b) {
  if (a.value_.index() != b.value_.index()) return false;
  return std::visit(
      [&b](const auto& left) {
        using T = std::remove_cvref_t<decltype(left)>;
        return same(left, *std::get_if<T>(&b.value_));
      },
      a.value_);
}

}  // namespace scanloom::tensor
