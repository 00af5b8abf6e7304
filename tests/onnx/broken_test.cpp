// Invalid models: each must give one clear error, and none may crash the reader.
#include <gmock/gmock.h>

#include <functional>
#include <ostream>

#include "tests/onnx/reading.h"

namespace scanloom::onnx::test {
namespace {

using Nodes = std::vector<NodeBytes>;
using ::testing::HasSubstr;

/// Inputs x f32[2,3], n i64[3], c bool, and what `nodes` make of them; output y.
ModelBytes model_of(const Nodes& nodes, int output_type = kFloat) {
  ModelBytes model;
  model.graph.inputs = {value_info("x", kFloat, {2, 3}), value_info("n", kInt64, {3}),
                        value_info("c", kBool, {})};
  model.graph.outputs = {value_info("y", tensor_type(output_type, {}, false))};
  model.graph.nodes = nodes;
  return model;
}

std::string nodes(const Nodes& list) { return model_of(list).bytes(); }
std::string node(const NodeBytes& one) { return nodes({one}); }

ModelBytes with_initialiser(const std::string& tensor) {
  ModelBytes model = model_of({NodeBytes("Identity", {"w"}, {"y"})});
  model.graph.initialisers = {tensor};
  return model;
}

std::string initialiser(const std::string& tensor) { return with_initialiser(tensor).bytes(); }

std::string branch_of_op(const std::string& op, const std::string& output) {
  return untyped_graph({}, {output}, {NodeBytes(op, {"x"}, {output})});
}

NodeBytes choice_node(const std::string& then_branch, const std::string& else_branch) {
  NodeBytes made("If", {"c"}, {"y"});
  return made.name("choice").graph("then_branch", then_branch).graph("else_branch", else_branch);
}

/// Carries x; the body doubles it.
std::string loop_body() {
  return untyped_graph({"i", "go", "v"}, {"go", "w"}, {NodeBytes("Add", {"v", "v"}, {"w"})});
}

NodeBytes loop_node(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                    const std::string& body_bytes) {
  NodeBytes made("Loop", inputs, outputs);
  return made.name("rnn").graph("body", body_bytes);
}

/// State n of three integers, scans over x [2,3].
std::string scan_body() {
  return untyped_graph({"s", "r"}, {"s2", "r2"},
                       {NodeBytes("Identity", {"s"}, {"s2"}), NodeBytes("Relu", {"r"}, {"r2"})});
}

NodeBytes scan_node(const std::string& body_bytes, int scanned = 1,
                    const std::vector<std::string>& inputs = {"n", "x"},
                    const std::vector<std::string>& outputs = {"last", "y"}) {
  NodeBytes made("Scan", inputs, outputs);
  return made.name("gru").graph("body", body_bytes).integer("num_scan_inputs", scanned);
}

/// Scans over "z" of any rank.
std::string unranked_scan(const std::string& axes, std::int64_t axis) {
  ModelBytes model = model_of({NodeBytes("Scan", {"z"}, {"y"})
                                   .graph("body", untyped_graph({"r"}, {"r"}))
                                   .integer("num_scan_inputs", 1)
                                   .integers(axes, {axis})});
  model.graph.inputs.push_back(value_info("z", tensor_type(kFloat, {}, false)));
  return model.bytes();
}

std::string nested_ifs(int depth) {
  std::string inner = branch_of_op("Relu", "y");
  for (int i = 0; i < depth; ++i)
    inner = untyped_graph({}, {"y"}, {choice_node(inner, branch_of_op("Abs", "y"))});
  return inner;
}

std::string two_inputs(const std::vector<DimBytes>& a, const std::vector<DimBytes>& b,
                       const NodeBytes& one) {
  ModelBytes model;
  model.graph.inputs = {value_info("a", kFloat, a), value_info("b", kFloat, b)};
  model.graph.outputs = {value_info("y", tensor_type(kFloat, {}, false))};
  model.graph.nodes = {one};
  return model.bytes();
}

std::string input_of_type(const std::string& type) {
  ModelBytes model = model_of({NodeBytes("Identity", {"z"}, {"y"})});
  model.graph.inputs.push_back(value_info("z", type));
  return model.bytes();
}

std::string map_type() {
  std::string bytes;
  protozero::pbf_writer(bytes).add_message(5, std::string());
  return bytes;
}

std::string external(const std::vector<std::pair<std::string, std::string>>& entries) {
  return initialiser(external_tensor("w", kFloat, {2}, entries));
}

std::string function_model(const FunctionBytes& function, const NodeBytes& call) {
  ModelBytes model = model_of({call});
  model.functions = {function.bytes()};
  return model.bytes();
}

std::string recursive_function() {
  FunctionBytes function{"Again", "own", {"a"}, {"b"}, {}, {}, {}};
  NodeBytes inner("Again", {"a"}, {"b"});
  function.nodes = {inner.domain("own")};
  NodeBytes call("Again", {"x"}, {"y"});
  return function_model(function, call.domain("own"));
}

std::string functions_of_one_name() {
  FunctionBytes first{"Twice", "own", {"a"}, {"b"}, {}, {NodeBytes("Abs", {"a"}, {"b"})}, {}};
  FunctionBytes second = first;
  second.nodes = {NodeBytes("Neg", {"a"}, {"b"})};
  NodeBytes call("Twice", {"x"}, {"y"});
  ModelBytes model = model_of({call.domain("own")});
  model.functions = {first.bytes(), second.bytes()};
  return model.bytes();
}

std::string function_with_reference() {
  FunctionBytes function{"Join", "own", {"a"}, {"b"}, {"axis"}, {}, {}};
  NodeBytes inner("Concat", {"a", "a"}, {"b"});
  function.nodes = {inner.reference("axis", 2, "nothing")};
  NodeBytes call("Join", {"x"}, {"y"});
  return function_model(function, call.domain("own"));
}

std::string sparse(const std::vector<std::int64_t>& indices) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_message(1, float_tensor("w", {1}, {1.0f}));
  writer.add_message(2, int64_tensor("", {static_cast<std::int64_t>(indices.size())}, indices));
  writer.add_int64(3, 4);
  ModelBytes model = model_of({NodeBytes("Identity", {"w"}, {"y"})});
  model.graph.sparse_initialisers = {bytes};
  return model.bytes();
}

std::string with(ModelBytes model, const std::function<void(ModelBytes&)>& change) {
  change(model);
  return model.bytes();
}

struct Broken {
  const char* name;
  std::string bytes;
  Code code;
  const char* part;
};

void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.name; }

