// lu_factor: the plain algorithm of opmath/matrix_calls.h, in blocks where they pay.
#include "kernels/blocked_matrix.h"

namespace scanloom::kernels {
namespace {
namespace lu_factor {

tensor::Status run(const tensor::Call& call) noexcept {
  return with_blocks(call, [&]<class T>(const BlockedMatrix<T>& blocks) {
    return tensor::run_lu_factor<T>(call, blocks);
  });
}

}  // namespace lu_factor
}  // namespace

extern constinit const KernelDef lu_factor_kernel{
    .name = "lu_factor",
    .doc = "In blocks, whose products take vectors.",
    .prepare = prepare_matrices,
    .run = lu_factor::run,
};

}  // namespace scanloom::kernels
