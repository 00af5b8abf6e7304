// Mathematics of com.microsoft: CDist, ComplexMul, ComplexMulConj, Inverse, Irfft and Rfft. The
// last axis of complex numbers holds the real and the imaginary part.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "ops/signal/fourier.h"

namespace scanloom::onnx {

using ir::ValueId;

// f16 and bf16 are inverted in f32 and rounded once.
Expected<void> convert_inverse(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId given = c.in(0);
  c.rank(0, given, 2);
  const ValueId x = c.cast(given, at_least_f32(c.dtype(given)));
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const ir::NodeId factored, ctx.builder().node(ops::lu_factor_op, {x}, {}, 2));
  const std::vector<ValueId> factors = ctx.module().node(factored).outputs;
  const ValueId y = c.op(ops::lu_solve_op, {factors[0], factors[1]}, {{"transposed", 0}});
  return c.emit(c.cast(y, c.dtype(given)));
}

// The sum of the squared differences: more exact for close points than |a|^2 + |b|^2 - 2 a . b,
// which onnxruntime computes.
Expected<void> convert_cdist(NodeCtx& ctx) {
  Composer c(ctx);
  const std::string metric = c.text("metric", "sqeuclidean");
  const ValueId a = c.in(0), b = c.in(1);
  if (c.ok() && metric != "euclidean" && metric != "sqeuclidean")
    return fail(Code::unsupported, "attribute 'metric' is '{}', neither euclidean nor sqeuclidean",
                shown_name(metric));
  for (const int i : {0, 1})
    if (const int rank = c.rank(i, i == 0 ? a : b, 2); c.ok() && rank != 2)
      return invalid_model("{} has {} axes, not 2", ctx.describe_input(i), rank);
  const ValueId squares = c.op(ops::squared_distances_op, {a, b});
  return c.emit(metric == "euclidean" ? c.sqrt(squares) : squares);
}

Expected<void> convert_complex_mul(NodeCtx& ctx) {
  Composer c(ctx);
  const bool conjugate = ctx.op_type() == "ComplexMulConj";
  const auto part = [&](int i, std::int64_t at) {
    const ValueId x = c.in(i);
    c.rank(i, x, 1);
    if (const std::int64_t parts = c.known_size(x, c.ok() ? ctx.type(x).rank() - 1 : 0);
        c.ok() && parts >= 0 && parts != 2)
      c.refuse(invalid_model("the last axis of {} has {} elements, not 2", ctx.describe_input(i),
                             parts));
    return c.slice(x, -1, at, at + 1);
  };
  const ValueId ar = part(0, 0), ai = part(0, 1), br = part(1, 0);
  const ValueId bi = conjugate ? c.neg(part(1, 1)) : part(1, 1);
  const ValueId real = c.sub(c.mul(ar, br), c.mul(ai, bi));
  const ValueId imaginary = c.add(c.mul(ar, bi), c.mul(ai, br));
  return c.emit(c.concat({real, imaginary}, -1));
}

namespace {

void check_plain_transform(Composer& c) {
  for (const auto& [name, wanted] :
       {std::pair("onesided", 1), std::pair("normalized", 0), std::pair("signal_ndim", 1)})
    if (const std::int64_t given = c.integer(name, wanted); c.ok() && given != wanted)
      c.refuse(fail(Code::unsupported, "attribute '{}' is {}, but only {} is supported", name,
                    given, wanted));
}

}  // namespace

Expected<void> convert_rfft(NodeCtx& ctx) {
  Composer c(ctx);
  check_plain_transform(c);
  const ValueId given = c.in(0);
  const int rank = c.rank(0, given, 1);
  const ValueId x = c.unsqueeze(given, {rank});
  return c.emit(ops::transform_axis(c, x, rank - 1, {.onesided = true}));
}

Expected<void> convert_irfft(NodeCtx& ctx) {
  Composer c(ctx);
  check_plain_transform(c);
  const ValueId given = c.in(0);
  const int rank = c.rank(0, given, 2);
  if (const std::int64_t parts = c.known_size(given, rank - 1); c.ok() && parts >= 0 && parts != 2)
    return invalid_model("the last axis of {} has {} elements, not 2", ctx.describe_input(0),
                         parts);
  const ValueId y = ops::transform_axis(c, given, rank - 2, {.inverse = true, .onesided = true});
  return c.emit(c.squeeze(y, {rank - 1}));
}

}  // namespace scanloom::onnx