const Code kInvalid = Code::invalid_model;
const Code kUnsupported = Code::unsupported;

std::vector<Broken> broken_files() {
  const std::string good = node(NodeBytes("Relu", {"x"}, {"y"}));
  return {
      {"empty", "", kInvalid, "the model has no graph"},
      {"text", "this is not a model at all", kInvalid, "malformed bytes in a ModelProto"},
      {"truncated", good.substr(0, good.size() - 30), kInvalid, " bytes long, "},
      {"wrong_wire_type", std::string("\x38\x01", 2), kInvalid, "malformed bytes in a ModelProto"},
      {"no_opset", with(model_of({}), [](ModelBytes& m) { m.opset = 0; }), kInvalid,
       "imports no operator set"},
      {"old_opset", with(model_of({}), [](ModelBytes& m) { m.opset = -1; }), kUnsupported,
       "version -1 of the operator set 'ai.onnx' is older than 1"},
      {"deep_bodies", nodes({choice_node(nested_ifs(1001), branch_of_op("Abs", "y"))}), kInvalid,
       "nested more than 1000 deep"},
      {"deep_type", input_of_type([] {
         std::string type = tensor_type(kFloat, {});
         for (int i = 0; i < 20; ++i) {
           std::string element, sequence;
           protozero::pbf_writer(element).add_message(1, type);
           protozero::pbf_writer(sequence).add_message(4, element);
           type = sequence;
         }
         return type;
       }()),
       kInvalid, "nested more than 8 deep"},
  };
}

