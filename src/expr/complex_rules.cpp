#include "expr/complex_rules.h"

#include <algorithm>
#include <complex>
#include <map>

#include "expr/apply.h"
#include "expr/complex_ops.h"
#include "expr/types.h"
#include "ops/ops.h"
#include "tensor/visit.h"

namespace scanloom::expr {
namespace {

std::size_t index_of(const ir::OpDef& op, std::string_view attr) {
  return static_cast<std::size_t>(op.attr_index(attr));
}

std::vector<Parts> real_result(Expr value) { return one({std::move(value), {}}); }

/// Returns one part of an attribute of complex elements.
tensor::Attr part_of_attr(const tensor::Attr& attr, bool imaginary) {
  if (!attr.present() || attr.kind() != tensor::AttrKind::tensor ||
      !is_complex(attr.tensor().dtype()))
    return attr;
  auto part = part_of_complex(attr.tensor(), imaginary);
  return part ? tensor::Attr(*std::move(part)) : attr;
}

std::vector<Expr> applied(const ComplexCall& call, bool imaginary) {
  std::vector<Expr> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const bool both = call.node.inputs[i].defined() && is_complex(call.node.inputs[i].dtype());
    inputs.push_back(both && imaginary ? call.in(i).imaginary() : call.in(i).re);
  }
  std::vector<tensor::Attr> attrs;
  for (const tensor::Attr& attr : call.node.attrs) attrs.push_back(part_of_attr(attr, imaginary));
  std::vector<Expr> made =
      apply_attrs(*call.node.op, std::move(inputs), std::move(attrs), call.node.outputs.size());
  if (!call.node.location.empty() && made[0].error() == nullptr)
    made[0].node()->location = call.node.location;
  return made;
}

/// Whether every complex operand is known to be a real number, so that no imaginary part moves.
bool moves_floats_alone(const ComplexCall& call) {
  bool none = true, any = false;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.node.inputs[i].defined() || !is_complex(call.node.inputs[i].dtype())) continue;
    any = true;
    none = none && call.in(i).is_real();
  }
  return any && none;
}

/// Applies the same operator to the real parts, and to the imaginary parts.
std::vector<Parts> each_part(const ComplexCall& call) {
  const std::vector<Expr> re = applied(call, false);
  std::vector<Parts> results;
  if (moves_floats_alone(call)) {
    for (const Expr& x : re) results.push_back({x, {}});
    return results;
  }
  const std::vector<Expr> im = applied(call, true);
  for (std::size_t i = 0; i < re.size(); ++i) results.push_back({re[i], im[i]});
  return results;
}

/// Operators that depend only on sizes.
std::vector<Parts> of_sizes(const ComplexCall& call) {
  return real_result(applied(call, false).front());
}

// Arithmetic.

std::vector<Parts> neg_parts(const ComplexCall& call) {
  const Parts& x = call.in(0);
  return one({-x.re, x.is_real() ? Expr() : -x.im});
}
std::vector<Parts> add_parts(const ComplexCall& call) { return one(call.in(0) + call.in(1)); }
std::vector<Parts> sub_parts(const ComplexCall& call) { return one(call.in(0) - call.in(1)); }
std::vector<Parts> mul_parts(const ComplexCall& call) { return one(call.in(0) * call.in(1)); }
std::vector<Parts> div_parts(const ComplexCall& call) { return one(call.in(0) / call.in(1)); }

std::vector<Parts> contract_parts(const ComplexCall& call) {
  const Parts &a = call.in(0), &b = call.in(1);
  const auto product = [&](const Expr& x, const Expr& y) {
    Expr made = apply_attrs(*call.node.op, {x, y}, call.node.attrs, 1).front();
    if (made.error() == nullptr) made.node()->location = call.node.location;
    return made;
  };
  if (a.is_real() && b.is_real()) return one({product(a.re, b.re), {}});
  if (a.is_real()) return one({product(a.re, b.re), product(a.re, b.im)});
  if (b.is_real()) return one({product(a.re, b.re), product(a.im, b.re)});
  return one(
      {product(a.re, b.re) - product(a.im, b.im), product(a.re, b.im) + product(a.im, b.re)});
}

// Parts.

std::vector<Parts> make_parts(const ComplexCall& call) {
  return one({call.in(0).re, call.in(1).re});
}
std::vector<Parts> real_part(const ComplexCall& call) { return real_result(call.in(0).re); }
std::vector<Parts> imag_part(const ComplexCall& call) {
  return real_result(call.in(0).imaginary());
}
std::vector<Parts> conj_parts(const ComplexCall& call) {
  const Parts& x = call.in(0);
  return one({x.re, x.is_real() ? Expr() : -x.im});
}

