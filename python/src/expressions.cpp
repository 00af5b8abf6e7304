// Binds the functions of expr.h under their own names. Each one raises the error of its result.
#include "expressions.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "feeds.h"
#include "text.h"

namespace scanloom::python {

std::string numpy_name(DType dtype) {
  if (dtype == DType::f32) return "float32";
  if (dtype == DType::f64) return "float64";
  return std::string(dtype_onnx_name(dtype));
}

DType dtype_of_numpy(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (numpy_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  raise(Error(Code::invalid_argument, "unknown element type '" + std::string(name) + "'"));
}

namespace {

using Unary = Expr (*)(const Expr&);
using Binary = Expr (*)(const Expr&, const Expr&);
using Ternary = Expr (*)(const Expr&, const Expr&, const Expr&);
using Reduction = Expr (*)(const Expr&, const Axes&, bool);
using IndexOfMinMax = Expr (*)(const Expr&, std::optional<int>, bool);
using AlongAxis = Expr (*)(const Expr&, int);
using AlongAxes = Expr (*)(const Expr&, const Axes&);
using Joining = Expr (*)(const std::vector<Expr>&, int);

constexpr std::pair<const char*, Unary> kFunctions[] = {
#define SCANLOOM_FUNCTION(name, python, doc) {#name, &name},
#include <scanloom/functions.inc>
#undef SCANLOOM_FUNCTION
};

constexpr std::pair<const char*, Unary> kUnary[] = {{"neg", &operator- },
                                                     {
                                                         "invert",
                                                         &operator~},
                                                         {"abs", &abs},
                                                         {"sign", &sign},
                                                         {"square", &square},
                                                         {"tan", &tan},
                                                         {"relu", &relu},
                                                         {"is_inf", &is_inf},
                                                         {"shape", &shape},
                                                         {"transpose", &transpose},
                                                         {"zeros_like", &zeros_like},
                                                         {"ones_like", &ones_like},
                                                         {"disconnected", &disconnected},
                                                         {"inverse", &inverse},
                                                         {"det", &det},
                                                         {"real_part", &real},
                                                         {"imaginary_part", &imag},
                                                         {"conj", &conj},
                                                         {"angle", &angle},
};

constexpr std::pair<const char*, Binary> kBinary[] = {
    {"add", &operator+ },
     {"sub", &operator- },
      {"mul", &operator* },
       {"div", &operator/ }, {"floor_divide", &floor_divide}, {"remainder", &remainder},
        {"pow", &pow}, {"maximum", &maximum}, {"minimum", &minimum},
        {"lt", &operator<},
         {"le", &operator<= },
          {"gt", &operator> },
           {"ge", &operator>= }, {"eq", &equal}, {"neq", &not_equal},
            {"bit_and", &operator& },
             {"bit_or", &operator| },
              {
                  "bit_xor",
                  &operator^ },
                  {"dot", &dot},
                  {"matmul", &matmul},
                  {"outer", &outer},
                  {"solve", &solve},
                  {"reshape", &reshape},
                  {"broadcast_to", &broadcast_to},
                  {"sum_to", &sum_to},
                  {"full", &full},
                  {"set_subtensor", &set_subtensor},
                  {"increment_subtensor", &increment_subtensor},
                  {"make_complex", &make_complex},
                  {"from_polar", &from_polar},
             };

constexpr std::pair<const char*, Ternary> kTernary[] = {
    {"where", &where}, {"clip", &clip}, {"arange", &arange}};

constexpr std::pair<const char*, Reduction> kReductions[] = {
    {"sum", &sum}, {"mean", &mean}, {"prod", &prod}, {"max", &max},
    {"min", &min}, {"all", &all},   {"any", &any},
};

constexpr std::pair<const char*, IndexOfMinMax> kIndices[] = {{"argmax", &argmax},
                                                              {"argmin", &argmin}};

constexpr std::pair<const char*, AlongAxis> kAlongAxis[] = {
    {"softmax", &softmax}, {"log_softmax", &log_softmax},
    {"cumsum", &cumsum},   {"cumprod", &cumprod},
    {"sort", &sort},       {"argsort", &argsort},
    {"size", &size},       {"flatten", &flatten},
};

constexpr std::pair<const char*, AlongAxes> kAlongAxes[] = {
    {"dimshuffle", &dimshuffle}, {"expand_dims", &expand_dims}, {"squeeze", &squeeze}};

constexpr std::pair<const char*, Joining> kJoining[] = {{"concatenate", &concatenate},
                                                        {"stack", &stack}};

void bind_leaves(nb::module_& module) {
  module.def("input",
             [](std::string name, std::string_view dtype, std::vector<std::int64_t> sizes) {
               return checked(input(std::move(name), dtype_of_numpy(dtype), std::move(sizes)));
             });
  module.def("constant", [](const nb::object& value) {
    const ArrayView array(value, "constant", "");
    return checked(constant(array.view()));
  });
  // Python numbers, which adapt their type to the other operand.
  module.def("whole", [](std::int64_t value) { return Expr(value); });
  module.def("real", [](double value) { return Expr(value); });
  module.def("complex_number", [](double re, double im) { return complex_number(re, im); });
  module.def("cast", [](const Expr& x, std::string_view dtype) {
    return checked(cast(x, dtype_of_numpy(dtype)));
  });
  module.def("zeros", [](const Expr& shape, std::string_view dtype) {
    return checked(zeros(shape, dtype_of_numpy(dtype)));
  });
  module.def("shape_of", [](const std::vector<Expr>& sizes) { return checked(shape_of(sizes)); });
}

void bind_indexing(nb::module_& module) {
  nb::class_<Index>(module, "Index")
      .def_static("of", &Index::of)
      .def_static(
          "slice",
          [](const std::optional<Expr>& start, const std::optional<Expr>& stop,
             const std::optional<Expr>& step) {
            return Index::slice(start.value_or(Expr()), stop.value_or(Expr()),
                                step.value_or(Expr()));
          },
          nb::arg().none(), nb::arg().none(), nb::arg().none())
      .def_static("new_axis", &Index::new_axis)
      .def_static("ellipsis", &Index::ellipsis);
  module.def("subtensor", [](const Expr& x, const std::vector<Index>& items) {
    return checked(subtensor(x, items));
  });
  module.def("tensordot", [](const Expr& a, const Expr& b, const Axes& of_a, const Axes& of_b) {
    return checked(tensordot(a, b, of_a, of_b));
  });
  module.def("conv2d",
             [](const Expr& x, const Expr& w, const Axes& strides, const Axes& dilations) {
               return checked(conv2d(x, w, strides, dilations));
             });
  module.def("contract", [](const Expr& a, const Expr& b, std::string_view spec) {
    return checked(contract(a, b, spec));
  });
}

void bind_matrices(nb::module_& module) {
  module.def("cholesky", [](const Expr& x, bool lower) { return checked(cholesky(x, lower)); });
  module.def("triangular_solve",
             [](const Expr& x, const Expr& b, bool lower, bool transposed, bool unit) {
               return checked(triangular_solve(x, b, {lower, transposed, unit}));
             });
  module.def("slogdet", [](const Expr& x) {
    SignAndLog both = slogdet(x);
    return std::pair(checked(std::move(both.sign)), checked(std::move(both.log)));
  });
}

void bind_fourier(nb::module_& module) {
  module.def(
      "fourier",
      [](const Expr& x, std::string_view kind, const std::optional<Expr>& length, int axis,
         std::string_view norm) {
        FourierForm form{.length = length.value_or(Expr()), .axis = axis};
        if (norm == "forward") form.norm = FourierNorm::forward;
        if (norm == "ortho") form.norm = FourierNorm::ortho;
        if (kind == "fft") return checked(fft(x, form));
        if (kind == "ifft") return checked(ifft(x, form));
        return checked(kind == "rfft" ? rfft(x, form) : irfft(x, form));
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
}

void bind_rewriting(nb::module_& module) {
  module.def("if_else",
             [](const Expr& condition, const std::vector<Expr>& a, const std::vector<Expr>& b) {
               std::vector<Expr> results = if_else(condition, a, b);
               for (const Expr& x : results) (void)checked(x);
               return results;
             });
  module.def("checked_equal",
             [](const Expr& a, const Expr& b, std::string text, std::string where) {
               return checked(checked_equal(a, b, std::move(text), std::move(where)));
             });
  module.def("leaves", &leaves);
  module.def("origins", &origins);
  module.def("substitute", [](const std::vector<Expr>& outputs,
                              const std::vector<std::pair<Expr, Expr>>& replacements) {
    std::vector<Expr> results = substitute(outputs, replacements);
    for (const Expr& x : results) (void)checked(x);
    return results;
  });
}

void bind_class(nb::module_& module) {
  nb::class_<Expr>(module, "Expr")
      .def_prop_ro("dtype", [](const Expr& x) { return numpy_name(x.dtype()); })
      .def_prop_ro("ndim", &Expr::rank)
      .def_prop_ro("sizes",
                   [](const Expr& x) {
                     nb::list sizes;
                     for (const std::int64_t size : x.sizes()) sizes.append(size);
                     return nb::tuple(sizes);
                   })
      .def_prop_rw(
          "name", [](const Expr& x) { return text(x.name()); },
          [](Expr& x, std::string name) { x.named(std::move(name)); })
      .def("__eq__",
           [](const Expr& a, nb::handle b) {
             return nb::isinstance<Expr>(b) && a == nb::cast<const Expr&>(b);
           })
      .def("__hash__", [](const Expr& x) {
        return reinterpret_cast<std::uintptr_t>(x.node().get()) / 16 + x.output();
      });
}

}  // namespace

void bind_expressions(nb::module_& module) {
  bind_class(module);
  bind_leaves(module);
  for (const auto& [name, function] : kFunctions)
    module.def(name, [f = function](const Expr& x) { return checked(f(x)); });
  for (const auto& [name, function] : kUnary)
    module.def(name, [f = function](const Expr& x) { return checked(f(x)); });
  for (const auto& [name, function] : kBinary)
    module.def(name, [f = function](const Expr& a, const Expr& b) { return checked(f(a, b)); });
  for (const auto& [name, function] : kTernary)
    module.def(name, [f = function](const Expr& a, const Expr& b, const Expr& c) {
      return checked(f(a, b, c));
    });
  for (const auto& [name, function] : kReductions)
    module.def(name, [f = function](const Expr& x, const Axes& axes, bool keepdims) {
      return checked(f(x, axes, keepdims));
    });
  for (const auto& [name, function] : kIndices)
    module.def(
        name,
        [f = function](const Expr& x, std::optional<int> axis, bool keepdims) {
          return checked(f(x, axis, keepdims));
        },
        nb::arg(), nb::arg().none(), nb::arg());
  for (const auto& [name, function] : kAlongAxis)
    module.def(name, [f = function](const Expr& x, int axis) { return checked(f(x, axis)); });
  for (const auto& [name, function] : kAlongAxes)
    module.def(name,
               [f = function](const Expr& x, const Axes& axes) { return checked(f(x, axes)); });
  for (const auto& [name, function] : kJoining)
    module.def(name, [f = function](const std::vector<Expr>& parts, int axis) {
      return checked(f(parts, axis));
    });
  bind_indexing(module);
  bind_matrices(module);
  bind_fourier(module);
  bind_rewriting(module);
}

}  // namespace scanloom::python
