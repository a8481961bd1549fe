import Concurrency
import Gathering
import GatheringRoom
import LocalNames
import PeerAuth
import PeerLink
import SecretVault
import VaultDaemon

/// What somebody at the terminal and a gathering say to each other.
struct MeetingDesk {
  private enum Input: Sendable {
    /// A line that was typed; nil at the end of what can be typed.
    case typed(String?)
    case heard(RoomEvent)
    case found(LocalSighting)
    case cannotLook(LocalNamesError)
    /// Some time has passed.
    case later
  }

  /// How often a wrong code may be typed.
  private static let codeLimit = 3
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
  func begin() async throws -> [PeerCard] {
    let code = try await ask("Code of the meeting, or Enter to open one: ")
    return code.allSatisfy(\.isWhitespace) ? try await open() : try await join(at: nil, code)
  }

  /// Opens a meeting: at this place, or at a free port of all addresses.
  func open(at place: (host: String, port: Int) = ("::", 0)) async throws -> [PeerCard] {
    let card = try vault.core.recognisableCard()
    let room: OpenedRoom
    do { room = try OpenedRoom(card: card, identity: vault.core.identity, clock: clock) } catch {
      throw GatheringText.error(of: error)
    }
    var limits = TCPListener.Limits(perAddress: 64, total: 64, backlog: 64)
    limits.remembersPlaces = false
    let listener: TCPListener
    do {
      listener = try await TCPListener.bind(host: place.host, port: place.port, limits: limits)
    } catch { throw VaultError(.other, "a meeting can't be opened at \(place.host), port \(place.port): \(error)") }
    let isLocal = ListeningPlace.isLoopback(listener.address.host)
    let stop = StopSignal()
    if let stop, let port = UInt16(exactly: listener.address.port), !isLocal {
      Task { [arriving] in
        if let problem = await RoomPlaces.offer(room.number, port: port, until: stop) {
          arriving.yield(.cannotLook(problem))
        }
      }
    }
    let running = Task { await room.run([listener.incoming]) }
    let addresses = isLocal ? [listener.address.description] : LocalWay.addresses(port: listener.address.port)
    for line in GatheringText.opened(room.code, at: addresses) { show(line) }
    let outcome = try await converse(room.events, close: { await room.close() }, say: { await room.say($0) })
    stop?.raise()
    await running.value
    await listener.close()
    return try outcome.result.mapError(GatheringText.error).get()
  }

  /// Joins a meeting at an address, or one that is found on this network.
  func join(at address: PeerAddress?, _ typed: String? = nil) async throws -> [PeerCard] {
    var typed = typed
    for _ in 0..<Self.codeLimit {
      let text: String
      if let given = typed { text = given } else { text = try await ask("Code of the meeting: ") }
      typed = nil
      let number: UInt16
      do throws(GatheringCodeError) { number = try GatheringCode(reading: text).number } catch {
        show(GatheringText.words(for: error))
        continue
      }
      let failure: GatheringFailure
      switch try await enter(text, number, at: address) {
      case .success(let cards): return cards
      case .failure(let why): failure = why
      }
      guard failure == .notLetIn || failure == .otherOpening else { throw GatheringText.error(of: failure) }
      show("not let in: the code is another one, or the list has just been closed")
    }
    throw VaultError(.refused, "no code was right", hint: "ask for a new one: the old one counts no more")
  }

  /// Tries the places where the meeting may be.
  private func enter(
    _ code: String, _ number: UInt16, at address: PeerAddress?
  ) async throws -> Result<[PeerCard], GatheringFailure> {
    if let address {
      let connection: any PeerTransport
      do { connection = try await TCPConnector().connect(address) } catch {
        throw VaultError(
          .unreachable, "nobody can be reached at \(address)", hint: "is it the address on the other one's screen?")
      }
      return try await speak(connection, code).result
    }
    guard let stop = StopSignal() else { throw VaultError(.other, "no descriptor is left") }
    defer { stop.raise() }
    let places = RoomPlaces.find(number, until: stop) { [arriving] in arriving.yield(.cannotLook($0)) }
    Task { [arriving] in for await place in places { arriving.yield(.found(place)) } }
    let timing = Task { [arriving] in
      try await Task.sleep(for: Self.patience)
      arriving.yield(.later)
    }
    defer { timing.cancel() }
    console.note("looking for the meeting on this network")
    var tried: Set<[UInt8]> = []
    var failure: GatheringFailure?
    while tried.count < RoomPlaces.limit, let input = await next() {
      switch input {
      case .typed(nil): throw VaultError(.interrupted, "nobody was made a peer")
      case .typed, .heard: continue
      case .cannotLook(let problem):
        throw VaultError(
          .unreachable, "nobody can be looked for on this network: \(problem)", hint: GatheringText.addressHint)
      case .later:
        guard failure == nil else { return .failure(failure ?? .notLetIn) }
        throw VaultError(
          .unreachable, "no meeting with the number \(number) is found on this network", hint: GatheringText.addressHint
        )
      case .found(let place):
        // One device is tried once, whatever addresses it has.
        guard !tried.contains(place.key.label),
          let connection = try? await TCPConnector(connectTimeout: .seconds(3)).connect(
            place.key.address, port: place.port)
        else { continue }
        tried.insert(place.key.label)
        let outcome = try await speak(connection, code)
        guard case .failure(let why) = outcome.result, !outcome.hasJoined else { return outcome.result }
        failure = failure == .notLetIn ? failure : why
        if why == .notLetIn {
          // Another one may have the same number; who has the right words answers as fast.
          Task { [arriving] in
            try await Task.sleep(for: .seconds(2))
            arriving.yield(.later)
          }
        }
      }
    }
    return .failure(failure ?? .notLetIn)
  }

