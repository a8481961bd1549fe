import Concurrency
import Gathering
import GatheringRoom
import LocalNames
import PeerAuth
import PeerLink
import SecretVault
import Synchronization
import VaultDaemon

/// What somebody at the terminal and a gathering say to each other.
struct MeetingDesk {
  private enum Input: Sendable {
    /// A line that was typed; nil at the end of what can be typed.
    case typed(String?)
    case heard(RoomEvent)
    /// Why others don't find this meeting.
    case unfound(LocalNamesError)
  }

  /// How often something may be typed that is no code.
  private static let spellingLimit = 5
  /// How long others are looked for before somebody is told that nobody is found.
  private static let patience = Duration.seconds(20)

  private let vault: Vault
  private let console: Console
  private let clock = RoomClock(
    now: { .milliseconds(Int64(Clocks.monotonic())) }, sleep: { try await Task.sleep(for: $0) })
  private let inputs: AsyncStream<Input>
  private let arriving: AsyncStream<Input>.Continuation

  /// Throws where nobody sits at a terminal: what is compared can be compared by people alone.
  init(_ vault: Vault, _ console: Console) throws {
    guard Question.isPossibleBesideInput else {
      throw VaultError(
        .usage, "a meeting needs somebody at a terminal, who compares names and words",
        hint: "without one, import cards with `vault peer add`")
    }
    self.vault = vault
    self.console = console
    (inputs, arriving) = AsyncStream.makeStream()
    let hasBegun = BackgroundThread.start { [arriving] in
      guard let terminal = Terminal() else { return _ = arriving.yield(.typed(nil)) }
      // It is read until the program ends.
      while let line = try? terminal.line("") { arriving.yield(.typed(line)) }
      arriving.yield(.typed(nil))
    }
    if !hasBegun { throw VaultError(.other, "no thread is left to read the terminal with") }
  }

  private func next() async -> Input? {
    for await input in inputs { return input }
    return nil
  }

  /// Lines that must be read, whatever `--quiet` says.
  private func show(_ lines: String...) { for line in lines { Console.complain(Printable.escape(line)) } }

  private func ask(_ question: String) async throws -> String {
    try? Console.write(question, to: 2)
    while let input = await next() {
      guard case .typed(let line) = input else { continue }
      guard let line else { break }
      return line
    }
    throw VaultError(.interrupted, "nothing was answered, and nobody was made a peer")
  }

  // MARK: - Opening and joining

  /// Opens a meeting or joins one, as the user says.
  func begin() async throws -> Imported {
    let code = try await ask("Code of the meeting, or Enter to open one: ")
    return code.allSatisfy(\.isWhitespace) ? try await open() : try await join(at: nil, code)
  }

  /// Opens a meeting: at this place, or at a free port of all addresses.
  func open(at place: (host: String, port: Int) = ("::", 0)) async throws -> Imported {
    let card = try vault.core.recognisableCard()
    let room: OpenedRoom
    do { room = try OpenedRoom(card: card, identity: vault.core.identity, clock: clock) } catch {
      throw GatheringText.error(of: error)
    }
    var limits = TCPListener.Limits(perAddress: 64, total: 64, backlog: 64)
    limits.remembersPlaces = false
    let listener: TCPListener
    do {
      listener = try await ListeningPlace.bound(place.host) { [limits] (host) async throws(TransportError) in
        try await TCPListener.bind(host: host, port: place.port, limits: limits)
      }
    } catch { throw VaultError(.other, "a meeting can't be opened at \(place.host), port \(place.port): \(error)") }
    let stop = StopSignal()
    let address = listener.address
    if let stop, let port = UInt16(exactly: address.port), !ListeningPlace.isLoopback(address.host) {
      Task { [arriving] in
        guard let problem = await RoomPlaces.offer(room.number, port: port, until: stop) else { return }
        arriving.yield(.unfound(problem))
      }
    }
    let running = Task { await room.run([listener.incoming]) }
    let places =
      ListeningPlace.isAny(address.host) ? LocalDialler.ownPlaces(port: address.port) : [address.description]
    for line in GatheringText.opened(room.code, at: places) { show(line) }
    let outcome: Result<[PeerCard], GatheringFailure>
    do {
      outcome = try await converse(
        room.events, close: { if await room.close() { await listener.close() } }, say: { await room.say($0) })
    } catch {
      stop?.raise()
      running.cancel()
      await running.value
      throw error
    }
    stop?.raise()
    // First what counts, then the farewell.
    let imported = outcome.map(importAll)
    await running.value
    await listener.close()
    return try imported.mapError(GatheringText.error).get()
  }

