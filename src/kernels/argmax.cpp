// argmax: the search of arg_search.h for the greatest element.
#include "kernels/arg_search.h"

namespace scanloom::kernels {
namespace {

Prepared prepare(const PrepareCtx& ctx) { return prepare_arg_search(ctx, true); }

}  // namespace

extern constinit const KernelDef argmax_kernel{
    .name = "argmax",
    .doc = "Indices of the greatest elements, of several lines or parts of a line interleaved.",
    .prepare = prepare,
    .run = run_arg_search,
};

}  // namespace scanloom::kernels
