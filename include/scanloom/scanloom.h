// The C interface, in C99: sessions, values, runs, streams, limits and errors as opaque handles.
// It mirrors the C++ interface (session.h). No function throws an exception.
//
// Handles. A handle returned by a function named *_new, *_load*, *_view, *_copy or *_push belongs
// to the caller, who frees it with the *_free of its type; *_free accepts NULL. `const` pointers
// that a function returns belong to the handle they come from and live as long as it does. Texts
// are UTF-8 and end with a zero byte. No handle or text may be NULL unless the function says so; a
// function that reports errors returns SCANLOOM_INVALID_ARGUMENT for such a NULL.
//
// Errors. Functions that can fail return SCANLOOM_OK or a code. Their last argument `error` may be
// NULL; otherwise it receives NULL on success and an error that the caller frees on failure. It
// stays NULL after a failure only if memory has run out. Results are written on success only; after
// a failure they are NULL.
//
// Threads. Sessions, values and errors are immutable: any number of threads may use one at once.
// Many runs may read options at once, but options must not change meanwhile. A cancel flag may be
// used from any thread at any time. A stream is for one thread at a time. A handle may be freed
// once no running call uses it.
//
// Enumerations are 32-bit integers, so that any number is a valid argument to pass; one that is not
// listed gives SCANLOOM_INVALID_ARGUMENT.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <scanloom/api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct scanloom_session scanloom_session;
typedef struct scanloom_stream scanloom_stream;
typedef struct scanloom_many scanloom_many;
typedef struct scanloom_value scanloom_value;
typedef struct scanloom_info scanloom_info;
typedef struct scanloom_session_options scanloom_session_options;
typedef struct scanloom_run_options scanloom_run_options;
typedef struct scanloom_cancel scanloom_cancel;
typedef struct scanloom_error scanloom_error;

/// Result codes. The numbers do not change from version to version; new ones may be added.
typedef int32_t scanloom_code;
enum {
  SCANLOOM_OK = 0,
  SCANLOOM_INVALID_ARGUMENT = 1,  ///< an argument, feed or option is invalid
  SCANLOOM_INVALID_MODEL = 2,     ///< the model violates its format
  SCANLOOM_UNSUPPORTED = 3,       ///< the model is valid but needs something that is not supported
  SCANLOOM_NOT_FOUND = 4,         ///< a file, an input or an output does not exist
  SCANLOOM_LIMIT_REACHED = 5,     ///< a step limit, a deadline or a memory budget was reached
  SCANLOOM_CANCELLED = 6,         ///< the caller cancelled the run
  SCANLOOM_OUT_OF_MEMORY = 7,     ///< the system is out of memory
  SCANLOOM_INTERNAL = 8           ///< a bug in this library
};

/// Element types, with the numbers of ONNX (TensorProto.DataType). Elements narrower than a byte
/// take one byte each in memory.
typedef int32_t scanloom_dtype;
enum {
  SCANLOOM_F32 = 1,
  SCANLOOM_U8 = 2,
  SCANLOOM_I8 = 3,
  SCANLOOM_U16 = 4,
  SCANLOOM_I16 = 5,
  SCANLOOM_I32 = 6,
  SCANLOOM_I64 = 7,
  SCANLOOM_STRING = 8,
  SCANLOOM_BOOLEAN = 9,  ///< a byte, 0 or 1
  SCANLOOM_F16 = 10,
  SCANLOOM_F64 = 11,
  SCANLOOM_U32 = 12,
  SCANLOOM_U64 = 13,
  SCANLOOM_C64 = 14,  ///< two floats: real part, imaginary part
  SCANLOOM_C128 = 15,
  SCANLOOM_BF16 = 16,
  SCANLOOM_F8E4M3FN = 17,
  SCANLOOM_F8E4M3FNUZ = 18,
  SCANLOOM_F8E5M2 = 19,
  SCANLOOM_F8E5M2FNUZ = 20,
  SCANLOOM_U4 = 21,
  SCANLOOM_I4 = 22,
  SCANLOOM_F4E2M1 = 23,
  SCANLOOM_F8E8M0 = 24,
  SCANLOOM_U2 = 25,
  SCANLOOM_I2 = 26
};

/// Kinds of values. New ones may be added: check the kind before reading a value as a tensor.
typedef int32_t scanloom_kind;
enum { SCANLOOM_TENSOR = 0, SCANLOOM_SEQUENCE = 1, SCANLOOM_OPTIONAL = 2, SCANLOOM_MAP = 3 };

