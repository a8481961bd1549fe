import Sodium

@testable import CallbackURL

/// Reads a request from text and shows what matters of it.
func request(_ url: String) throws(CallbackError) -> CallbackRequest {
  let bytes = Array(url.utf8)
  return try CallbackRequest(bytes.span.bytes)
}

/// What is wrong with a request; nil if nothing is.
func fault(_ url: String) -> CallbackError? {
  do throws(CallbackError) {
    _ = try request(url)
    return nil
  } catch {
    return error
  }
}

/// Secret bytes of a test as text.
func text(_ bytes: borrowing SecretBytes) -> String { bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }

/// A target from text.
func target(_ url: String) throws(CallbackError) -> CallbackTarget {
  let bytes = Array(url.utf8)
  return try CallbackTarget(bytes.span.bytes, name: "x-success")
}

let encrypt = "coresecret://x-callback-url/encrypt?"
let decrypt = "coresecret://x-callback-url/decrypt?"
