// Runs every sample of every operator: inferred types are computed types, reference results are the
// expected ones, strides change no bit, and the text form is stable.
#include "tests/ops/samples.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/check_operands.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/run_node.h"
#include "ir/verify.h"
#include "ops/sized_results.h"
#include "tests/ops/bound_operand.h"
#include "tests/ops/real_bits.h"

namespace scanloom::ops {
namespace {

using ir::Known;
using tensor::Attr;
using tensor::Dim;
using tensor::DimTable;
using tensor::to_error;
using tensor::Type;

struct Case {
  const ir::OpDef* op;
  Sample sample;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.op->name << " " << one.sample.name; }

std::vector<Case> all_cases() {
  std::vector<Case> cases;
#define SCANLOOM_OP(name) \
  for (Sample & sample : name##_samples()) cases.push_back({&name##_op, std::move(sample)});
#include "ops/list.inc"
#undef SCANLOOM_OP
  return cases;
}

std::vector<Attr> ordered_attrs(const Case& one) {
  std::vector<Attr> attrs(one.op->attrs.size());
  for (const ir::NamedAttr& attr : one.sample.attrs) {
    const int index = one.op->attr_index(attr.name);
    EXPECT_GE(index, 0) << "no attribute " << attr.name;
    if (index >= 0) attrs[static_cast<std::size_t>(index)] = attr.value;
  }
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    const ir::AttrDef& def = one.op->attrs.begin()[i];
    EXPECT_TRUE(attrs[i].present() || def.optional) << "attribute " << def.name << " is missing";
    EXPECT_TRUE(!attrs[i].present() || attrs[i].kind() == def.kind) << "attribute " << def.name;
  }
  return attrs;
}

Known known_of(const Tensor& tensor) {
  Known known{.tensor = tensor, .integers = std::nullopt};
  if (tensor.shape().rank() > 1) return known;
  if (const auto numbers = tensor::to_integers(tensor))
    known.integers = std::vector<Dim>(numbers->begin(), numbers->end());
  return known;
}

/// The types and known values that inference is given.
struct Given {
  std::deque<Type> types;
  std::deque<Known> known;
  std::vector<const Type*> type_of;
  std::vector<const Known*> known_of;

  void absent() {
    type_of.push_back(nullptr);
    known_of.push_back(nullptr);
  }
  void add(Type type) {
    type_of.push_back(&types.emplace_back(std::move(type)));
    known_of.push_back(nullptr);
  }
  void add(Type type, Known value) {
    add(std::move(type));
    known_of.back() = &known.emplace_back(std::move(value));
  }
};

Expected<std::vector<Type>> infer(const Case& one, const Given& given, DimTable& dims) {
  const std::vector<Attr> attrs = ordered_attrs(one);
  const std::size_t outputs =
      one.sample.outputs.empty() ? one.op->outputs.size() : one.sample.outputs.size();
  ir::InferCtx ctx(given.type_of, given.known_of, attrs, outputs, dims);
  SCANLOOM_CHECK_OK(one.op->infer(ctx));
  return std::move(ctx.outputs());
}

Expected<std::vector<Type>> infer_with_values(const Case& one) {
  Given given;
  for (const Datum& input : one.sample.inputs) {
    if (!input.present()) given.absent();
    if (input.defined()) given.add(input.type(), known_of(input));
    if (input.present() && !input.defined()) given.add(input.type());
  }
  DimTable dims;
  return infer(one, given, dims);
}

/// Whether a value of this shape may have that type, once the symbols n<k> are k.
void expect_allows(const Type& type, const Datum& value, const DimTable& dims) {
  if (!value.defined()) {
    EXPECT_TRUE(tensor::allows(type, value.object)) << to_string(type, dims);
    return;
  }
  EXPECT_TRUE(type.is_tensor());
  EXPECT_EQ(dtype_name(type.dtype), dtype_name(value.dtype()));
  if (!type.ranked) return;
  const std::string text =
      fmt::format("{} for {}", to_string(type, dims), value.shape().to_string());
  ASSERT_EQ(type.rank(), value.shape().rank()) << text;
  std::vector<std::optional<std::int64_t>> symbols(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const tensor::DimNode& node = dims.node(static_cast<std::uint32_t>(i));
    if (node.kind == tensor::DimKind::symbol) symbols[i] = std::stoll(node.text.substr(1));
  }
  const auto sizes = dims.evaluate(symbols);
  for (int axis = 0; axis < type.rank(); ++axis) {
    const Dim dim = type.dims[static_cast<std::size_t>(axis)];
    const auto size = dim.is_constant() ? dim.value() : sizes[dim.expr()];
    EXPECT_EQ(size.value_or(value.shape()[axis]), value.shape()[axis]) << text << " axis " << axis;
  }
}

/// Runs the reference kernel on the sample's inputs laid out as asked.
struct ReferenceRun {
  std::deque<BoundOperand> inputs, outputs;
  std::vector<Attr> attrs;  // a fault's text may be stored in one
  tensor::Fault fault;
  tensor::Status status = tensor::Status::ok;