  /// Joins a meeting at an address, or one that is found on this network.
  func join(at address: PeerAddress?, _ typed: String? = nil) async throws -> Imported {
    var typed = typed
    var search = RoomSearch(clock: clock)
    var misspelt = 0
    while search.guesses > 0, misspelt < Self.spellingLimit {
      let text: String
      if let given = typed { text = given } else { text = try await ask("Code of the meeting: ") }
      typed = nil
      let number: UInt16
      do throws(GatheringCodeError) { number = try GatheringCode(reading: text).number } catch {
        show(GatheringText.words(for: error))
        misspelt += 1
        continue
      }
      let attempt: RoomAttempt?
      if let address {
        attempt = try await search.knock(
          dial: { () async throws(TransportError) in try await TCPConnector().connect(address) },
          speak: { try await speak($0, text, avoiding: $1) })
      } else {
        attempt = try await look(for: number, text, &search)
      }
      guard let attempt else {
        throw VaultError(
          .unreachable,
          address.map { "no meeting is open at \($0), or too many are at its door" }
            ?? "no meeting with the number \(number) is found on this network", hint: GatheringText.addressHint)
      }
      switch attempt.result {
      case .success(let cards):
        let imported = importAll(cards)
        await attempt.farewell.value
        return imported
      case .failure(let failure):
        guard !attempt.hasJoined, failure == .notLetIn || failure == .otherOpening else {
          throw GatheringText.error(of: failure)
        }
        show("not let in: the code is another one, or the list has just been closed")
      }
    }
    throw VaultError(
      .refused, "no code was right",
      hint: "ask for a new one, and join with --at and the address on the opener's screen")
  }

  /// Tries the places on this network that say that they have the meeting.
  private func look(for number: UInt16, _ code: String, _ search: inout RoomSearch) async throws -> RoomAttempt? {
    guard let stop = StopSignal() else { throw VaultError(.other, "no descriptor is left") }
    defer { stop.raise() }
    let problem = Mutex<LocalNamesError?>(nil)
    let places = RoomPlaces.find(number, until: stop) { why in problem.withLock { $0 = why } }
    let timing = Task {
      try await Task.sleep(for: Self.patience)
      stop.raise()
    }
    defer { timing.cancel() }
    console.note("looking for the meeting on this network")
    let attempt = try await search.enter(
      places,
      dial: { (place) async throws(TransportError) in
        try await TCPConnector(connectTimeout: .seconds(3)).connect(place.key.address, port: place.port)
      },
      speak: { connection, tried in
        let attempt = try await speak(connection, code, avoiding: tried)
        // Others with the same number are as quick to be found.
        if attempt.hasGuessed {
          Task {
            try await Task.sleep(for: .seconds(2)); stop.raise()
          }
        }
        return attempt
      })
    if attempt == nil, let problem = problem.withLock({ $0 }) {
      throw VaultError(
        .unreachable, "nobody can be looked for on this network: \(problem)", hint: GatheringText.addressHint)
    }
    return attempt
  }

  private func speak(
    _ connection: any PeerTransport, _ code: String, avoiding: Set<[UInt8]>
  ) async throws -> RoomAttempt {
    let card = try vault.core.recognisableCard()
    let room: EnteredRoom
    do {
      room = try EnteredRoom(
        connection, code: GatheringCode(reading: code), card: card, identity: vault.core.identity, clock: clock,
        avoiding: avoiding)
    } catch let error as GatheringFailure { throw GatheringText.error(of: error) }
    let running = Task { await room.run() }
    do {
      let outcome = try await converse(room.events, close: nil, say: { await room.say($0) })
      return await room.attempt(outcome, farewell: running)
    } catch {
      running.cancel()
      await running.value
      throw error
    }
  }

  // MARK: - In the room

