#include "ops/recurrent/recurrent_activations.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/math/math.h"

namespace scanloom::ops {
namespace {

struct Name {
  std::string_view text;
  ActivationKind kind;
  int parameters = 0;
  double alpha = 0, beta = 0;  // defaults
};

constexpr Name kNames[] = {
    {"sigmoid", ActivationKind::sigmoid},
    {"tanh", ActivationKind::tanh},
    {"relu", ActivationKind::relu},
    {"elu", ActivationKind::elu, 1, 1},
    {"hardsigmoid", ActivationKind::hard_sigmoid, 2, 0.2, 0.5},
    {"leakyrelu", ActivationKind::leaky_relu, 1, 0.01},
    {"softplus", ActivationKind::softplus},
    {"softsign", ActivationKind::softsign},
    {"affine", ActivationKind::affine, 2, 1, 0},
    {"scaledtanh", ActivationKind::scaled_tanh, 2, 1, 1},
    {"thresholdedrelu", ActivationKind::thresholded_relu, 1, 1},
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

const Name* find_name(std::string_view text) {
  for (const Name& name : kNames)
    if (std::ranges::equal(text, name.text, {}, lower)) return &name;
  return nullptr;
}

const Name& name_of(ActivationKind kind) {
  return *std::ranges::find(kNames, kind, [](const Name& name) { return name.kind; });
}

Activation usual_activation(ActivationKind kind) {
  return {kind, name_of(kind).alpha, name_of(kind).beta};
}

/// Returns the text up to the separator; removes both from `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

Expected<Activation> read_activation(std::string_view text) {
  std::string_view rest = text;
  const std::string_view name = take(rest, ':');
  const Name* const found = find_name(name);
  if (found == nullptr) return fail(Code::unsupported, "activation '{}' is not supported", name);
  Activation activation{found->kind, found->alpha, found->beta};
  double* const parameters[] = {&activation.alpha, &activation.beta};
  for (int i = 0; !rest.empty(); ++i) {
    const std::string_view number = take(rest, ':');
    if (i >= found->parameters)
      return invalid_model("activation '{}' has more than {} parameter(s)", text,
                           found->parameters);
    if (number.empty()) continue;
    const char* const end = number.data() + number.size();
    const auto read = std::from_chars(number.data(), end, *parameters[i]);
    if (read.ec != std::errc() || read.ptr != end)
      return invalid_model("'{}' is not a parameter of activation '{}'", number, name);
  }
  return activation;
}

template <class Real>
Real apply(const Activation& activation, Real x) {
  const Real alpha = static_cast<Real>(activation.alpha), beta = static_cast<Real>(activation.beta);
  switch (activation.kind) {
    case ActivationKind::sigmoid:
      return math::sigmoid(x);
    case ActivationKind::tanh:
      return math::tanh(x);
    case ActivationKind::relu:
      return x < 0 ? Real{0} : x;
    case ActivationKind::elu:
      return x < 0 ? alpha * (math::exp(x) - 1) : x;
    case ActivationKind::hard_sigmoid:
      return std::max(Real{0}, std::min(Real{1}, alpha * x + beta));
    case ActivationKind::leaky_relu:
      return x < 0 ? alpha * x : x;
    case ActivationKind::softplus:
      return math::softplus(x);
    case ActivationKind::softsign:
      return x / (1 + std::fabs(x));
    case ActivationKind::affine:
      return alpha * x + beta;
    case ActivationKind::scaled_tanh:
      return alpha * math::tanh(beta * x);
    case ActivationKind::thresholded_relu:
      return x > alpha || x != x ? x : Real{0};
  }
  return x;
}

}  // namespace

int activation_parameters(std::string_view name) {
  const Name* const found = find_name(name);
  return found == nullptr ? -1 : found->parameters;
}

Expected<Activations> read_activations(const tensor::Attr& attr, int directions,
                                       std::span<const ActivationKind> usual) {
  Activations result;
  const std::size_t wanted = usual.size() * static_cast<std::size_t>(directions);
  for (std::size_t i = 0; i < wanted; ++i) result[i] = usual_activation(usual[i % usual.size()]);
  if (!attr.present()) return result;
  std::string_view rest = attr.text();
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    more = rest.find(',') != std::string_view::npos;
    SCANLOOM_TRY(const Activation activation, read_activation(take(rest, ',')));
    if (count < wanted) result[count] = activation;
  }
  if (count != wanted)
    return invalid_model("{} activations are named for {} direction(s), not {}", count, directions,
                         wanted);
  return result;
}

std::string_view unusual_activation(const tensor::Attr& attr,
                                    std::span<const ActivationKind> usual) {
  if (!attr.present()) return {};
  std::string_view rest = attr.text();
  for (std::size_t i = 0; !rest.empty(); ++i) {
    const std::string_view text = take(rest, ',');
    // None of the usual activations has parameters.
    const Name* const found = find_name(text);
    if (found == nullptr || found->kind != usual[i % usual.size()]) return text;
  }
  return {};
}

float activate(const Activation& activation, float x) noexcept { return apply(activation, x); }
double activate(const Activation& activation, double x) noexcept { return apply(activation, x); }

}  // namespace scanloom::ops
