#include "tensor/scalar.h"

namespace scanloom::tensor {
namespace {

enum class Result : std::uint8_t { same, boolean };

struct ScalarRow {
  const char* name;
  int arguments;
  Result result;
};

constexpr ScalarRow kRows[] = {
#define SCANLOOM_SCALAR(name, arguments, result) {#name, arguments, Result::result},
#include "tensor/scalar_ops.inc"
#undef SCANLOOM_SCALAR
};

const ScalarRow& row(ScalarOp op) { return kRows[static_cast<int>(op)]; }

}  // namespace

const char* scalar_op_name(ScalarOp op) { return row(op).name; }
int scalar_op_arguments(ScalarOp op) { return row(op).arguments; }
bool scalar_op_compares(ScalarOp op) { return row(op).result == Result::boolean; }

}  // namespace scanloom::tensor
