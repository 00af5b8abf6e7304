/* The C interface as a C99 compiler sees it: every function by its type, and a run. */
#include "tests/api/c_api_c99.h"

#include <scanloom/scanloom.h>
#include <stdlib.h>
#include <string.h>

/* Each function of the header, so that the linker looks for all of them. */
typedef void (*any_function)(void);
static const any_function kFunctions[] = {
    (any_function)scanloom_version,
    (any_function)scanloom_environment,
    (any_function)scanloom_error_code,
    (any_function)scanloom_error_text,
    (any_function)scanloom_error_note_count,
    (any_function)scanloom_error_note,
    (any_function)scanloom_error_message,
    (any_function)scanloom_error_free,
    (any_function)scanloom_code_name,
    (any_function)scanloom_value_view,
    (any_function)scanloom_value_copy,
    (any_function)scanloom_value_strings,
    (any_function)scanloom_value_sequence,
    (any_function)scanloom_value_map,
    (any_function)scanloom_value_none,
    (any_function)scanloom_value_kind,
    (any_function)scanloom_value_item_count,
    (any_function)scanloom_value_item,
    (any_function)scanloom_value_string,
    (any_function)scanloom_value_dtype,
    (any_function)scanloom_value_rank,
    (any_function)scanloom_value_shape,
    (any_function)scanloom_value_elements,
    (any_function)scanloom_value_bytes,
    (any_function)scanloom_value_data,
    (any_function)scanloom_value_free,
    (any_function)scanloom_dtype_bytes,
    (any_function)scanloom_dtype_name,
    (any_function)scanloom_session_options_new,
    (any_function)scanloom_session_options_free,
    (any_function)scanloom_session_options_set_threads,
    (any_function)scanloom_session_options_set_execution,
    (any_function)scanloom_session_options_set_numerics,
    (any_function)scanloom_session_options_set_optimize,
    (any_function)scanloom_session_options_set_lenient,
    (any_function)scanloom_session_options_set_strict,
    (any_function)scanloom_session_options_set_low_latency,
    (any_function)scanloom_session_options_set_speculate,
    (any_function)scanloom_session_options_set_weights,
    (any_function)scanloom_session_options_set_seed,
    (any_function)scanloom_session_options_add_fed_default,
    (any_function)scanloom_session_options_add_state,
    (any_function)scanloom_session_options_set_warning,
    (any_function)scanloom_session_load,
    (any_function)scanloom_session_load_bytes,
    (any_function)scanloom_convert,
    (any_function)scanloom_session_free,
    (any_function)scanloom_session_input_count,
    (any_function)scanloom_session_output_count,
    (any_function)scanloom_session_input,
    (any_function)scanloom_session_output,
    (any_function)scanloom_info_name,
    (any_function)scanloom_info_type,
    (any_function)scanloom_info_dtype,
    (any_function)scanloom_info_rank,
    (any_function)scanloom_info_size,
    (any_function)scanloom_info_symbol,
    (any_function)scanloom_session_explain,
    (any_function)scanloom_session_report,
    (any_function)scanloom_text_free,
    (any_function)scanloom_cancel_new,
    (any_function)scanloom_cancel_free,
    (any_function)scanloom_cancel_set,
    (any_function)scanloom_cancel_reset,
    (any_function)scanloom_run_options_new,
    (any_function)scanloom_run_options_free,
    (any_function)scanloom_run_options_set_deadline,
    (any_function)scanloom_run_options_set_max_steps,
    (any_function)scanloom_run_options_set_max_memory,
    (any_function)scanloom_run_options_set_cancel,
    (any_function)scanloom_run_options_set_progress,
    (any_function)scanloom_session_run,
    (any_function)scanloom_stream_new,
    (any_function)scanloom_stream_free,
    (any_function)scanloom_stream_push,
    (any_function)scanloom_stream_set,
    (any_function)scanloom_stream_reset,
    (any_function)scanloom_stream_explain,
    (any_function)scanloom_stream_report,
    (any_function)scanloom_many_new,
    (any_function)scanloom_many_free,
    (any_function)scanloom_many_next,
    (any_function)scanloom_many_explain,
};

int scanloom_c99_functions(void) {
  int count = 0;
  for (size_t i = 0; i < sizeof kFunctions / sizeof kFunctions[0]; ++i) count += kFunctions[i] != 0;
  return count;
}

int scanloom_c99_sums(const void* model, size_t size, int steps, float last[2]) {
  const float start[2] = {10, 20};
  const int64_t start_shape[1] = {2};
  const int64_t xs_shape[2] = {steps, 2};
  const char* const inputs[2] = {"xs", "start"};
  const char* const outputs[1] = {"last"};
  float* const xs = malloc((size_t)steps * 2 * sizeof *xs);
  scanloom_session* session = NULL;
  scanloom_value* feeds[2] = {NULL, NULL};
  scanloom_value* result = NULL;
  scanloom_code code = SCANLOOM_OUT_OF_MEMORY;
  int i;

  if (xs == NULL) goto done;
  for (i = 0; i < 2 * steps; ++i) xs[i] = 1;
  code = scanloom_session_load_bytes(model, size, NULL, &session, NULL);
  if (code != SCANLOOM_OK) goto done;
  code = scanloom_value_view(SCANLOOM_F32, xs_shape, 2, xs, NULL, &feeds[0], NULL);
  if (code != SCANLOOM_OK) goto done;
  code = scanloom_value_copy(SCANLOOM_F32, start_shape, 1, start, NULL, &feeds[1], NULL);
  if (code != SCANLOOM_OK) goto done;
  code = scanloom_session_run(session, NULL, inputs, (const scanloom_value* const*)feeds, 2,
                              outputs, &result, 1, NULL);
  if (code == SCANLOOM_OK) memcpy(last, scanloom_value_data(result), 2 * sizeof *last);
done:
  scanloom_value_free(result);
  scanloom_value_free(feeds[0]);
  scanloom_value_free(feeds[1]);
  scanloom_session_free(session);
  free(xs);
  return (int)code;
}
