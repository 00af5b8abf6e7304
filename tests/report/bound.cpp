#include "tests/report/bound.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "ir/parse.h"
#include "ops/ops.h"
#include "plan/plan.h"

namespace scanloom::report::test {

std::string sums_text(std::int64_t steps) {
  return fmt::format(
      "module {{ graph(%0 \"start\": f32[2], %1 \"xs\": f32[{},2]) {{ "
      "%2 \"last\" = loop carried(%0) scanned(%1 axis 0) : f32[2] {{ "
      "body(%3 \"sum\": f32[2], %4: f32[2]) {{ %5 \"next\" = add(%3, %4) : f32[2] yield %5 }} }} "
      "%6 = relu(%2) : f32[2] yield %6 \"y\" }} }}",
      steps);
}

ir::Module module_of(const std::string& text) {
  Expected<ir::Module> module = ir::parse(text, ops::find_op);
  if (!module) throw std::runtime_error(module.error().message());
  return *std::move(module);
}

std::shared_ptr<const plan::Binding> bound(const std::string& text) {
  const ir::Module module = module_of(text);
  std::vector<tensor::Shape> shapes;
  for (const ir::ValueId id : module.region(module.top()).args)
    shapes.push_back(module.value(id).type.shape());
  plan::PlanOptions options;
  options.why_no_compiler = "it is turned off";
  auto binding = plan::bind(plan::make_plan(module, options), shapes);
  if (!binding) throw std::runtime_error(binding.error().message());
  return *std::move(binding);
}

}  // namespace scanloom::report::test
