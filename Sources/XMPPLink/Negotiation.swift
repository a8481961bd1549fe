import Sodium
import XMPPRequests

/// The beginning of a connection: encryption, then login or registration. Stanzas in, steps out; no socket.
///
/// Nothing but the wish for encryption is said before there is encryption, and what came before it counts for nothing.
struct Negotiation {
  enum Step {
    case send([UInt8])
    case sendSecret(SecretStanza)
    /// Begin encryption now.
    case secure
    /// Open a stream.
    case open
    /// Ask who knows the password; ``answered(_:)`` follows.
    case ask(ScramQuestion)
    /// All is done; with the address that the server gave.
    case finish(JID)
  }

  private enum Stage: Equatable {
    case connecting, features, proceeding, secureFeatures, form, registering, challenged, answered, verified
    /// Who knows the password is asked for the first words, the answer, or whether the server knows it, too.
    case opening(ScramHash), answering, checking(isOver: Bool)
    case lastFeatures, binding, session, finished
  }

  private static let requestID = "begin"

  private let account: JID
  private let goal: XMPPGoal
  private var stage = Stage.connecting
  /// What follows when the server has opened its stream as well.
  private var next: Stage?
  private var address: JID
  private var needsSession = false

  /// Begins for `account`, a bare address with a local part.
  init(_ account: JID, goal: XMPPGoal) {
    self.account = account
    self.goal = goal
    address = account
  }

  var isFinished: Bool { stage == .finished }

  /// The connection is there, or the server has opened its stream.
  mutating func opened(isRaw: Bool) throws(XMPPError) -> [Step] {
    if isRaw {
      guard stage == .connecting, next == nil else { throw .malformed("a connection in a connection") }
      next = .features
      return [.open]
    }
    guard let next else { throw .malformed("a stream in a stream") }
    stage = next
    self.next = nil
    return []
  }

  /// Encryption has begun.
  mutating func secured() -> [Step] { restart(as: .secureFeatures) }

  mutating func received(_ element: XMLElement) throws(XMPPError) -> [Step] {
    if let error = StreamError.condition(element) { throw .streamEnded(error) }
    // Also what somebody put behind the word to begin encryption.
    guard next == nil else { throw .malformed("a stanza outside of a stream") }
    let isFeatures = element.name == "features" && element.namespace == Namespace.streams
    switch stage {
    case .features where isFeatures:
      guard element.child("starttls", Namespace.tls) != nil else { throw .unencrypted }
      stage = .proceeding
      return [.send(Self.element("starttls", Namespace.tls))]
    case .proceeding:
      guard element.name == "proceed", element.namespace == Namespace.tls else { throw .unencrypted }
      return [.secure]
    case .secureFeatures where isFeatures:
      switch goal {
      case .login: return try authenticate(element)
      case .registration: return [.send(askForm())]
      }
    case .form, .registering: return try register(element)
    case .challenged, .answered, .verified: return try authenticated(element)
    case .lastFeatures where isFeatures: return try bind(element)
    case .binding, .session: return try bound(element)
    default: throw .malformed("a \(XMPPCondition(element.name)) before the login")
    }
  }

  private mutating func restart(as stage: Stage) -> [Step] {
    next = stage
    return [.open]
  }

  private static func element(_ name: String, _ namespace: String, text: [UInt8] = []) -> [UInt8] {
    var writer = XMLWriter()
    writer.begin(name, namespace)
    if !text.isEmpty { writer.plain(Base64Text.encodePublic(text)) }
    writer.endAll()
    return writer.bytes
  }
}

/// `stream:error`, after which the server closes.
enum StreamError {
  static func condition(_ element: XMLElement) -> XMPPCondition? {
    guard element.name == "error", element.namespace == Namespace.streams else { return nil }
    return XMPPCondition(
      element.children.first { $0.namespace == Namespace.streamErrors && $0.name != "text" }?.name ?? "")
  }
}

// MARK: - Login

extension Negotiation {
  private mutating func authenticate(_ features: XMLElement) throws(XMPPError) -> [Step] {
    let offered = Set(features.child("mechanisms", Namespace.sasl)?.children.map(\.text) ?? [])
    guard let hash = ScramHash.allCases.first(where: { offered.contains($0.rawValue) }) else { throw .noSafeLogin }
    stage = .opening(hash)
    return [.ask(.opening(hash))]
  }

  /// Who knows the password has answered.
  mutating func answered(_ answer: [UInt8]) throws(XMPPError) -> [Step] {
    switch stage {
    case .opening(let hash):
      stage = .challenged
      var writer = XMLWriter()
      writer.begin("auth", Namespace.sasl, [("mechanism", hash.rawValue)])
      writer.plain(Base64Text.encodePublic(answer))
      writer.endAll()
      return [.send(writer.bytes)]
    case .answering:
      stage = .answered
      return [.send(Self.element("response", Namespace.sasl, text: answer))]
    case .checking(isOver: false):
      stage = .verified
      return [.send(Self.element("response", Namespace.sasl))]
    case .checking(isOver: true): return restart(as: .lastFeatures)
    default: throw .malformed("a step of the login out of turn")
    }
  }

