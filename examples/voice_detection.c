/* Finds speech in a WAV file (16 kHz, mono, 16 bits) with silero_vad.onnx and prints its segments.
 *
 *   voice_detection_c silero_vad.onnx recording.wav
 */
#include <scanloom/scanloom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 16000 };
enum { CHUNK = 512 };  /* samples that are new in each push */
enum { CONTEXT = 64 }; /* the last samples of the chunk before, in front of it */
static const double kChunkSeconds = (double)CHUNK / RATE;
static const double kSilenceSeconds = 0.1;
static const float kBeginAt = 0.5f, kEndUnder = 0.35f;

typedef struct {
  unsigned char* bytes;
  size_t size;
} File;

typedef struct {
  float* values;
  size_t count;
} Samples;

/* Reads a whole file; 0 when that fails. The caller frees the bytes. */
static int read_file(const char* path, File* file) {
  FILE* stream = fopen(path, "rb");
  size_t room = 1 << 16;
  if (stream == NULL) return 0;
  file->bytes = malloc(room);
  file->size = 0;
  while (file->bytes != NULL) {
    const size_t count = fread(file->bytes + file->size, 1, room - file->size, stream);
    unsigned char* more;
    file->size += count;
    if (count == 0) break;
    if (file->size < room) continue;
    room *= 2;
    more = realloc(file->bytes, room);
    if (more == NULL) free(file->bytes);
    file->bytes = more;
  }
  fclose(stream);
  return file->bytes != NULL;
}

/* A little-endian number of `bytes` bytes at `from`. */
static unsigned long number(const File* file, size_t from, size_t bytes) {
  unsigned long value = 0;
  while (bytes-- > 0) value = value << 8 | file->bytes[from + bytes];
  return value;
}

/* Finds the samples in the chunks of a RIFF file: "fmt " says what they are, "data" holds them.
 * Where that fails, says so and returns 0. The caller frees the samples. */
static int read_samples(const char* path, const File* file, Samples* samples) {
  int format_known = 0;
  size_t at = 12;
  if (file->size < 12 || memcmp(file->bytes, "RIFF", 4) != 0 ||
      memcmp(file->bytes + 8, "WAVE", 4) != 0) {
    fprintf(stderr, "error: %s: not a WAV file\n", path);
    return 0;
  }
  while (at + 8 <= file->size) {
    const size_t begin = at + 8, promised = number(file, at + 4, 4);
    const size_t size = promised < file->size - begin ? promised : file->size - begin;
    if (memcmp(file->bytes + at, "fmt ", 4) == 0 && size >= 16) {
      const unsigned long channels = number(file, begin + 2, 2), rate = number(file, begin + 4, 4);
      const unsigned long bits = number(file, begin + 14, 2);
      if (channels != 1 || rate != RATE || bits != 16) {
        fprintf(stderr,
                "error: %s: it has %lu channel(s) of %lu bits at %lu Hz, needed is 1 of 16 bits at "
                "16000 Hz\n",
                path, channels, bits, rate);
        return 0;
      }
      format_known = 1;
    } else if (memcmp(file->bytes + at, "data", 4) == 0 && format_known) {
      size_t i;
      if (size != promised) {
        fprintf(stderr,
                "error: %s: it is cut off: its header promises %lu bytes of samples, it holds "
                "%lu\n",
                path, (unsigned long)promised, (unsigned long)size);
        return 0;
      }
      samples->count = size / 2;
      samples->values = malloc((samples->count + 1) * sizeof(float));
      if (samples->values == NULL) {
        fprintf(stderr, "error: %s: no memory for its samples\n", path);
        return 0;
      }
      for (i = 0; i < samples->count; ++i) {
        const long value = (long)number(file, begin + 2 * i, 2);
        samples->values[i] = (float)(value < 32768 ? value : value - 65536) / 32768.0f;
      }
      return 1;
    }
    at = begin + size + size % 2; /* chunks begin at even places */
  }
  fprintf(stderr, "error: %s: it holds no samples\n", path);
  return 0;
}

static int read_wav(const char* path, Samples* samples) {
  File file = {NULL, 0};
  int done;
  if (!read_file(path, &file)) {
    fprintf(stderr, "error: cannot read %s\n", path);
    return 0;
  }
  done = read_samples(path, &file, samples);
  free(file.bytes);
  return done;
}

/* Speech begins at 0.5 and ends where it fell under 0.35, unless 0.5 returns within 100 ms. */
typedef struct {
  double begin, quiet_since; /* -1: none */
  long chunks;
} Segments;

