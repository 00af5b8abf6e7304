// Bindings of gradients. The gradient of an independent variable is None.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include <scanloom/grad.h>

#include "expressions.h"

namespace scanloom::python {
namespace {

using Exprs = std::vector<Expr>;
using Pairs = std::vector<std::pair<Expr, Expr>>;
using Found = std::vector<std::optional<Expr>>;

Found found(const Exprs& results) {
  Found all;
  for (const Expr& x : results)
    all.push_back(x.defined() ? std::optional(checked(x)) : std::nullopt);
  return all;
}

}  // namespace

void bind_gradients(nb::module_& module) {
  module.def(
      "gradients",
      [](const std::optional<Expr>& cost, const Exprs& wrt, const Exprs& constants,
         const Pairs& known) {
        const GradOptions options{.constants = constants, .known = known};
        return found(gradients(cost.value_or(Expr()), wrt, options));
      },
      nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
  module.def("depends_on", [](const Exprs& outputs, const Expr& x, const Exprs& constants) {
    return depends_on(outputs, x, constants);
  });
  module.def("zero_gradient", [](const Exprs& outputs, const Expr& wrt) {
    return checked(zero_gradient(outputs, wrt));
  });
  module.def("pull_back", [](const Exprs& outputs, const Exprs& cotangents, const Exprs& wrt,
                             const Exprs& constants) {
    return found(pull_back(outputs, cotangents, wrt, {.constants = constants, .known = {}}));
  });
  module.def("push_forward", [](const Exprs& outputs, const Exprs& wrt, const Exprs& tangents) {
    return found(push_forward(outputs, wrt, tangents));
  });
  module.def("jacobian", [](const Expr& x, const Expr& wrt, const Exprs& constants) {
    return checked(jacobian(x, wrt, constants));
  });
  module.def("hessian", [](const Expr& cost, const Expr& wrt, const Exprs& constants) {
    return checked(hessian(cost, wrt, constants));
  });
  module.def("clip_gradient", [](const Expr& x, double least, double greatest) {
    return checked(clip_gradient(x, least, greatest));
  });
  module.def("scale_gradient",
             [](const Expr& x, double factor) { return checked(scale_gradient(x, factor)); });
  module.def("without_gradient", [](const Expr& x, std::string reason) {
    return checked(without_gradient(x, std::move(reason)));
  });
}

}  // namespace scanloom::python