  ReferenceRun(const Case& one, const std::vector<Type>& types, Layout input_layout,
               Layout output_layout) {
    std::vector<tensor::Operand> in, out;
    for (const Tensor& input : one.sample.inputs)
      in.push_back(input.defined() ? inputs.emplace_back(input, input_layout).operand()
                                   : tensor::Operand());
    for (const Type& type : types)
      out.push_back(outputs.emplace_back(type.dtype, type.shape(), output_layout).operand());
    attrs = ordered_attrs(one);
    tensor::Call call;
    call.inputs = in.data();
    call.outputs = out.data();
    call.input_count = static_cast<std::uint16_t>(in.size());
    call.output_count = static_cast<std::uint16_t>(out.size());
    call.attrs = attrs.data();
    call.fault = &fault;
    status = one.op->reference(call);
  }
};

std::uint64_t element_bits(const Tensor& tensor, std::int64_t element) {
  std::uint64_t bits = 0;
  const std::size_t bytes = dtype_bytes(tensor.dtype());
  std::memcpy(&bits, static_cast<const std::byte*>(tensor.data()) + element * std::int64_t(bytes),
              std::min(bytes, sizeof bits));
  return bits;
}

void expect_equal(const Tensor& computed, const Tensor& expected, double ulps) {
  ASSERT_EQ(computed.shape(), expected.shape());
  ASSERT_EQ(dtype_name(computed.dtype()), dtype_name(expected.dtype()));
  const DType dtype = expected.dtype();
  if (!is_floating_point(dtype) || dtype == DType::nf4) {
    EXPECT_TRUE(tensor::identical(computed, expected)) << testing::PrintToString(
        tensor::to_integers(computed).value_or(std::vector<std::int64_t>()));
    return;
  }
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const std::uint64_t a = element_bits(computed, i), b = element_bits(expected, i);
    EXPECT_LE(distance_in_ulps(dtype, a, b), ulps)
        << "element " << i << " is " << decode_real(dtype, a) << ", expected "
        << decode_real(dtype, b);
  }
}

class SampleTest : public testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] const Sample& sample() const { return GetParam().sample; }
  [[nodiscard]] bool fails() const { return !sample().error.empty(); }
};

TEST_P(SampleTest, InfersTheTypesThatItComputes) {
  if (fails()) return;
  const auto types = infer_with_values(GetParam());
  ASSERT_TRUE(types) << types.error().message();
  ASSERT_EQ(types->size(), sample().outputs.size());
  for (std::size_t i = 0; i < types->size(); ++i) {
    if (GetParam().op->run_objects == nullptr)
      EXPECT_EQ((*types)[i], sample().outputs[i].type()) << "result " << i;
    else
      EXPECT_TRUE(tensor::allows((*types)[i], sample().outputs[i].object)) << "result " << i;
  }
}

TEST_P(SampleTest, InfersATypeThatAllowsTheResultWithoutKnowingValues) {
  Given given;
  for (const Datum& input : sample().inputs) {
    if (!input.present()) given.absent();
    if (input.present()) given.add(input.type());
  }
  DimTable dims;
  const auto types = infer(GetParam(), given, dims);
  if (fails()) return;
  ASSERT_TRUE(types) << types.error().message();
  for (std::size_t i = 0; i < types->size(); ++i)
    expect_allows((*types)[i], sample().outputs[i], dims);
}

