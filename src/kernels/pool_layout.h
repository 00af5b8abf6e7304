// Whether the kernel pool takes x, and stores its result, with the channels last.
#pragma once

#include <span>

#include <scanloom/dtype.h>

#include "tensor/attr.h"
#include "tensor/shape.h"

namespace scanloom::kernels {

/// Whether average_pool, or max_pool without indices, does.
bool pool_takes_channels_last(const tensor::Shape& x, DType dtype,
                              std::span<const tensor::Attr> attrs);

}  // namespace scanloom::kernels
