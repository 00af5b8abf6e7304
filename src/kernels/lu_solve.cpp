// lu_solve: the plain algorithm of opmath/matrix_calls.h, in blocks where they pay.
#include "kernels/blocked_matrix.h"

namespace scanloom::kernels {
namespace {
namespace lu_solve {

tensor::Status run(const tensor::Call& call) noexcept {
  return with_blocks(call, [&]<class T>(const BlockedMatrix<T>& blocks) {
    return tensor::run_lu_solve<T>(call, call.attrs[0].integer() != 0, blocks);
  });
}

}  // namespace lu_solve
}  // namespace

extern constinit const KernelDef lu_solve_kernel{
    .name = "lu_solve",
    .doc = "In blocks, whose products take vectors along the right sides.",
    .prepare = prepare_matrices,
    .run = lu_solve::run,
};

}  // namespace scanloom::kernels
