#include "ir/parse.h"

#include <unordered_map>

#include "ir/text.h"
#include "tensor/text_reader.h"

namespace scanloom::ir {
namespace {

/// A node whose regions are being read; at the bottom the module, whose only region is the top.
struct ParseFrame {
  NodeId owner;
  RegionId open;  ///< the region being read, if any
};

/// A parsed node before it is added.
struct Draft {
  const OpDef* op = nullptr;
  std::vector<std::pair<std::uint32_t, std::string>> results;  ///< number and name
  std::vector<ValueId> inputs;
  std::vector<Attr> attrs;
  std::vector<Type> types;
  std::optional<LoopPorts> ports;
  LocationId location;
};

class Parser {
 public:
  Parser(std::string_view text, OpTable ops) : reader_(text), ops_(ops) {}

  Expected<Module> run();

 private:
  Expected<void> head();
  Expected<void> state();
  Expected<void> step();
  Expected<void> region(ParseFrame& frame);
  Expected<void> arguments(RegionId region);
  Expected<void> yields(RegionId region);
  Expected<void> node(RegionId region);
  Expected<void> results(Draft& draft);
  Expected<void> operation(Draft& draft);
  Expected<void> loop_ports(Draft& draft);
  Expected<std::uint32_t> group(std::string_view label, Draft& draft);
  Expected<void> scanned(Draft& draft);
  Expected<void> stacked(LoopPorts& ports);
  Expected<void> attributes(Draft& draft);
  Expected<Attr> attribute(tensor::AttrKind kind);
  Expected<double> real();
  Expected<void> result_types(Draft& draft);
  Expected<void> location(Draft& draft);
  Expected<std::uint32_t> number();
  Expected<ValueId> use();
  Expected<void> define(std::uint32_t number, ValueId value);
  Expected<std::string> optional_name();

