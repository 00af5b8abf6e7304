#include "ops/lstm_activations.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/math/math.h"

namespace scanloom::ops {
namespace {

struct Name {
  std::string_view text;
  Activation activation;
};

constexpr Name kNames[] = {
    {"sigmoid", Activation::sigmoid},
    {"tanh", Activation::tanh},
    {"relu", Activation::relu},
    {"elu", Activation::elu},
    {"hardsigmoid", Activation::hard_sigmoid},
    {"leakyrelu", Activation::leaky_relu},
    {"softplus", Activation::softplus},
    {"softsign", Activation::softsign},
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::optional<Activation> activation_of(std::string_view text) {
  for (const Name& name : kNames)
    if (std::ranges::equal(text, name.text, {}, lower)) return name.activation;
  return std::nullopt;
}

template <class Real>
Real apply(Activation activation, Real x) {
  switch (activation) {
    case Activation::sigmoid:
      return math::sigmoid(x);
    case Activation::tanh:
      return math::tanh(x);
    case Activation::relu:
      return x < 0 ? Real{0} : x;
    case Activation::elu:
      return x < 0 ? math::exp(x) - 1 : x;
    case Activation::hard_sigmoid:
      return std::max(Real{0}, std::min(Real{1}, Real(0.2) * x + Real(0.5)));
    case Activation::leaky_relu:
      return x < 0 ? Real(0.01) * x : x;
    case Activation::softplus:
      return math::softplus(x);
    case Activation::softsign:
      return x / (1 + std::fabs(x));
  }
  return x;
}

}  // namespace

Expected<Activations> read_activations(const tensor::Attr& attr, int directions) {
  Activations result = {Activation::sigmoid, Activation::tanh, Activation::tanh,
                        Activation::sigmoid, Activation::tanh, Activation::tanh};
  if (!attr.present()) return result;
  const std::size_t wanted = 3 * static_cast<std::size_t>(directions);
  std::string_view rest = attr.text();
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    rest.remove_prefix(more ? comma + 1 : rest.size());
    const auto activation = activation_of(name);
    if (!activation) return fail(Code::unsupported, "activation '{}' is not supported", name);
    if (count < wanted) result[count] = *activation;
  }
  if (count != wanted)
    return invalid_model("{} activations are named for {} direction(s), not {}", count, directions,
                         wanted);
  return result;
}

float activate(Activation activation, float x) noexcept { return apply(activation, x); }
double activate(Activation activation, double x) noexcept { return apply(activation, x); }

}  // namespace scanloom::ops