std::vector<Broken> broken_graphs() {
  NodeBytes own("Bar", {"x"}, {"z"});
  return {
      {"unknown_operators",
       nodes({NodeBytes("Foo", {"x"}, {"y"}), NodeBytes("Foo", {"x"}, {"w"}), own.domain("acme")}),
       kUnsupported, "2 operators cannot be read: Foo (2 nodes), acme.Bar (1 node)"},
      {"too_new_operator", node(NodeBytes("Gelu", {"x"}, {"y"})), kInvalid,
       "node 0 (Gelu-20) making 'y': the operator exists since version 20, but the model imports "
       "version 16"},
      {"domain_not_imported",
       [] {
         NodeBytes extract("ArrayFeatureExtractor", {"x", "n"}, {"y"});
         return node(extract.domain("ai.onnx.ml"));
       }(),
       kInvalid, "imports no version of the operator set 'ai.onnx.ml'"},
      {"missing_name", node(NodeBytes("Relu", {"nowhere"}, {"y"})), kInvalid,
       "node 0 (Relu-14) making 'y': input 0 'nowhere' is not produced by any node"},
      {"too_few_inputs", node(NodeBytes("Add", {"x"}, {"y"})), kInvalid,
       "it has 1 inputs, but at least 2 are needed"},
      {"too_many_inputs", node(NodeBytes("Relu", {"x", "x"}, {"y"})), kInvalid,
       "it has 2 inputs, but at most 1 are allowed"},
      {"too_many_outputs", node(NodeBytes("Relu", {"x"}, {"y", "z"})), kInvalid,
       "it has 2 outputs, but at most 1 are allowed"},
      {"absent_input", node(NodeBytes("Add", {"x", ""}, {"y"})), kInvalid, "input 1 is missing"},
      {"cycle",
       nodes({NodeBytes("Add", {"x", "b"}, {"a"}), NodeBytes("Relu", {"a"}, {"b"}),
              NodeBytes("Relu", {"b"}, {"y"})}),
       kInvalid,
       "these nodes depend on each other: node 0 (Add-14) making 'a', node 1 (Relu-14) making 'b'"},
      {"cycle_through_body",
       nodes({choice_node(untyped_graph({}, {"t"}, {NodeBytes("Relu", {"y"}, {"t"})}),
                          branch_of_op("Abs", "e"))}),
       kInvalid, "these nodes depend on each other: node 'choice' (If-16)"},
      {"made_twice", nodes({NodeBytes("Relu", {"x"}, {"y"}), NodeBytes("Abs", {"x"}, {"y"})}),
       kInvalid,
       "node 1 (Abs-13) making 'y': output 0 'y' has the same name as output 0 of node 0 (Relu-14) "
       "making 'y'"},
      {"made_twice_in_a_circle",
       nodes({NodeBytes("Relu", {"b"}, {"a"}), NodeBytes("Abs", {"x"}, {"a"}),
              NodeBytes("Relu", {"a"}, {"b"})}),
       kInvalid, "output 0 'a' has the same name as output 0 of node 0 (Relu-14) making 'a'"},
      {"made_twice_by_one_node", nodes({NodeBytes("Split", {"x"}, {"y", "y"})}), kInvalid,
       "output 1 'y' has the same name as output 0 of node 0 (Split-13) making 'y'"},
      {"hides_input", nodes({NodeBytes("Relu", {"x"}, {"x"})}), kInvalid,
       "node 0 (Relu-14) making 'x': output 0 'x' has the same name as graph input 0"},
      {"hides_initialiser",
       with(model_of({NodeBytes("Abs", {"x"}, {"y"}), NodeBytes("Relu", {"y"}, {"w"})}),
            [](ModelBytes& m) { m.graph.initialisers = {float_tensor("w", {1}, {1})}; }),
       kInvalid, "node 1 (Relu-14) making 'w': output 0 'w' has the same name as initialiser 0"},
      {"output_not_made", nodes({NodeBytes("Relu", {"x"}, {"z"})}), kInvalid,
       "graph output 0 'y': no node produces it"},
      {"input_without_type", input_of_type(""), kInvalid, "graph input 3 'z': it has no type"},
      {"input_of_unknown_type", input_of_type(tensor_type(77, {})), kInvalid,
       "element type 77 does not exist"},
      {"input_of_map", input_of_type(map_type()), kUnsupported, "a map from other keys than int64"},
      {"inputs_of_one_name",
       with(model_of({NodeBytes("Relu", {"x"}, {"y"})}),
            [](ModelBytes& m) { m.graph.inputs.push_back(m.graph.inputs.front()); }),
       kInvalid, "graph input 3 'x': it has the same name as graph input 0"},
      {"declared_otherwise", model_of({NodeBytes("Relu", {"x"}, {"y"})}, kInt64).bytes(), kInvalid,
       "output 'y' is declared int64, but the node produces float"},
      {"types_differ", node(NodeBytes("Add", {"x", "n"}, {"y"})), kInvalid,
       "is i64, but operand 0 is f32"},
      {"shapes_differ", two_inputs({2, 3}, {4, 3}, NodeBytes("Add", {"a", "b"}, {"y"})), kInvalid,
       "node 0 (Add-14) making 'y'"},
      {"recursive_function", recursive_function(), Code::limit_reached,
       "nested more than 1000 deep"},
      {"functions_of_one_name", functions_of_one_name(), kInvalid,
       "there are two functions 'Twice' of the domain 'own' with the overload ''"},
      {"function_reference", function_with_reference(), kInvalid,
       "refers to 'nothing', which is not an attribute of the function"},
  };
}

