#ifndef VAULT_CAMERA_H
#define VAULT_CAMERA_H

#include <linux/videodev2.h>

// The requests to a camera that are used, as numbers.
enum {
  vault_camera_capabilities = VIDIOC_QUERYCAP,
  vault_camera_set_format = VIDIOC_S_FMT,
  vault_camera_request_buffers = VIDIOC_REQBUFS,
  vault_camera_query_buffer = VIDIOC_QUERYBUF,
  vault_camera_enqueue = VIDIOC_QBUF,
  vault_camera_dequeue = VIDIOC_DQBUF,
  vault_camera_start = VIDIOC_STREAMON,
  vault_camera_stop = VIDIOC_STREAMOFF,
};

// ioctl with one of these requests. Returns 0, or -1 and sets errno.
int vault_camera_control(int camera, unsigned int request, void *argument);

#endif