/// How a session executes. SCANLOOM_AUTOMATIC is right for everyone; the others are for testing and
/// debugging.
typedef int32_t scanloom_execution;
enum {
  SCANLOOM_AUTOMATIC = 0,    ///< compiles loops where that pays, steps through the others
  SCANLOOM_STEPPED = 1,      ///< generates no machine code
  SCANLOOM_INTERPRETED = 2,  ///< node by node with reference kernels
  SCANLOOM_COMPILED = 3      ///< compiles every loop that can be compiled, immediately
};

/// The guarantee that a session gives about the bits of its results; see docs/numbers.md.
typedef int32_t scanloom_numerics;
enum {
  SCANLOOM_EXACT = 0,  ///< every operation is rounded as written, in the order of the steps
  SCANLOOM_FAST = 1    ///< sums and linear recurrences as trees, products and sums rounded once
};

/// Returns the version, such as "0.1.0". Never fails; the text belongs to the library.
SCANLOOM_API const char* scanloom_version(void);
/// Describes this build and this machine for bug reports, as `scanloom version --verbose` does: a
/// line per subject. The caller frees the text with scanloom_text_free; NULL if memory has run out.
SCANLOOM_API char* scanloom_environment(void);

/* ---- Errors ------------------------------------------------------------------------------- */

/// Never SCANLOOM_OK.
SCANLOOM_API scanloom_code scanloom_error_code(const scanloom_error* error);
/// The first line: names the node of the model, the operand and both numbers.
SCANLOOM_API const char* scanloom_error_text(const scanloom_error* error);
/// Number of notes. Notes say what would help, or how many more mistakes a model has.
SCANLOOM_API size_t scanloom_error_note_count(const scanloom_error* error);
/// A note; NULL if the index is out of range.
SCANLOOM_API const char* scanloom_error_note(const scanloom_error* error, size_t index);
/// The text and its notes, one per line, for people.
SCANLOOM_API const char* scanloom_error_message(const scanloom_error* error);
SCANLOOM_API void scanloom_error_free(scanloom_error* error);
/// "invalid_argument", "limit_reached", ...; "ok" for SCANLOOM_OK, "unknown" for any other number.
SCANLOOM_API const char* scanloom_code_name(scanloom_code code);

/* ---- Values ------------------------------------------------------------------------------- */

/// Creates a tensor over the caller's memory, which is neither copied nor written; it must stay
/// valid and unchanged while runs read the value. `shape` has `rank` sizes and may be NULL for rank
/// 0; `data` may be NULL if there are no elements. `strides` are in elements and may be negative;
/// NULL means row-major. Sizes and strides are copied. Errors: invalid_argument (an unknown dtype,
/// a negative size, more than 2^40 elements, a rank above 16, no data, strings), out_of_memory.
SCANLOOM_API scanloom_code scanloom_value_view(scanloom_dtype dtype, const int64_t* shape,
                                               size_t rank, const void* data,
                                               const int64_t* strides, scanloom_value** value,
                                               scanloom_error** error);
/// Creates a tensor that owns a copy of the elements, row-major and aligned. If `data` is NULL, the
/// elements are zeros. Errors as above.
SCANLOOM_API scanloom_code scanloom_value_copy(scanloom_dtype dtype, const int64_t* shape,
                                               size_t rank, const void* data,
                                               const int64_t* strides, scanloom_value** value,
                                               scanloom_error** error);
/// Creates a tensor of strings from one zero-terminated text per element of the shape, row-major.
/// The texts are copied. Errors: invalid_argument (sizes as above, a NULL text), out_of_memory.
SCANLOOM_API scanloom_code scanloom_value_strings(const char* const* texts, const int64_t* shape,
                                                  size_t rank, scanloom_value** value,
                                                  scanloom_error** error);
/// Creates a sequence of `count` items. It shares their memory; the items may be freed. `dtype` is
/// the element type of an empty sequence. Errors: invalid_argument, out_of_memory.
SCANLOOM_API scanloom_code scanloom_value_sequence(const scanloom_value* const* items, size_t count,
                                                   scanloom_dtype dtype, scanloom_value** value,
                                                   scanloom_error** error);
/// Creates a map from each key to the value at the same position. `keys` is a tensor of int64 or
/// strings, `values` a tensor, both with one axis of the same size. It shares their memory; both
/// may be freed. Errors: invalid_argument, out_of_memory.
SCANLOOM_API scanloom_code scanloom_value_map(const scanloom_value* keys,
                                              const scanloom_value* values, scanloom_value** value,
                                              scanloom_error** error);
