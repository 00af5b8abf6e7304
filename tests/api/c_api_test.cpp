// The C interface: values, sessions, runs, streams, limits, errors, and what it does with NULL.
#include <scanloom/scanloom.h>

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "tests/api/c_api_c99.h"
#include "tests/api/models.h"

namespace scanloom::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Handle, void (*release)(Handle*)>
struct Free {
  void operator()(Handle* handle) const { release(handle); }
};
template <class Handle, void (*release)(Handle*)>
using Owned = std::unique_ptr<Handle, Free<Handle, release>>;
using OwnedSession = Owned<scanloom_session, scanloom_session_free>;
using OwnedValue = Owned<scanloom_value, scanloom_value_free>;
using OwnedError = Owned<scanloom_error, scanloom_error_free>;
using OwnedStream = Owned<scanloom_stream, scanloom_stream_free>;
using OwnedRunOptions = Owned<scanloom_run_options, scanloom_run_options_free>;
using OwnedOptions = Owned<scanloom_session_options, scanloom_session_options_free>;
using OwnedCancel = Owned<scanloom_cancel, scanloom_cancel_free>;

OwnedSession load_c(const std::string& model, const scanloom_session_options* options = nullptr) {
  scanloom_session* session = nullptr;
  scanloom_error* error = nullptr;
  const auto code =
      scanloom_session_load_bytes(model.data(), model.size(), options, &session, &error);
  EXPECT_EQ(code, SCANLOOM_OK) << (error != nullptr ? scanloom_error_message(error) : "");
  scanloom_error_free(error);
  return OwnedSession(session);
}

OwnedValue f32(const float* data, std::vector<std::int64_t> shape,
               const std::int64_t* strides = nullptr) {
  scanloom_value* value = nullptr;
  EXPECT_EQ(
      scanloom_value_view(SCANLOOM_F32, shape.data(), shape.size(), data, strides, &value, nullptr),
      SCANLOOM_OK);
  return OwnedValue(value);
}

std::vector<float> floats_of(const scanloom_value* value) {
  const auto* data = static_cast<const float*>(scanloom_value_data(value));
  return {data, data + scanloom_value_elements(value)};
}

/// The result of a run by order, or the error.
struct Outcome {
  scanloom_code code;
  OwnedError error;
  std::vector<OwnedValue> values;
};

Outcome run(const OwnedSession& session, std::vector<const scanloom_value*> feeds, size_t outputs,
            const scanloom_run_options* options = nullptr) {
  std::vector<scanloom_value*> values(outputs, nullptr);
  scanloom_error* error = nullptr;
  Outcome outcome{scanloom_session_run(session.get(), options, nullptr, feeds.data(), feeds.size(),
                                       nullptr, values.data(), outputs, &error),
                  OwnedError(error),
                  {}};
  for (scanloom_value* value : values) outcome.values.emplace_back(value);
  return outcome;
}

Outcome run_doubling_c(const OwnedSession& session, const float& value,
                       const scanloom_run_options* options) {
  static constexpr float kLimit = 1000;
  return run(session, {f32(&value, {}).get(), f32(&kLimit, {}).get()}, 1, options);
}

TEST(CApi, CompilesAndRunsAsC99) {
  const std::string model = running_sums();
  float last[2] = {};
  EXPECT_EQ(scanloom_c99_sums(model.data(), model.size(), 5, last), SCANLOOM_OK);
  EXPECT_THAT(last, ElementsAre(15, 25));
  EXPECT_EQ(scanloom_c99_sums(model.data(), 7, 5, last), SCANLOOM_INVALID_MODEL);
}

TEST(CApi, TheC99ProgramRefersToEveryFunction) {
  std::ifstream file(SCANLOOM_TEST_DIR "/../include/scanloom/scanloom.h");
  std::stringstream header;
  header << file.rdbuf();
  int functions = 0;
  for (std::string line; std::getline(header, line);) functions += line.starts_with("SCANLOOM_API");
  EXPECT_GT(functions, 50);
  EXPECT_EQ(scanloom_c99_functions(), functions);
}