std::vector<Broken> broken_attributes() {
  NodeBytes concat("Concat", {"x", "x"}, {"y"});
  const auto changed = [&](const std::function<void(NodeBytes&)>& change) {
    NodeBytes copy = concat;
    change(copy);
    return node(copy);
  };
  std::string both_kinds = NodeBytes::attribute("axis", 2);
  protozero::pbf_writer(both_kinds).add_float(2, 1.0f);
  const auto with_node = [](NodeBytes made) { return node(made); };
  return {
      {"missing_attribute", node(concat), kInvalid, "attribute 'axis' is missing"},
      {"real_axis", changed([](NodeBytes& n) { n.real("axis", 1); }), kInvalid,
       "attribute 'axis' is a float, but an integer is needed"},
      {"two_kinds", changed([&](NodeBytes& n) { n.raw_attribute(both_kinds); }), kInvalid,
       "is declared as an integer, but holds a float"},
      {"unknown_kind",
       changed([](NodeBytes& n) { n.raw_attribute(NodeBytes::attribute("axis", 99)); }), kInvalid,
       "has the unknown kind 99"},
      {"attribute_twice", changed([](NodeBytes& n) { n.integer("axis", 0).integer("axis", 1); }),
       kInvalid, "attribute 'axis' appears twice"},
      {"axis_outside", changed([](NodeBytes& n) { n.integer("axis", 5); }), kInvalid, "5"},
      {"perm_from_the_end",
       with_node(NodeBytes("Transpose", {"x"}, {"y"}).integers("perm", {-1, 0})), kInvalid,
       "node 0 (Transpose-13) making 'y': perm names axis -1, which is outside [0, 2)"},
      {"cast_to_nothing", with_node(NodeBytes("Cast", {"x"}, {"y"}).integer("to", 99)), kInvalid,
       "attribute 'to': element type 99 does not exist"},
      {"no_constant", with_node(NodeBytes("Constant", {}, {"y"})), kInvalid,
       "no attribute specifies its value"},
      {"two_constants",
       with_node(NodeBytes("Constant", {}, {"y"}).integer("value_int", 1).real("value_float", 1)),
       kInvalid, "both specify its value"},
      {"axes_of_floats", with_node(NodeBytes("Squeeze", {"x", "x"}, {"y"})), kInvalid,
       "operand 1 'computed_axes' of squeeze must be an i64 or i32 tensor"},
      {"no_axes", with_node(NodeBytes("Unsqueeze", {"x"}, {"y"})), kInvalid, "axes are missing"},
      {"no_direction", with_node(NodeBytes("BitShift", {"n", "n"}, {"y"}).text("direction", "UP")),
       kInvalid, "'UP', neither LEFT nor RIGHT"},
      {"split_count",
       with(model_of({NodeBytes("Split", {"x"}, {"y", "z"}).integer("num_outputs", 3)}),
            [](ModelBytes& m) { m.opset = 18; }),
       kInvalid, "attribute 'num_outputs' is 3, but the node has 2 outputs"},
      {"slice_lists",
       with(
           model_of(
               {NodeBytes("Slice", {"x"}, {"y"}).integers("starts", {0, 0}).integers("ends", {1})}),
           [](ModelBytes& m) { m.opset = 9; }),
       kInvalid, "'starts' has 2 entries, 'ends' has 1"},
      {"auto_pad",
       two_inputs({1, 1, 4}, {1, 1, 2},
                  NodeBytes("Conv", {"a", "b"}, {"y"}).text("auto_pad", "SOME")),
       kInvalid, "'SOME', which is not a padding mode"},
      {"kernel_shape",
       two_inputs({1, 1, 4}, {1, 1, 2},
                  NodeBytes("Conv", {"a", "b"}, {"y"}).integers("kernel_shape", {3})),
       kInvalid, "is 3 on axis 0, but the weights have 2"},
      {"einsum_of_three",
       with_node(NodeBytes("Einsum", {"x", "x", "x"}, {"y"}).text("equation", "ij,ij->ij")),
       kInvalid, "'ij,ij->ij' has 2 operands, but the node has 3 inputs"},
      {"gelu_kind",
       with(model_of({NodeBytes("Gelu", {"x"}, {"y"}).text("approximate", "well")}),
            [](ModelBytes& m) { m.opset = 20; }),
       kInvalid, "'well', neither none nor tanh"},
      {"blocks",
       with(model_of({NodeBytes("DequantizeLinear", {"n", "x"}, {"y"}).integer("block_size", -2)}),
            [](ModelBytes& m) { m.opset = 21; }),
       kInvalid, "attribute 'block_size' is -2, but must be at least 0"},
  };
}