/// Creates an empty optional. An input that is an optional also accepts the bare value that it
/// would hold. Errors: invalid_argument, out_of_memory.
SCANLOOM_API scanloom_code scanloom_value_none(scanloom_dtype dtype, scanloom_value** value,
                                               scanloom_error** error);
SCANLOOM_API scanloom_kind scanloom_value_kind(const scanloom_value* value);
/// The number of items of a sequence; 1 or 0 for an optional, 0 for a tensor, 2 for a map: the
/// tensor of its keys and that of its values.
SCANLOOM_API size_t scanloom_value_item_count(const scanloom_value* value);
/// Returns an item as a separate value over the same memory; free it too. Errors: invalid_argument
/// (the index is out of range), out_of_memory.
SCANLOOM_API scanloom_code scanloom_value_item(const scanloom_value* value, size_t index,
                                               scanloom_value** item, scanloom_error** error);
/// Returns element `index`, counted row-major, of a tensor of strings that is a result or was made
/// by scanloom_value_strings: `*length` bytes without a terminating zero, valid as long as the
/// value. NULL if there is no such element.
SCANLOOM_API const char* scanloom_value_string(const scanloom_value* value, int64_t index,
                                               size_t* length);
// Tensors. For other kinds of values, rank, elements and bytes are 0 and data is NULL.
/// The element type; for sequences and optionals, of the tensors in them; for maps, of the values.
/// 0 if ONNX has no number for it.
SCANLOOM_API scanloom_dtype scanloom_value_dtype(const scanloom_value* value);
SCANLOOM_API size_t scanloom_value_rank(const scanloom_value* value);
/// The sizes; not NULL even for rank 0.
SCANLOOM_API const int64_t* scanloom_value_shape(const scanloom_value* value);
/// The product of the sizes.
SCANLOOM_API int64_t scanloom_value_elements(const scanloom_value* value);
/// Bytes of all elements together; 0 for strings.
SCANLOOM_API size_t scanloom_value_bytes(const scanloom_value* value);
/// Pointer to the first element; NULL for strings. Results and copies are row-major; a view has the
/// strides it was made with.
SCANLOOM_API const void* scanloom_value_data(const scanloom_value* value);
SCANLOOM_API void scanloom_value_free(scanloom_value* value);
/// Bytes of one element in memory; 0 for an unknown dtype and for strings.
SCANLOOM_API size_t scanloom_dtype_bytes(scanloom_dtype dtype);
/// The name that ONNX uses, such as "float"; "unknown" for an unknown dtype.
SCANLOOM_API const char* scanloom_dtype_name(scanloom_dtype dtype);

/* ---- Options of sessions ------------------------------------------------------------------ */

/// Called with every warning, on the thread that causes it, so several threads may call it at once.
/// `text` is valid during the call. The function must not throw or jump out.
typedef void (*scanloom_warning_fn)(void* user, const char* text);

/// Creates options with their defaults; NULL if memory has run out.
SCANLOOM_API scanloom_session_options* scanloom_session_options_new(void);
SCANLOOM_API void scanloom_session_options_free(scanloom_session_options* options);
/// The maximum number of threads per run; 0, the default, means all cores of the process. A
/// negative number is an error when a session is loaded.
SCANLOOM_API void scanloom_session_options_set_threads(scanloom_session_options* options,
                                                       int threads);
/// Default: SCANLOOM_AUTOMATIC. An unknown number is an error when a session is loaded.
SCANLOOM_API void scanloom_session_options_set_execution(scanloom_session_options* options,
                                                         scanloom_execution execution);
/// Default: SCANLOOM_EXACT. An unknown number is an error when a session is loaded.
SCANLOOM_API void scanloom_session_options_set_numerics(scanloom_session_options* options,
                                                        scanloom_numerics numerics);
/// 0: runs the model as it was read, without passes. Default: 1.
SCANLOOM_API void scanloom_session_options_set_optimize(scanloom_session_options* options,
                                                        int optimize);
/// Not 0: accepts names in bodies that shadow outer names, and warns of unknown attributes and of
/// versions that are too new instead of refusing them. Default: 0.
SCANLOOM_API void scanloom_session_options_set_lenient(scanloom_session_options* options,
                                                       int lenient);