TEST(CApi, HasTheNumbersAndNamesOfOnnx) {
  const std::pair<scanloom_dtype, DType> pairs[] = {
      {SCANLOOM_F32, DType::f32},
      {SCANLOOM_U8, DType::u8},
      {SCANLOOM_I8, DType::i8},
      {SCANLOOM_U16, DType::u16},
      {SCANLOOM_I16, DType::i16},
      {SCANLOOM_I32, DType::i32},
      {SCANLOOM_I64, DType::i64},
      {SCANLOOM_STRING, DType::string},
      {SCANLOOM_BOOLEAN, DType::boolean},
      {SCANLOOM_F16, DType::f16},
      {SCANLOOM_F64, DType::f64},
      {SCANLOOM_U32, DType::u32},
      {SCANLOOM_U64, DType::u64},
      {SCANLOOM_C64, DType::c64},
      {SCANLOOM_C128, DType::c128},
      {SCANLOOM_BF16, DType::bf16},
      {SCANLOOM_F8E4M3FN, DType::f8e4m3fn},
      {SCANLOOM_F8E4M3FNUZ, DType::f8e4m3fnuz},
      {SCANLOOM_F8E5M2, DType::f8e5m2},
      {SCANLOOM_F8E5M2FNUZ, DType::f8e5m2fnuz},
      {SCANLOOM_U4, DType::u4},
      {SCANLOOM_I4, DType::i4},
      {SCANLOOM_F4E2M1, DType::f4e2m1},
      {SCANLOOM_F8E8M0, DType::f8e8m0},
      {SCANLOOM_U2, DType::u2},
      {SCANLOOM_I2, DType::i2},
  };
  for (const auto& [number, dtype] : pairs) {
    EXPECT_EQ(number, dtype_onnx_number(dtype));
    EXPECT_EQ(scanloom_dtype_name(number), dtype_onnx_name(dtype));
    if (dtype == DType::string) continue;
    EXPECT_EQ(scanloom_dtype_bytes(number), dtype_bytes(dtype));
  }
  EXPECT_EQ(scanloom_dtype_bytes(SCANLOOM_STRING), 0u);
  EXPECT_EQ(scanloom_dtype_bytes(99), 0u);
  EXPECT_STREQ(scanloom_dtype_name(-1), "unknown");
  EXPECT_EQ(scanloom_version(), version());
  EXPECT_STREQ(scanloom_code_name(SCANLOOM_OK), "ok");
  EXPECT_STREQ(scanloom_code_name(SCANLOOM_LIMIT_REACHED), "limit_reached");
  EXPECT_STREQ(scanloom_code_name(99), "unknown");
}

TEST(CApi, TellsTheInterface) {
  const OwnedSession session = load_c(running_sums());
  ASSERT_EQ(scanloom_session_input_count(session.get()), 2u);
  ASSERT_EQ(scanloom_session_output_count(session.get()), 2u);
  const scanloom_info* xs = scanloom_session_input(session.get(), 1);
  EXPECT_STREQ(scanloom_info_name(xs), "xs");
  EXPECT_STREQ(scanloom_info_type(xs), "tensor(float)");
  EXPECT_EQ(scanloom_info_dtype(xs), SCANLOOM_F32);
  EXPECT_EQ(scanloom_info_rank(xs), 2);
  EXPECT_EQ(scanloom_info_size(xs, 0), -1);
  EXPECT_STREQ(scanloom_info_symbol(xs, 0), "T");
  EXPECT_EQ(scanloom_info_size(xs, 1), 2);
  EXPECT_STREQ(scanloom_info_symbol(xs, 1), "");
  EXPECT_EQ(scanloom_info_size(xs, 2), -1);
  EXPECT_STREQ(scanloom_info_symbol(xs, 2), "");
  EXPECT_STREQ(scanloom_info_name(scanloom_session_output(session.get(), 0)), "last");
  EXPECT_EQ(scanloom_session_input(session.get(), 2), nullptr);
  EXPECT_EQ(scanloom_session_output(session.get(), 2), nullptr);
  char* text = scanloom_session_explain(session.get());
  EXPECT_THAT(text, HasSubstr("'sums' (Scan"));
  scanloom_text_free(text);
}

