import Foundation
import Glibc

/// The sanitizer that these tests and the programs were built with, if they were: `make test-thread`, `make test-address`.
enum Sanitizer {
  /// Whether there is one.
  static let isAtWork: Bool = {
    let beginnings = ["__asan_init", "__tsan_init", "__ubsan_handle_add_overflow"]
    return beginnings.contains { dlsym(nil, $0) != nil }
  }()

  /// How many times as much memory a program may have: it keeps notes of all memory, and freed memory for a while.
  static let memoryFactor = isAtWork ? 16 : 1

  /// What tells it how to work and where to write what it finds.
  static let environment: [String: String] = ProcessInfo.processInfo.environment.filter {
    ["TSAN_OPTIONS", "ASAN_OPTIONS", "LSAN_OPTIONS"].contains($0.key)
  }
}