/// Not 0: refuses feeds that give two sizes to one name that the model declares. 0, the default:
/// warns, and operators report sizes that do not fit.
SCANLOOM_API void scanloom_session_options_set_strict(scanloom_session_options* options,
                                                      int strict);
/// The seed of random operators that have none of their own. Default: 0.
SCANLOOM_API void scanloom_session_options_set_seed(scanloom_session_options* options,
                                                    int64_t seed);
/// Not 0: values that loops carry along a sequence of open length become states of the session, so
/// that a stream takes the sequence in pieces. Default: 0.
SCANLOOM_API void scanloom_session_options_set_low_latency(scanloom_session_options* options,
                                                           int low_latency);
/// 0: the steps of a loop with states are taken in order. Not 0, the default: idle threads compute
/// later steps of a long loop from a guess of its state, where that has proven to pay; results do
/// not change.
SCANLOOM_API void scanloom_session_options_set_speculate(scanloom_session_options* options,
                                                         int speculate);
/// Sets the weights of an OpenVINO IR, the bytes of its .bin, instead of the file next to the
/// model. The bytes are copied. Errors: invalid_argument (NULL), out_of_memory.
SCANLOOM_API scanloom_code scanloom_session_options_set_weights(scanloom_session_options* options,
                                                                const void* bytes, size_t size,
                                                                scanloom_error** error);
/// Adds a state: a stream takes its value from `output` and feeds it to `input` in the next push.
/// Errors: invalid_argument (NULL), out_of_memory; unknown names are errors when a session is
/// loaded.
SCANLOOM_API scanloom_code scanloom_session_options_add_state(scanloom_session_options* options,
                                                              const char* input, const char* output,
                                                              scanloom_error** error);
/// Makes an input that has a default value one that must be fed. Errors: invalid_argument (NULL),
/// out_of_memory; unknown names are errors when a session is loaded.
SCANLOOM_API scanloom_code scanloom_session_options_add_fed_default(
    scanloom_session_options* options, const char* name, scanloom_error** error);
/// Sets the function that receives warnings; NULL, the default: none. `user` is passed to it.
SCANLOOM_API void scanloom_session_options_set_warning(scanloom_session_options* options,
                                                       scanloom_warning_fn warning, void* user);

/* ---- Sessions ----------------------------------------------------------------------------- */

/// Loads an ONNX model, an OpenVINO IR or a saved function from a file. `options` may be NULL and
/// may be freed afterwards. Errors: not_found, invalid_model (the first mistake; a note says how
/// many more there are), unsupported, invalid_argument (an option), out_of_memory.
SCANLOOM_API scanloom_code scanloom_session_load(const char* path,
                                                 const scanloom_session_options* options,
                                                 scanloom_session** session,
                                                 scanloom_error** error);
/// Loads from memory; the bytes are copied.
SCANLOOM_API scanloom_code scanloom_session_load_bytes(const void* bytes, size_t size,
                                                       const scanloom_session_options* options,
                                                       scanloom_session** session,
                                                       scanloom_error** error);
/// Converts the model `from` to the format given by the extension of `to`: .onnx, or .xml with a
/// .bin next to it. `options` may be NULL. Errors: those of scanloom_session_load;
/// SCANLOOM_INVALID_ARGUMENT (another extension, a file cannot be written).
SCANLOOM_API scanloom_code scanloom_convert(const char* from, const char* to,
                                            const scanloom_session_options* options,
                                            scanloom_error** error);
/// Frees the session. Its runs and streams must have ended; values outlive it.
SCANLOOM_API void scanloom_session_free(scanloom_session* session);

SCANLOOM_API size_t scanloom_session_input_count(const scanloom_session* session);
SCANLOOM_API size_t scanloom_session_output_count(const scanloom_session* session);
/// Describes an input or output; valid as long as the session. NULL if the index is out of range.
SCANLOOM_API const scanloom_info* scanloom_session_input(const scanloom_session* session,
                                                         size_t index);
SCANLOOM_API const scanloom_info* scanloom_session_output(const scanloom_session* session,
                                                          size_t index);
SCANLOOM_API const char* scanloom_info_name(const scanloom_info* info);
/// The type as ONNX writes it, such as "tensor(float)".
SCANLOOM_API const char* scanloom_info_type(const scanloom_info* info);
/// The element type; 0 if ONNX has no number for it.
SCANLOOM_API scanloom_dtype scanloom_info_dtype(const scanloom_info* info);
/// The number of axes; -1 if the model leaves it open.
SCANLOOM_API int scanloom_info_rank(const scanloom_info* info);
/// The size of an axis; -1 if it is not fixed or there is no such axis.
SCANLOOM_API int64_t scanloom_info_size(const scanloom_info* info, size_t axis);
/// The name of a size that is not fixed; "" if it has none.
SCANLOOM_API const char* scanloom_info_symbol(const scanloom_info* info, size_t axis);

