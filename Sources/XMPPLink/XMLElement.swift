import XMPPRequests

/// One element of what a server sent, as a value: read with limits, nothing of it trusted.
struct XMLElement: Equatable, Sendable {
  var name: String
  var namespace: String
  var attributes: [String: String] = [:]
  var children: [XMLElement] = []
  /// The text right in it, all pieces joined.
  var text = ""

  /// What of a stanza is read. A parcel's text is the longest; a roster has the most elements.
  struct Limits: Sendable {
    var depth = 16
    var elements = 20_000
    var attributes = 32
    /// Bytes of all texts and attributes.
    var bytes = 4 << 20
    static let usual = Limits()
  }

  enum Fault: Error, Equatable {
    case tooDeep, tooManyElements, tooManyAttributes, tooLong, noName
  }

  func child(_ name: String, _ namespace: String) -> XMLElement? {
    children.first { $0.name == name && $0.namespace == namespace }
  }

  func child(in namespace: String) -> XMLElement? { children.first { $0.namespace == namespace } }

  /// An attribute, with the empty one counting as absent.
  subscript(_ attribute: String) -> String? {
    attributes[attribute].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The word for what is wrong, in an answer of the type `error`.
  var errorCondition: XMPPCondition {
    let error = children.first { $0.name == "error" }
    let word = error?.children.first { $0.namespace == Namespace.stanzaErrors && $0.name != "text" }
    return XMPPCondition(word?.name ?? "")
  }
}
