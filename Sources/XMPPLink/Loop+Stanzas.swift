import CStropheShims
import XMPPRequests

// What the thread does with what comes.
extension Loop {
  func take(_ steps: [Negotiation.Step]) throws(XMPPError) {
    guard let link else { return }
    for step in steps {
      switch step {
      case .send(let bytes): send(bytes)
      case .sendSecret(let stanza): send(stanza)
      case .open:
        guard vault_strophe_open(link) == 0 else { throw .noResources }
      case .secure:
        let failure = vault_strophe_secure(link)
        if let reason = refusal(link) { throw .untrusted(reason) }
        guard failure == 0, vault_strophe_is_secure(link) != 0 else {
          throw .unreachable("the encryption could not begin")
        }
        try take(negotiation.secured())
      case .ask(let question):
        guard let prover else { throw .noSafeLogin }
        Task {
          let answer: Result<[UInt8], XMPPError>
          do throws(XMPPError) { answer = .success(try await prover.answer(question)) } catch {
            answer = .failure(error)
          }
          self.order(.answered(answer))
        }
      case .finish(let address):
        self.address = address
        began(.success(address))
      }
    }
  }

  func received(_ element: XMLElement) {
    guard negotiation.isFinished else {
      do throws(XMPPError) { try take(negotiation.received(element)) } catch { end = .failure(error) }
      return
    }
    if let error = StreamError.condition(element) {
      end = .failure(.streamEnded(error))
      return
    }
    guard element.namespace == Namespace.client else { return }
    switch element.name {
    case "message":
      if collect(element) { return }
      for event in IncomingStanza.events(message: element, account: address) { events.put(event) }
    case "presence":
      for event in IncomingStanza.events(presence: element, account: address) { events.put(event) }
    case "iq": received(query: element)
    default: events.put(.ignored("a stanza of no known kind"))
    }
  }

  func unreadable(_ fault: XMLElement.Fault) {
    guard negotiation.isFinished else {
      end = .failure(.malformed("a stanza before the login"))
      return
    }
    events.put(.ignored("a stanza beyond the limits: \(fault)"))
  }

  private func received(query: XMLElement) {
    switch query["type"] {
    case "result", "error":
      guard let id = query["id"], let request = pending[id], isAnswer(query, to: request) else { return }
      pending[id] = nil
      if query["type"] == "error" {
        request.finish(.failure(.refused(query.errorCondition)))
      } else {
        request.answer.element = query
        request.finish(.success(request.answer))
      }
    case "get", "set": answer(query)
    default: events.put(.ignored("a request of no known type"))
    }
  }

  /// Whether an answer comes from whom was asked. The own server answers for the account, under several names.
  private func isAnswer(_ query: XMLElement, to request: Request) -> Bool {
    guard let from = try? IncomingStanza.sender(query, account: address) else { return false }
    if let to = request.query?.to { return from == to || (query["from"] == nil && to == address.bare) }
    return from == address.bare || from == address || from == address.server
  }

  /// Messages of an archive, which come before the answer to the question for them.
  private func collect(_ message: XMLElement) -> Bool {
    guard let result = message.child("result", Namespace.archive) else { return false }
    guard let from = try? IncomingStanza.sender(message, account: address), from == address.bare,
      let id = result["queryid"], let request = pending[id], request.collectLimit > 0
    else {
      events.put(.ignored("an archive that nobody asked for"))
      return true
    }
    if request.answer.collected.count < request.collectLimit {
      request.answer.collected.append(result)
    } else {
      pending[id] = nil
      request.finish(.failure(.tooMuch("more of the archive than was asked for")))
    }
    return true
  }

  /// Others' requests. Those that can't wait for their turn are passed over: who asks so often isn't answered.
  private func answer(_ query: XMLElement) {
    guard let id = query["id"], id.utf8.count <= IncomingStanza.idLimit,
      let from = try? IncomingStanza.sender(query, account: address),
      (try? XMLWriter.check(id, limit: IncomingStanza.idLimit)) != nil, outgoing.count < 64
    else { return }
    var writer = XMLWriter()
    let to = query["from"] == nil ? nil : from.description
    let child = query.children.first
    func result() { writer.begin("iq", nil, [("type", "result"), ("id", id), ("to", to)]) }
    switch (query["type"], child?.name, child?.namespace) {
    case ("set", "query", Namespace.roster) where from == address.bare:
      for contact in child.map(IncomingStanza.contacts) ?? [] { events.put(.contact(contact)) }
      result()
    case ("get", "ping", Namespace.ping): result()
    case ("get", "query", Namespace.discoInfo):
      result()
      writer.begin("query", Namespace.discoInfo)
      writer.element("identity", nil, [("category", "client"), ("type", "pc"), ("name", "vault")])
      for feature in [Namespace.discoInfo, Namespace.ping, Namespace.receipts, Namespace.parcel] {
        writer.element("feature", nil, [("var", feature)])
      }
    default:
      writer.begin("iq", nil, [("type", "error"), ("id", id), ("to", to)])
      writer.begin("error", nil, [("type", "cancel")])
      writer.element("service-unavailable", Namespace.stanzaErrors)
    }
    writer.endAll()
    outgoing.append(Request(.stanza(writer.bytes)))
  }
}
