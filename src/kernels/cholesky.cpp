// cholesky: the plain algorithm of opmath/matrix_calls.h, in blocks where they pay.
#include "kernels/blocked_matrix.h"

namespace scanloom::kernels {
namespace {
namespace cholesky {

tensor::Status run(const tensor::Call& call) noexcept {
  return with_blocks(call, [&]<class T>(const BlockedMatrix<T>& blocks) {
    return tensor::run_cholesky<T>(call, call.attrs[0].integer() != 0, blocks);
  });
}

}  // namespace cholesky
}  // namespace

extern constinit const KernelDef cholesky_kernel{
    .name = "cholesky",
    .doc = "In blocks, whose products take vectors.",
    .prepare = prepare_matrices,
    .run = cholesky::run,
};

}  // namespace scanloom::kernels
