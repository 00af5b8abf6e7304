#include "interp/interpreter.h"

#include <algorithm>
#include <map>
#include <optional>

#include "interp/loop_run.h"
#include "ir/op_def.h"
#include "ir/run_node.h"

namespace scanloom::interp {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Region;
using ir::RegionId;
using ir::Type;
using ir::ValueId;
using tensor::Tensor;

std::string describe(const Tensor& tensor) {
  return std::string(dtype_name(tensor.dtype())) + tensor.shape().to_string();
}

/// Whether the type allows the tensor; symbols allow every size.
bool allows(const Type& type, const Tensor& tensor) {
  if (!type.is_tensor() || type.dtype != tensor.dtype()) return false;
  if (!type.ranked) return true;
  if (type.rank() != tensor.shape().rank()) return false;
  for (int axis = 0; axis < type.rank(); ++axis) {
    const ir::Dim dim = type.dims[static_cast<std::size_t>(axis)];
    if (dim.is_constant() && dim.value() != tensor.shape()[axis]) return false;
  }
  return true;
}

/// Bodies nest as deeply as the model likes, so frames stand on a stack of our own. A region runs
/// at most once at a time: one table holds the values of all regions.
class Interpreter {
 public:
  Interpreter(const Module& module, const InterpretOptions& options)
      : module_(module),
        options_(options),
        memory_(options.max_memory),
        values_(module.value_count()) {}

  Expected<std::vector<Tensor>> run(std::span<const Tensor> feeds);

 private:
  struct Frame {
    RegionId region;
    NodeId owner;
    std::size_t next = 0;
    std::optional<LoopRun> loop;
  };

  Expected<void> bind_feeds(std::span<const Tensor> feeds);
  Expected<void> step();
  Expected<void> execute(NodeId id);
  Expected<void> execute_kernel(NodeId id);
  Expected<void> enter_loop(NodeId id);
  Expected<void> enter_branch(NodeId id);
  Expected<void> end_region();
  Expected<void> next_step();
  Expected<void> ask_to_go_on() const;
  Expected<void> bind(std::span<const ValueId> ids, std::vector<Tensor> tensors,
                      std::string_view what);
  [[nodiscard]] std::vector<Tensor> gather(std::span<const ValueId> ids) const;
  [[nodiscard]] Error placed(Error error) const;
  tensor::Draws* draws_of(NodeId id);

  const Module& module_;
  const InterpretOptions& options_;
  MemoryAccount memory_;
  std::vector<Tensor> values_;
  std::vector<Frame> frames_;
  std::map<std::uint32_t, tensor::Draws> draws_;
  NodeId current_;  ///< what an error is about
};

Expected<std::vector<Tensor>> Interpreter::run(std::span<const Tensor> feeds) {
  SCANLOOM_CHECK_OK(bind_feeds(feeds));
  frames_.push_back(Frame{module_.top(), {}, 0, {}});
  const Region& top = module_.region(module_.top());
  while (frames_.size() > 1 || frames_[0].next < top.nodes.size())
    if (auto done = step(); !done) return placed(std::move(done).error());
  return gather(top.yields);
}

Expected<void> Interpreter::bind_feeds(std::span<const Tensor> feeds) {
  const std::vector<ValueId>& args = module_.region(module_.top()).args;
  if (feeds.size() != args.size())
    return fail(Code::invalid_argument, "the module has {} inputs, {} are fed", args.size(),
                feeds.size());
  std::vector<std::optional<std::int64_t>> sizes(module_.dims.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Type& type = module_.value(args[i]).type;
    const auto mismatch = [&] {
      return fail(Code::invalid_argument, "input {} ({}) is fed {}, must be {}", i,
                  module_.describe(args[i]), describe(feeds[i]), to_string(type, module_.dims));
    };
    if (!type.is_tensor())
      return fail(Code::unsupported, "input {} ({}) is {}; only tensors can be fed", i,
                  module_.describe(args[i]), to_string(type, module_.dims));
    if (!feeds[i].defined() || !allows(type, feeds[i])) return mismatch();
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
      const ir::Dim dim = type.dims[axis];
      if (dim.is_constant() || module_.dims.node(dim.expr()).kind != tensor::DimKind::symbol)
        continue;
      const std::int64_t size = feeds[i].shape()[static_cast<int>(axis)];
      if (sizes[dim.expr()].value_or(size) != size) return mismatch();
      sizes[dim.expr()] = size;
    }
    values_[args[i].index] = feeds[i];
  }
  return {};
}

Expected<void> Interpreter::step() {
  Frame& frame = frames_.back();
  const std::vector<NodeId>& nodes = module_.region(frame.region).nodes;
  if (frame.next == nodes.size()) return end_region();
  return execute(nodes[frame.next++]);
}