TEST(CApi, RunsInOrderAndByName) {
  const OwnedSession session = load_c(running_sums());
  const OwnedValue start = f32(kStart, {2}), xs = f32(kXs, {3, 2});
  const Outcome all = run(session, {start.get(), xs.get()}, 2);
  ASSERT_EQ(all.code, SCANLOOM_OK);
  EXPECT_THAT(floats_of(all.values[0].get()), ElementsAre(19, 32));
  EXPECT_THAT(floats_of(all.values[1].get()), ElementsAre(11, 22, 14, 26, 19, 32));
  EXPECT_EQ(scanloom_value_kind(all.values[1].get()), SCANLOOM_TENSOR);
  EXPECT_EQ(scanloom_value_dtype(all.values[1].get()), SCANLOOM_F32);
  EXPECT_EQ(scanloom_value_rank(all.values[1].get()), 2u);
  EXPECT_EQ(scanloom_value_shape(all.values[1].get())[0], 3);
  EXPECT_EQ(scanloom_value_bytes(all.values[1].get()), 24u);

  const char* inputs[] = {"xs", "start"};
  const char* outputs[] = {"sums"};
  const scanloom_value* feeds[] = {xs.get(), start.get()};
  scanloom_value* sums = nullptr;
  ASSERT_EQ(
      scanloom_session_run(session.get(), nullptr, inputs, feeds, 2, outputs, &sums, 1, nullptr),
      SCANLOOM_OK);
  EXPECT_EQ(floats_of(sums), floats_of(all.values[1].get()));
  // A result is fed again without a copy.
  const Outcome again = run(session, {start.get(), sums}, 1);
  EXPECT_THAT(floats_of(again.values[0].get()), ElementsAre(10 + 11 + 14 + 19, 20 + 22 + 26 + 32));
  scanloom_value_free(sums);
}

TEST(CApi, ValuesOutliveTheirSession) {
  OwnedSession session = load_c(running_sums());
  const Outcome all = run(session, {f32(kStart, {2}).get(), f32(kXs, {3, 2}).get()}, 1);
  session.reset();
  EXPECT_THAT(floats_of(all.values[0].get()), ElementsAre(19, 32));
}

TEST(CApi, ViewsReadStridesAndCopiesOwnRowMajorElements) {
  const OwnedSession session = load_c(running_sums());
  const std::int64_t backwards[] = {-2, 1};
  const OwnedValue xs = f32(kXs + 4, {3, 2}, backwards);
  const Outcome all = run(session, {f32(kStart, {2}).get(), xs.get()}, 2);
  EXPECT_THAT(floats_of(all.values[1].get()), ElementsAre(15, 26, 18, 30, 19, 32));

  scanloom_value* copy = nullptr;
  {
    std::vector<unsigned char> unaligned(1 + sizeof kXs);
    std::memcpy(unaligned.data() + 1, kXs, sizeof kXs);
    const std::int64_t shape[] = {2, 3}, transposed[] = {1, 2};
    ASSERT_EQ(scanloom_value_copy(SCANLOOM_F32, shape, 2, unaligned.data() + 1, transposed, &copy,
                                  nullptr),
              SCANLOOM_OK);
  }
  EXPECT_THAT(floats_of(copy), ElementsAre(1, 3, 5, 2, 4, 6));
  scanloom_value_free(copy);
  const std::int64_t shape[] = {3};
  ASSERT_EQ(scanloom_value_copy(SCANLOOM_F32, shape, 1, nullptr, nullptr, &copy, nullptr),
            SCANLOOM_OK);
  EXPECT_THAT(floats_of(copy), ElementsAre(0, 0, 0));
  scanloom_value_free(copy);
}

TEST(CApi, SequencesOptionalsAndStringsAreValues) {
  const char* const texts[] = {"one", "", "three"};
  const std::int64_t shape[] = {3};
  scanloom_value *strings = nullptr, *all = nullptr, *item = nullptr, *nothing = nullptr;
  ASSERT_EQ(scanloom_value_strings(texts, shape, 1, &strings, nullptr), SCANLOOM_OK);
  EXPECT_EQ(scanloom_value_kind(strings), SCANLOOM_TENSOR);
  EXPECT_EQ(scanloom_value_elements(strings), 3);
  EXPECT_EQ(scanloom_value_data(strings), nullptr);
  const scanloom_value* const items[] = {strings, strings};
  ASSERT_EQ(scanloom_value_sequence(items, 2, SCANLOOM_F32, &all, nullptr), SCANLOOM_OK);
  scanloom_value_free(strings);
  EXPECT_EQ(scanloom_value_kind(all), SCANLOOM_SEQUENCE);
  EXPECT_EQ(scanloom_value_item_count(all), 2u);
  ASSERT_EQ(scanloom_value_item(all, 1, &item, nullptr), SCANLOOM_OK);
  scanloom_value_free(all);
  std::size_t length = 0;
  const char* const text = scanloom_value_string(item, 2, &length);
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(std::string(text, length), "three");
  EXPECT_EQ(scanloom_value_string(item, 3, &length), nullptr);
  scanloom_value* none = nullptr;
  EXPECT_EQ(scanloom_value_item(item, 0, &none, nullptr), SCANLOOM_INVALID_ARGUMENT);
  scanloom_value_free(item);
  ASSERT_EQ(scanloom_value_none(SCANLOOM_F32, &nothing, nullptr), SCANLOOM_OK);
  EXPECT_EQ(scanloom_value_kind(nothing), SCANLOOM_OPTIONAL);
  EXPECT_EQ(scanloom_value_item_count(nothing), 0u);
  EXPECT_EQ(scanloom_value_bytes(nothing), 0u);
  scanloom_value_free(nothing);
}

