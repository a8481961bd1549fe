#include <stdio.h>
#include <jpeglib.h>

#include "GrayDecoder.h"