std::vector<Broken> broken_tensors() {
  std::string segment = tensor_header("w", kFloat, {1});
  protozero::pbf_writer(segment).add_message(3, std::string());
  return {
      {"too_few_values", initialiser(float_tensor("w", {2, 3}, {1, 2})), kInvalid,
       "tensor 'w': its float_data holds 2 values, but its shape needs 6"},
      {"too_many_values", initialiser(float_tensor("w", {1}, {1, 2})), kInvalid,
       "its shape needs 1"},
      {"no_values", initialiser(tensor_header("w", kFloat, {1000})), kInvalid,
       "fewer than the 1000"},
      {"negative_size", initialiser(raw_tensor("w", kFloat, {-2}, "")), kInvalid,
       "its axis 0 has -2 elements"},
      {"huge", initialiser(raw_tensor("w", kFloat, {1 << 20, 1 << 20, 1 << 20}, "")), kInvalid,
       "more elements than a tensor may"},
      {"promises_much", initialiser(raw_tensor("w", kFloat, {1 << 19, 1 << 19}, "abcd")), kInvalid,
       "its data has 4 bytes"},
      {"many_axes", initialiser(raw_tensor("w", kFloat, std::vector<std::int64_t>(17, 1), "abcd")),
       kUnsupported, "it has 17 axes, but at most 16"},
      {"short_raw", initialiser(raw_tensor("w", kFloat, {2}, "abcdef")), kInvalid,
       "its data has 6 bytes, but its shape [2] needs 8"},
      {"long_raw", initialiser(raw_tensor("w", kFloat, {2}, std::string(64, 'a'))), kInvalid,
       "its data has 64 bytes, but its shape [2] needs 8"},
      {"raw_of_nothing", initialiser(raw_tensor("w", kFloat, {0}, "a")), kInvalid,
       "its data has 1 bytes, but its shape [0] needs 0"},
      {"long_packed", initialiser(raw_tensor("w", 22, {3}, "abc")), kInvalid,
       "its data has 3 bytes, but its shape [3] needs 2"},
      {"raw_strings", initialiser(raw_tensor("w", kString, {1}, "abcdef")), kInvalid,
       "raw data cannot hold strings"},
      {"out_of_range", initialiser(int32_tensor("w", 3, {2}, {1, 200})), kInvalid,
       "its int32_data holds 200, which is not a valid int8"},
      {"unknown_element_type", initialiser(raw_tensor("w", 99, {1}, "a")), kInvalid,
       "element type 99"},
      {"segments", initialiser(segment), kUnsupported, "segmented data"},
      {"sparse_outside", sparse({4}), kInvalid, "its index 4 is outside"},
      {"sparse_indices", sparse({0, 1}), kInvalid, "does not match 1 values"},
      {"initialiser_twice",
       with(with_initialiser(float_tensor("w", {1}, {1})),
            [](ModelBytes& m) { m.graph.initialisers.push_back(m.graph.initialisers.front()); }),
       kInvalid, "initialiser 1 'w': it has the same name as initialiser 0"},
      {"external_without_folder", external({{"location", "w.bin"}}), Code::invalid_argument,
       "needs a model that is loaded from a file"},
      {"external_without_location", external({{"offset", "0"}}), kInvalid, "has no location"},
      {"external_offset", external({{"location", "w.bin"}, {"offset", "-1"}}), kInvalid,
       "offset '-1' is not a number of bytes"},
  };
}

