// Attr: the value of an operator's attribute. A node holds its attributes in the order in which the
// OpDef declares them, so reading one is an index, never a search by name.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace scanloom::tensor {

enum class AttrKind : std::uint8_t { none, integer, real, text, integers, floats, tensor, dtype };

/// The alternatives are in AttrKind's order; none: an absent optional attribute.
class Attr {
 public:
  // Construction, copy and move of all alternatives are compiled once, in attr.cpp, instead of in
  // every source file.
  Attr() noexcept;
  Attr(std::int64_t value);
  Attr(int value);
  Attr(bool value);
  Attr(double value);
  Attr(std::string value);
  Attr(const char* value);
  Attr(std::vector<std::int64_t> value);
  Attr(std::vector<double> value);
  Attr(Tensor value);
  Attr(DType value);
  Attr(const Attr& other);
  Attr(Attr&& other) noexcept;
  Attr& operator=(const Attr& other);
  Attr& operator=(Attr&& other) noexcept;
  ~Attr();

  [[nodiscard]] AttrKind kind() const { return static_cast<AttrKind>(value_.index()); }
  [[nodiscard]] bool present() const { return kind() != AttrKind::none; }
  /// Precondition of the readers: the attribute has that kind (ensured by the verifier).
  [[nodiscard]] std::int64_t integer() const { return *std::get_if<std::int64_t>(&value_); }
  [[nodiscard]] double real() const { return *std::get_if<double>(&value_); }
  [[nodiscard]] const std::string& text() const { return *std::get_if<std::string>(&value_); }
  [[nodiscard]] const std::vector<std::int64_t>& integers() const {
    return *std::get_if<std::vector<std::int64_t>>(&value_);
  }
  [[nodiscard]] const std::vector<double>& floats() const {
    return *std::get_if<std::vector<double>>(&value_);
  }
  [[nodiscard]] const Tensor& tensor() const { return *std::get_if<Tensor>(&value_); }
  [[nodiscard]] DType dtype() const { return *std::get_if<DType>(&value_); }

  /// Bitwise: NaN equals itself; tensors compare by contents.
  friend bool operator==(const Attr& a, const Attr& b);

 private:
  std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>,
               std::vector<double>, Tensor, DType>
      value_;
};

}  // namespace scanloom::tensor
