#ifndef CVERSION_H
#define CVERSION_H

/// The commit that this was built from, as `make release` says it, or "unknown". A function rather than a setting of the Swift targets: another
/// commit then compiles this file alone.
const char *cversion_commit(void);

#endif
