#include "Camera.h"

#include <sys/ioctl.h>

int vault_camera_control(int camera, unsigned int request, void *argument) {
  return ioctl(camera, (unsigned long)request, argument);
}
