import Sodium

@testable import CallbackURL

/// Reads a request from text and shows what matters of it.
func request(_ url: String) throws(CallbackError) -> CallbackRequest {
  let bytes = Array(url.utf8)
  return try CallbackRequest(bytes.span.bytes)
}

/// A request with its secrets laid open, for comparing.
struct Facts {
  let action: CallbackRequest.Action
  let source: String?
  let targets: CallbackTargets
  let content: [UInt8]
  let fileName: [UInt8]?
  let description: String?
  let isStored: Bool
  let addsPassword: Bool
  let scryptLogarithm: Int?

  init(_ request: borrowing CallbackRequest) {
    action = request.action
    source = request.source
    targets = request.targets
    content = request.content.withUnsafeBytes { Array($0) }
    switch request.fileName {
    case .some(let name): fileName = name.withUnsafeBytes { Array($0) }
    case .none: fileName = nil
    }
    description = request.description
    isStored = request.isStored
    addsPassword = request.addsPassword
    scryptLogarithm = request.scryptLogarithm
  }
}

func facts(_ url: String) throws(CallbackError) -> Facts {
  let request = try request(url)
  return Facts(request)
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
