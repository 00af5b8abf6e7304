// The windows of average_pool, lp_pool and max_pool (opmath/pool_geometry.h) as operators declare
// them: attributes, and the sizes of the result.
#pragma once

#include <string_view>

#include "ir/op_def.h"
#include "opmath/pool_geometry.h"

namespace scanloom::ops {

using tensor::kPoolOwn;
using tensor::pool_geometry;
using tensor::PoolGeometry;
using tensor::PoolWindow;

/// The attributes that all pools begin with. Attribute `kPoolOwn` is the operator's own.
constexpr decltype(ir::OpDef::attrs) pool_attrs(std::string_view own, tensor::AttrKind kind) {
  return {{"auto_pad", tensor::AttrKind::text, true},
          {"ceil_mode", tensor::AttrKind::integer},
          {"dilations", tensor::AttrKind::integers, true},
          {"kernel", tensor::AttrKind::integers},
          {"pads", tensor::AttrKind::integers, true},
          {"strides", tensor::AttrKind::integers, true},
          {own, kind}};
}

/// Returns the result's type, whose sizes need not be numbers; unranked if x is. Errors as above,
/// and x with fewer than three axes.
Expected<tensor::Type> pooled_type(ir::InferCtx& ctx);

/// Returns the elements of a window.
std::int64_t elements_of_window(const PoolGeometry& geometry);

/// OpDef::products: the elements of the result times those of a window.
double products_of_pool(const ir::CostCtx& ctx);

}  // namespace scanloom::ops