std::vector<Broken> broken_branches() {
  return {
      {"branch_with_input",
       node(choice_node(untyped_graph({"a"}, {"t"}, {NodeBytes("Relu", {"a"}, {"t"})}),
                        branch_of_op("Abs", "e"))),
       kInvalid, "node 'choice' (If-16): the then_branch has 1 inputs, but 0 are needed"},
      {"branch_outputs",
       node(choice_node(untyped_graph({}, {"t", "t"}, {NodeBytes("Relu", {"x"}, {"t"})}),
                        branch_of_op("Abs", "e"))),
       kInvalid, "the then_branch has 2 outputs, but 1 are needed"},
      {"branch_types",
       node(choice_node(branch_of_op("Relu", "t"),
                        untyped_graph({}, {"e"}, {NodeBytes("Identity", {"n"}, {"e"})}))),
       kInvalid, "output 0 is float in then_branch and int64 in else_branch"},
      {"one_branch",
       node(NodeBytes("If", {"c"}, {"y"}).graph("then_branch", branch_of_op("Abs", "t"))), kInvalid,
       "attribute 'else_branch' is missing"},
      {"float_condition",
       node(NodeBytes("If", {"x"}, {"y"})
                .graph("then_branch", branch_of_op("Abs", "t"))
                .graph("else_branch", branch_of_op("Abs", "e"))),
       kInvalid, "input 0 'x' is float, but a boolean is needed"},
      {"name_in_branch",
       node(choice_node(untyped_graph({}, {"t"}, {NodeBytes("Relu", {"gone"}, {"t"})}),
                        branch_of_op("Abs", "e"))),
       kInvalid, "input 0 'gone' is not produced by any node"},
      {"branch_output_not_made",
       node(choice_node(untyped_graph({}, {"t"}), branch_of_op("Abs", "e"))), kInvalid,
       "graph output 0 't': no node produces it"},
      {"shadowing",
       nodes({NodeBytes("Abs", {"x"}, {"a"}),
              choice_node(branch_of_op("Relu", "a"), branch_of_op("Abs", "e"))}),
       kInvalid,
       "output 'a' has the same name as a value outside the then_branch of node 'choice' (If-16): "
       "output 0 of node 0 (Abs-13) making 'a'"},
      {"made_twice_in_branch",
       node(choice_node(
           untyped_graph({}, {"t"},
                         {NodeBytes("Relu", {"x"}, {"t"}), NodeBytes("Abs", {"x"}, {"t"})}),
           branch_of_op("Abs", "e"))),
       kInvalid, "output 0 't' has the same name as output 0 of node 0 (Relu-14) making 't'"},
      {"made_in_one_branch_and_read_in_the_other",
       nodes({NodeBytes("Abs", {"x"}, {"a"}),
              choice_node(untyped_graph({}, {"t"}, {NodeBytes("Relu", {"a"}, {"t"})}),
                          branch_of_op("Abs", "a"))}),
       kInvalid, "output 'a' has the same name as a value outside the else_branch"},
      {"unknown_in_branch", node(choice_node(branch_of_op("Foo", "t"), branch_of_op("Abs", "e"))),
       kUnsupported, "1 operator cannot be read: Foo (1 node)"},
  };
}

std::vector<Broken> broken_loops() {
  const auto loop = [](const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs, const std::string& bytes) {
    return node(loop_node(inputs, outputs, bytes));
  };
  GraphBytes typed;
  typed.inputs = {value_info("i"), value_info("go"), value_info("v", kInt64, {3})};
  typed.outputs = {value_info("go"), value_info("v")};
  return {
      {"loop_inputs", loop({"", "", "x"}, {"y"}, untyped_graph({"i", "go"}, {"go", "i"})), kInvalid,
       "node 'rnn' (Loop-16): the body has 2 inputs, but 3 are needed"},
      {"loop_outputs", loop({"", "", "x"}, {"y", "z"}, loop_body()), kInvalid,
       "the body has 2 outputs, but 3 are needed"},
      {"loop_loses_state",
       loop({"", "", "x", "n"}, {"y"}, untyped_graph({"i", "go", "v", "w"}, {"go", "v"})), kInvalid,
       "it has 1 outputs, fewer than its 2 carried values"},
      {"float_trip_count", loop({"x", "", "x"}, {"y"}, loop_body()), kInvalid,
       "input 0 'x', the trip count, is float, but int64 is needed"},
      {"long_trip_count", loop({"n", "", "x"}, {"y"}, loop_body()), kInvalid,
       "input 0 'n', the trip count, has 3 elements, but 1 is needed"},
      {"integer_condition", loop({"", "n", "x"}, {"y"}, loop_body()), kInvalid,
       "input 1 'n', the condition, is int64, but bool is needed"},
      {"state_changes_type",
       loop({"", "", "x"}, {"y"}, untyped_graph({"i", "go", "v"}, {"go", "n"})), kInvalid,
       "state 'v' is float before the first step, but the body makes it int64"},
      {"keeps_going_on_float",
       loop({"", "c", "x"}, {"y"}, untyped_graph({"i", "go", "v"}, {"v", "v"})), kInvalid,
       "body output 0, the condition, is float, but bool is needed"},
      {"formal_type", loop({"", "", "x"}, {"y"}, typed.bytes()), kInvalid,
       "body input 2 'v' is declared int64, but its value is float"},
      {"formals_of_one_name",
       loop({"", "", "x"}, {"y"}, untyped_graph({"i", "i", "v"}, {"i", "v"})), kInvalid,
       "body input 1 'i' has the same name as another one"},
      {"absent_state", loop({"", "", ""}, {"y"}, loop_body()), kInvalid, "input 2 is missing"},
      {"no_body", node(NodeBytes("Loop", {"", "", "x"}, {"y"})), kInvalid,
       "attribute 'body' is missing"},
  };
}

