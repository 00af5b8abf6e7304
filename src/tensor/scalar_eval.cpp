#include "tensor/scalar_eval.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/dot.h"
#include "tensor/scalar_arith.h"

namespace scanloom::tensor {
namespace {

constexpr std::int64_t kBlock = 64;

/// The type that elements of T are computed in; StringRef itself for strings.
template <class T>
struct ComputeOf {
  using type = T;
};
template <SmallFloatType T>
struct ComputeOf<T> {
  using type = float;
};
template <SmallIntType T>
struct ComputeOf<T> {
  using type = std::conditional_t<T::kSigned, std::int64_t, std::uint64_t>;
};
template <std::integral T>
  requires(!std::same_as<T, bool>)
struct ComputeOf<T> {
  using type = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

/// Calls f(std::type_identity<C>{}) with the class that `dtype` is computed in.
template <class F>
void visit_compute(DType dtype, F&& f) {
  switch (dtype_kind(dtype)) {
    case DTypeKind::real:
      return dtype == DType::f64 ? f(std::type_identity<double>{}) : f(std::type_identity<float>{});
    case DTypeKind::signed_int:
      return f(std::type_identity<std::int64_t>{});
    case DTypeKind::unsigned_int:
      return f(std::type_identity<std::uint64_t>{});
    case DTypeKind::boolean:
      return f(std::type_identity<bool>{});
    case DTypeKind::complex:
      return dtype == DType::c64 ? f(std::type_identity<std::complex<float>>{})
                                 : f(std::type_identity<std::complex<double>>{});
    case DTypeKind::text:
      return f(std::type_identity<StringRef>{});
  }
}

template <class T>
T from_reg(const ScalarReg& reg) {
  T value;
  if constexpr (std::same_as<T, bool>)
    value = (reg.low & 0xff) != 0;
  else
    std::memcpy(static_cast<void*>(&value), &reg, sizeof(T));
  return value;
}
template <class T>
ScalarReg to_reg(const T& value) {
  ScalarReg reg;
  std::memcpy(static_cast<void*>(&reg), &value, sizeof(T));
  return reg;
}

template <class C>
void decode(DType dtype, const ScalarReg* from, C* to, std::int64_t count) {
  visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::same_as<Compute<T>, C>)
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<C>(widen(from_reg<T>(from[i])));
  });
}
template <class C>
void encode(DType dtype, const C* from, ScalarReg* to, std::int64_t count) {
  visit_dtype(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::same_as<Compute<T>, C>)
      for (std::int64_t i = 0; i < count; ++i) to[i] = to_reg(narrow<T>(from[i]));
  });
}

/// The columns of one instruction, each a block of elements.
template <class C>
struct Columns {
  std::array<C, kBlock> a, b, c, out;
  std::int64_t count = 0;

  template <class F>
  bool unary(F f) {
    for (std::int64_t i = 0; i < count; ++i) out[at(i)] = f(a[at(i)]);
    return true;
  }
  template <class F>
  bool binary(F f) {
    for (std::int64_t i = 0; i < count; ++i) out[at(i)] = f(a[at(i)], b[at(i)]);
    return true;
  }
  template <class F>
  bool ternary(F f) {
    for (std::int64_t i = 0; i < count; ++i) out[at(i)] = f(a[at(i)], b[at(i)], c[at(i)]);
    return true;
  }
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
};

// apply() overloads return whether the class has the instruction; the result is in columns.out.