  /// Passes on what is heard and typed until the gathering is over. `close` is the opener's.
  private func converse(
    _ events: AsyncStream<RoomEvent>, close: (() async -> Void)?, say: (Bool) async -> Void
  ) async throws -> Result<[PeerCard], GatheringFailure> {
    let hearing = Task { [arriving] in for await event in events { arriving.yield(.heard(event)) } }
    defer { hearing.cancel() }
    var guests = 0
    var hasAgreed = false
    var list: GatheringList?
    var waiting: [Int] = []
    while let input = await next() {
      switch input {
      case .typed(nil):
        throw VaultError(
          .interrupted, "this device has left, and nobody was made a peer here",
          hint: hasAgreed
            ? "others may have made it their peer, as it had said yes: look there with `vault peer list`" : nil)
      case .typed(let line?):
        if let shown = list {
          switch line.lowercased() {
          case "yes":
            list = nil
            hasAgreed = true
            console.note(GatheringText.waiting(for: waiting, in: shown))
            await say(true)
          case "no":
            list = nil
            await say(false)
          default: show("yes or no, please")
          }
        } else if let close, waiting.isEmpty, line.allSatisfy(\.isWhitespace) {
          if guests == 0 { show("nobody has come yet") } else { await close() }
        }
      case .heard(.guests(let count)):
        guests = count
        show("\(count) \(count == 1 ? "other is" : "others are") here; Enter when that is everybody")
      case .heard(.joined):
        show("the code is right: wait until everybody is here")
      case .heard(.compare(let compared)):
        if let objection = objection(to: compared) {
          show(objection)
          await say(false)
          continue
        }
        list = compared
        waiting = compared.cards.indices.filter { $0 != compared.own }
        for line in GatheringText.lines(compared, remarks(on: compared)) { show(line) }
      case .heard(.agreed(let participant)):
        waiting.removeAll { $0 == participant.position }
        console.note("\(GatheringText.name(participant)) has said yes")
      case .heard(.finished(let cards)): return .success(cards)
      case .heard(.failed(let failure)): return .failure(failure)
      case .unfound(let problem): console.note("others don't find this meeting by themselves: \(problem)")
      }
    }
    throw VaultError(.interrupted, "nobody was made a peer")
  }

  /// Why a card in a list can't be imported here; nil if all can.
  private func objection(to list: GatheringList) -> String? {
    for (position, card) in list.cards.enumerated() where position != list.own {
      do { try vault.trust.check(card) } catch {
        return "this device says no to \(Printable.quoted(card.label)): \(VaultError(error).reason)"
      }
    }
    return nil
  }

  /// What this device knows of who is in a list.
  private func remarks(on list: GatheringList) -> [Int: String] {
    let peers = (try? vault.trust.peers()) ?? []
    return list.cards.enumerated().reduce(into: [:]) { remarks, entry in
      let digest = entry.element.keys.digest.description
      if let peer = peers.first(where: { $0.cardDigest == digest }) {
        remarks[entry.offset] = "your peer \(Printable.quoted(peer.name))"
      } else if entry.offset != list.own, let namesake = try? vault.trust.namesakes(of: entry.element).first {
        remarks[entry.offset] = "not your peer \(Printable.quoted(namesake.name)): another device, or somebody else"
      }
    }
  }

  /// Whether the user says that peers may find this device, which takes no address then.
  func wantsToBeFound() async -> Bool {
    let answer = try? await ask(
      "Let peers find this device on networks where you both are, from now on (setting lan)? yes or no: ")
    return answer?.lowercased() == "yes"
  }

  // MARK: - Importing

  struct Imported {
    var additions: [PeerAddition] = []
    /// Who could not be made a peer, and why.
    var problems: [String] = []
  }

  /// Makes peers of all. One that can't be doesn't keep the others from it.
  private func importAll(_ cards: [PeerCard]) -> Imported {
    var imported = Imported()
    for card in cards {
      do {
        let namesakes = try vault.trust.namesakes(of: card)
        let addition = try vault.trust.addPeer(card, name: nil)
        imported.additions.append(addition)
        if let known = namesakes.first {
          console.warning(
            "\(addition.peer.name) (\(addition.peer.fingerprint)) counts as somebody else than \(known.name) (\(known.fingerprint)); if it is a new device of the same person, import its card with --device-of \(shellQuoted(known.name))"
          )
        }
      } catch { imported.problems.append("\(Printable.quoted(card.label)): \(VaultError(error).reason)") }
    }
    return imported
  }
}
