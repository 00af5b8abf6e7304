#include "report/loops.h"

#include <string>
#include <utility>

#include "plan/plan.h"
#include "plan/step_work.h"
#include "report/loop_advice.h"

namespace scanloom::report {
namespace {

Json measured_of(const LoopMeasured& measured) {
  if (measured.steps == 0) return nullptr;
  return {{"steps", measured.steps},
          {"seconds_per_step", measured.seconds / static_cast<double>(measured.steps)},
          {"threads", measured.threads}};
}

Json work_of(const plan::StepWork& work, const Roofline& roofline) {
  Json json{{"bytes", work.bytes},
            {"operations", work.operations},
            {"state_bytes", work.state_bytes},
            {"is_all", work.is_all}};
  const double bytes = static_cast<double>(work.bytes + work.state_bytes);
  if (roofline && work.is_all && bytes > 0)
    json["least_seconds"] = roofline(bytes, work.operations);
  return json;
}

}  // namespace

Json loops(const plan::Binding& binding, std::span<const LoopMeasured> measured,
           const Roofline& roofline) {
  Json list = Json::array();
  for (std::size_t i = 0; i < binding.loops.size(); ++i) {
    const plan::BoundLoop& loop = binding.loops[i];
    const LoopMeasured known = i < measured.size() ? measured[i] : LoopMeasured();
    Json json{{"node", loop.node.index},
              {"name", shown(plan::describe(*binding.plan, loop.node))},
              {"strategy", shown(plan::describe_strategy(binding, loop))},
              {"is_code", plan::has_code_of_steps(binding, loop)},
              {"steps", loop.trip_count >= 0 ? loop.trip_count : known.last_steps},
              {"states", plan::describe_states(binding, loop)},
              {"work", work_of(plan::step_work(binding, loop), roofline)},
              {"measured", measured_of(known)}};
    Json obstacle_list = Json::array(), advice = Json::array();
    for (Obstacle& each : obstacles(binding, loop)) {
      Json obstacle{{"text", shown(each.text)}};
      if (each.node.valid()) obstacle["node"] = each.node.index;
      obstacle_list.push_back(std::move(obstacle));
      if (!each.advice.empty()) advice.push_back(std::move(each.advice));
    }
    json["obstacles"] = std::move(obstacle_list);
    json["advice"] = std::move(advice);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace scanloom::report