template <std::floating_point R>
bool apply(ScalarOp op, int, Columns<R>& x) {
  switch (op) {
    case ScalarOp::add:
      return x.binary([](R a, R b) { return a + b; });
    case ScalarOp::sub:
      return x.binary([](R a, R b) { return a - b; });
    case ScalarOp::mul:
      return x.binary([](R a, R b) { return a * b; });
    case ScalarOp::div:
      return x.binary([](R a, R b) { return a / b; });
    case ScalarOp::mod_floor:
      return x.binary([](R a, R b) { return arith::modulo(a, b); });
    case ScalarOp::mod_trunc:
      return x.binary([](R a, R b) { return arith::remainder(a, b); });
    case ScalarOp::min:
      return x.binary([](R a, R b) { return arith::minimum(a, b); });
    case ScalarOp::max:
      return x.binary([](R a, R b) { return arith::maximum(a, b); });
    case ScalarOp::pow:
      return x.binary([](R a, R b) { return math::pow(a, b); });
    case ScalarOp::neg:
      return x.unary([](R a) { return -a; });
    case ScalarOp::abs:
      return x.unary([](R a) { return std::fabs(a); });
    case ScalarOp::sign:
      return x.unary([](R a) { return arith::sign(a); });
    case ScalarOp::sqrt:
      return x.unary([](R a) { return std::sqrt(a); });
    case ScalarOp::floor:
      return x.unary([](R a) { return std::floor(a); });
    case ScalarOp::ceil:
      return x.unary([](R a) { return std::ceil(a); });
    case ScalarOp::trunc:
      return x.unary([](R a) { return std::trunc(a); });
    case ScalarOp::round_even:
      return x.unary([](R a) { return std::nearbyint(a); });
    case ScalarOp::mul_add:
      return x.ternary([](R a, R b, R c) { return multiply_add(a, b, c); });
#define SCANLOOM_MATH_FUNCTION(name) \
  case ScalarOp::name:               \
    return x.unary([](R a) { return math::name(a); });
#include "base/math/functions.inc"
#undef SCANLOOM_MATH_FUNCTION
    default:
      return false;
  }
}

template <arith::Whole W>
bool apply(ScalarOp op, int width, Columns<W>& x) {
  using arith::bits, arith::wrap;
  switch (op) {
    case ScalarOp::add:
      return x.binary([](W a, W b) { return wrap<W>(bits(a) + bits(b)); });
    case ScalarOp::sub:
      return x.binary([](W a, W b) { return wrap<W>(bits(a) - bits(b)); });
    case ScalarOp::mul:
      return x.binary([](W a, W b) { return wrap<W>(bits(a) * bits(b)); });
    case ScalarOp::div:
      return x.binary([](W a, W b) { return arith::divide(a, b); });
    case ScalarOp::mod_floor:
      return x.binary([](W a, W b) { return arith::modulo(a, b); });
    case ScalarOp::mod_trunc:
      return x.binary([](W a, W b) { return arith::remainder(a, b); });
    case ScalarOp::min:
      return x.binary([](W a, W b) { return std::min(a, b); });
    case ScalarOp::max:
      return x.binary([](W a, W b) { return std::max(a, b); });
    case ScalarOp::pow:
      return x.binary([](W a, W b) { return arith::power(a, b); });
    case ScalarOp::neg:
      return x.unary([](W a) { return wrap<W>(0 - bits(a)); });
    case ScalarOp::abs:
      return x.unary([](W a) { return a < 0 ? wrap<W>(0 - bits(a)) : a; });
    case ScalarOp::sign:
      return x.unary([](W a) { return arith::sign(a); });
    case ScalarOp::floor:
    case ScalarOp::ceil:
    case ScalarOp::trunc:
    case ScalarOp::round_even:
      return x.unary([](W a) { return a; });
    case ScalarOp::bit_and:
      return x.binary([](W a, W b) { return a & b; });
    case ScalarOp::bit_or:
      return x.binary([](W a, W b) { return a | b; });
    case ScalarOp::bit_xor:
      return x.binary([](W a, W b) { return a ^ b; });
    case ScalarOp::bit_not:
      return x.unary([](W a) { return ~a; });
    case ScalarOp::shift_left:
      return x.binary([width](W a, W b) { return arith::shift_left(a, b, width); });
    case ScalarOp::shift_right:
      return x.binary([width](W a, W b) { return arith::shift_right(a, b, width); });
    default:
      return false;
  }
}