std::vector<Broken> broken_scans() {
  const auto scan = [](NodeBytes made) { return node(made); };
  const NodeBytes unequal = NodeBytes("Scan", {"a", "b"}, {"y"})
                                .name("gru")
                                .graph("body", untyped_graph({"p", "q"}, {"p"}))
                                .integer("num_scan_inputs", 2);
  return {
      {"no_scan_inputs", scan(scan_node(scan_body(), 0)), kInvalid,
       "node 'gru' (Scan-16): attribute 'num_scan_inputs' is 0, but at least 1 is needed"},
      {"many_scan_inputs", scan(scan_node(scan_body(), 3)), kInvalid,
       "attribute 'num_scan_inputs' is 3, but the node has 2 inputs"},
      {"scan_direction", scan(scan_node(scan_body()).integers("scan_input_directions", {2})),
       kInvalid, "has 2 at position 0, but must be 0 or 1"},
      {"scan_directions", scan(scan_node(scan_body()).integers("scan_input_directions", {0, 1})),
       kInvalid, "attribute 'scan_input_directions' has 2 entries, but the node has 1 scan inputs"},
      {"scan_output_axes", scan(scan_node(scan_body()).integers("scan_output_axes", {0, 0})),
       kInvalid, "attribute 'scan_output_axes' has 2 entries, but the node has 1 scan outputs"},
      {"scan_axis", scan(scan_node(scan_body()).integers("scan_input_axes", {2})), kInvalid,
       "scan input 0 'x' has axis 2, outside [-2, 2)"},
      {"scan_negative_axis", scan(scan_node(scan_body()).integers("scan_input_axes", {-3})),
       kInvalid, "scan input 0 'x' has axis -3, outside [-2, 2)"},
      {"scan_output_axis", scan(scan_node(scan_body()).integers("scan_output_axes", {2})), kInvalid,
       "scan output 0 has axis 2, outside [-2, 2)"},
      {"scan_axis_beyond_32_bits", unranked_scan("scan_input_axes", 4294967296), kInvalid,
       "attribute 'scan_input_axes' has 4294967296 at position 0, outside [-16, 16)"},
      {"scan_axis_beyond_any_rank", unranked_scan("scan_input_axes", 2147483648), kInvalid,
       "has 2147483648 at position 0"},
      {"scan_output_axis_beyond_32_bits", unranked_scan("scan_output_axes", 4294967296), kInvalid,
       "attribute 'scan_output_axes' has 4294967296 at position 0"},
      {"scan_negative_axis_beyond_any_rank", unranked_scan("scan_output_axes", -17), kInvalid,
       "attribute 'scan_output_axes' has -17 at position 0"},
      {"scan_scalar", scan(scan_node(scan_body(), 1, {"n", "c"})), kInvalid,
       "scan input 0 'c' has axis 0, but a scalar has no axes"},
      {"scan_inputs", scan(scan_node(untyped_graph({"s"}, {"s", "s"}))), kInvalid,
       "the body has 1 inputs, but 2 are needed: states and scan inputs"},
      {"scan_outputs", scan(scan_node(untyped_graph({"s", "r"}, {"s"}))), kInvalid,
       "the body has 1 outputs, but 2 are needed: states and scan outputs"},
      {"scan_loses_state", scan(scan_node(scan_body(), 1, {"n", "x"}, {})), kInvalid,
       "it has 0 outputs, fewer than its 1 states"},
      {"scan_state_type", scan(scan_node(untyped_graph({"s", "r"}, {"r", "r"}))), kInvalid,
       "state 's' is int64 before the first step, but the body makes it float"},
      {"unequal_lengths", two_inputs({9, 1}, {7, 1}, unequal), kInvalid,
       "onnx: node 'gru' (Scan-16): scan input 1 'b' has 7 steps on axis 0, scan input 0 'a' has "
       "9"},
      {"scan_8", with(model_of({scan_node(scan_body())}), [](ModelBytes& m) { m.opset = 8; }),
       kInvalid, "the body has 2 inputs, but 1 are needed: states and scan inputs"},
  };
}