  private func speak(
    _ connection: any PeerTransport, _ code: String
  ) async throws -> Outcome {
    let card = try vault.core.recognisableCard()
    let room: EnteredRoom
    do {
      room = try EnteredRoom(
        connection, code: GatheringCode(reading: code), card: card, identity: vault.core.identity, clock: clock)
    } catch let error as GatheringFailure { throw GatheringText.error(of: error) }
    let running = Task { await room.run() }
    let outcome = try await converse(room.events, close: nil, say: { await room.say($0) })
    await running.value
    return outcome
  }

  // MARK: - In the room

  private struct Outcome {
    let result: Result<[PeerCard], GatheringFailure>
    /// Whether the code was right.
    let hasJoined: Bool
  }

  /// Passes on what is heard and typed until the gathering is over. `close` is the opener's.
  private func converse(
    _ events: AsyncStream<RoomEvent>, close: (() async -> Void)?, say: (Bool) async -> Void
  ) async throws -> Outcome {
    let hearing = Task { [arriving] in for await event in events { arriving.yield(.heard(event)) } }
    defer { hearing.cancel() }
    var guests = 0
    var hasJoined = false
    var list: GatheringList?
    var waiting: [Int] = []
    while let input = await next() {
      switch input {
      case .typed(nil): throw VaultError(.interrupted, "this device has left, and nobody was made a peer")
      case .typed(let line?):
        if let shown = list {
          switch line.lowercased() {
          case "yes":
            list = nil
            console.note(GatheringText.waiting(for: waiting, in: shown))
            await say(true)
          case "no":
            list = nil
            await say(false)
          default: show("yes or no, please")
          }
        } else if let close, waiting.isEmpty {
          if guests == 0 { show("nobody has come yet") } else { await close() }
        }
      case .heard(.guests(let count)):
        guests = count
        show("\(count) \(count == 1 ? "other is" : "others are") here; Enter when that is everybody")
      case .heard(.joined):
        hasJoined = true
        show("the code is right: wait until everybody is here")
      case .heard(.compare(let compared)):
        if let objection = objection(to: compared) {
          show(objection)
          await say(false)
          continue
        }
        list = compared
        waiting = compared.cards.indices.filter { $0 != compared.own }
        for line in GatheringText.lines(compared, known: names(of: compared)) { show(line) }
      case .heard(.agreed(let participant)):
        waiting.removeAll { $0 == participant.position }
        console.note("\(participant.label ?? "somebody") has said yes")
      case .heard(.finished(let cards)): return Outcome(result: .success(cards), hasJoined: true)
      case .heard(.failed(let failure)): return Outcome(result: .failure(failure), hasJoined: hasJoined)
      case .found, .later: continue
      case .cannotLook(let problem): console.note("others don't find this meeting by themselves: \(problem)")
      }
    }
    throw VaultError(.interrupted, "nobody was made a peer")
  }

  /// Why a card in a list can't be imported here; nil if all can.
  private func objection(to list: GatheringList) -> String? {
    for (position, card) in list.cards.enumerated() where position != list.own {
      do { try vault.trust.checkKeys(of: card) } catch {
        return "this device says no: \(card.label): \(VaultError(error).reason)"
      }
    }
    return nil
  }

  /// What peers are called here already whose cards are in a list.
  private func names(of list: GatheringList) -> [Int: String] {
    let peers = (try? vault.trust.peers()) ?? []
    return list.cards.indices.reduce(into: [:]) { names, position in
      names[position] = peers.first { $0.cardDigest == list.cards[position].keys.digest.description }?.name
    }
  }

  // MARK: - Importing

  /// Makes peers of all. One that can't be doesn't keep the others from it.
  func importAll(_ cards: [PeerCard]) throws -> [PeerAddition] {
    var additions: [PeerAddition] = []
    var problems: [String] = []
    for card in cards {
      do {
        let namesakes = try vault.trust.namesakes(of: card)
        let addition = try vault.trust.addPeer(card, name: nil)
        additions.append(addition)
        if let known = namesakes.first {
          console.note(
            "\(addition.peer.name) counts as somebody else than \(known.name); if it is a new device of the same person: vault peer add --device-of \(shellQuoted(known.name)) with its card"
          )
        }
      } catch { problems.append("\(card.label): \(VaultError(error).reason)") }
    }
    guard problems.isEmpty else {
      throw VaultError(
        .other, "not all were made peers: \(problems.joined(separator: "; "))",
        hint: "import their cards with `vault peer add`")
    }
    console.note(
      "\(additions.count) \(additions.count == 1 ? "peer" : "peers") now: `vault daemon --background` answers them, `vault share` gives them shares"
    )
    return additions
  }
}
