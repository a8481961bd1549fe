import PeerAuth

/// Sessions that this device opens.
package final class Links: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let trust: TrustList
  /// After a question whether a share would be taken.
  let conversations: KeptConversations

  init(_ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ trust: TrustList) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.trust = trust
    conversations = KeptConversations(core.environment)
  }

  /// Opens a session and says how it went.
  package func pingPeer(_ reference: String) async throws -> PingReport {
    let peer = try directory.find(reference)
    do {
      let answer = try await ask(PingAsker(), of: try directory.recipient(peer))
      return PingReport(
        peer: try directory.summary(try directory.find(reference)), handshakeMilliseconds: answer.handshakeMilliseconds,
        roundTripMilliseconds: answer.roundTripMilliseconds, address: answer.address)
    } catch let failure as LinkFailure { throw VaultError(failure, peer: peer.name) }
  }

  /// Asks something of a peer, in a session of its own or one that was kept.
  func ask<Question: Asker>(
    _ asker: Question, of recipient: Recipient
  ) async throws(LinkFailure) -> Question.Answer {
    let id = core.requestNumber()
    do { return try await converse(id, asker, recipient) } catch {
      // The peer allows less over Bluetooth than this device; the network was slower, but may do.
      guard error.refusal == .bluetoothLimit, !recipient.addresses.isEmpty else { throw error }
      var recipient = recipient
      recipient.nearby = nil
      do { return try await converse(id, asker, recipient) } catch let second {
        throw second.kind == .unreachable ? second.and(error) : second
      }
    }
  }

  private func converse<Question: Asker>(
    _ id: UInt64, _ asker: Question, _ recipient: Recipient
  ) async throws(LinkFailure) -> Question.Answer {
    if let conversation = await conversations.take(recipient, for: asker.byteCount) {
      let before = conversation.heardCount
      do { return try await carryOut(id, asker, in: conversation) } catch {
        // It may have ended unnoticed. Then nothing was answered in it, and the request has another try.
        guard conversation.heardCount == before, error.isOfLine, !Task.isCancelled else {
          return try await carryOnByNetwork(id, asker, recipient, error, after: conversation)
        }
      }
    }
    let conversation: Conversation
    do { conversation = try await opening(recipient).conversation(for: asker.byteCount) } catch {
      if error.saysReplaced { trust.heardReplaced(by: recipient) }
      throw error
    }
    trust.met(recipient, conversation.session.peerCard)
    do { return try await carryOut(id, asker, in: conversation) } catch {
      return try await carryOnByNetwork(id, asker, recipient, error, after: conversation)
    }
  }

  private func opening(_ recipient: Recipient) throws(LinkFailure) -> Opening {
    let card: PeerCard
    do { card = try core.ownCard() } catch { throw LinkFailure(local: error) }
    return Opening(
      recipient: recipient, identity: identity, ownCard: card, environment: environment,
      services: introductions.services)
  }

  /// What broke over Bluetooth goes on by network from where it stopped, if the peer can be reached there.
  private func carryOnByNetwork<Question: Asker>(
    _ id: UInt64, _ asker: Question, _ recipient: Recipient, _ failure: LinkFailure, after broken: Conversation
  ) async throws(LinkFailure) -> Question.Answer {
    guard broken.isNearby, failure.kind == .cutOff, !recipient.addresses.isEmpty, asker.isRepeatable else {
      throw failure
    }
    let opening = try opening(recipient)
    for _ in 0..<Self.networkTries {
      let conversation: Conversation
      do { conversation = try await NetworkLink().open(opening) } catch { throw failure }
      do { return try await carryOut(id, asker, in: conversation) } catch {
        // The peer may not have noticed yet that the other connection is no more.
        guard error.refusal == .busy else { throw error }
      }
      do { try await environment.sleep(Self.networkPause) } catch { throw failure }
    }
    throw failure
  }

  private static let networkTries = 6
  private static let networkPause = Duration.milliseconds(500)

  private func carryOut<Question: Asker>(
    _ id: UInt64, _ asker: Question, in conversation: Conversation
  ) async throws(LinkFailure) -> Question.Answer {
    do {
      let answer = try await asker.ask(id, conversation)
      switch asker.behind {
      case .closed: await conversation.close()
      case .kept: await conversations.keep(conversation)
      case .inUse: break
      }
      return answer
    } catch {
      await conversation.close()
      throw error
    }
  }
}