bool apply(ScalarOp op, int, Columns<bool>& x) {
  switch (op) {
    case ScalarOp::min:
    case ScalarOp::bit_and:
    case ScalarOp::logical_and:
      return x.binary([](bool a, bool b) { return a && b; });
    case ScalarOp::max:
    case ScalarOp::bit_or:
    case ScalarOp::logical_or:
      return x.binary([](bool a, bool b) { return a || b; });
    case ScalarOp::bit_xor:
    case ScalarOp::logical_xor:
      return x.binary([](bool a, bool b) { return a != b; });
    case ScalarOp::bit_not:
    case ScalarOp::logical_not:
      return x.unary([](bool a) { return !a; });
    default:
      return false;
  }
}

template <class R>
bool apply(ScalarOp op, int, Columns<std::complex<R>>& x) {
  using C = std::complex<R>;
  switch (op) {
    case ScalarOp::add:
      return x.binary([](C a, C b) { return a + b; });
    case ScalarOp::sub:
      return x.binary([](C a, C b) { return a - b; });
    case ScalarOp::mul:
      return x.binary([](C a, C b) { return arith::multiply(a, b); });
    case ScalarOp::div:
      return x.binary([](C a, C b) { return a / b; });
    case ScalarOp::neg:
      return x.unary([](C a) { return -a; });
    default:
      return false;
  }
}

bool apply(ScalarOp, int, Columns<StringRef>&) { return false; }

template <class C>
bool compare(ScalarOp op, const C& a, const C& b, bool& result) {
  if constexpr (std::same_as<C, StringRef>) {
    result = a.view() == b.view();
    return op == ScalarOp::equal;
  } else {
    if (op == ScalarOp::equal) result = a == b;
    if constexpr (is_complex_type<C>) {
      return op == ScalarOp::equal;
    } else {
      if (op == ScalarOp::less) result = a < b;
      if (op == ScalarOp::less_equal) result = a <= b;
      const bool test = op == ScalarOp::is_nan || op == ScalarOp::is_inf;
      if (test) result = false;
      if constexpr (std::floating_point<C>)
        if (test) result = op == ScalarOp::is_nan ? a != a : std::isinf(a);
      return !test || !std::same_as<C, bool>;
    }
  }
}

const ScalarReg* column(const ScalarReg* registers, std::int32_t reg, std::int64_t count) {
  return registers + reg * count;
}

void eval_arithmetic(const ScalarInstr& instr, const ScalarReg* a, const ScalarReg* b,
                     const ScalarReg* c, ScalarReg* out, std::int64_t count) {
  const int width = dtype_file_bits(instr.dtype);
  visit_compute(instr.dtype, [&]<class C>(std::type_identity<C>) {
    Columns<C> columns;
    for (std::int64_t first = 0; first < count; first += kBlock) {
      columns.count = std::min(kBlock, count - first);
      decode(instr.dtype, a + first, columns.a.data(), columns.count);
      if (b != nullptr) decode(instr.dtype, b + first, columns.b.data(), columns.count);
      if (c != nullptr) decode(instr.dtype, c + first, columns.c.data(), columns.count);
      if (scalar_op_compares(instr.op)) {
        for (std::int64_t i = 0; i < columns.count; ++i) {
          bool result = false;
          const auto at = static_cast<std::size_t>(i);
          compare(instr.op, columns.a[at], b == nullptr ? columns.a[at] : columns.b[at], result);
          out[first + i] = {result ? 1u : 0u, 0};
        }
      } else {
        apply(instr.op, width, columns);
        encode(instr.dtype, columns.out.data(), out + first, columns.count);
      }
    }
  });
}

