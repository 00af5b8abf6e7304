#include "frontends/onnx/ops/composer.h"

#include <numeric>

namespace scanloom::onnx {

using ir::ValueId;

void Composer::refuse(Error error) {
  if (!error_) error_ = std::move(error);
}

Expected<void> Composer::done() {
  if (error_) return *error_;
  return {};
}

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

DType Composer::dtype(ValueId x) const {
  return ok() && x.valid() ? ctx_.type(x).dtype : DType::f32;
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
  refuse(invalid_model("attribute '{}' is {}, outside [-{}, {})", name, given, rank, rank));
  return 0;
}

std::int64_t Composer::known_size(ValueId x, int axis) const {
  if (!ok() || !x.valid()) return -1;
  const tensor::Type& type = ctx_.type(x);
  if (!type.ranked || axis >= type.rank()) return -1;
  const tensor::Dim dim = type.dims[static_cast<std::size_t>(axis)];
  return dim.is_constant() ? dim.value() : -1;
}

ValueId Composer::scalar(double value, DType dtype) {
  return ok() ? take(ctx_.scalar(value, dtype)) : ValueId{};
}

ValueId Composer::op(const ir::OpDef& op, std::vector<ValueId> inputs,
                     std::vector<ir::NamedAttr> attrs) {
  return ok() ? take(builder_.op(op, std::move(inputs), std::move(attrs))) : ValueId{};
}

ValueId Composer::join(std::initializer_list<ValueId> parts) {
  std::vector<ValueId> lists;
  for (const ValueId part : parts) {
    if (!ok()) return {};
    lists.push_back(ctx_.type(part).rank() == 0 ? unsqueeze(part, {0}) : part);
  }
  return concat(std::move(lists), 0);
}

ValueId Composer::slice(ValueId x, std::int64_t axis, ValueId start, ValueId end,
                        std::int64_t step) {
  return op(ops::slice_op, {x, join({start}), join({end}), list({axis}), list({step})});
}

ValueId Composer::per_channel(ValueId x, int rank) {
  return rank > 2 ? unsqueeze(x, axes_between(1, rank - 1)) : x;
}

std::vector<std::int64_t> axes_between(int first, int last) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(last > first ? last - first : 0));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

}  // namespace scanloom::onnx