std::vector<Parts> cast_parts(const ComplexCall& call) {
  const Parts& x = call.in(0);
  const DType to = call.node.outputs[0].dtype;
  if (to == DType::boolean) {
    const Expr re = cast(x.re, to);
    return real_result(x.is_real() ? re : re | cast(x.im, to));
  }
  return one({cast(x.re, part_of(to)), x.is_real() ? Expr() : cast(x.im, part_of(to))});
}

std::vector<Parts> equal_parts(const ComplexCall& call) {
  const Parts &a = call.in(0), &b = call.in(1);
  const Expr re = equal(a.re, b.re);
  if (a.is_real() && b.is_real()) return real_result(re);
  return real_result(re & equal(a.imaginary(), b.imaginary()));
}

std::vector<Parts> is_nan_parts(const ComplexCall& call) {
  const Parts& x = call.in(0);
  return real_result(x.is_real() ? is_nan(x.re) : is_nan(x.re) | is_nan(x.im));
}

// Errors about operators that do not take complex numbers.

/// Names the operation as the user does.
std::string word_of(const ir::OpDef& op, std::span<const tensor::Attr> attrs) {
  if (&op == &ops::reduce_op) return attrs[index_of(op, "kind")].text();
  if (&op == &ops::max_op) return "maximum";
  return std::string(&op == &ops::min_op ? "minimum" : op.name);
}

/// Sums and moves are allowed; other uses of these operators need an order, or a product.
bool is_linear(const ir::OpDef& op, std::span<const tensor::Attr> attrs) {
  if (&op == &ops::reduce_op) {
    const std::string& kind = attrs[index_of(op, "kind")].text();
    return kind == "sum" || kind == "mean";
  }
  if (&op == &ops::scatter_nd_op || &op == &ops::scatter_elements_op ||
      &op == &ops::scatter_slice_op) {
    const std::string& kind = attrs[index_of(op, "reduction")].text();
    return kind == "none" || kind == "add";
  }
  return true;
}

}  // namespace

Error complex_refusal(std::string_view operation) {
  return fail(Code::invalid_argument,
              "{} does not support complex numbers; use real(x), imag(x) or abs(x)", operation);
}

Expr refused_complex(std::string_view operation, std::initializer_list<Expr> operands) {
  for (const Expr& x : operands)
    if (x.defined() && x.error() == nullptr && is_complex(x.dtype()))
      return failed(fail(Code::invalid_argument, "{} of {}: {}", operation, describe(x),
                         complex_refusal(operation).text()));
  return {};
}

Expected<tensor::Tensor> part_of_complex(const tensor::Tensor& value, bool imaginary) {
  SCANLOOM_TRY(tensor::Tensor part, tensor::Tensor::zeros(part_of(value.dtype()), value.shape()));
  const auto take = [&]<class T>(std::type_identity<T>) {
    const auto numbers = value.as<std::complex<T>>();
    std::ranges::transform(numbers, static_cast<T*>(part.mutable_data()),
                           [&](std::complex<T> z) { return imaginary ? z.imag() : z.real(); });
  };
  if (value.dtype() == DType::c64)
    take(std::type_identity<float>{});
  else
    take(std::type_identity<double>{});
  return part;
}

bool holds_only_zeros(const tensor::Tensor& values) {
  const auto bytes = std::span(static_cast<const std::byte*>(values.data()), values.bytes());
  return std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{0}; });
}

Expr Parts::imaginary() const {
  if (im.defined() || re.error() != nullptr) return im.defined() ? im : re;
  return re.rank() == 0 ? number(0, re.dtype()) : zeros_like(re);
}

const tensor::Attr& ComplexCall::attr(std::string_view name) const {
  return node.attrs[index_of(*node.op, name)];
}

DType ComplexCall::part() const { return part_of(node.outputs[0].dtype); }

