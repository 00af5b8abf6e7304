// argmax: the search of arg_search.h for the greatest element.
#include "kernels/arg_search.h"

namespace scanloom::kernels {
namespace {
namespace argmax {

Prepared prepare(const PrepareCtx& ctx) { return prepare_arg_search(ctx, true); }

}  // namespace argmax
}  // namespace

extern constinit const KernelDef argmax_kernel{
    .name = "argmax",
    .doc = "Indices of the greatest elements, of several lines or parts of a line interleaved.",
    .prepare = argmax::prepare,
    .run = run_arg_search,
};

}  // namespace scanloom::kernels