TEST(CApi, MapsAreValues) {
  const char* const texts[] = {"cat", "dog"};
  const float scores[] = {0.25f, 0.75f, 1};
  const std::int64_t two[] = {2}, three[] = {3};
  scanloom_value *keys = nullptr, *values = nullptr, *more = nullptr, *map = nullptr,
                 *item = nullptr;
  ASSERT_EQ(scanloom_value_strings(texts, two, 1, &keys, nullptr), SCANLOOM_OK);
  ASSERT_EQ(scanloom_value_copy(SCANLOOM_F32, two, 1, scores, nullptr, &values, nullptr),
            SCANLOOM_OK);
  ASSERT_EQ(scanloom_value_copy(SCANLOOM_F32, three, 1, scores, nullptr, &more, nullptr),
            SCANLOOM_OK);
  ASSERT_EQ(scanloom_value_map(keys, values, &map, nullptr), SCANLOOM_OK);
  scanloom_error* error = nullptr;
  scanloom_value* none = nullptr;
  EXPECT_EQ(scanloom_value_map(keys, more, &none, &error), SCANLOOM_INVALID_ARGUMENT);
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(scanloom_error_message(error), HasSubstr("3"));
  EXPECT_THAT(scanloom_error_message(error), HasSubstr("2"));
  scanloom_error_free(error);
  EXPECT_EQ(scanloom_value_map(values, values, &none, nullptr), SCANLOOM_INVALID_ARGUMENT);
  scanloom_value_free(keys);
  scanloom_value_free(values);
  scanloom_value_free(more);
  EXPECT_EQ(scanloom_value_kind(map), SCANLOOM_MAP);
  EXPECT_EQ(scanloom_value_item_count(map), 2u);
  ASSERT_EQ(scanloom_value_item(map, 0, &item, nullptr), SCANLOOM_OK);
  std::size_t length = 0;
  const char* const text = scanloom_value_string(item, 1, &length);
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(std::string(text, length), "dog");
  scanloom_value_free(item);
  ASSERT_EQ(scanloom_value_item(map, 1, &item, nullptr), SCANLOOM_OK);
  scanloom_value_free(map);
  EXPECT_EQ(static_cast<const float*>(scanloom_value_data(item))[1], 0.75f);
  scanloom_value_free(item);
}

TEST(CApi, ScalarsAndEmptyTensorsNeedLittle) {
  scanloom_value* value = nullptr;
  const std::int64_t one = 16000, none[] = {0, 7};
  ASSERT_EQ(scanloom_value_view(SCANLOOM_I64, nullptr, 0, &one, nullptr, &value, nullptr),
            SCANLOOM_OK);
  EXPECT_EQ(scanloom_value_elements(value), 1);
  EXPECT_NE(scanloom_value_shape(value), nullptr);
  scanloom_value_free(value);
  ASSERT_EQ(scanloom_value_view(SCANLOOM_I64, none, 2, nullptr, nullptr, &value, nullptr),
            SCANLOOM_OK);
  EXPECT_EQ(scanloom_value_elements(value), 0);
  scanloom_value_free(value);
}