// Small integer operands after the first are what sizes, axes and indices are read from: constants
// in nearly all models, so they stay known here.
TEST_P(SampleTest, InfersATypeThatAllowsTheResultFromSymbols) {
  Given given;
  DimTable dims;
  for (const Datum& input : sample().inputs) {
    if (!input.present()) {
      given.absent();
      continue;
    }
    Type type = input.type();
    if (!given.types.empty() && input.defined() && is_integer(input.dtype()) &&
        input.shape().rank() < 2) {
      given.add(type, known_of(input));
      continue;
    }
    for (Dim& dim : type.dims)
      if (type.is_tensor() && dim.value() != 1) dim = dims.symbol(fmt::format("n{}", dim.value()));
    given.add(type);
  }
  const auto types = infer(GetParam(), given, dims);
  if (fails()) return;
  ASSERT_TRUE(types) << types.error().message();
  for (std::size_t i = 0; i < types->size(); ++i)
    expect_allows((*types)[i], sample().outputs[i], dims);
}

TEST_P(SampleTest, InfersWithoutKnowingRanks) {
  Given given;
  for (const Datum& input : sample().inputs) {
    if (!input.present()) given.absent();
    if (!input.present()) continue;
    Type type = Type::unranked(input.type().dtype);
    type.wraps = input.type().wraps;
    given.add(std::move(type));
  }
  DimTable dims;
  const auto types = infer(GetParam(), given, dims);
  if (fails()) return;
  ASSERT_TRUE(types) << types.error().message();
  for (std::size_t i = 0; i < types->size(); ++i)
    expect_allows((*types)[i], sample().outputs[i], dims);
}

/// How a node is run on objects.
using Runner = Expected<void> (*)(const ir::OpDef&, const tensor::ObjectCall&);

/// Runs the operator, by default as the interpreter does. With `alone`, no one else refers to the
/// inputs.
Expected<std::vector<ObjectRef>> run_on_objects(const Case& one, bool alone,
                                                Runner run = ir::run_on_objects) {
  std::vector<ObjectRef> inputs,
      results(std::max(one.sample.outputs.size(), one.op->outputs.size()));
  for (const Datum& input : one.sample.inputs) {
    inputs.push_back(input.object);
    if (alone && input.present()) inputs.back().make_unique();
  }
  const std::vector<Attr> attrs = ordered_attrs(one);
  tensor::MemoryAccount memory(std::int64_t{1} << 30);
  SCANLOOM_CHECK_OK(run(*one.op, {inputs, results, attrs, memory}));
  return results;
}

void expect_equal_objects(const Datum& computed, const Datum& expected, double ulps) {
  ASSERT_TRUE(computed.present());
  ASSERT_EQ(computed.object->kind(), expected.object->kind());
  EXPECT_EQ(dtype_name(computed.object->dtype()), dtype_name(expected.object->dtype()));
  if (expected.defined()) return expect_equal(computed, expected, ulps);
  ASSERT_EQ(computed.object->items().size(), expected.object->items().size());
  for (std::size_t i = 0; i < expected.object->items().size(); ++i) {
    SCOPED_TRACE(testing::Message() << "item " << i);
    expect_equal_objects(computed.object->items()[i], expected.object->items()[i], ulps);
  }
}

// The second time shows that the first one left inputs alone that others refer to.
TEST_P(SampleTest, ObjectsGiveTheExpectedResults) {
  if (fails()) return;
  for (const bool alone : {false, true}) {
    const auto results = run_on_objects(GetParam(), alone);
    ASSERT_TRUE(results) << results.error().message();
    for (std::size_t i = 0; i < sample().outputs.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "result " << i);
      expect_equal_objects((*results)[i], sample().outputs[i], sample().ulps);
    }
  }
}

TEST_P(SampleTest, ResultsThatAreSizedInOneGoAreTheExpectedOnes) {
  if (sized_results_of(*GetParam().op) == nullptr) return;
  const auto run = [](const ir::OpDef& op, const tensor::ObjectCall& call) -> Expected<void> {
    SCANLOOM_CHECK_OK(ir::check_operands(op, call));
    return sized_results_of(op)(call);
  };
  const auto results = run_on_objects(GetParam(), false, run);
  if (fails()) {
    ASSERT_FALSE(results);
    EXPECT_NE(results.error().text().find(sample().error), std::string::npos)
        << results.error().message();
    return;
  }
  ASSERT_TRUE(results) << results.error().message();
  for (std::size_t i = 0; i < sample().outputs.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "result " << i);
    expect_equal_objects((*results)[i], sample().outputs[i], sample().ulps);
  }
}

