#include "interp/interpreter.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/memory_budget.h"
#include "interp/loop_run.h"
#include "ir/last_uses.h"
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
using tensor::MemoryAccount;
using tensor::ObjectRef;
using tensor::Tensor;

/// Whether the type allows the value, without looking at its items: they were checked when they
/// were made.
bool allows_outside(const Type& type, const ObjectRef& value) {
  if (type.is_tensor()) return allows(type, value);
  return value && value->kind() == tensor::kind_of(type.wraps.front()) &&
         value->dtype() == type.dtype;
}

/// Bodies may nest arbitrarily deep, so frames are on an explicit stack. A region runs at most once
/// at a time, so one table holds the values of all regions.
class Interpreter {
 public:
  Interpreter(const Module& module, const InterpretOptions& options)
      : module_(module),
        options_(options),
        budget_(options.max_memory),
        memory_(budget_.bytes()),
        last_uses_(module),
        values_(module.value_count()) {
    memory_.set_make_room([this] {
      if (budget_.measure(memory_.held())) memory_.set_max_bytes(budget_.bytes());
      return 0;
    });
  }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  Expected<std::vector<ObjectRef>> run(std::span<const ObjectRef> feeds);

 private:
  struct InterpreterFrame {
    RegionId region;
    NodeId owner;
    std::size_t next = 0;
    std::optional<LoopRun> loop;
  };

  Expected<void> bind_feeds(std::span<const ObjectRef> feeds);
  [[nodiscard]] bool bind_sizes(const Type& type, const Tensor& feed,
                                std::vector<std::optional<std::int64_t>>& sizes) const;
  Expected<void> step();
  Expected<void> execute(NodeId id);
  Expected<void> execute_kernel(NodeId id);
  Expected<void> enter_loop(NodeId id);
  Expected<void> enter_branch(NodeId id);
  Expected<void> end_region();
  Expected<void> next_step();
  Expected<void> ask_to_go_on() const;
  Expected<void> bind(std::span<const ValueId> ids, std::vector<ObjectRef> values,
                      std::string_view what);
  /// The operands from `first` on; those that are not read again are moved out of the table.
  [[nodiscard]] std::vector<ObjectRef> operands(NodeId id, std::size_t first = 0);
  [[nodiscard]] std::vector<ObjectRef> yields(RegionId id);
  [[nodiscard]] Error placed(Error error) const;
  tensor::SampleCounter* samples_of(NodeId id);

  const Module& module_;
  const InterpretOptions& options_;
  MemoryBudget budget_;
  MemoryAccount memory_;
  ir::LastUses last_uses_;
  std::vector<ObjectRef> values_;
  std::vector<InterpreterFrame> frames_;
  std::map<std::uint32_t, tensor::SampleCounter> samples_;
  NodeId current_;  ///< the node that errors name
};

Expected<std::vector<ObjectRef>> Interpreter::run(std::span<const ObjectRef> feeds) {
  SCANLOOM_CHECK_OK(bind_feeds(feeds));
  frames_.push_back(InterpreterFrame{module_.top(), {}, 0, {}});
  const Region& top = module_.region(module_.top());
  while (frames_.size() > 1 || frames_[0].next < top.nodes.size())
    if (auto done = step(); !done) return placed(std::move(done).error());
  return yields(module_.top());
}

Expected<void> Interpreter::bind_feeds(std::span<const ObjectRef> feeds) {
  const std::vector<ValueId>& args = module_.region(module_.top()).args;
  if (feeds.size() != args.size())
    return fail(Code::invalid_argument, "the module has {} inputs, but {} are fed", args.size(),
                feeds.size());
  std::vector<std::optional<std::int64_t>> sizes(module_.dims.size());
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Type& type = module_.value(args[i]).type;
    const bool fits = allows(type, feeds[i]) &&
                      (!type.is_tensor() || bind_sizes(type, feeds[i]->tensor(), sizes));
    if (!fits)
      return fail(Code::invalid_argument, "input {} ({}) is fed {}, but must be {}", i,
                  module_.describe(args[i]), describe(feeds[i]), to_string(type, module_.dims));
    values_[args[i].index] = feeds[i];
  }
  return {};
}

/// Whether the sizes of the type's symbols agree with those of earlier feeds.
bool Interpreter::bind_sizes(const Type& type, const Tensor& feed,
                             std::vector<std::optional<std::int64_t>>& sizes) const {
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
    const ir::Dim dim = type.dims[axis];
    if (dim.is_constant() || module_.dims.node(dim.expr()).kind != tensor::DimKind::symbol)
      continue;
    const std::int64_t size = feed.shape()[static_cast<int>(axis)];
    if (sizes[dim.expr()].value_or(size) != size) return false;
    sizes[dim.expr()] = size;
  }
  return true;
}

Expected<void> Interpreter::step() {
  InterpreterFrame& frame = frames_.back();
  const std::vector<NodeId>& nodes = module_.region(frame.region).nodes;
  if (frame.next == nodes.size()) return end_region();
  return execute(nodes[frame.next++]);
}

Expected<void> Interpreter::execute(NodeId id) {
  current_ = id;
  const Node& node = module_.node(id);
  if (node.op == &ir::constant_op)
    return bind(node.outputs, {ObjectRef::of(node.attrs[0].tensor())}, "result");
  if (node.op == &ir::loop_op) return enter_loop(id);
  if (node.op == &ir::branch_op) return enter_branch(id);
  return execute_kernel(id);
}