TEST(CApi, RefusesValuesThatCannotBe) {
  const std::int64_t negative[] = {-1}, vast[] = {std::int64_t{1} << 41}, two[] = {2};
  const std::int64_t many[17] = {};
  const auto attempt = [&](scanloom_dtype dtype, const std::int64_t* shape, size_t rank,
                           const void* data, const char* words) {
    scanloom_value* value = nullptr;
    scanloom_error* error = nullptr;
    const auto code = scanloom_value_view(dtype, shape, rank, data, nullptr, &value, &error);
    EXPECT_EQ(value, nullptr);
    EXPECT_THAT(scanloom_error_text(error), HasSubstr(words));
    EXPECT_EQ(scanloom_error_code(error), code);
    scanloom_error_free(error);
    return code;
  };
  EXPECT_EQ(attempt(99, two, 1, kXs, "unknown element type 99"), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(attempt(SCANLOOM_F32, negative, 1, kXs, "negative"), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(attempt(SCANLOOM_F32, vast, 1, kXs, "more than 2^40"), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(attempt(SCANLOOM_F32, many, 17, kXs, "rank 17"), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(attempt(SCANLOOM_F32, two, 1, nullptr, "'data' is NULL"), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(attempt(SCANLOOM_F32, nullptr, 1, kXs, "'shape' is NULL"), SCANLOOM_INVALID_ARGUMENT);
}

TEST(CApi, BytesThatAreNoModelAreToldWithWhatTheyAre) {
  scanloom_session* session = nullptr;
  scanloom_error* error = nullptr;
  const std::string page = "<!DOCTYPE html><title>404</title>";
  EXPECT_EQ(scanloom_session_load_bytes(page.data(), page.size(), nullptr, &session, &error),
            SCANLOOM_INVALID_MODEL);
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(scanloom_error_text(error), HasSubstr("web page (HTML) with the title '404'"));
  scanloom_error_free(error);
}

TEST(CApi, ErrorsCarryCodeTextAndNotes) {
  scanloom_session* session = nullptr;
  scanloom_error* error = nullptr;
  EXPECT_EQ(scanloom_session_load("no such model.onnx", nullptr, &session, &error),
            SCANLOOM_NOT_FOUND);
  EXPECT_EQ(session, nullptr);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(scanloom_error_code(error), SCANLOOM_NOT_FOUND);
  EXPECT_THAT(scanloom_error_text(error), HasSubstr("no such model.onnx"));
  scanloom_error_free(error);

  const OwnedSession sums = load_c(running_sums());
  const char* name = "speed";
  const OwnedValue start = f32(kStart, {2});
  const scanloom_value* feeds[] = {start.get()};
  EXPECT_EQ(scanloom_session_run(sums.get(), nullptr, &name, feeds, 1, nullptr, nullptr, 0, &error),
            SCANLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(scanloom_error_text(error), HasSubstr("no input 'speed'"));
  ASSERT_EQ(scanloom_error_note_count(error), 1u);
  EXPECT_THAT(scanloom_error_note(error, 0), HasSubstr("start, xs"));
  EXPECT_EQ(scanloom_error_note(error, 1), nullptr);
  EXPECT_THAT(scanloom_error_message(error), HasSubstr("\n  note: "));
  scanloom_error_free(error);
  // Success clears what the pointer held.
  error = reinterpret_cast<scanloom_error*>(&name);
  EXPECT_EQ(run(sums, {start.get(), f32(kXs, {3, 2}).get()}, 0).code, SCANLOOM_OK);
  scanloom_value* value = nullptr;
  EXPECT_EQ(scanloom_value_view(SCANLOOM_F32, nullptr, 0, kXs, nullptr, &value, &error),
            SCANLOOM_OK);
  EXPECT_EQ(error, nullptr);
  scanloom_value_free(value);
}

TEST(CApi, RunsThatCannotBeGiveNothing) {
  const OwnedSession session = load_c(running_sums());
  const OwnedValue start = f32(kStart, {2}), xs = f32(kXs, {3, 2});
  Outcome outcome = run(session, {start.get()}, 1);
  EXPECT_EQ(outcome.code, SCANLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(scanloom_error_text(outcome.error.get()), HasSubstr("1 values"));
  EXPECT_EQ(outcome.values[0], nullptr);
  outcome = run(session, {start.get(), xs.get()}, 3);
  EXPECT_THAT(scanloom_error_text(outcome.error.get()),
              HasSubstr("3 outputs are requested, but the model has 2"));
  outcome = run(session, {start.get(), nullptr}, 2);
  EXPECT_THAT(scanloom_error_text(outcome.error.get()), HasSubstr("'inputs[1]' is NULL"));
  outcome = run(session, {xs.get(), start.get()}, 2);
  EXPECT_EQ(outcome.code, SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(
      scanloom_session_run(nullptr, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, nullptr),
      SCANLOOM_INVALID_ARGUMENT);
}

TEST(CApi, NullIsFreedAndRefusedElsewhere) {
  scanloom_error_free(nullptr);
  scanloom_value_free(nullptr);
  scanloom_session_free(nullptr);
  scanloom_session_options_free(nullptr);
  scanloom_run_options_free(nullptr);
  scanloom_cancel_free(nullptr);
  scanloom_stream_free(nullptr);
  scanloom_many_free(nullptr);
  scanloom_text_free(nullptr);
  scanloom_session* session = nullptr;
  EXPECT_EQ(scanloom_session_load(nullptr, nullptr, &session, nullptr), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(scanloom_session_load("x", nullptr, nullptr, nullptr), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(scanloom_session_load_bytes(nullptr, 3, nullptr, &session, nullptr),
            SCANLOOM_INVALID_ARGUMENT);
  EXPECT_NE(scanloom_session_load_bytes(nullptr, 0, nullptr, &session, nullptr), SCANLOOM_OK);
  EXPECT_EQ(scanloom_session_options_set_weights(nullptr, "x", 1, nullptr),
            SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(scanloom_stream_new(nullptr, nullptr, nullptr), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(scanloom_stream_set(nullptr, "x", nullptr, nullptr), SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(
      scanloom_stream_push(nullptr, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, nullptr),
      SCANLOOM_INVALID_ARGUMENT);
}

TEST(CApi, WeightsOfAnIrInMemoryAreGiven) {
  const std::string model =
      R"(<net name="m" version="11"><layers>
        <layer id="0" name="x" type="Parameter" version="opset1"><data element_type="f32" shape="2"/>
          <output><port id="0" precision="FP32"/></output></layer>
        <layer id="1" name="w" type="Const" version="opset1">
          <data element_type="f32" shape="2" offset="0" size="8"/>
          <output><port id="0" precision="FP32"/></output></layer>
        <layer id="2" name="y" type="Multiply" version="opset1">
          <input><port id="0"/><port id="1"/></input><output><port id="2" precision="FP32"/></output>
        </layer>
        <layer id="3" name="r" type="Result" version="opset1"><input><port id="0"/></input></layer>
      </layers><edges>
        <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
        <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
        <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>)";
  const OwnedOptions options(scanloom_session_options_new());
  std::vector<float> weights = {3, 5};
  ASSERT_EQ(scanloom_session_options_set_weights(options.get(), weights.data(), 8, nullptr),
            SCANLOOM_OK);
  weights = {0, 0};
  const OwnedSession session = load_c(model, options.get());
  const std::vector<float> x = {1, 2};
  const Outcome all = run(session, {f32(x.data(), {2}).get()}, 1);
  ASSERT_EQ(all.code, SCANLOOM_OK);
  EXPECT_THAT(floats_of(all.values[0].get()), ElementsAre(3, 10));
}

TEST(CApi, OptionsReachTheSession) {
  const OwnedOptions options(scanloom_session_options_new());
  scanloom_session_options_set_threads(options.get(), 2);
  scanloom_session_options_set_optimize(options.get(), 0);
  scanloom_session_options_set_lenient(options.get(), 1);
  scanloom_session_options_set_strict(options.get(), 1);
  scanloom_session_options_set_low_latency(options.get(), 0);
  scanloom_session_options_set_speculate(options.get(), 0);
  scanloom_session_options_set_seed(options.get(), 7);
  for (const scanloom_execution execution :
       {SCANLOOM_AUTOMATIC, SCANLOOM_STEPPED, SCANLOOM_INTERPRETED, SCANLOOM_COMPILED}) {
    scanloom_session_options_set_execution(options.get(), execution);
    const OwnedSession session = load_c(running_sums(), options.get());
    const Outcome all = run(session, {f32(kStart, {2}).get(), f32(kXs, {3, 2}).get()}, 1);
    ASSERT_EQ(all.code, SCANLOOM_OK);
    EXPECT_THAT(floats_of(all.values[0].get()), ElementsAre(19, 32));
  }
  const std::string model = running_sums();
  scanloom_session* session = nullptr;
  scanloom_session_options_set_execution(options.get(), 4);
  EXPECT_EQ(
      scanloom_session_load_bytes(model.data(), model.size(), options.get(), &session, nullptr),
      SCANLOOM_INVALID_ARGUMENT);
  scanloom_session_options_set_execution(options.get(), SCANLOOM_AUTOMATIC);
  scanloom_session_options_set_numerics(options.get(), 2);
  EXPECT_EQ(
      scanloom_session_load_bytes(model.data(), model.size(), options.get(), &session, nullptr),
      SCANLOOM_INVALID_ARGUMENT);
  scanloom_session_options_set_numerics(options.get(), SCANLOOM_FAST);
  scanloom_session_options_set_threads(options.get(), -1);
  EXPECT_EQ(
      scanloom_session_load_bytes(model.data(), model.size(), options.get(), &session, nullptr),
      SCANLOOM_INVALID_ARGUMENT);
}

TEST(CApi, LimitsEndARun) {
  const OwnedSession session = load_c(doubling());
  const OwnedRunOptions options(scanloom_run_options_new());
  const float zero = 0;
  scanloom_run_options_set_max_steps(options.get(), 100);
  EXPECT_EQ(run_doubling_c(session, zero, options.get()).code, SCANLOOM_LIMIT_REACHED);
  scanloom_run_options_set_max_steps(options.get(), -1);
  scanloom_run_options_set_deadline(options.get(), 0.05);
  EXPECT_EQ(run_doubling_c(session, zero, options.get()).code, SCANLOOM_LIMIT_REACHED);
  const OwnedSession sums = load_c(running_sums());
  const std::vector<float> long_xs(200000, 1);
  scanloom_run_options_set_max_memory(options.get(), 1000);
  const Outcome outcome =
      run(sums, {f32(kStart, {2}).get(), f32(long_xs.data(), {100000, 2}).get()}, 2, options.get());
  EXPECT_EQ(outcome.code, SCANLOOM_LIMIT_REACHED);
}

TEST(CApi, WrongLimitsAreErrors) {
  const OwnedSession session = load_c(doubling());
  const OwnedRunOptions options(scanloom_run_options_new());
  const float one = 1;
  for (const double deadline : {-1.0, double(NAN), double(INFINITY)}) {
    scanloom_run_options_set_deadline(options.get(), deadline);
    EXPECT_EQ(run_doubling_c(session, one, options.get()).code, SCANLOOM_INVALID_ARGUMENT);
  }
  scanloom_run_options_set_deadline(options.get(), 0);
  EXPECT_EQ(run_doubling_c(session, one, options.get()).code, SCANLOOM_OK);
  scanloom_run_options_set_max_steps(options.get(), -2);
  EXPECT_EQ(run_doubling_c(session, one, options.get()).code, SCANLOOM_INVALID_ARGUMENT);
  scanloom_run_options_set_max_steps(options.get(), 1000);
  scanloom_run_options_set_max_memory(options.get(), -1);
  EXPECT_EQ(run_doubling_c(session, one, options.get()).code, SCANLOOM_INVALID_ARGUMENT);
}

TEST(CApi, AnotherThreadCancelsARun) {
  const OwnedSession session = load_c(doubling());
  const OwnedCancel cancel(scanloom_cancel_new());
  const OwnedRunOptions options(scanloom_run_options_new());
  scanloom_run_options_set_max_steps(options.get(), INT64_MAX);
  scanloom_run_options_set_cancel(options.get(), cancel.get());
  const float zero = 0, one = 1;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    scanloom_cancel_set(cancel.get());
  });
  EXPECT_EQ(run_doubling_c(session, zero, options.get()).code, SCANLOOM_CANCELLED);
  other.join();
  scanloom_cancel_reset(cancel.get());
  EXPECT_EQ(run_doubling_c(session, one, options.get()).code, SCANLOOM_OK);
}

TEST(CApi, ProgressIsReportedAndMayCancel) {
  struct Seen {
    int calls = 0;
    std::string node;
    std::int64_t step = 0, steps = 0;
  } seen;
  const OwnedSession session = load_c(doubling());
  const OwnedRunOptions options(scanloom_run_options_new());
  scanloom_run_options_set_max_steps(options.get(), INT64_MAX);
  scanloom_run_options_set_progress(
      options.get(),
      [](void* user, const char* node, std::int64_t step, std::int64_t steps) {
        auto* to = static_cast<Seen*>(user);
        *to = {to->calls + 1, node, step, steps};
        return to->calls == 2 ? 1 : 0;
      },
      &seen);
  const float zero = 0;
  EXPECT_EQ(run_doubling_c(session, zero, options.get()).code, SCANLOOM_CANCELLED);
  EXPECT_EQ(seen.calls, 2);
  EXPECT_THAT(seen.node, HasSubstr("'double'"));
  EXPECT_GT(seen.step, 0);
  EXPECT_EQ(seen.steps, -1);
}

TEST(CApi, ManyThreadsRunOneSession) {
  const OwnedSession session = load_c(running_sums());
  const OwnedValue start = f32(kStart, {2}), xs = f32(kXs, {3, 2});
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 50; ++j) {
        const Outcome all = run(session, {start.get(), xs.get()}, 1);
        right += all.code == SCANLOOM_OK && floats_of(all.values[0].get())[1] == 32;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 200);
}

TEST(CApi, StreamsKeepStates) {
  const OwnedOptions options(scanloom_session_options_new());
  ASSERT_EQ(scanloom_session_options_add_state(options.get(), "start", "last", nullptr),
            SCANLOOM_OK);
  EXPECT_EQ(scanloom_session_options_add_state(options.get(), nullptr, "last", nullptr),
            SCANLOOM_INVALID_ARGUMENT);
  const OwnedSession session = load_c(running_sums(), options.get());
  scanloom_stream* made = nullptr;
  ASSERT_EQ(scanloom_stream_new(session.get(), &made, nullptr), SCANLOOM_OK);
  const OwnedStream stream(made);
  const OwnedValue xs = f32(kXs, {3, 2}), start = f32(kStart, {2});
  const scanloom_value* feed = xs.get();
  const char *input = "xs", *output = "last", *wrong = "lost";
  const auto push = [&](const char* wanted) -> std::vector<float> {
    scanloom_value* value = nullptr;
    if (scanloom_stream_push(stream.get(), nullptr, &input, &feed, 1, &wanted, &value, 1,
                             nullptr) != SCANLOOM_OK)
      return {};
    const OwnedValue owned(value);
    return floats_of(value);
  };
  EXPECT_THAT(push(output), ElementsAre(9, 12));
  EXPECT_THAT(push(output), ElementsAre(18, 24));
  EXPECT_THAT(push(wrong), ElementsAre());  // nothing ran, so the state stayed
  EXPECT_THAT(push(output), ElementsAre(27, 36));
  scanloom_stream_reset(stream.get());
  EXPECT_THAT(push(output), ElementsAre(9, 12));
  EXPECT_EQ(scanloom_stream_set(stream.get(), "start", start.get(), nullptr), SCANLOOM_OK);
  EXPECT_THAT(push(output), ElementsAre(19, 32));
  EXPECT_EQ(scanloom_stream_set(stream.get(), "stop", start.get(), nullptr), SCANLOOM_NOT_FOUND);
  scanloom_value* value = nullptr;
  EXPECT_EQ(
      scanloom_stream_push(stream.get(), nullptr, nullptr, &feed, 1, nullptr, &value, 1, nullptr),
      SCANLOOM_INVALID_ARGUMENT);
}

/// Sequences of 1, 2, ... steps of the rows of kXs; `left` of them.
struct Rows {
  const scanloom_value* start;
  int left;
  std::vector<OwnedValue> made = {};
  std::vector<const scanloom_value*> inputs = {};
  unsigned char resets[3] = {1, 0, 1};
  const char* names[2] = {"start", "xs"};
};

int next_rows(void* user, scanloom_sequence* sequence) {
  Rows& rows = *static_cast<Rows*>(user);
  if (rows.left < 0) return 7;
  if (rows.left-- == 0) return 0;
  const auto steps = static_cast<std::int64_t>(rows.made.size()) + 1;
  rows.made.push_back(f32(kXs, {steps, 2}));
  rows.inputs = {rows.start, rows.made.back().get()};
  *sequence = {rows.names, rows.inputs.data(), 2, steps == 3 ? rows.resets : nullptr, 3};
  return 1;
}

TEST(CApi, ManySequences) {
  const OwnedSession session = load_c(running_sums());
  const OwnedValue start = f32(kStart, {2});
  Rows rows{start.get(), 3};
  const char* wanted = "last";
  scanloom_many* many = nullptr;
  ASSERT_EQ(
      scanloom_many_new(session.get(), nullptr, next_rows, &rows, 64, &wanted, 1, &many, nullptr),
      SCANLOOM_OK);
  std::vector<std::vector<float>> lasts;
  for (int found = 1; found == 1;) {
    scanloom_value* value = nullptr;
    ASSERT_EQ(scanloom_many_next(many, &value, 1, &found, nullptr), SCANLOOM_OK);
    const OwnedValue owned(value);
    if (found == 1) lasts.push_back(floats_of(value));
  }
  EXPECT_THAT(lasts, ElementsAre(ElementsAre(11, 22), ElementsAre(14, 26), ElementsAre(15, 26)));
  char* const text = scanloom_many_explain(many);
  EXPECT_THAT(text, ::testing::HasSubstr("in lanes: "));
  scanloom_text_free(text);
  scanloom_many_free(many);

  Rows cancelled{start.get(), -1};
  ASSERT_EQ(scanloom_many_new(session.get(), nullptr, next_rows, &cancelled, 64, nullptr, 0, &many,
                              nullptr),
            SCANLOOM_OK);
  int found = 1;
  EXPECT_EQ(scanloom_many_next(many, nullptr, 0, &found, nullptr), SCANLOOM_CANCELLED);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(scanloom_many_next(many, nullptr, 0, nullptr, nullptr), SCANLOOM_INVALID_ARGUMENT);
  scanloom_many_free(many);
  EXPECT_EQ(
      scanloom_many_new(session.get(), nullptr, nullptr, nullptr, 64, nullptr, 0, &many, nullptr),
      SCANLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(many, nullptr);
}

}  // namespace
}  // namespace scanloom::test
