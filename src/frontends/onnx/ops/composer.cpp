#include "frontends/onnx/ops/composer.h"

#include "tensor/axis_words.h"

namespace scanloom::onnx {

Expected<void> Composer::emit(ValueId value) {
  if (ok()) ctx_.set_output(0, value);
  return done();
}

std::int64_t Composer::integer(std::string_view name, std::int64_t fallback) {
  return take(ctx_.integer(name, fallback));
}
double Composer::real(std::string_view name, double fallback) {
  return take(ctx_.real(name, fallback));
}
std::string Composer::text(std::string_view name, std::string_view fallback) {
  return take(ctx_.text(name, fallback));
}

DType Composer::dtype_attribute(std::string_view name, DType fallback) {
  if (!ctx_.has_attribute(name)) return fallback;
  const std::int64_t number = integer(name, 0);
  if (!ok()) return fallback;
  Expected<DType> dtype = dtype_of_number(number);
  if (dtype) return *dtype;
  refuse(std::move(dtype).error().at(fmt::format("attribute '{}'", name)));
  return fallback;
}

int Composer::rank(int i, ValueId x, int at_least) {
  if (!ok()) return at_least;
  Expected<int> rank = ctx_.rank(i, x, at_least);
  if (rank) return *rank;
  refuse(std::move(rank).error());
  return at_least;
}

int Composer::axis(std::string_view name, std::int64_t fallback, int rank) {
  const std::int64_t given = integer(name, fallback);
  const auto axis = tensor::normalise_axis(given, rank);
  if (axis) return *axis;
  refuse(invalid_model("attribute '{}' is {}, {}", name, given, tensor::outside_axes(rank)));
  return 0;
}

}  // namespace scanloom::onnx
