// The C interface: errors.
#include <scanloom/environment.h>

#include "api/c_api.h"

namespace scanloom::c_api {

static_assert(number_of(Code::invalid_argument) == SCANLOOM_INVALID_ARGUMENT);
static_assert(number_of(Code::invalid_model) == SCANLOOM_INVALID_MODEL);
static_assert(number_of(Code::unsupported) == SCANLOOM_UNSUPPORTED);
static_assert(number_of(Code::not_found) == SCANLOOM_NOT_FOUND);
static_assert(number_of(Code::limit_reached) == SCANLOOM_LIMIT_REACHED);
static_assert(number_of(Code::cancelled) == SCANLOOM_CANCELLED);
static_assert(number_of(Code::out_of_memory) == SCANLOOM_OUT_OF_MEMORY);
static_assert(number_of(Code::internal) == SCANLOOM_INTERNAL);

scanloom_code hand_over(Error error, scanloom_error** to) noexcept {
  const scanloom_code code = number_of(error.code());
  if (to == nullptr) return code;
  *to = or_null([&] {
    std::string message = error.message();
    return new scanloom_error{std::move(error), std::move(message)};
  });
  return code;
}

Expected<void> require(const void* argument, std::string_view name) {
  if (argument != nullptr) return {};
  return fail(Code::invalid_argument, "the argument '{}' is NULL", name);
}

}  // namespace scanloom::c_api

extern "C" {

scanloom_code scanloom_error_code(const scanloom_error* error) {
  return scanloom::c_api::number_of(error->error.code());
}

const char* scanloom_error_text(const scanloom_error* error) { return error->error.text().c_str(); }

size_t scanloom_error_note_count(const scanloom_error* error) {
  return error->error.notes().size();
}

const char* scanloom_error_note(const scanloom_error* error, size_t index) {
  const std::span<const std::string> notes = error->error.notes();
  return index < notes.size() ? notes[index].c_str() : nullptr;
}

const char* scanloom_error_message(const scanloom_error* error) { return error->message.c_str(); }

void scanloom_error_free(scanloom_error* error) { delete error; }

const char* scanloom_code_name(scanloom_code code) {
  switch (code) {
    case SCANLOOM_OK:
      return "ok";
#define SCANLOOM_CODE(name, meaning)                     \
  case scanloom::c_api::number_of(scanloom::Code::name): \
    return #name;
#include <scanloom/codes.inc>
#undef SCANLOOM_CODE
    default:
      return "unknown";
  }
}

// The version is a literal, so its view ends with a zero byte.
const char* scanloom_version(void) { return scanloom::version().data(); }

char* scanloom_environment(void) {
  using namespace scanloom;
  return c_api::or_null(
      [] { return c_api::copy_of(to_text(environment().value_or_throw()).value_or_throw()); });
}

}  // extern "C"