Expected<void> Interpreter::execute(NodeId id) {
  current_ = id;
  const Node& node = module_.node(id);
  for (const auto& ids : {node.inputs, node.outputs})
    for (const ValueId value : ids)
      if (value.valid() && !module_.value(value).type.is_tensor())
        return fail(Code::unsupported, "{} is not run on {} here", node.op->name,
                    to_string(module_.value(value).type, module_.dims));
  if (node.op == &ir::constant_op) return bind(node.outputs, {node.attrs[0].tensor()}, "result");
  if (node.op == &ir::loop_op) return enter_loop(id);
  if (node.op == &ir::branch_op) return enter_branch(id);
  return execute_kernel(id);
}

/// nullptr: the node draws nothing.
tensor::Draws* Interpreter::draws_of(NodeId id) {
  if (module_.node(id).op->effects != ir::Effects::random) return nullptr;
  return &draws_.try_emplace(id.index, tensor::Draws{.run = options_.run_number}).first->second;
}

Expected<void> Interpreter::execute_kernel(NodeId id) {
  const Node& node = module_.node(id);
  SCANLOOM_TRY(
      std::vector<Tensor> results,
      run_node(
          *node.op, gather(node.inputs), node.attrs, node.outputs.size(), std::int64_t{1} << 40,
          [&](std::int64_t bytes) { return memory_.check(bytes); }, draws_of(id)));
  for (Tensor& result : results) {
    SCANLOOM_TRY(result, memory_.count(std::move(result)));
  }
  return bind(node.outputs, std::move(results), "result");
}

Expected<void> Interpreter::enter_loop(NodeId id) {
  const Node& node = module_.node(id);
  SCANLOOM_TRY(LoopRun loop, LoopRun::start(module_, id, gather(node.inputs), options_, memory_));
  frames_.push_back(Frame{node.regions[0], id, 0, std::move(loop)});
  return next_step();
}

Expected<void> Interpreter::enter_branch(NodeId id) {
  const Node& node = module_.node(id);
  SCANLOOM_TRY(const bool condition, read_condition(values_[node.inputs[0].index], "condition"));
  const RegionId taken = node.regions[condition ? 0 : 1];
  frames_.push_back(Frame{taken, id, 0, {}});
  return bind(module_.region(taken).args, gather(std::span(node.inputs).subspan(1)), "argument");
}

Expected<void> Interpreter::end_region() {
  Frame& frame = frames_.back();
  current_ = frame.owner;
  std::vector<Tensor> yields = gather(module_.region(frame.region).yields);
  if (frame.loop) {
    SCANLOOM_CHECK_OK(frame.loop->take(std::move(yields)));
    return next_step();
  }
  const NodeId owner = frame.owner;
  frames_.pop_back();
  return bind(module_.node(owner).outputs, std::move(yields), "result");
}

Expected<void> Interpreter::next_step() {
  Frame& frame = frames_.back();
  if (frame.loop->wants_step()) {
    SCANLOOM_CHECK_OK(ask_to_go_on());
    SCANLOOM_TRY(std::vector<Tensor> args, frame.loop->arguments());
    frame.next = 0;
    return bind(module_.region(frame.region).args, std::move(args), "argument");
  }
  SCANLOOM_TRY(std::vector<Tensor> results, frame.loop->results());
  const NodeId owner = frame.owner;
  frames_.pop_back();
  return bind(module_.node(owner).outputs, std::move(results), "result");
}

Expected<void> Interpreter::ask_to_go_on() const {
  if (!options_.may_go_on) return {};
  const auto outermost = std::ranges::find_if(frames_, [](const Frame& f) { return !!f.loop; });
  return options_.may_go_on({outermost->owner, outermost->loop->step(), outermost->loop->steps()});
}

Expected<void> Interpreter::bind(std::span<const ValueId> ids, std::vector<Tensor> tensors,
                                 std::string_view what) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Type& type = module_.value(ids[i]).type;
    if (!allows(type, tensors[i]))
      return fail(Code::internal, "{} {} is {}, its type says {}", what, i, describe(tensors[i]),
                  to_string(type, module_.dims));
    values_[ids[i].index] = std::move(tensors[i]);
  }
  return {};
}

std::vector<Tensor> Interpreter::gather(std::span<const ValueId> ids) const {
  std::vector<Tensor> tensors;
  for (const ValueId id : ids) tensors.push_back(id.valid() ? values_[id.index] : Tensor());
  return tensors;
}

Error Interpreter::placed(Error error) const {
  if (current_.valid()) error = std::move(error).at(module_.describe(current_));
  constexpr std::size_t kMaxNotes = 8;
  std::size_t notes = 0;
  for (auto frame = frames_.rbegin(); frame != frames_.rend() && notes < kMaxNotes; ++frame) {
    if (!frame->loop || frame->owner == current_) continue;
    error.note(
        fmt::format("in step {} of {}", frame->loop->step(), module_.describe(frame->owner)));
    ++notes;
  }
  return error;
}

}  // namespace

Expected<std::vector<Tensor>> interpret(const Module& module, std::span<const Tensor> feeds,
                                        const InterpretOptions& options) {
  return Interpreter(module, options).run(feeds);
}

}  // namespace scanloom::interp