TEST_P(SampleTest, ReferenceGivesTheExpectedResults) {
  if (fails() || GetParam().op->reference == nullptr) return;
  const auto types = infer_with_values(GetParam());
  ASSERT_TRUE(types) << types.error().message();
  const ReferenceRun run(GetParam(), *types, Layout::contiguous, Layout::contiguous);
  ASSERT_EQ(run.status, tensor::Status::ok) << to_error(run.fault).message();
  for (std::size_t i = 0; i < run.outputs.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "result " << i);
    expect_equal(run.outputs[i].tensor(), sample().outputs[i], sample().ulps);
    EXPECT_TRUE(run.outputs[i].untouched_between());
  }
}

TEST_P(SampleTest, StridesChangeNoBit) {
  if (fails() || GetParam().op->reference == nullptr) return;
  const auto types = infer_with_values(GetParam());
  ASSERT_TRUE(types) << types.error().message();
  const ReferenceRun plain(GetParam(), *types, Layout::contiguous, Layout::contiguous);
  for (const Layout inputs : kLayouts) {
    for (const Layout outputs : kLayouts) {
      SCOPED_TRACE(testing::Message() << "inputs " << int(inputs) << " outputs " << int(outputs));
      const ReferenceRun run(GetParam(), *types, inputs, outputs);
      ASSERT_EQ(run.status, tensor::Status::ok) << to_error(run.fault).message();
      for (std::size_t i = 0; i < run.outputs.size(); ++i) {
        EXPECT_TRUE(tensor::identical(run.outputs[i].tensor(), plain.outputs[i].tensor()));
        EXPECT_TRUE(run.outputs[i].untouched_between());
      }
    }
  }
}

TEST_P(SampleTest, FailsWithTheExpectedText) {
  if (!fails()) return;
  const auto types = infer_with_values(GetParam());
  if (!types) {
    EXPECT_NE(types.error().text().find(sample().error), std::string::npos)
        << types.error().message();
    return;
  }
  const auto run_objects = run_on_objects(GetParam(), false);
  ASSERT_FALSE(run_objects);
  EXPECT_NE(run_objects.error().text().find(sample().error), std::string::npos)
      << run_objects.error().message();
  if (GetParam().op->reference == nullptr) return;
  for (const Type& type : *types) ASSERT_TRUE(type.is_static());
  const ReferenceRun run(GetParam(), *types, Layout::contiguous, Layout::contiguous);
  ASSERT_EQ(run.status, tensor::Status::fault);
  const Error error = to_error(run.fault);
  EXPECT_NE(error.text().find(sample().error), std::string::npos) << error.message();
}

TEST_P(SampleTest, TextFormIsStableAndVerified) {
  if (fails()) return;
  ir::Module module;
  std::vector<ir::ValueId> inputs;
  for (const Datum& input : sample().inputs)
    inputs.push_back(input.present() ? module.add_argument(module.top(), input.type())
                                     : ir::ValueId());
  std::vector<Type> types;
  for (const Datum& output : sample().outputs) types.push_back(output.type());
  const ir::NodeId node =
      module.add_node(module.top(), *GetParam().op, inputs, ordered_attrs(GetParam()), types);
  module.region(module.top()).yields = module.node(node).outputs;
  for (std::size_t i = 0; i < types.size(); ++i)
    module.output_names.push_back(fmt::format("y{}", i));

  const auto verified = ir::verify(module);
  EXPECT_TRUE(verified) << verified.error().message();
  const std::string text = ir::print(module, {.max_elements = -1});
  const auto parsed = ir::parse(text, find_op);
  ASSERT_TRUE(parsed) << parsed.error().message() << "\n" << text;
  EXPECT_EQ(ir::print(*parsed, {.max_elements = -1}), text);
}

INSTANTIATE_TEST_SUITE_P(Ops, SampleTest, testing::ValuesIn(all_cases()), [](const auto& info) {
  return fmt::format("{}__{}", info.param.op->name, info.param.sample.name);
});

TEST(SamplesTest, EveryOperatorHasSamplesOfDifferentNames) {
  std::map<const ir::OpDef*, std::set<std::string>> names;
  for (const Case& one : all_cases())
    EXPECT_TRUE(names[one.op].insert(one.sample.name).second)
        << one.op->name << " has two samples " << one.sample.name;
  for (const ir::OpDef* op : all_ops()) EXPECT_FALSE(names[op].empty()) << op->name;
}

}  // namespace
}  // namespace scanloom::ops
