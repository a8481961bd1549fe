import CShims
import Glibc
import SystemBus

/// The kernel's management of Bluetooth adapters. Anybody may ask which adapters there are and how they are set; all
/// else needs CAP_NET_ADMIN. To be used on a thread that may wait.
struct ManagementSocket: ~Copyable {
  /// Milliseconds for a command.
  private static let patience: Int64 = 5000
  /// Events that are kept while a command's answer is waited for.
  private static let eventLimit = 256

  private let descriptor: Int32
  private var events: [ManagementEvent] = []

  init() throws(BLEError) {
    descriptor = vault_management_socket()
    guard descriptor >= 0 else {
      switch errno {
      case EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT: throw .notSupported
      case EPERM, EACCES: throw .notPermitted
      case let error: throw .failed(BLEReason.text(error))
      }
    }
  }

  /// Takes a socket that speaks the same, for tests.
  init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  mutating func run(
    _ command: ManagementCommand, adapter: UInt16 = ManagementEvent.noAdapter
  ) throws(BLEError) -> [UInt8] {
    let bytes = command.encoded(adapter: adapter)
    // Where the right is missing, the kernel says that it has taken nothing, and answers all the same.
    guard vault_send_packet(descriptor, bytes, bytes.count) >= 0 else { throw .failed(BLEReason.text(errno)) }
    let end = Monotonic.milliseconds() + Self.patience
    while let event = try receive(until: end, orInput: -1) {
      if case .answer(let code, let status, let result) = event.content, code == command.code, event.adapter == adapter
      {
        guard status == 0 else { throw Self.failure(status) }
        return result
      }
      if events.count < Self.eventLimit { events.append(event) }
    }
    throw .failed("the kernel does not answer")
  }

  /// The next event, or nil if none comes before a time or before `other` has something to read.
  mutating func next(until end: Int64, orInput other: Int32) throws(BLEError) -> ManagementEvent? {
    if !events.isEmpty { return events.removeFirst() }
    return try receive(until: end, orInput: other)
  }

  mutating func adapters() throws(BLEError) -> [BLEAdapter] {
    var adapters: [BLEAdapter] = []
    do {
      for index in try ManagementResult.adapters(try run(.readAdapters)) {
        // One that goes in this moment is none.
        guard let facts = try? run(.readAdapter, adapter: index) else { continue }
        let adapter = try ManagementResult.adapter(index, facts)
        if adapter.address.bytes.contains(where: { $0 != 0 }) { adapters.append(adapter) }
      }
    } catch let error as BLEError {
      throw error
    } catch {
      throw .failed("the kernel's answer makes no sense")
    }
    return adapters
  }

  private mutating func receive(until end: Int64, orInput other: Int32) throws(BLEError) -> ManagementEvent? {
    while true {
      var waits = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: other, events: Int16(POLLIN), revents: 0),
      ]
      let left = max(0, end - Monotonic.milliseconds())
      let count = poll(&waits, 2, Int32(clamping: left))
      if waits[1].revents != 0 || (count == 0 && left < Int64(Int32.max)) { return nil }
      guard waits[0].revents != 0 else { continue }
      var bytes = [UInt8](repeating: 0, count: ManagementEvent.byteLimit)
      let got = vault_receive_packet(descriptor, &bytes, bytes.count)
      if got < 0, errno == EAGAIN { continue }
      guard got > 0 else { throw .failed(BLEReason.text(got < 0 ? errno : EPIPE)) }
      // What is not understood is passed over: kernels learn new events.
      if let event = try? ManagementEvent(bytes: Array(bytes[..<got])) { return event }
    }
  }

  private static func failure(_ status: UInt8) -> BLEError {
    switch status {
    case 0x0A: .busy
    case 0x0B: .failed("the Bluetooth adapter rejects it")
    case 0x0C: .failed("the Bluetooth adapter does not support it")
    case 0x0F, 0x12: .off([])
    case 0x11: .gone
    case 0x14: .notPermitted
    default: .failed("the kernel refuses (status \(status))")
    }
  }
}
