// Decodes a JPEG file to gray. libjpeg leaves by longjmp when a file is damaged, which Swift can't do.
//
// The code stands in a header so that only who imports CJPEG is linked with libjpeg: the objects of a C target would
// also go into every program that names `vault-scan` as something to build along.
#ifndef VAULT_GRAY_DECODER_H
#define VAULT_GRAY_DECODER_H

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

// Bytes of room for an error text, the closing zero included.
enum { vault_jpeg_message_size = JMSG_LENGTH_MAX };

// Most scans of a progressive file. Real files have about ten; each scan costs a pass over the whole picture.
enum { vault_jpeg_scan_limit = 100 };

// Most bytes that libjpeg may take for itself; it uses no temporary files.
enum { vault_jpeg_memory_limit = 768 << 20 };

// One decoder and the way out of it: libjpeg's error handler must not return, so it jumps.
struct vault_jpeg_decoder {
  struct jpeg_decompress_struct state;
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  jmp_buf failed;
  char *message;
};

static inline void vault_jpeg_fail(j_common_ptr state) {
  struct vault_jpeg_decoder *decoder = state->client_data;
  state->err->format_message(state, decoder->message);
  longjmp(decoder->failed, 1);
}

// Other warnings are harmless dirt in files of real cameras; missing data is an error.
static inline void vault_jpeg_note(j_common_ptr state, int level) {
  if (level >= 0) return;
  if (state->err->msg_code == JWRN_JPEG_EOF || state->err->msg_code == JWRN_HIT_MARKER) vault_jpeg_fail(state);
}

static inline void vault_jpeg_watch(j_common_ptr state) {
  struct vault_jpeg_decoder *decoder = state->client_data;
  if (!state->is_decompressor || decoder->state.input_scan_number <= vault_jpeg_scan_limit) return;
  snprintf(decoder->message, vault_jpeg_message_size, "More than %d scans", vault_jpeg_scan_limit);
  longjmp(decoder->failed, 1);
}

static inline void vault_jpeg_begin(struct vault_jpeg_decoder *decoder, const uint8_t *file, size_t file_size,
                                    char *message) {
  decoder->message = message;
  message[0] = 0;
  decoder->state.err = jpeg_std_error(&decoder->errors);
  decoder->errors.error_exit = vault_jpeg_fail;
  decoder->errors.emit_message = vault_jpeg_note;
  decoder->state.client_data = decoder;
  jpeg_create_decompress(&decoder->state);
  decoder->state.mem->max_memory_to_use = vault_jpeg_memory_limit;
  decoder->progress.progress_monitor = vault_jpeg_watch;
  decoder->state.progress = &decoder->progress;
  jpeg_mem_src(&decoder->state, file, file_size);
  jpeg_read_header(&decoder->state, TRUE);
}

// Reads the header of a JPEG file. Returns 1 and sets width and height, or returns 0 and sets message, which must have
// room for vault_jpeg_message_size bytes.
static inline int vault_jpeg_read_size(const uint8_t *file, size_t file_size, uint32_t *width, uint32_t *height,
                                       char *message) {
  struct vault_jpeg_decoder decoder;
  memset(&decoder, 0, sizeof decoder);
  if (setjmp(decoder.failed)) {
    jpeg_destroy_decompress(&decoder.state);
    return 0;
  }
  vault_jpeg_begin(&decoder, file, file_size, message);
  *width = decoder.state.image_width;
  *height = decoder.state.image_height;
  jpeg_destroy_decompress(&decoder.state);
  return 1;
}

// Decodes a JPEG file into width * height gray bytes, which is all the room that pixels must have.
// width and height must be what vault_jpeg_read_size gave. Returns 1, or returns 0 and sets message as above.
static inline int vault_jpeg_read_gray(const uint8_t *file, size_t file_size, uint32_t width, uint32_t height,
                                       uint8_t *pixels, char *message) {
  struct vault_jpeg_decoder decoder;
  memset(&decoder, 0, sizeof decoder);
  if (setjmp(decoder.failed)) {
    jpeg_destroy_decompress(&decoder.state);
    return 0;
  }
  vault_jpeg_begin(&decoder, file, file_size, message);
  decoder.state.out_color_space = JCS_GRAYSCALE;
  jpeg_start_decompress(&decoder.state);
  if (decoder.state.output_width != width || decoder.state.output_height != height ||
      decoder.state.output_components != 1) {
    snprintf(message, vault_jpeg_message_size, "The size changed between two readings");
    longjmp(decoder.failed, 1);
  }
  while (decoder.state.output_scanline < height) {
    JSAMPROW row = pixels + (size_t)decoder.state.output_scanline * width;
    jpeg_read_scanlines(&decoder.state, &row, 1);
  }
  jpeg_finish_decompress(&decoder.state);
  jpeg_destroy_decompress(&decoder.state);
  return 1;
}

#endif
