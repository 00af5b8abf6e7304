// Names and sizes of a model in programs: what they quote, and which values they feed.
#include "report/code_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scanloom::report {
namespace {

using testing::HasSubstr;
using testing::Not;

ValueInfo input(std::string name, DType dtype, std::vector<ValueInfo::Dim> shape = {}) {
  ValueInfo info;
  info.name = std::move(name);
  info.dtype = dtype;
  info.shape = std::move(shape);
  return info;
}

TEST(CodeForms, NamesAreQuoted) {
  const std::vector<ValueInfo> inputs = {input("a\"b\\c\nd'e", DType::f32)};
  const Interface interface{inputs, {}, "it's.onnx"};
  EXPECT_THAT(python_form(interface), HasSubstr(R"("a\"b\\c\nd'e": numpy.zeros(())"));
  EXPECT_THAT(cpp_form(interface), HasSubstr(R"({"a\"b\\c\012d'e", )"));
  EXPECT_THAT(command_form(interface), HasSubstr("scanloom run 'it'\\''s.onnx'"));
}

TEST(CodeForms, StreamsAreSetFirstAndThenFed) {
  const std::vector<ValueInfo> inputs = {input("h\"", DType::f32, {{2, ""}}),
                                         input("x", DType::f32, {{-1, "T"}})};
  Interface interface{inputs, {}, ""};
  interface.stream = StreamUse{{true, false}, {{"h\"", "h_next"}}};
  const std::string python = python_form(interface), cpp = cpp_form(interface);
  EXPECT_THAT(python, HasSubstr(R"(session.stream(states={"h\"": "h_next"}))"));
  EXPECT_THAT(python, HasSubstr(R"(stream.set("h\"", numpy.zeros((2,), numpy.float32)))"));
  EXPECT_THAT(python, Not(HasSubstr(R"("h\"": numpy.zeros)")));
  EXPECT_THAT(cpp, HasSubstr(R"({.states = {{"h\"", "h_next"}}})"));
  EXPECT_THAT(cpp, HasSubstr(R"(stream.set("h\"", scanloom::view(input0.get(), {2})))"));
  EXPECT_THAT(cpp, HasSubstr(R"(stream.push(
        {{"x", scanloom::view(input1.get(), {1})}}))"));
  EXPECT_FALSE(code_forms(interface).contains("command"));
  interface.stream->low_latency = true;
  EXPECT_THAT(python_form(interface), HasSubstr(R"(("model.onnx", low_latency=True))"));
  EXPECT_THAT(cpp_form(interface), HasSubstr(R"({{"h\"", "h_next"}}, .low_latency = true})"));
  interface.stream->states.clear();
  EXPECT_THAT(cpp_form(interface), HasSubstr(R"(("model.onnx", {.low_latency = true}))"));
}

TEST(CodeForms, OpenSizesAreThoseThatRanOrOne) {
  const std::vector<ValueInfo> inputs = {input("x", DType::i64, {{-1, "T"}, {3, ""}})};
  Interface interface{inputs, {}, ""};
  EXPECT_THAT(python_form(interface), HasSubstr("numpy.zeros((1, 3), numpy.int64),  # T x 3"));
  interface.sizes = {{7, 3}};
  EXPECT_THAT(python_form(interface), HasSubstr("numpy.zeros((7, 3), numpy.int64)"));
  EXPECT_THAT(cpp_form(interface), HasSubstr("make_unique<std::int64_t[]>(std::size_t{7} * 3)"));
  EXPECT_THAT(command_form(interface), HasSubstr("--feed x=zeros --dim x.0=7"));
}

TEST(CodeForms, WordsOfTheCommandDoNotBeginLikeOptions) {
  const std::vector<ValueInfo> inputs = {input("-x", DType::f32, {{-1, "T"}}),
                                         input("=eq=1", DType::f32)};
  EXPECT_EQ(command_form({inputs, {}, "-m.onnx"}),
            "scanloom run ./-m.onnx \\\n    --feed=-x=zeros --dim=-x.0=1 \\\n"
            "    --feed '=eq=1=zeros' \\\n    --out results.npz\n");
}

TEST(CodeForms, TypesThatPythonOrCppLack) {
  const std::vector<ValueInfo> inputs = {input("x", DType::bf16, {{2, ""}}),
                                         input("s", DType::string, {{2, ""}})};
  const Interface interface{inputs, {}, ""};
  EXPECT_THAT(python_form(interface), HasSubstr("import ml_dtypes"));
  EXPECT_THAT(python_form(interface), HasSubstr("numpy.full((2,), \"text\")"));
  EXPECT_THAT(cpp_form(interface), HasSubstr("std::vector<std::byte> input0(2 * 2)"));
  EXPECT_THAT(cpp_form(interface), HasSubstr("scanloom::strings(input1, {2})"));
}

TEST(CodeForms, CommentsEndWithTheirLine) {
  const ValueInfo info = input("x", DType::f32, {{-1, "T\nimport os"}, {-1, "back\\"}, {-1, ""}});
  EXPECT_EQ(declared_sizes(info), "T import os x back  x ?");
}

TEST(Json, MarkupIsEscaped) {
  EXPECT_EQ(without_markup(R"({"a":"</script>&"})"), R"({"a":"\u003c/script\u003e\u0026"})");
  EXPECT_EQ(Json::parse(without_markup(R"({"a":"<&>"})"))["a"], "<&>");
  EXPECT_EQ(text_of(Json("\xff\xe2\x80\xa8")), "\"\\ufffd\\u2028\"");
}

}  // namespace
}  // namespace scanloom::report