  tensor::TextReader reader_;
  OpTable ops_;
  Module module_;
  std::unordered_map<std::uint32_t, ValueId> values_;  ///< by number in the text
  std::vector<ParseFrame> frames_;
};

Expected<Module> Parser::run() {
  SCANLOOM_CHECK_OK(head());
  frames_.push_back({});
  SCANLOOM_CHECK_OK(region(frames_.back()));
  while (!frames_.empty()) SCANLOOM_CHECK_OK(step());
  SCANLOOM_CHECK_OK(reader_.expect_end());
  return std::move(module_);
}

Expected<void> Parser::head() {
  SCANLOOM_CHECK_OK(reader_.expect_keyword("module"));
  SCANLOOM_TRY(module_.name, optional_name());
  SCANLOOM_CHECK_OK(reader_.expect('{'));
  while (reader_.take_keyword("state")) SCANLOOM_CHECK_OK(state());
  return {};
}

Expected<void> Parser::state() {
  State state;
  SCANLOOM_TRY(state.name, reader_.string());
  SCANLOOM_CHECK_OK(reader_.expect_keyword("input"));
  SCANLOOM_TRY(state.input, reader_.unsigned_integer());
  SCANLOOM_CHECK_OK(reader_.expect_keyword("output"));
  SCANLOOM_TRY(state.output, reader_.unsigned_integer());
  state.is_hidden = reader_.take_keyword("hidden");
  if (reader_.take_keyword("kept")) {
    SCANLOOM_TRY(state.is_kept, reader_.unsigned_integer());
  }
  SCANLOOM_CHECK_OK(reader_.expect('='));
  if (!reader_.take_keyword("zeros")) {
    SCANLOOM_TRY(state.initial, reader_.tensor());
  }
  module_.states.push_back(std::move(state));
  return {};
}

Expected<void> Parser::step() {
  ParseFrame& frame = frames_.back();
  if (frame.open.valid()) {
    if (!reader_.take_keyword("yield")) return node(frame.open);
    SCANLOOM_CHECK_OK(yields(frame.open));
    frame.open = RegionId();
    return reader_.expect('}');
  }
  if (frame.owner.valid() && reader_.peek() != '}') return region(frame);
  frames_.pop_back();
  return reader_.expect('}');
}

Expected<void> Parser::region(ParseFrame& frame) {
  RegionId id = module_.top();
  if (frame.owner.valid()) {
    const Node& owner = module_.node(frame.owner);
    SCANLOOM_CHECK_OK(reader_.expect_keyword(text::region_label(owner.op, owner.regions.size())));
    id = module_.add_region(frame.owner);
    module_.node(frame.owner).regions.push_back(id);
  } else {
    SCANLOOM_CHECK_OK(reader_.expect_keyword("graph"));
  }
  SCANLOOM_TRY(module_.region(id).name, optional_name());
  SCANLOOM_CHECK_OK(arguments(id));
  frame.open = id;
  return reader_.expect('{');
}

Expected<void> Parser::arguments(RegionId region) {
  SCANLOOM_CHECK_OK(reader_.expect('('));
  while (!reader_.take(')')) {
    if (!module_.region(region).args.empty()) SCANLOOM_CHECK_OK(reader_.expect(','));
    SCANLOOM_TRY(const std::uint32_t id, number());
    SCANLOOM_TRY(std::string name, optional_name());
    SCANLOOM_CHECK_OK(reader_.expect(':'));
    SCANLOOM_TRY(Type type, reader_.type(module_.dims));
    SCANLOOM_CHECK_OK(define(id, module_.add_argument(region, std::move(type), std::move(name))));
  }
  return {};
}

Expected<void> Parser::yields(RegionId region) {
  if (reader_.peek() == '}') return {};
  do {
    SCANLOOM_TRY(const ValueId value, use());
    module_.region(region).yields.push_back(value);
    if (region != module_.top()) continue;
    SCANLOOM_TRY(std::string name, optional_name());
    module_.output_names.push_back(std::move(name));
  } while (reader_.take(','));
  return {};
}

Expected<void> Parser::node(RegionId region) {
  Draft draft;
  SCANLOOM_CHECK_OK(results(draft));
  SCANLOOM_CHECK_OK(operation(draft));
  SCANLOOM_CHECK_OK(result_types(draft));
  SCANLOOM_CHECK_OK(location(draft));
  const NodeId id =
      module_.add_node(region, *draft.op, std::move(draft.inputs), std::move(draft.attrs),
                       std::move(draft.types), draft.location);
  module_.node(id).loop = std::move(draft.ports);
  for (std::size_t i = 0; i < draft.results.size(); ++i) {
    const ValueId output = module_.node(id).outputs[i];
    SCANLOOM_CHECK_OK(define(draft.results[i].first, output));
    module_.value(output).name = std::move(draft.results[i].second);
  }
  if (reader_.take('{')) frames_.push_back({id, {}});
  return {};
}

Expected<void> Parser::results(Draft& draft) {
  if (reader_.peek() != '%') return {};
  do {
    SCANLOOM_TRY(const std::uint32_t id, number());
    SCANLOOM_TRY(std::string name, optional_name());
    draft.results.emplace_back(id, std::move(name));
  } while (reader_.take(','));
  return reader_.expect('=');
}

Expected<void> Parser::operation(Draft& draft) {
  SCANLOOM_TRY(const std::string_view name, reader_.name());
  draft.op = ops_(name);
  if (draft.op == nullptr) return reader_.error(fmt::format("unknown operator '{}'", name));
  draft.attrs.resize(draft.op->attrs.size());
  if (draft.op == &loop_op) return loop_ports(draft);
  if (draft.op == &constant_op && reader_.peek() != '(') {
    SCANLOOM_TRY(Tensor value, reader_.tensor());
    draft.types.push_back(Type::of(value.dtype(), value.shape()));
    draft.attrs[0] = std::move(value);
    return {};
  }
  SCANLOOM_CHECK_OK(reader_.expect('('));
  while (!reader_.take(')')) {
    if (!draft.inputs.empty()) SCANLOOM_CHECK_OK(reader_.expect(','));
    SCANLOOM_TRY(const ValueId value, use());
    draft.inputs.push_back(value);
  }
  return attributes(draft);
}

Expected<void> Parser::loop_ports(Draft& draft) {
  LoopPorts ports;
  SCANLOOM_TRY(const std::uint32_t trips, group("trip", draft));
  SCANLOOM_TRY(const std::uint32_t conditions, group("condition", draft));
  if (trips > 1 || conditions > 1)
    return reader_.error("a loop has one trip count and one condition at most");
  ports.has_trip_count = trips == 1;
  ports.has_condition = conditions == 1;
  SCANLOOM_TRY(ports.captured, group("captured", draft));
  SCANLOOM_TRY(ports.carried, group("carried", draft));
  draft.ports = std::move(ports);
  if (reader_.take_keyword("scanned")) SCANLOOM_CHECK_OK(scanned(draft));
  if (reader_.take_keyword("stacked")) SCANLOOM_CHECK_OK(stacked(*draft.ports));
  draft.ports->fixed_sizes = reader_.take_keyword("fixed");
  draft.ports->over_items = reader_.take_keyword("items");
  draft.ports->reassociates = reader_.take_keyword("reassociates");
  draft.ports->has_keep_going = reader_.take_keyword("keep_going");
  return {};
}

/// Parses "label(%1, %2)" and adds the operands; returns how many, 0 if the label does not come
/// next.
Expected<std::uint32_t> Parser::group(std::string_view label, Draft& draft) {
  std::uint32_t count = 0;
  if (!reader_.take_keyword(label)) return count;
  SCANLOOM_CHECK_OK(reader_.expect('('));
  do {
    SCANLOOM_TRY(const ValueId value, use());
    draft.inputs.push_back(value);
    ++count;
  } while (reader_.take(','));
  SCANLOOM_CHECK_OK(reader_.expect(')'));
  return count;
}

Expected<void> Parser::scanned(Draft& draft) {
  SCANLOOM_CHECK_OK(reader_.expect('('));
  do {
    ScannedPort port;
    SCANLOOM_TRY(const ValueId value, use());
    draft.inputs.push_back(value);
    SCANLOOM_CHECK_OK(reader_.expect_keyword("axis"));
    SCANLOOM_TRY(port.axis, reader_.integer());
    if (reader_.take_keyword("start")) {
      SCANLOOM_TRY(port.start, reader_.integer());
    }
    if (reader_.take_keyword("stride")) {
      SCANLOOM_TRY(port.stride, reader_.integer());
    }
    if (reader_.take_keyword("part")) {
      SCANLOOM_TRY(port.part, reader_.integer());
    }
    port.squeeze = !reader_.take_keyword("keep");
    draft.ports->scanned.push_back(port);
  } while (reader_.take(','));
  return reader_.expect(')');
}

Expected<void> Parser::stacked(LoopPorts& ports) {
  SCANLOOM_CHECK_OK(reader_.expect('('));
  do {
    StackedPort port;
    SCANLOOM_CHECK_OK(reader_.expect_keyword("axis"));
    SCANLOOM_TRY(port.axis, reader_.integer());
    port.insert = !reader_.take_keyword("concat");
    port.reverse = reader_.take_keyword("reverse");
    ports.stacked.push_back(port);
  } while (reader_.take(','));
  return reader_.expect(')');
}

Expected<void> Parser::attributes(Draft& draft) {
  if (!reader_.attributes_follow()) return {};
  SCANLOOM_CHECK_OK(reader_.expect('{'));
  do {
    SCANLOOM_TRY(const std::string_view name, reader_.name());
    const int index = draft.op->attr_index(name);
    if (index < 0)
      return reader_.error(fmt::format("{} has no attribute '{}'", draft.op->name, name));
    SCANLOOM_CHECK_OK(reader_.expect('='));
    SCANLOOM_TRY(draft.attrs[static_cast<std::size_t>(index)],
                 attribute(draft.op->attrs.begin()[index].kind));
  } while (reader_.take(','));
  return reader_.expect('}');
}

Expected<Attr> Parser::attribute(tensor::AttrKind kind) {
  switch (kind) {
    case tensor::AttrKind::none:
      break;
    case tensor::AttrKind::integer: {
      SCANLOOM_TRY(const std::int64_t value, reader_.integer());
      return Attr(value);
    }
    case tensor::AttrKind::real: {
      SCANLOOM_TRY(const double value, real());
      return Attr(value);
    }
    case tensor::AttrKind::text: {
      SCANLOOM_TRY(std::string value, reader_.string());
      return Attr(std::move(value));
    }
    case tensor::AttrKind::integers: {
      std::vector<std::int64_t> values;
      SCANLOOM_CHECK_OK(reader_.expect('['));
      while (!reader_.take(']')) {
        if (!values.empty()) SCANLOOM_CHECK_OK(reader_.expect(','));
        SCANLOOM_TRY(const std::int64_t value, reader_.integer());
        values.push_back(value);
      }
      return Attr(std::move(values));
    }
    case tensor::AttrKind::floats: {
      std::vector<double> values;
      SCANLOOM_CHECK_OK(reader_.expect('['));
      while (!reader_.take(']')) {
        if (!values.empty()) SCANLOOM_CHECK_OK(reader_.expect(','));
        SCANLOOM_TRY(const double value, real());
        values.push_back(value);
      }
      return Attr(std::move(values));
    }
    case tensor::AttrKind::tensor: {
      SCANLOOM_TRY(Tensor value, reader_.tensor());
      return Attr(std::move(value));
    }
    case tensor::AttrKind::dtype: {
      SCANLOOM_TRY(const DType value, reader_.dtype());
      return Attr(value);
    }
  }
  return reader_.error("the attribute takes no value");
}

Expected<double> Parser::real() {
  SCANLOOM_TRY(const std::string_view word, reader_.word());
  double value = 0;
  if (!text::read_element(word, DType::f64, reinterpret_cast<std::byte*>(&value)))
    return reader_.error(fmt::format("'{}' is not a number", word));
  return value;
}

Expected<void> Parser::result_types(Draft& draft) {
  if (draft.op == &constant_op && !draft.types.empty()) {
    if (draft.results.size() == 1) return {};
    return reader_.error("a constant has one result");
  }
  if (draft.results.empty()) return {};
  SCANLOOM_CHECK_OK(reader_.expect(':'));
  do {
    SCANLOOM_TRY(Type type, reader_.type(module_.dims));
    draft.types.push_back(std::move(type));
  } while (reader_.take(','));
  if (draft.types.size() == draft.results.size()) return {};
  return reader_.error(
      fmt::format("{} types for {} results", draft.types.size(), draft.results.size()));
}

Expected<void> Parser::location(Draft& draft) {
  if (!reader_.take_keyword("loc")) return {};
  Location location;
  SCANLOOM_CHECK_OK(reader_.expect('('));
  while (!reader_.take(')')) {
    if (!location.nodes.empty()) SCANLOOM_CHECK_OK(reader_.expect(','));
    SCANLOOM_TRY(std::string name, reader_.string());
    location.nodes.push_back(std::move(name));
  }
  draft.location = module_.add_location(std::move(location));
  return {};
}

Expected<std::uint32_t> Parser::number() {
  SCANLOOM_CHECK_OK(reader_.expect('%'));
  return reader_.unsigned_integer();
}

Expected<ValueId> Parser::use() {
  if (reader_.take_keyword("_")) return ValueId();
  SCANLOOM_TRY(const std::uint32_t id, number());
  const auto found = values_.find(id);
  if (found == values_.end()) return reader_.error(fmt::format("%{} is not defined yet", id));
  return found->second;
}

Expected<void> Parser::define(std::uint32_t number, ValueId value) {
  if (values_.emplace(number, value).second) return {};
  return reader_.error(fmt::format("%{} is defined twice", number));
}

Expected<std::string> Parser::optional_name() {
  if (reader_.peek() != '"') return std::string();
  return reader_.string();
}

}  // namespace

Expected<Module> parse(std::string_view text, OpTable ops) { return Parser(text, ops).run(); }

}  // namespace scanloom::ir