class BrokenModel : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenModel, GivesAClearError) {
  const Reading reading = read_bytes(GetParam().bytes);
  ASSERT_FALSE(reading.module);
  ASSERT_FALSE(reading.diagnostics.ok());
  std::string all;
  bool has_code = false;
  for (const Error& error : reading.diagnostics.errors()) {
    all += error.message() + "\n";
    has_code = has_code || (error.code() == GetParam().code &&
                            error.text().find(GetParam().part) != std::string::npos);
  }
  EXPECT_THAT(all, HasSubstr(GetParam().part));
  EXPECT_TRUE(has_code) << all;
  EXPECT_TRUE(reading.diagnostics.first().text().starts_with("onnx: ")) << all;
}

std::string name_of(const ::testing::TestParamInfo<Broken>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Files, BrokenModel, ::testing::ValuesIn(broken_files()), name_of);
INSTANTIATE_TEST_SUITE_P(Graphs, BrokenModel, ::testing::ValuesIn(broken_graphs()), name_of);
INSTANTIATE_TEST_SUITE_P(Attributes, BrokenModel, ::testing::ValuesIn(broken_attributes()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Tensors, BrokenModel, ::testing::ValuesIn(broken_tensors()), name_of);
INSTANTIATE_TEST_SUITE_P(Branches, BrokenModel, ::testing::ValuesIn(broken_branches()), name_of);
INSTANTIATE_TEST_SUITE_P(Loops, BrokenModel, ::testing::ValuesIn(broken_loops()), name_of);
INSTANTIATE_TEST_SUITE_P(Scans, BrokenModel, ::testing::ValuesIn(broken_scans()), name_of);

TEST(BrokenModels, AllErrorsAreCollectedAndNoneIsRepeated) {
  const Reading reading = read(model_of(
      {NodeBytes("Foo", {"x"}, {"f"}), NodeBytes("Relu", {"f"}, {"after_foo"}),
       NodeBytes("Add", {"x", "gone"}, {"a"}), NodeBytes("Concat", {"a", "x"}, {"after_a"}),
       NodeBytes("Concat", {"x", "x"}, {"b"}), NodeBytes("Add", {"b", "f"}, {"y"})}));
  ASSERT_FALSE(reading.module);
  ASSERT_EQ(reading.diagnostics.errors().size(), 3u);
  EXPECT_EQ(reading.module.error().notes().size(), 1u);
}

// Every prefix of a model and many changed bytes: errors, never a crash.
TEST(BrokenModels, DamagedBytesNeverCrash) {
  const std::string good =
      nodes({scan_node(scan_body()), loop_node({"", "c", "x"}, {"z"}, loop_body())});
  for (std::size_t size = 0; size < good.size(); ++size) (void)read_bytes(good.substr(0, size));
  for (std::size_t i = 0; i < good.size(); ++i)
    for (const int change : {0x01, 0x80, 0x07, 0xff}) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ change);
      (void)read_bytes(damaged);
    }
}

TEST(BrokenModels, LenientReadingOverlooksShadowingAndOldOperatorSets) {
  ModelBytes model = model_of({NodeBytes("Abs", {"x"}, {"a"}),
                               choice_node(branch_of_op("Relu", "a"), branch_of_op("Abs", "e"))});
  EXPECT_FALSE(read(model).module);
  const Reading lenient = read(model, {.lenient = true, .folder = {}});
  EXPECT_TRUE(lenient.module);
  EXPECT_EQ(lenient.diagnostics.warnings().size(), 1u);
  model = model_of({NodeBytes("Relu", {"x"}, {"y"})});
  model.opset = -1;
  EXPECT_FALSE(read(model).module);
  EXPECT_TRUE(read(model, {.lenient = true, .folder = {}}).module);
}

}  // namespace
}  // namespace scanloom::onnx::test
