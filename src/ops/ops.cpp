#include "ops/ops.h"

#include <algorithm>
#include <array>

namespace scanloom::ops {
namespace {

constexpr std::array kOps = {
#define SCANLOOM_OP(name) &name##_op,
#include "ops/list.inc"
#undef SCANLOOM_OP
};

struct Row {
  std::string_view name;
  const ir::OpDef* op;
};

constexpr auto kRows = [] {
  std::array rows = {
      Row{"branch", &ir::branch_op},
      Row{"constant", &ir::constant_op},
      Row{"loop", &ir::loop_op},
#define SCANLOOM_OP(name) Row{#name, &name##_op},
#include "ops/list.inc"
#undef SCANLOOM_OP
  };
  std::ranges::sort(rows, {}, &Row::name);
  return rows;
}();

}  // namespace

const ir::OpDef* find_op(std::string_view name) {
  const auto row = std::ranges::lower_bound(kRows, name, {}, &Row::name);
  return row != kRows.end() && row->name == name ? row->op : nullptr;
}

std::span<const ir::OpDef* const> all_ops() { return kOps; }

}  // namespace scanloom::ops