/// Describes every loop for people: its strategy, why not a better one, and what each port costs.
/// The caller frees the text with scanloom_text_free; NULL if memory has run out.
SCANLOOM_API char* scanloom_session_explain(const scanloom_session* session);
SCANLOOM_API void scanloom_text_free(char* text);

/* ---- Runs --------------------------------------------------------------------------------- */

/// Creates a flag that ends runs from another thread: runs that were given the flag end soon after
/// it is set, with SCANLOOM_CANCELLED. NULL if memory has run out.
SCANLOOM_API scanloom_cancel* scanloom_cancel_new(void);
/// Frees the flag. Runs that use it must have ended.
SCANLOOM_API void scanloom_cancel_free(scanloom_cancel* cancel);
/// Sets the flag. Neither locks nor allocates, so a signal handler may call it.
SCANLOOM_API void scanloom_cancel_set(scanloom_cancel* cancel);
/// Clears the flag for another use.
SCANLOOM_API void scanloom_cancel_reset(scanloom_cancel* cancel);

/// Called about ten times a second, on the running thread, for the outermost loop that is running:
/// the user's name of its node (valid during the call), the steps done, and the total, or -1 if it
/// is not known. Returning 0 continues the run, anything else cancels it. The function must not
/// throw or jump out.
typedef int (*scanloom_progress_fn)(void* user, const char* node, int64_t step, int64_t steps);

/// Creates options with their defaults; NULL if memory has run out.
SCANLOOM_API scanloom_run_options* scanloom_run_options_new(void);
SCANLOOM_API void scanloom_run_options_free(scanloom_run_options* options);
/// Seconds from the start of a run, polled between the steps of loops; 0, the default: no deadline.
/// Anything but 0 or a finite positive number is an error of the run.
SCANLOOM_API void scanloom_run_options_set_deadline(scanloom_run_options* options, double seconds);
/// Maximum number of steps per execution of a loop; -1, the default: 1e8 for loops without a trip
/// count.
SCANLOOM_API void scanloom_run_options_set_max_steps(scanloom_run_options* options, int64_t steps);
/// Maximum bytes of a run; 0, the default: 80 percent of the memory left, see docs/errors.md.
SCANLOOM_API void scanloom_run_options_set_max_memory(scanloom_run_options* options, int64_t bytes);
/// The flag that cancels runs; NULL, the default: none. Not owned: free it after the options.
SCANLOOM_API void scanloom_run_options_set_cancel(scanloom_run_options* options,
                                                  const scanloom_cancel* cancel);
/// Sets the function that receives progress; NULL, the default: none. `user` is passed to it.
SCANLOOM_API void scanloom_run_options_set_progress(scanloom_run_options* options,
                                                    scanloom_progress_fn progress, void* user);

/// Runs the model once; may be called from many threads at once. `input_names` may be NULL: the
/// inputs are then all inputs in the model's order. `output_names` may be NULL: the results are
/// then the first `output_count` outputs in the model's order. `outputs` receives `output_count`
/// values that the caller frees. Tensors of numbers share no memory with an input; a sequence, an
/// optional or strings that pass through unchanged may share the memory of the input's value, which
/// then lives until both are freed. `options` may be NULL. Errors: invalid_argument (a feed that is
/// missing, unknown, or of another type or size; an option; an index out of range inside),
/// limit_reached, cancelled, out_of_memory, unsupported.
SCANLOOM_API scanloom_code scanloom_session_run(const scanloom_session* session,
                                                const scanloom_run_options* options,
                                                const char* const* input_names,
                                                const scanloom_value* const* inputs,
                                                size_t input_count, const char* const* output_names,
                                                scanloom_value** outputs, size_t output_count,
                                                scanloom_error** error);

/// Writes a page of HTML that shows the model, or its data as JSON if `as_data` is not 0
/// (docs/report.md). `inputs` NULL with `input_count` 0: nothing runs; otherwise the model runs
/// with the inputs, which are given as for scanloom_session_run. The caller frees the text with
/// scanloom_text_free. Errors: those of scanloom_session_run; unsupported (the page, in a library
/// that was built without it).
SCANLOOM_API scanloom_code scanloom_session_report(const scanloom_session* session,
                                                   const scanloom_run_options* options,
                                                   const char* const* input_names,
                                                   const scanloom_value* const* inputs,
                                                   size_t input_count, int as_data, char** text,
                                                   scanloom_error** error);

