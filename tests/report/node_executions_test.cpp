// How each node is executed: by a kernel, as a view, by its loop, or not at all.
#include "report/node_executions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/op_def.h"
#include "tests/report/bound.h"

namespace scanloom::report {
namespace {

using ::testing::HasSubstr;

/// The entry of the first node with this operator.
Json execution_of(const plan::Binding& binding, const std::string& op) {
  const ir::Module& module = binding.plan->module;
  const Json all = node_executions(binding);
  for (std::uint32_t i = 0; i < module.node_count(); ++i)
    if (module.node(ir::NodeId(i)).op->name == op) return all[std::to_string(i)];
  return nullptr;
}

TEST(NodeExecutions, SteppedLoopsAndKernels) {
  const auto binding = test::bound(test::sums_text(5));
  EXPECT_EQ(execution_of(*binding, "loop")["kind"], "loop");
  EXPECT_EQ(execution_of(*binding, "add")["kind"], "kernel");
  EXPECT_THAT(execution_of(*binding, "relu")["text"].get<std::string>(),
              HasSubstr("kernel pointwise"));
}

TEST(NodeExecutions, ViewsAndConstantsRunNothing) {
  const auto binding = test::bound(
      "module { graph(%0 \"x\": f32[2,3]) { %1 = constant f32[2] [1, 2] "
      "%2 = transpose(%0) {perm = [1, 0]} : f32[3,2] "
      "%3 = add(%2, %1) : f32[3,2] yield %3 \"y\" } }");
  EXPECT_EQ(execution_of(*binding, "constant")["kind"], "constant");
  EXPECT_EQ(execution_of(*binding, "transpose")["kind"], "view");
  EXPECT_EQ(execution_of(*binding, "add")["kind"], "kernel");
}

TEST(NodeExecutions, AFusedNodeNamesTheCallThatComputesIt) {
  const auto binding = test::bound(
      "module { graph(%0 \"x\": f32[64]) { %1 = neg(%0) : f32[64] %2 = exp(%1) : f32[64] "
      "yield %2 \"y\" } }");
  const Json neg = execution_of(*binding, "neg"), exp = execution_of(*binding, "exp");
  ASSERT_EQ(neg["kind"], "fused") << neg << exp;
  EXPECT_EQ(exp["kind"], "kernel");
  const ir::Module& module = binding->plan->module;
  EXPECT_EQ(module.node(ir::NodeId(neg["with"].get<std::uint32_t>())).op->name, "exp");
}

TEST(NodeExecutions, AreKnownForEveryNode) {
  const auto binding = test::bound(test::sums_text(5));
  EXPECT_EQ(node_executions(*binding).size(), binding->plan->module.node_count());
}

}  // namespace
}  // namespace scanloom::report