/// nullptr: the node is not random.
tensor::SampleCounter* Interpreter::samples_of(NodeId id) {
  if (module_.node(id).op->effects != ir::Effects::random) return nullptr;
  return &samples_.try_emplace(id.index, tensor::SampleCounter{.run = options_.run_number})
              .first->second;
}

Expected<void> Interpreter::execute_kernel(NodeId id) {
  const Node& node = module_.node(id);
  std::vector<ObjectRef> inputs = operands(id);
  std::vector<ObjectRef> results(node.outputs.size());
  Expected<void> done = run_on_objects(
      *node.op, {inputs, results, node.attrs, memory_, samples_of(id)}, options_.stop);
  if (options_.stop != nullptr && options_.stop->stop_requested()) return options_.why_stopped();
  if (!done) return done;
  return bind(node.outputs, std::move(results), "result");
}

Expected<void> Interpreter::enter_loop(NodeId id) {
  const Node& node = module_.node(id);
  SCANLOOM_TRY(LoopRun loop, LoopRun::start(module_, id, operands(id), options_, memory_));
  frames_.push_back(InterpreterFrame{node.regions[0], id, 0, std::move(loop)});
  return next_step();
}

Expected<void> Interpreter::enter_branch(NodeId id) {
  const Node& node = module_.node(id);
  SCANLOOM_TRY(const bool condition, read_condition(values_[node.inputs[0].index], "condition"));
  const RegionId taken = node.regions[condition ? 0 : 1];
  frames_.push_back(InterpreterFrame{taken, id, 0, {}});
  return bind(module_.region(taken).args, operands(id, 1), "argument");
}

Expected<void> Interpreter::end_region() {
  InterpreterFrame& frame = frames_.back();
  current_ = frame.owner;
  std::vector<ObjectRef> values = yields(frame.region);
  if (frame.loop) {
    SCANLOOM_CHECK_OK(frame.loop->take(std::move(values)));
    return next_step();
  }
  const NodeId owner = frame.owner;
  frames_.pop_back();
  return bind(module_.node(owner).outputs, std::move(values), "result");
}

Expected<void> Interpreter::next_step() {
  InterpreterFrame& frame = frames_.back();
  if (frame.loop->wants_step()) {
    SCANLOOM_CHECK_OK(ask_to_go_on());
    SCANLOOM_TRY(std::vector<ObjectRef> args, frame.loop->arguments());
    frame.next = 0;
    return bind(module_.region(frame.region).args, std::move(args), "argument");
  }
  SCANLOOM_TRY(std::vector<ObjectRef> results, frame.loop->results());
  const NodeId owner = frame.owner;
  frames_.pop_back();
  return bind(module_.node(owner).outputs, std::move(results), "result");
}

Expected<void> Interpreter::ask_to_go_on() const {
  if (!options_.may_go_on) return {};
  const auto outermost =
      std::ranges::find_if(frames_, [](const InterpreterFrame& f) { return !!f.loop; });
  return options_.may_go_on({outermost->owner, outermost->loop->step(), outermost->loop->steps()});
}

Expected<void> Interpreter::bind(std::span<const ValueId> ids, std::vector<ObjectRef> values,
                                 std::string_view what) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const Type& type = module_.value(ids[i]).type;
    if (!allows_outside(type, values[i]))
      return fail(Code::internal, "{} {} is {}, its type says {}", what, i, describe(values[i]),
                  to_string(type, module_.dims));
    values_[ids[i].index] = std::move(values[i]);
  }
  return {};
}

std::vector<ObjectRef> Interpreter::operands(NodeId id, std::size_t first) {
  const std::vector<ValueId>& ids = module_.node(id).inputs;
  std::vector<ObjectRef> values;
  for (std::size_t i = first; i < ids.size(); ++i) {
    if (!ids[i].valid())
      values.emplace_back();
    else if (last_uses_.of_operand(id, i))
      values.push_back(std::move(values_[ids[i].index]));
    else
      values.push_back(values_[ids[i].index]);
  }
  return values;
}

std::vector<ObjectRef> Interpreter::yields(RegionId id) {
  const std::vector<ValueId>& ids = module_.region(id).yields;
  std::vector<ObjectRef> values;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ObjectRef& value = values_[ids[i].index];
    values.push_back(last_uses_.of_yield(id, i) ? std::move(value) : value);
  }
  return values;
}

Error Interpreter::placed(Error error) const {
  if (current_.valid()) error = std::move(error).at(module_.describe_call(current_));
  constexpr std::size_t kMaxNotes = 8;
  std::size_t notes = 0;
  for (auto frame = frames_.rbegin(); frame != frames_.rend() && notes < kMaxNotes; ++frame) {
    if (!frame->loop || frame->owner == current_) continue;
    error.note(module_.describe_step(frame->owner, frame->loop->step()));
    ++notes;
  }
  return error;
}

}  // namespace

Expected<std::vector<ObjectRef>> interpret_objects(const Module& module,
                                                   std::span<const ObjectRef> feeds,
                                                   const InterpretOptions& options) {
  return Interpreter(module, options).run(feeds);
}

Expected<std::vector<Tensor>> interpret(const Module& module, std::span<const Tensor> feeds,
                                        const InterpretOptions& options) {
  std::vector<ObjectRef> objects;
  for (const Tensor& feed : feeds)
    objects.push_back(feed.defined() ? ObjectRef::of(feed) : ObjectRef());
  SCANLOOM_TRY(const std::vector<ObjectRef> results, interpret_objects(module, objects, options));
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]->is_tensor())
      return fail(Code::unsupported, "output {} is a {}, not a tensor", i, describe(results[i]));
    tensors.push_back(results[i]->tensor());
  }
  return tensors;
}

}  // namespace scanloom::interp