static void finish(Segments* segments) {
  const double now = kChunkSeconds * (double)segments->chunks;
  if (segments->begin < 0) return;
  printf("speech from %6.2f s to %6.2f s\n", segments->begin,
         segments->quiet_since >= 0 ? segments->quiet_since : now);
  segments->begin = segments->quiet_since = -1;
}

static void add(Segments* segments, float probability) {
  const double now = kChunkSeconds * (double)segments->chunks++;
  if (probability >= kBeginAt) {
    segments->quiet_since = -1;
    if (segments->begin < 0) segments->begin = now;
  } else if (probability < kEndUnder && segments->begin >= 0) {
    if (segments->quiet_since < 0) segments->quiet_since = now;
    if (now - segments->quiet_since >= kSilenceSeconds) finish(segments);
  }
}

/* A session and a stream that keeps the model's state from chunk to chunk. */
static scanloom_code open_stream(const char* model, scanloom_session** session,
                                 scanloom_stream** stream, scanloom_error** error) {
  static const int64_t kStateShape[] = {2, 1, 128};
  scanloom_session_options* options = scanloom_session_options_new();
  scanloom_value* silence = NULL;
  scanloom_code code = SCANLOOM_OUT_OF_MEMORY;
  if (options == NULL) return code;
  scanloom_session_options_set_threads(options, 1);
  code = scanloom_session_options_add_state(options, "state", "stateN", error);
  if (code == SCANLOOM_OK) code = scanloom_session_load(model, options, session, error);
  if (code == SCANLOOM_OK) code = scanloom_stream_new(*session, stream, error);
  if (code == SCANLOOM_OK)
    code = scanloom_value_copy(SCANLOOM_F32, kStateShape, 3, NULL, NULL, &silence, error);
  if (code == SCANLOOM_OK) code = scanloom_stream_set(*stream, "state", silence, error);
  scanloom_value_free(silence);
  scanloom_session_options_free(options);
  return code;
}

/* Pushes all samples, chunk by chunk, and prints the segments of speech. */
static scanloom_code detect(scanloom_stream* stream, const Samples* samples,
                            scanloom_error** error) {
  static const int64_t kInputShape[] = {1, CONTEXT + CHUNK};
  static const int64_t kRate = RATE;
  const char* const inputs[] = {"input", "sr"};
  const char* const outputs[] = {"output"};
  float chunk[CONTEXT + CHUNK] = {0};
  scanloom_value* feeds[2] = {NULL, NULL};
  Segments segments = {-1, -1, 0};
  scanloom_code code;
  size_t at;

  /* Both values are views: the loop below changes what they show between two pushes. */
  code = scanloom_value_view(SCANLOOM_F32, kInputShape, 2, chunk, NULL, &feeds[0], error);
  if (code == SCANLOOM_OK)
    code = scanloom_value_view(SCANLOOM_I64, NULL, 0, &kRate, NULL, &feeds[1], error);
  for (at = 0; code == SCANLOOM_OK && at < samples->count; at += CHUNK) {
    const size_t left = samples->count - at, count = left < CHUNK ? left : CHUNK;
    scanloom_value* result = NULL;
    memmove(chunk, chunk + CHUNK, CONTEXT * sizeof(float));
    memset(chunk + CONTEXT, 0, CHUNK * sizeof(float));
    memcpy(chunk + CONTEXT, samples->values + at, count * sizeof(float));
    code = scanloom_stream_push(stream, NULL, inputs, (const scanloom_value* const*)feeds, 2,
                                outputs, &result, 1, error);
    if (code == SCANLOOM_OK) add(&segments, *(const float*)scanloom_value_data(result));
    scanloom_value_free(result);
  }
  finish(&segments);
  scanloom_value_free(feeds[0]);
  scanloom_value_free(feeds[1]);
  return code;
}

int main(int argc, char** argv) {
  Samples samples = {NULL, 0};
  scanloom_session* session = NULL;
  scanloom_stream* stream = NULL;
  scanloom_error* error = NULL;
  scanloom_code code;
  if (argc != 3) {
    fprintf(stderr, "usage: voice_detection_c MODEL.onnx RECORDING.wav\n");
    return 2;
  }
  if (!read_wav(argv[2], &samples)) return 2;
  code = open_stream(argv[1], &session, &stream, &error);
  if (code == SCANLOOM_OK) code = detect(stream, &samples, &error);
  if (code != SCANLOOM_OK)
    fprintf(stderr, "error: %s\n",
            error != NULL ? scanloom_error_message(error) : scanloom_code_name(code));
  scanloom_error_free(error);
  scanloom_stream_free(stream);
  scanloom_session_free(session);
  free(samples.values);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fprintf(stderr, "error: cannot write the segments\n");
    return 2;
  }
  return code == SCANLOOM_OK ? 0 : 2;
}
