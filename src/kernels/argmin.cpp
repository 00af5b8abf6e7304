// argmin: the search of arg_search.h for the least element.
#include "kernels/arg_search.h"

namespace scanloom::kernels {
namespace {
namespace argmin {

Prepared prepare(const PrepareCtx& ctx) { return prepare_arg_search(ctx, false); }

}  // namespace argmin
}  // namespace

extern constinit const KernelDef argmin_kernel{
    .name = "argmin",
    .doc = "Indices of the least elements, of several lines or parts of a line interleaved.",
    .prepare = argmin::prepare,
    .run = run_arg_search,
};

}  // namespace scanloom::kernels
