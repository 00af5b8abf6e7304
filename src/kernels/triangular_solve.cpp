// triangular_solve: the plain algorithm of opmath/matrix_calls.h, in blocks where they pay.
#include "kernels/blocked_matrix.h"

namespace scanloom::kernels {
namespace {
namespace triangular_solve {

tensor::Status run(const tensor::Call& call) noexcept {
  return with_blocks(call, [&]<class T>(const BlockedMatrix<T>& blocks) {
    return tensor::run_triangular_solve<T>(
        call,
        {call.attrs[0].integer() != 0, call.attrs[1].integer() != 0, call.attrs[2].integer() != 0},
        blocks);
  });
}

}  // namespace triangular_solve
}  // namespace

extern constinit const KernelDef triangular_solve_kernel{
    .name = "triangular_solve",
    .doc = "In blocks, whose products take vectors along the right sides.",
    .prepare = prepare_matrices,
    .run = triangular_solve::run,
};

}  // namespace scanloom::kernels
