import CShims
import Glibc

/// A connection to a message bus at a local socket (D-Bus Specification, "Authentication Protocol"): as this user, with
/// descriptors. Every step has a deadline. What isn't understood is passed over, for anybody on the bus may send it;
/// what breaks the frame of messages, which the bus itself makes, ends the connection.
package struct BusConnection: ~Copyable {
  /// Why there is no connection any more, or in case of ``refused(_:)`` no answer.
  package enum Failure: Error {
    case absent
    case ended
    case silent
    /// A call has failed; the name of its error.
    case refused(String)
    /// The answer is longer than any that is read, or has more values.
    case tooLong
    case misunderstood(BusMessage.Fault)
  }

  private static let lineLimit = 512
  /// Milliseconds for one step.
  package static let patience: Int64 = 5000
  private static let descriptorLimit = 4
  /// Signals that are kept while an answer is waited for. A flood of them loses the rest.
  private static let signalLimit = 256

  /// Answers calls of others; a call that gets nil is refused. It runs while this connection waits for something.
  package var answering: (BusMessage) -> BusMessage? = { _ in nil }
  private let socket: Int32
  /// Bytes that have come and were not looked at yet.
  private var waiting: [UInt8] = []
  /// Bytes that are still to come of a message that is too long to be read.
  private var skipping = 0
  /// Whether an answer was passed over since a call was made.
  private var hasPassedAnswer = false
  /// Descriptors that have come with them, in order.
  private var descriptors: [Int32] = []
  private var lastSerial: UInt32 = 0
  private var signals: [BusMessage] = []

  private init(owning socket: Int32) { self.socket = socket }

  package static func open(path: String) throws(Failure) -> BusConnection {
    var connection = BusConnection(owning: try connect(path))
    try connection.greet()
    return connection
  }

  package static func open(paths: [String]) throws(Failure) -> BusConnection {
    for path in paths.dropLast() {
      do throws(Failure) { return try open(path: path) } catch { continue }
    }
    guard let last = paths.last else { throw .absent }
    return try open(path: last)
  }

  private mutating func greet() throws(Failure) {
    let user = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
    try write(Array("\0AUTH EXTERNAL \(user)\r\n".utf8))
    guard try line().hasPrefix("OK ") else { throw .refused("authentication") }
    try write(Array("NEGOTIATE_UNIX_FD\r\n".utf8))
    guard try line() == "AGREE_UNIX_FD" else { throw .refused("descriptors") }
    try write(Array("BEGIN\r\n".utf8))
    _ = try call("Hello", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus", to: "org.freedesktop.DBus")
  }

  deinit {
    for descriptor in descriptors { close(descriptor) }
    close(socket)
  }

  private static func connect(_ path: String) throws(Failure) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { throw .absent }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let socket = Glibc.socket(AF_UNIX, kind, 0)
    guard socket >= 0 else { throw .absent }
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard connected == 0 else {
      close(socket)
      throw .absent
    }
    return socket
  }

  // MARK: - Messages

  /// Calls a method and waits for its answer, and for the descriptor that came with that, -1 for none: the caller's.
  package mutating func call(
    _ member: String, of interface: String, at path: String, to destination: String, _ body: [BusValue] = [],
    within milliseconds: Int64 = BusConnection.patience
  ) throws(Failure) -> (reply: BusMessage, descriptor: Int32) {
    let serial = nextSerial()
    let message = BusMessage.call(member, of: interface, at: path, to: destination, body, serial: serial)
    try write(message.encoded())
    let end = Monotonic.milliseconds() + milliseconds
    hasPassedAnswer = false
    while true {
      let (message, descriptor) = try receive(until: end, isCall: true)
      if message.kind == .reply, message.replySerial == serial { return (message, descriptor) }
      if descriptor >= 0 { close(descriptor) }
      if message.kind == .failure, message.replySerial == serial { throw .refused(message.failure ?? "no reason") }
      try answer(message)
      if message.kind == .signal, signals.count < Self.signalLimit { signals.append(message) }
    }
  }

  /// The next signal, or nil if none comes before `other` has something to read or the time, as ``Monotonic`` has it,
  /// is over. Without a time it waits as long as it takes.
  package mutating func nextSignal(
    orInput other: Int32, until limit: Int64 = .max
  ) throws(Failure) -> BusMessage? {
    while true {
      if !signals.isEmpty { return signals.removeFirst() }
      if try !hasWholeMessage() {
        var waits = [
          pollfd(fd: socket, events: Int16(POLLIN), revents: 0), pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        ]
        let left = limit == .max ? -1 : max(0, limit - Monotonic.milliseconds())
        if left == 0 { return nil }
        let count = poll(&waits, 2, Int32(clamping: left))
        if waits[1].revents != 0 || (count == 0 && left >= 0) { return nil }
        if waits[0].revents == 0 { continue }
      }
      let (message, descriptor) = try receive(until: Monotonic.milliseconds() + Self.patience)
      if descriptor >= 0 { close(descriptor) }
      try answer(message)
      if message.kind == .signal { return message }
      // Messages that keep coming don't put the end off.
      if limit != .max, Monotonic.milliseconds() >= limit { return nil }
    }
  }

  private mutating func answer(_ call: BusMessage) throws(Failure) {
    guard call.kind == .call else { return }
    var answer = answering(call) ?? call.refusal("org.freedesktop.DBus.Error.UnknownMethod")
    answer.serial = nextSerial()
    try write(answer.encoded())
  }

  private mutating func nextSerial() -> UInt32 {
    lastSerial = lastSerial == .max ? 1 : lastSerial + 1
    return lastSerial
  }

  /// Whether a message has come as a whole. One that is too long is passed over as it comes.
  private mutating func hasWholeMessage() throws(Failure) -> Bool {
    while true {
      let passed = min(skipping, waiting.count)
      waiting.removeFirst(passed)
      skipping -= passed
      guard skipping == 0, waiting.count >= BusMessage.startByteCount else { return false }
      let count = try nextByteCount()
      guard count > BusMessage.byteLimit else { return waiting.count >= count }
      skipping = count
      noteAnswer(waiting)
      dropDescriptors()
    }
  }

  /// One call is made at a time, and the bus lets nobody else answer it.
  private mutating func noteAnswer(_ start: [UInt8]) {
    if start[1] == BusMessage.Kind.reply.rawValue { hasPassedAnswer = true }
  }

  private func nextByteCount() throws(Failure) -> Int {
    do { return try BusMessage.frameByteCount(start: Array(waiting[..<BusMessage.startByteCount])) } catch {
      throw .misunderstood(error)
    }
  }

  /// Nobody can say whose they are any more. Without one that was waited for, a call fails and is made again.
  private mutating func dropDescriptors() {
    for descriptor in descriptors { close(descriptor) }
    descriptors = []
  }

  private mutating func receive(
    until end: Int64, isCall: Bool = false
  ) throws(Failure) -> (BusMessage, descriptor: Int32) {
    while true {
      while try !hasWholeMessage() {
        if isCall, hasPassedAnswer { throw .tooLong }
        try fill(until: end)
      }
      let count = try nextByteCount()
      let bytes = Array(waiting[..<count])
      waiting.removeFirst(count)
      guard let message = try? BusMessage(bytes: bytes), message.descriptorCount <= 1 else {
        noteAnswer(bytes)
        dropDescriptors()
        continue
      }
      guard message.descriptorCount == 1, !descriptors.isEmpty else { return (message, -1) }
      return (message, descriptors.removeFirst())
    }
  }

  // MARK: - Bytes

  private mutating func line() throws(Failure) -> String {
    let end = Monotonic.milliseconds() + Self.patience
    while true {
      if let newline = waiting.firstIndex(of: 10) {
        let line = waiting[..<newline]
        waiting.removeFirst(newline + 1)
        guard line.last == 13, line.count <= Self.lineLimit else { throw .refused("authentication") }
        return String(decoding: line.dropLast(), as: UTF8.self)
      }
      guard waiting.count <= Self.lineLimit else { throw .refused("authentication") }
      try fill(until: end)
    }
  }

  private mutating func fill(until end: Int64) throws(Failure) {
    let left = end - Monotonic.milliseconds()
    guard left > 0 else { throw .silent }
    var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    guard poll(&wait, 1, Int32(clamping: left)) > 0 else { return }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    var descriptor: Int32 = -1
    let count = vault_receive_stream(socket, &buffer, buffer.count, &descriptor)
    if descriptors.count >= Self.descriptorLimit { dropDescriptors() }
    if descriptor >= 0 { descriptors.append(descriptor) }
    guard count > 0 else {
      if count < 0, errno == EAGAIN { return }
      throw .ended
    }
    waiting += buffer[..<count]
  }

  private func write(_ bytes: [UInt8]) throws(Failure) {
    guard vault_send_message(socket, bytes, bytes.count, -1) == 0 else { throw .ended }
  }
}

/// A clock that never jumps.
package enum Monotonic {
  package static func milliseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }
}
