#include <stdint.h>

// Called for what changes files below the folders that count.
void count_sync(void);
void count_written(int64_t bytes);