  private mutating func authenticated(_ element: XMLElement) throws(XMPPError) -> [Step] {
    guard element.namespace == Namespace.sasl else { throw .malformed("a stanza amid the login") }
    if element.name == "failure" {
      let word = XMPPCondition(element.children.first { $0.name != "text" }?.name ?? "")
      if word.description == "not-authorized" { throw .wrongPassword }
      throw .refused(word)
    }
    let data = Base64Text.decodePublic(element.text, limit: ScramClient.limits.message) ?? []
    switch (stage, element.name) {
    case (.challenged, "challenge"):
      stage = .answering
      return [.ask(.challenge(data))]
    case (.answered, "challenge"):
      // Some servers show what they know here instead of with their success.
      stage = .checking(isOver: false)
      return [.ask(.proof(data))]
    case (.answered, "success"):
      stage = .checking(isOver: true)
      return [.ask(.proof(data))]
    case (.verified, "success"): return restart(as: .lastFeatures)
    default: throw .malformed("a step of the login out of turn")
    }
  }

  private mutating func bind(_ features: XMLElement) throws(XMPPError) -> [Step] {
    guard features.child("bind", Namespace.bind) != nil else { throw .malformed("no way to name this device") }
    if let session = features.child("session", Namespace.session) {
      needsSession = session.child("optional", Namespace.session) == nil
    }
    stage = .binding
    var writer = XMLWriter()
    writer.begin("iq", nil, [("type", "set"), ("id", Self.requestID)])
    writer.begin("bind", Namespace.bind)
    if case .login(let resource?) = goal { writer.element("resource", text: resource) }
    writer.endAll()
    return [.send(writer.bytes)]
  }

  private mutating func bound(_ element: XMLElement) throws(XMPPError) -> [Step] {
    let result = try answer(element)
    if stage == .binding {
      guard let text = result.child("bind", Namespace.bind)?.child("jid", Namespace.bind)?.text else {
        throw .malformed("no address of this device")
      }
      let given = try JID(text)
      guard given.bare == account, given.resource != nil else { throw .malformed("somebody else's address") }
      address = given
      if needsSession {
        stage = .session
        var writer = XMLWriter()
        writer.begin("iq", nil, [("type", "set"), ("id", Self.requestID)])
        writer.begin("session", Namespace.session)
        writer.endAll()
        return [.send(writer.bytes)]
      }
    }
    stage = .finished
    return [.finish(address)]
  }

  private func answer(_ element: XMLElement) throws(XMPPError) -> XMLElement {
    guard element.name == "iq", element["id"] == Self.requestID else { throw .malformed("a stanza before the login") }
    switch element["type"] {
    case "result": return element
    case "error": throw .refused(element.errorCondition)
    default: throw .malformed("an answer of no known type")
    }
  }
}

// MARK: - Registration

extension Negotiation {
  private mutating func askForm() -> [UInt8] {
    stage = .form
    var writer = XMLWriter()
    writer.begin("iq", nil, [("type", "get"), ("id", Self.requestID), ("to", account.domain)])
    writer.begin("query", Namespace.register)
    writer.endAll()
    return writer.bytes
  }

  private mutating func register(_ element: XMLElement) throws(XMPPError) -> [Step] {
    let result: XMLElement
    do throws(XMPPError) { result = try answer(element) } catch .refused(let word) {
      switch word.description {
      case "conflict": throw .accountExists
      case "service-unavailable", "feature-not-implemented", "not-allowed", "forbidden":
        throw .registrationUnavailable(word.description)
      default: throw .refused(word)
      }
    }
    guard stage == .form else {
      stage = .finished
      return [.finish(account)]
    }
    guard let query = result.child("query", Namespace.register), query.child("username", Namespace.register) != nil,
      query.child("password", Namespace.register) != nil, let local = account.local,
      case .registration(let password) = goal
    else { throw .registrationUnavailable("it asks for more than a name and a password") }
    stage = .registering
    return [.sendSecret(try Registration.stanza(id: Self.requestID, domain: account.domain, local: local, password))]
  }
}

/// The stanza that makes an account, or changes the password of the one that is logged in (XEP-0077).
enum Registration {
  static func stanza(
    id: String, domain: String, local: String, _ password: Password
  ) throws(XMPPError) -> SecretStanza {
    var writer = XMLWriter()
    writer.begin("iq", nil, [("type", "set"), ("id", id), ("to", domain)])
    writer.begin("query", Namespace.register)
    writer.element("username", text: local)
    writer.begin("password")
    writer.plain([])
    let head = writer.bytes
    writer.endAll()
    return try password.stanza(head: head, tail: Array(writer.bytes[head.count...]))
  }
}