void eval_cast(DType from, DType to, const ScalarReg* a, ScalarReg* out, std::int64_t count) {
  if (from == to) return void(std::copy_n(a, count, out));
  visit_compute(from, [&]<class C>(std::type_identity<C>) {
    std::array<C, kBlock> values;
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t block = std::min(kBlock, count - first);
      decode(from, a + first, values.data(), block);
      visit_dtype(to, [&]<class T>(std::type_identity<T>) {
        if constexpr (!std::same_as<T, StringRef> && !std::same_as<C, StringRef>)
          for (std::int64_t i = 0; i < block; ++i)
            out[first + i] = to_reg(arith::cast<T>(values[static_cast<std::size_t>(i)]));
      });
    }
  });
}

void eval_instr(const ScalarProgram& program, const ScalarInstr& instr, const ScalarReg* registers,
                ScalarReg* out, std::int64_t count) {
  const auto arg = [&](int i) {
    return instr.args[i] < 0 ? nullptr : column(registers, instr.args[i], count);
  };
  switch (instr.op) {
    case ScalarOp::constant:
      std::fill_n(out, count, ScalarReg{instr.bits, 0});
      return;
    case ScalarOp::cast:
      return eval_cast(program.register_dtype(instr.args[0]), instr.dtype, arg(0), out, count);
    case ScalarOp::select:
      for (std::int64_t i = 0; i < count; ++i) out[i] = arg((arg(0)[i].low & 0xff) != 0 ? 1 : 2)[i];
      return;
    default:
      return eval_arithmetic(instr, arg(0), arg(1), arg(2), out, count);
  }
}

bool supports(const ScalarProgram& program, const ScalarInstr& instr) {
  const bool text = dtype_kind(instr.dtype) == DTypeKind::text;
  if (instr.op == ScalarOp::select) return true;
  if (instr.op == ScalarOp::constant) return !text;
  if (instr.op == ScalarOp::cast)
    return program.register_dtype(instr.args[0]) == instr.dtype ||
           (!text && dtype_kind(program.register_dtype(instr.args[0])) != DTypeKind::text);
  bool defined = false;
  visit_compute(instr.dtype, [&]<class C>(std::type_identity<C>) {
    bool result = false;
    Columns<C> none;  // empty: only asks whether such a case exists
    defined = scalar_op_compares(instr.op) ? compare(instr.op, C{}, C{}, result)
                                           : apply(instr.op, 0, none);
  });
  return defined;
}

}  // namespace

std::uint64_t scalar_bits(double value, DType dtype) {
  ScalarReg reg = to_reg(value);
  if (dtype == DType::string) return 0;
  eval_cast(DType::f64, dtype, &reg, &reg, 1);
  return reg.low;
}

std::uint64_t scalar_bits(std::int64_t value, DType dtype) {
  ScalarReg reg = to_reg(value);
  if (dtype == DType::string) return 0;
  eval_cast(DType::i64, dtype, &reg, &reg, 1);
  return reg.low;
}

bool supports(const ScalarProgram& program) {
  return std::ranges::all_of(program.instrs,
                             [&](const ScalarInstr& instr) { return supports(program, instr); });
}

void load_scalars(DType dtype, const std::byte* from, std::int64_t step, ScalarReg* to,
                  std::int64_t count) {
  visit_bytes(dtype, [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < count; ++i, from += step) {
      T value;
      std::memcpy(&value, from, sizeof(T));
      to[i] = to_reg(value);
    }
  });
}

void store_scalars(DType dtype, const ScalarReg* from, std::byte* to, std::int64_t step,
                   std::int64_t count) {
  visit_bytes(dtype, [&]<class T>(std::type_identity<T>) {
    for (std::int64_t i = 0; i < count; ++i, to += step) std::memcpy(to, &from[i], sizeof(T));
  });
}

void eval_scalar(const ScalarProgram& program, ScalarReg* registers, std::int64_t count) {
  ScalarReg* out = registers + static_cast<std::int64_t>(program.inputs.size()) * count;
  for (const ScalarInstr& instr : program.instrs) {
    eval_instr(program, instr, registers, out, count);
    out += count;
  }
}

}  // namespace scanloom::tensor