/* ---- Streams ------------------------------------------------------------------------------ */

/// Creates a stream, which keeps the model's own states and those named in the session's options
/// from one push to the next or, if there are none, what the model's loops and recurrent layers
/// carry. Named states are zero at first if their sizes are declared or follow from the feeds.
/// Errors: unsupported (none is named, and a node computes across the steps or no loop iterates
/// over an open size), out_of_memory.
SCANLOOM_API scanloom_code scanloom_stream_new(const scanloom_session* session,
                                               scanloom_stream** stream, scanloom_error** error);
SCANLOOM_API void scanloom_stream_free(scanloom_stream* stream);
/// Runs with the feeds and the kept states. Arguments and errors are those of a run, except that
/// states are not fed and `input_names` must not be NULL. All states advance if it succeeds, none
/// if it fails.
SCANLOOM_API scanloom_code scanloom_stream_push(
    scanloom_stream* stream, const scanloom_run_options* options, const char* const* input_names,
    const scanloom_value* const* inputs, size_t input_count, const char* const* output_names,
    scanloom_value** outputs, size_t output_count, scanloom_error** error);
/// Sets one state to a copy of the value. Errors: not_found, invalid_argument (type, strides).
SCANLOOM_API scanloom_code scanloom_stream_set(scanloom_stream* stream, const char* input,
                                               const scanloom_value* value, scanloom_error** error);
/// Restores the initial values.
SCANLOOM_API void scanloom_stream_reset(scanloom_stream* stream);
/// Like scanloom_session_explain, for the loops that the pushes run.
SCANLOOM_API char* scanloom_stream_explain(const scanloom_stream* stream);
/// Like scanloom_session_report, for the program that the pushes run, with the sizes of the states
/// that the stream keeps and programs that push to such a stream. Runs nothing.
SCANLOOM_API scanloom_code scanloom_stream_report(const scanloom_stream* stream, int as_data,
                                                  char** text, scanloom_error** error);

/* ---- Many sequences ----------------------------------------------------------------------- */

/// The feeds of one sequence, as scanloom_session_run takes them, with `input_names`. `resets` may
/// be NULL, or has an element per step: before a step whose element is not 0, what loops carry
/// returns to its initial values. Names and resets are copied; the values and the caller's memory
/// that they refer to must live until the results of the sequence have been returned.
typedef struct {
  const char* const* input_names;
  const scanloom_value* const* inputs;
  size_t input_count;
  const unsigned char* resets;
  size_t reset_count;
} scanloom_sequence;

/// Fills in the next sequence and returns 1, or returns 0 at the end; anything else cancels. Must
/// not throw or jump out.
typedef int (*scanloom_source_fn)(void* user, scanloom_sequence* sequence);

/// Runs sequences of unequal lengths, which share runs where the model has a batch, each with the
/// bits that it has alone (scanloom/many.h). `options` may be NULL; they are copied, but their
/// cancel flag must live until scanloom_many_free, and their progress is ignored. `batch`: lanes of
/// each thread, 0 to 4096; 0: the default. `output_names` may be NULL: the results are then the
/// model's outputs. Sequences are read by scanloom_many_next, in its thread. Errors:
/// invalid_argument, out_of_memory.
SCANLOOM_API scanloom_code scanloom_many_new(const scanloom_session* session,
                                             const scanloom_run_options* options,
                                             scanloom_source_fn source, void* user, int32_t batch,
                                             const char* const* output_names, size_t output_count,
                                             scanloom_many** many, scanloom_error** error);
SCANLOOM_API void scanloom_many_free(scanloom_many* many);
/// Writes the results of the next sequence, in the order of the source, and 1 to `found`; 0 at the
/// end. The caller frees the values. An error of one sequence, with 1 in `found`, leaves the others
/// alone; after any other, with 0, no more sequences follow.
SCANLOOM_API scanloom_code scanloom_many_next(scanloom_many* many, scanloom_value** outputs,
                                              size_t output_count, int* found,
                                              scanloom_error** error);
/// How the sequences were run so far, for people. The caller frees the text with
/// scanloom_text_free; NULL if memory has run out.
SCANLOOM_API char* scanloom_many_explain(const scanloom_many* many);

#ifdef __cplusplus
}
#endif
