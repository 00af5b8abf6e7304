#include "frontends/onnx/importer.h"

#include <algorithm>

#include "frontends/onnx/graph_entry.h"
#include "frontends/onnx/main_graph.h"
#include "frontends/onnx/node_outputs.h"

namespace scanloom::onnx {

void Importer::run() {
  report_unknown_operators(state_);
  push(request_main(state_), {});
  enter_inputs(state_, *state_.frames.back());
  while (!state_.frames.empty()) {
    GraphFrame& frame = *state_.frames.back();
    const bool is_done = frame.next == frame.order.nodes.size() && frame.open == nullptr;
    if (!is_done) {
      advance(frame);
    } else if (state_.frames.size() > 1) {
      pop();
    } else {
      leave_main(state_, frame);
      state_.frames.pop_back();
    }
  }
}

void Importer::push(BodyRequest request, std::string label) {
  state_.frames.push_back(make_frame(state_, std::move(request), std::move(label)));
}

void Importer::pop() {
  GraphFrame& frame = *state_.frames.back();
  BodyResult result{frame.builder, graph_outputs(state_, frame)};
  for (const NameId name : frame.shown) --frame.root->visible[name.index];
  const bool failed = state_.reading.diagnostics.error_count() > frame.errors_before ||
                      std::ranges::any_of(result.outputs, &Binding::poisoned);
  GraphFrame& owner = *state_.frames[state_.frames.size() - 2];
  owner.body_failed = owner.body_failed || failed;
  owner.results.push_back(std::move(result));
  state_.frames.pop_back();
}

bool Importer::count_called(const BodyRequest& request) {
  // Bodies of the main graph are read once, however deep they are. A function, and a body that is
  // passed to one, is read once per call.
  const auto& main = state_.frames.front()->root;
  const bool is_outside_functions =
      request.root == main &&
      std::ranges::all_of(state_.frames, [&](const auto& frame) { return frame->root == main; });
  if (is_outside_functions) return true;
  state_.called_nodes += size_of_call(state_.reading.model.graphs[request.graph], request);
  return state_.called_nodes <= kMaxCalledNodes;
}

void Importer::give_up() {
  for (const auto& open : state_.frames) {
    open->next = open->order.nodes.size();
    open->open = nullptr;
  }
}

void Importer::advance(GraphFrame& frame) {
  if (frame.open != nullptr) return continue_open(frame);
  read_node(frame, frame.order.nodes[frame.next++]);
}

void Importer::read_node(GraphFrame& frame, std::uint32_t index) {
  const NodeStep step = describe_step(state_, frame, index);
  const auto report = [&](Error error) {
    fail_at(state_, frame, step.location, std::move(error));
    frame.poison_outputs(step.facts);
  };
  // Unknown operators have already been reported together.
  if (step.function == nullptr && step.converter == nullptr)
    return frame.poison_outputs(step.facts);
  Expected<bool> ready = inputs_are_ready(frame, step);
  if (!ready) return report(std::move(ready).error());
  if (!*ready) return frame.poison_outputs(step.facts);
  if (step.converter != nullptr)
    if (auto fits = check_signature(state_, frame, step); !fits)
      return report(std::move(fits).error());
  NodeCtx ctx(state_.reading, site_of(state_, frame, step));
  auto converted =
      step.function != nullptr ? convert_call(ctx, *step.function) : step.converter->convert(ctx);
  if (!converted) return report(std::move(converted).error());
  if (step.function == nullptr && !check_attributes(state_, frame, step, ctx))
    return frame.poison_outputs(step.facts);
  frame.open = ctx.take_open();
  frame.next_body = 0;
  frame.body_failed = false;
  if (frame.open == nullptr) bind_outputs(state_, frame, step, ctx);
}

void Importer::continue_open(GraphFrame& frame) {
  const NodeStep step = describe_step(state_, frame, frame.order.nodes[frame.next - 1]);
  if (frame.next_body < frame.open->bodies.size())
    return read_body(frame, frame.open->bodies[frame.next_body++], step);
  finish_open(frame, step);
}

void Importer::read_body(GraphFrame& frame, BodyRequest& request, const NodeStep& step) {
  if (!count_called(request)) {
    fail_at(state_, frame, step.location,
            fail(Code::limit_reached,
                 "function calls produce more than {} nodes and body values (long attributes "
                 "count as several)",
                 kMaxCalledNodes));
    return give_up();  // the model is rejected anyway
  }
  std::string label = fmt::format("the {} of {}", request.role, step.location);
  if (state_.frames.size() <= kMaxDepth) return push(std::move(request), std::move(label));
  fail_at(
      state_, frame, step.location,
      fail(Code::limit_reached, "bodies and functions are nested more than {} deep", kMaxDepth));
  frame.body_failed = true;
  frame.next_body = frame.open->bodies.size();
}

/// Makes the outputs of a node whose bodies have been read; or it has asked for further bodies.
void Importer::finish_open(GraphFrame& frame, const NodeStep& step) {
  const std::unique_ptr<OpenNode> open = std::move(frame.open);
  std::vector<BodyResult> results = std::move(frame.results);
  frame.results.clear();
  if (frame.body_failed) return frame.poison_outputs(step.facts);
  NodeCtx ctx(state_.reading, site_of(state_, frame, step));
  if (Expected<void> done = open->finish(ctx, std::move(results)); !done) {
    fail_at(state_, frame, step.location, std::move(done).error());
    return frame.poison_outputs(step.facts);
  }
  frame.open = ctx.take_open();
  frame.next_body = 0;
  if (frame.open == nullptr) bind_outputs(state_, frame, step, ctx);
}

}  // namespace scanloom::onnx
