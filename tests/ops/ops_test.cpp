#include "ops/ops.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace scanloom::ops {
namespace {

TEST(OpsTest, FindsEveryOperatorByItsName) {
  for (const ir::OpDef* op : all_ops()) EXPECT_EQ(find_op(op->name), op) << op->name;
  EXPECT_EQ(find_op("loop"), &ir::loop_op);
  EXPECT_EQ(find_op("branch"), &ir::branch_op);
  EXPECT_EQ(find_op("constant"), &ir::constant_op);
}

TEST(OpsTest, FindsNothingUnderOtherNames) {
  for (const char* name : {"", "a", "Add", "addd", "zzz", "constan", "where "})
    EXPECT_EQ(find_op(name), nullptr) << name;
}

TEST(OpsTest, NamesAreThoseOfTheListInItsOrder) {
  std::vector<std::string_view> names = {
#define SCANLOOM_OP(name) #name,
#include "ops/list.inc"
#undef SCANLOOM_OP
  };
  ASSERT_EQ(names.size(), all_ops().size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(all_ops()[i]->name, names[i]);
  EXPECT_TRUE(std::ranges::is_sorted(names));
}

TEST(OpsTest, EveryOperatorIsDescribedAndHasWhatItsAccessNeeds) {
  for (const ir::OpDef* op : all_ops()) {
    SCOPED_TRACE(op->name);
    EXPECT_FALSE(op->doc.empty());
    EXPECT_TRUE(op->doc.ends_with('.'));
    EXPECT_GT(op->outputs.size(), 0u);
    EXPECT_NE(op->infer, nullptr);
    EXPECT_TRUE(op->reference != nullptr || op->run_objects != nullptr);
    EXPECT_EQ(op->scalar != nullptr, op->access == ir::Access::pointwise);
    EXPECT_EQ(op->view != nullptr, op->access == ir::Access::view);
  }
}

TEST(OpsTest, OperandsAndAttributesAreDeclaredConsistently) {
  for (const ir::OpDef* op : all_ops()) {
    SCOPED_TRACE(op->name);
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < op->inputs.size(); ++i) {
      const ir::OperandDef& operand = op->inputs.begin()[i];
      EXPECT_TRUE(names.insert(operand.name).second) << operand.name;
      EXPECT_LT(operand.same_as, static_cast<int>(i)) << operand.name;
      EXPECT_TRUE(operand.arity != ir::Arity::variadic || i + 1 == op->inputs.size());
    }
    for (const ir::AttrDef& attr : op->attrs) {
      EXPECT_TRUE(names.insert(attr.name).second) << attr.name;
      EXPECT_NE(attr.kind, tensor::AttrKind::none) << attr.name;
      EXPECT_GE(op->attr_index(attr.name), 0);
    }
  }
}

}  // namespace
}  // namespace scanloom::ops
