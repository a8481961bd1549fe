// Loaded into vault-scan by tests: a camera of Video4Linux behind the path CAMERA_DEVICE. It is a file in memory; only what
// its requests answer is made up. Each request and each read also goes to the kernel first, whose answer is thrown
// away: so a filter that forbids it ends the process as it would with a real camera.
//
// CAMERA_FORMAT, CAMERA_WIDTH, CAMERA_HEIGHT, CAMERA_STRIDE: the one kind of frame it has, or "any".
// CAMERA_FRAMES: a file of frames, each with its length (4 bytes, little-endian) before it. The last one stays.
// CAMERA_FAULT: what is wrong with it; see below.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { buffer_count = 4, buffer_size = 4 << 20 };

static int camera = -1;
static uint8_t *memory;
static uint8_t *frames;
static size_t frames_size, position;
static unsigned queue[64], queued, taken;
static int pause_due, width, height, stride;
static uint32_t format;

static int has(const char *fault) {
  const char *actual = getenv("CAMERA_FAULT");
  return actual && !strcmp(actual, fault);
}

static int fail(int number) {
  errno = number;
  return -1;
}

static int number(const char *name) { return getenv(name) ? atoi(getenv(name)) : 0; }

static int open_camera(void) {
  if (has("not permitted")) return fail(EACCES);
  if (has("busy at opening")) return fail(EBUSY);
  if (has("absent")) return fail(ENXIO);
  const char *letters = getenv("CAMERA_FORMAT");
  memcpy(&format, letters, 4);
  width = number("CAMERA_WIDTH");
  height = number("CAMERA_HEIGHT");
  stride = number("CAMERA_STRIDE");
  FILE *file = fopen(getenv("CAMERA_FRAMES"), "rb");
  if (!file) return fail(EIO);
  frames = malloc(32 << 20);
  frames_size = fread(frames, 1, 32 << 20, file);
  fclose(file);
  camera = memfd_create("camera", MFD_CLOEXEC);
  if (camera < 0 || ftruncate(camera, (off_t)buffer_count * buffer_size) < 0) return -1;
  memory = mmap(NULL, (size_t)buffer_count * buffer_size, PROT_READ | PROT_WRITE, MAP_SHARED, camera, 0);
  return camera;
}

static int open_any(const char *path, int flags, int mode) {
  const char *device = getenv("CAMERA_DEVICE");
  if (device && !strcmp(path, device)) return open_camera();
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, int) : 0;
  va_end(list);
  return open_any(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, int) : 0;
  va_end(list);
  return open_any(path, flags, mode);
}

// The next frame, or 0 bytes when a real camera would still be exposing it.
static int32_t next_frame(uint8_t *to, size_t room) {
  pause_due = !pause_due;
  if (!pause_due) return 0;
  uint32_t length;
  memcpy(&length, frames + position, 4);
  memcpy(to, frames + position + 4, length < room ? length : room);
  if (position + 4 + length < frames_size) {
    position += 4 + length;
  } else if (has("unplugged")) {
    return -1;
  }
  return (int32_t)length;
}

static int dequeue(struct v4l2_buffer *buffer) {
  if (taken == queued) return fail(EAGAIN);
  unsigned index = queue[taken % 64];
  int32_t length = next_frame(memory + (size_t)index * buffer_size, buffer_size);
  if (length < 0) return fail(ENODEV);
  if (length == 0) return fail(EAGAIN);
  if (has("hiccups")) return fail(EIO);
  taken++;
  buffer->index = has("wrong number") ? 1000 : index;
  buffer->bytesused = has("wrong length") ? 0xffffffff : (uint32_t)length;
  buffer->flags = has("marked frames") ? V4L2_BUF_FLAG_ERROR : 0;
  return 0;
}

static int set_format(struct v4l2_format *wish) {
  if (has("busy at choosing")) return fail(EBUSY);
  if (wish->fmt.pix.pixelformat != format) {
    if (!has("stubborn")) return fail(EINVAL);
    wish->fmt.pix.pixelformat = format;
  }
  wish->fmt.pix.width = (uint32_t)width;
  wish->fmt.pix.height = (uint32_t)height;
  wish->fmt.pix.bytesperline = (uint32_t)stride;
  wish->fmt.pix.sizeimage = has("huge frames") ? 0xffffffff : buffer_size;
  return 0;
}

static int answer(unsigned request, void *argument) {
  switch (request) {
    case VIDIOC_QUERYCAP: {
      struct v4l2_capability *capability = argument;
      capability->capabilities = V4L2_CAP_DEVICE_CAPS | V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
      capability->device_caps = has("only sound") ? V4L2_CAP_AUDIO
                                : has("only reading")
                                    ? V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_READWRITE
                                    : V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
      return 0;
    }
    case VIDIOC_S_FMT: return set_format(argument);
    case VIDIOC_REQBUFS: {
      struct v4l2_requestbuffers *wish = argument;
      if (has("busy at sharing")) return fail(EBUSY);
      wish->count = has("no memory") ? 0 : buffer_count;
      return 0;
    }
    case VIDIOC_QUERYBUF: {
      struct v4l2_buffer *buffer = argument;
      buffer->length = has("empty memory") ? 0 : buffer_size;
      buffer->m.offset = buffer->index * buffer_size;
      return 0;
    }
    case VIDIOC_QBUF: {
      struct v4l2_buffer *buffer = argument;
      if (buffer->index >= buffer_count) return fail(EINVAL);
      queue[queued++ % 64] = buffer->index;
      return 0;
    }
    case VIDIOC_DQBUF: return dequeue(argument);
    case VIDIOC_STREAMON:
    case VIDIOC_STREAMOFF: return 0;
    default: return fail(ENOTTY);
  }
}

int ioctl(int descriptor, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  long real = syscall(SYS_ioctl, descriptor, request, argument);
  if (descriptor != camera || camera < 0) return (int)real;
  return answer((unsigned)request, argument);
}

ssize_t read(int descriptor, void *to, size_t count) {
  ssize_t real = syscall(SYS_read, descriptor, to, descriptor == camera ? 0 : count);
  if (descriptor != camera || camera < 0) return real;
  int32_t length = next_frame(to, count);
  if (length < 0) return fail(ENODEV);
  return length == 0 ? fail(EAGAIN) : length < (ssize_t)count ? length : (ssize_t)count;
}
