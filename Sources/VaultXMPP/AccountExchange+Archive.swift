import SecretVault
import VaultProtocol
import VaultStore
import XMPPLink

// What the server keeps of what was said while this device was away.
extension AccountExchange {
  private static let pageLimit = 200
  /// How long after the login there is another look for what came in that moment, and then another one; and most questions in one look.
  private static let looks = (pauses: [Duration.seconds(5), .seconds(55)], questions: 16)

  /// Reads what came while this device was away: at once, and again for what the server has put aside or archived in the very moment of the login, which
  /// else would come with the next one, days later.
  func readWhatCame() async {
    await readArchive()
    var seen: Set<String> = []
    for pause in Self.looks.pauses {
      do { try await sleep(pause) } catch { return }
      await fetchPutAside(&seen)
      await readArchive()
    }
  }

  private func fetchPutAside(_ seen: inout Set<String>) async {
    let connection = connection
    do throws(XMPPError) {
      for _ in 0..<Self.looks.questions {
        let known = seen
        let names = try await patiently { () throws(XMPPError) in try await connection.askForPutAside(except: known) }
        seen.formUnion(names)
        if !names.isEmpty { log.debug("\(account.logName): the server had put aside \(names.count) messages") }
        guard names.count == XMPPConnection.putAsideLimit else { return }
      }
    } catch {
      log.debug("\(account.logName): what the server has put aside can't be read: \(error)")
    }
  }

  /// Reads the archive from where it was left.
  private func readArchive() async {
    defer { happened { $0.isArchiveRead = true } }
    let connection = connection
    do throws(XMPPError) {
      let isThere = try await patiently { () throws(XMPPError) in try await connection.hasArchive() }
      guard isThere else { return }
      var place = state.withLock { $0.archivedTo }.map { XMPPArchivePlace.after($0) } ?? .end
      for _ in 0..<Self.pageLimit {
        let from = place
        let page: XMPPArchivePage
        do throws(XMPPError) {
          page = try await patiently { () throws(XMPPError) in
            try await connection.archive(from: from, limit: from == .end ? XMPPArchivePage.limit : 50)
          }
        } catch .refused(let condition) {
          guard let other = Self.place(from, refused: condition) else { throw .refused(condition) }
          place = other
          continue
        }
        for message in page.messages where await !take(message, isArchived: true) {
          // Asked for again with the next connection.
          return
        }
        guard let last = page.last else { return }
        guard note({ () throws(VaultError) in try vault.noteArchive(of: account.id, to: last) }) else { return }
        state.withLock { $0.archivedTo = last }
        if page.isComplete, from != .end { return }
        place = .after(last)
      }
    } catch {
      log.debug("\(account.logName): the archive can't be read: \(error)")
    }
  }

  /// Where to read instead of a place that the server refuses; nil if that is to be asked for again another time. Archives don't go back for ever: of
  /// one that has dropped the last entry known here all that is left may be new. What isn't, is known when it comes.
  static func place(_ from: XMPPArchivePlace, refused condition: XMPPCondition) -> XMPPArchivePlace? {
    guard case .after = from, condition.description == "item-not-found" else { return nil }
    return .beginning
  }
}
