import SecretVault
import VaultStore
import XMPPRequests

// What the server keeps of what was said while this device was away.
extension AccountExchange {
  private static let pageLimit = 200
  /// How long after the login there is another look for what came in that moment, and then another one.
  private static let pauses = [Duration.seconds(5), .seconds(55)]

  /// Reads what came while this device was away: at once, and again for what the server has put aside or archived in
  /// the very moment of the login, which else would come with the next one, days later.
  func readWhatCame() async {
    let hasArchive = await hasArchive()
    var place = account.archivedTo.map { XMPPArchivePlace.after($0) } ?? .end
    if hasArchive { await readArchive(&place) }
    happened { $0.isArchiveRead = true }
    var seen: Set<String> = []
    for pause in Self.pauses {
      do { try await sleep(pause) } catch { return }
      await fetchPutAside(&seen)
      if hasArchive { await readArchive(&place) }
    }
  }

  private func hasArchive() async -> Bool {
    let connection = connection
    do throws(XMPPError) {
      return try await patiently { () throws(XMPPError) in try await connection.hasArchive() }
    } catch {
      log.debug("\(account.logName): the archive can't be asked for: \(error)")
      return false
    }
  }

  private func fetchPutAside(_ seen: inout Set<String>) async {
    let (connection, known) = (connection, seen)
    do throws(XMPPError) {
      let names = try await patiently { () throws(XMPPError) in try await connection.askForPutAside(except: known) }
      seen.formUnion(names)
      if !names.isEmpty { log.debug("\(account.logName): the server had put aside \(names.count) messages") }
    } catch {
      log.debug("\(account.logName): what the server has put aside can't be read: \(error)")
    }
  }

  /// Reads the archive from where it was left, and moves on to where it is left this time.
  private func readArchive(_ place: inout XMPPArchivePlace) async {
    let connection = connection
    do throws(XMPPError) {
      for _ in 0..<Self.pageLimit {
        let from = place
        let page: XMPPArchivePage
        do {
          page = try await patiently { () throws(XMPPError) in
            try await connection.archive(from: from, limit: from == .end ? XMPPArchivePage.limit : 50)
          }
        } catch .refused(let condition) {
          guard let other = Self.place(from, refused: condition) else { throw .refused(condition) }
          place = other
          continue
        }
        for message in page.messages where await !take(message, isArchived: true) {
          // Asked for again with the next look, or connection.
          return
        }
        guard let last = page.last else { return }
        guard note({ try rooms.accounts.noteArchive(of: account.id, to: last) }) else { return }
        place = .after(last)
        if page.isComplete, from != .end { return }
      }
    } catch {
      log.debug("\(account.logName): the archive can't be read: \(error)")
    }
  }

  /// Where to read instead of a place that the server refuses; nil if that is to be asked for again another time. Of an
  /// archive that has dropped the last entry known here all that is left may be new. What isn't, is known when it
  /// comes.
  static func place(_ from: XMPPArchivePlace, refused condition: XMPPCondition) -> XMPPArchivePlace? {
    guard case .after = from, condition.description == "item-not-found" else { return nil }
    return .beginning
  }
}
