#include "frontends/onnx/ops/heads.h"

#include <cmath>

namespace scanloom::onnx {

using ir::ValueId;

ValueId unpack_heads(Composer& c, ValueId x, std::int64_t heads) {
  const ValueId count = c.number(heads);
  const ValueId shape = c.join({c.shape(x, 0, 2), count, c.div(c.dim(x, 2), count)});
  return c.transpose(c.reshape(x, shape), {0, 2, 1, 3});
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

}  // namespace scanloom::onnx