// A real number changes only one part of the other operand, as in C: neither the sign of a zero nor
// an infinity enters the other part.
Parts operator+(const Parts& a, const Parts& b) {
  if (a.is_real() && b.is_real()) return {a.re + b.re, {}};
  return {a.re + b.re, a.is_real() ? b.im : b.is_real() ? a.im : a.im + b.im};
}
Parts operator-(const Parts& a, const Parts& b) {
  if (a.is_real() && b.is_real()) return {a.re - b.re, {}};
  return {a.re - b.re, a.is_real() ? -b.im : b.is_real() ? a.im : a.im - b.im};
}
Parts operator*(const Parts& a, const Parts& b) {
  if (a.is_real() && b.is_real()) return {a.re * b.re, {}};
  if (a.is_real()) return {a.re * b.re, a.re * b.im};
  if (b.is_real()) return {a.re * b.re, a.im * b.re};
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// Smith's formula: divides by the larger part of the divisor, so that no square overflows.
Parts operator/(const Parts& a, const Parts& b) {
  if (b.is_real()) return {a.re / b.re, a.is_real() ? Expr() : a.im / b.re};
  const Expr re_leads = abs(b.im) <= abs(b.re);
  const Expr lead = where(re_leads, b.re, b.im), rest = where(re_leads, b.im, b.re);
  const Expr zero = number(0, lead.dtype());
  const Expr ratio = where(equal(lead, zero), zero, rest / lead);
  const Expr below = lead + rest * ratio;
  if (a.is_real())
    return {where(re_leads, a.re, a.re * ratio) / below,
            where(re_leads, -(a.re * ratio), -a.re) / below};
  return {where(re_leads, a.re + a.im * ratio, a.re * ratio + a.im) / below,
          where(re_leads, a.im - a.re * ratio, a.im * ratio - a.re) / below};
}

bool is_complex_use(const ir::OpDef& op, std::span<const Expr> inputs,
                    std::span<const tensor::Attr> attrs) {
  if (&op == &make_complex_op) return true;
  if (&op == &ops::cast_op && is_complex(attrs[0].dtype())) return true;
  return std::ranges::any_of(
      inputs, [](const Expr& x) { return x.defined() && is_complex(type_of(x).dtype); });
}

Expected<const ComplexRow*> complex_row(const ir::OpDef& op, std::span<const tensor::Attr> attrs) {
  static const std::map<const ir::OpDef*, const ComplexRow*> rows = [] {
    std::map<const ir::OpDef*, const ComplexRow*> all;
    for (const auto& part : {complex_arithmetic(), complex_functions()})
      for (const ComplexRow& row : part) all.emplace(row.op, &row);
    return all;
  }();
  const auto found = rows.find(&op);
  if (found == rows.end() || !is_linear(op, attrs)) return complex_refusal(word_of(op, attrs));
  if (found->second->result == ComplexResult::as_said) {
    const DType to = attrs[0].dtype();
    if (!is_complex(to) && to != DType::boolean)
      return fail(Code::invalid_argument,
                  "a complex number has two parts, but {} has one: take real(x), imag(x), abs(x) "
                  "or angle(x)",
                  dtype_name(to));
  }
  return found->second;
}

std::span<const ComplexRow> complex_arithmetic() {
  constexpr ComplexResult kReal = ComplexResult::real;
  static const ComplexRow rows[] = {
      {&make_complex_op, make_parts},
      {&real_op, real_part, kReal},
      {&imag_op, imag_part, kReal},
      {&conj_op, conj_parts},
      {&ops::cast_op, cast_parts, ComplexResult::as_said},
      {&ops::add_op, add_parts},
      {&ops::sub_op, sub_parts},
      {&ops::mul_op, mul_parts},
      {&ops::div_op, div_parts},
      {&ops::neg_op, neg_parts},
      {&ops::contract_op, contract_parts},
      {&ops::equal_op, equal_parts, kReal},
      {&ops::is_nan_op, is_nan_parts, kReal},
      {&ops::dim_op, of_sizes, kReal},
      {&ops::shape_op, of_sizes, kReal},
      {&ops::size_op, of_sizes, kReal},
      {&ops::concat_op, each_part},
      {&ops::constant_of_shape_op, each_part},
      {&ops::cumsum_op, each_part},
      {&ops::dense_op, each_part},
      {&ops::expand_op, each_part},
      {&ops::flatten_op, each_part},
      {&ops::gather_op, each_part},
      {&ops::gather_elements_op, each_part},
      {&ops::gather_nd_op, each_part},
      {&ops::identity_op, each_part},
      {&ops::pad_op, each_part},
      {&ops::reduce_op, each_part},
      {&ops::reshape_op, each_part},
      {&ops::reverse_sequence_op, each_part},
      {&ops::scatter_elements_op, each_part},
      {&ops::scatter_nd_op, each_part},
      {&ops::scatter_slice_op, each_part},
      {&ops::slice_op, each_part},
      {&ops::split_op, each_part},
      {&ops::squeeze_op, each_part},
      {&ops::sum_to_op, each_part},
      {&ops::tile_op, each_part},
      {&ops::transpose_op, each_part},
      {&ops::unsqueeze_op, each_part},
      {&ops::where_op, each_part},
  };
  return rows;
}

}  // namespace scanloom::expr
