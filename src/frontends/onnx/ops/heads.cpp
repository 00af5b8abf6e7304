#include "frontends/onnx/ops/heads.h"

#include <cmath>

namespace scanloom::onnx {

using ir::ValueId;

std::int64_t heads_of(Composer& c, const char* name, int input, ValueId x) {
  const std::int64_t heads = c.integer(name, 0), size = c.known_size(x, 2);
  if (heads < 1 || (size >= 0 && size % heads != 0))
    c.refuse(invalid_model("attribute '{}' is {}, the last axis of {} has {} elements", name, heads,
                           c.ctx().describe_input(input), size));
  return heads;
}

ValueId divide_heads(Composer& c, ValueId x, std::int64_t heads) {
  const ValueId count = c.number(heads);
  return c.reshape(x, c.join({c.shape(x, 0, 2), count, c.div(c.dim(x, 2), count)}));
}

ValueId unpack_heads(Composer& c, ValueId x, std::int64_t heads) {
  return c.transpose(divide_heads(c, x, heads), {0, 2, 1, 3});
}

ValueId pack_heads(Composer& c, ValueId x) {
  const ValueId ordered = c.transpose(x, {0, 2, 1, 3});
  return c.reshape(ordered, c.join({c.shape(ordered, 0, 2), c.mul(c.dim(x, 1), c.dim(x, 3))}));
}

ValueId root_of_scale(Composer& c, ValueId query) {
  const DType dtype = c.dtype(query);
  const std::int64_t size = c.known_size(query, 3);
  if (c.ctx().has_attribute("scale")) return c.scalar(std::sqrt(c.real("scale", 1)), dtype);
  if (size > 0) return c.scalar(std::sqrt(1 / std::sqrt(static_cast<double>(size))), dtype);
  const ValueId root = c.sqrt(c.sqrt(c.cast(c.dim(query, 3), DType::f64)));
  return c.cast(c.div(c.scalar(1, DType::f64), root), dtype);
}

ValueId grouped_product(Composer& c, ValueId many, ValueId few, const char* spec) {
  const std::int64_t heads = c.known_size(many, 1), shared = c.known_size(few, 1);
  if (heads >= 0 && heads == shared) return c.contract(many, few, spec);
  if (heads >= 0 && shared > 0 && heads % shared != 0)
    c.refuse(invalid_model("{} heads of queries cannot share {} heads of keys", heads, shared));
  const ValueId groups = c.dim(few, 1);
  const ValueId parts =
      c.join({c.dim(many, 0), groups, c.div(c.dim(many, 1), groups), c.shape(many, 2)});
  const ValueId product = c.contract(c.reshape(many, parts), c.unsqueeze(few, {2}), spec);
  return c.reshape(product, c.join({c.shape(many, 0, 2), c.shape(product, 3)}));
}

ValueId bias_of(Composer& c, ValueId allowed, DType dtype, double filter) {
  return c.where(allowed, c.scalar(0, dtype), c.scalar(filter, dtype));
}

ValueId soft_capped(Composer& c, ValueId scores, double cap) {
  if (!(cap > 0)) return scores;
  const ValueId limit = c.like(cap, scores);
  return c.mul(c.op(ops::tanh_op, {c.div(scores, limit)}), limit);
}

ValueId sum_of_present(Composer& c, ValueId a, ValueId b) {
  if (!a.valid() || !b.valid()) return a.valid() ? a : b;
  return c.add(a, b);
}

}  // namespace scanloom::onnx
