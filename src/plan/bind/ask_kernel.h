// Asks a kernel for a call whose constants a file may store at any address.
#pragma once

#include <span>

#include "kernels/kernel.h"
#include "plan/bind/builder.h"
#include "plan/bind/location.h"

namespace scanloom::plan {

/// Prepares a call. A kernel that packs constants at any address is asked with these first; all
/// that it has not packed are aligned, and then it is asked again. `update` replaces ctx.constants
/// by the addresses that the binding holds now.
template <class Update>
kernels::Prepared ask_kernel(BindingBuilder& builder, const kernels::KernelDef& kernel,
                             const kernels::PrepareCtx& ctx, std::span<const Location> inputs,
                             Update&& update) {
  const bool any_address = kernel.packs_unaligned != nullptr && kernel.packs_unaligned(ctx);
  if (!any_address && align(builder, inputs)) update();
  kernels::Prepared prepared = kernel.prepare(ctx);
  if (prepared.refusal || !align(builder, inputs, prepared.packed)) return prepared;
  update();
  return kernel.prepare(ctx);
}

}  // namespace scanloom::plan
