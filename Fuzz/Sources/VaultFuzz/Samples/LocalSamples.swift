import ShamirKit
import Sodium
@testable import SystemBus

@testable import VaultDaemon

enum LocalSamples {
  static func all() throws -> [Sample] {
    let id = try SecretID([UInt8](0xA0...0xAF))
    let key: SecretBytes? = try SecretBytes(copying: [UInt8](0...31).span.bytes)
    func bytes(_ message: borrowing SecretBytes) -> [UInt8] { message.withUnsafeBytes { Array($0) } }
    let keep = bytes(try AgentRequest.keepSecret(id, byteCount: 1040).message(key: key))
    let secret = bytes(try AgentAnswer.secret(byteCount: 1040).message(key: key))
    let entries = try (0..<3).map {
      AgentStatus.Entry(id: try SecretID([UInt8](repeating: UInt8($0), count: 16)), remaining: 1000)
    }
    let status = bytes(
      try AgentAnswer.status(AgentStatus(timeout: 600_000, passphrase: 7, secrets: entries)).message())
    let inhibit = BusMessage.call(
      "Inhibit", of: "org.freedesktop.login1.Manager", at: "/org/freedesktop/login1", to: "org.freedesktop.login1",
      [.text("sleep"), .text("delay"), .number(1), .flag(true), .descriptor(0)], serial: 5
    ).encoded()
    let signal = BusMessage(
      kind: .signal, serial: 3, path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager",
      member: "PrepareForSleep", sender: ":1.2", body: [.flag(true)]
    ).encoded()
    let objects = BusMessage(
      kind: .reply, serial: 4, replySerial: 2, sender: ":1.0",
      body: [
        .dictionary(
          of: "oa{sa{sv}}",
          [
            BusValue.Pair(
              .path("/org/bluez/hci1/dev_00_AA_01_00_00_00"),
              .dictionary(
                of: "sa{sv}",
                [
                  BusValue.Pair(
                    .text("org.bluez.Device1"),
                    .properties([
                      ("Address", .text("00:AA:01:00:00:00")), ("RSSI", .int16(-60)),
                      ("UUIDs", .array(of: "s", [.text("a")])), ("ServiceData", .properties([("u", .bytes([1, 2]))])),
                    ]))
                ]))
          ])
      ]
    ).encoded()
    let values = BusMessage(
      kind: .failure, serial: 5, replySerial: 1, failure: "a.b",
      body: [
        .byte(1), .uint16(2), .int32(-3), .int64(4), .uint64(5), .double(6), .signature("a{sv}"),
        .structure([.byte(1), .variant(.variant(.flag(false)))]),
      ]
    ).encoded()
    return Sample.of(
      "agent-request",
      [
        "valid-status": [1, 1], "valid-keep-secret": keep, "valid-lock-all": [1, 8],
        "valid-secret": [1, 6] + id.bytes, "valid-keep-passphrase": [1, 2] + many(9, 32),
        "cut-key": [1, 2] + many(9, 31),
        "cut-id": keep.without(last: 9), "longer": keep + [0], "other-version": [2, 1], "unknown-type": [1, 9],
        "answer": [1, 0x82], "empty": [],
      ])
      + Sample.of(
        "agent-answer",
        [
          "valid-status": status, "valid-done": [1, 0x82], "valid-secret": secret,
          "valid-key": [1, 0x83] + many(3, 32),
          "valid-locked": [1, 0x85], "valid-refused": [1, 0x86, 2], "valid-asleep": [1, 0x86, 4],
          "valid-no-timeout": [1, 0x86, 5], "unknown-refusal": [1, 0x86, 6],
          "too-many-secrets": status.with(19, [0, 65]), "fewer-secrets": status.with(20, [4]),
          "same-id-twice": status.with(45, many(0, 16)), "time-without-passphrase": status.with(10, [0]),
          "passphrase-flag": status.with(10, [2]), "request": [1, 1], "cut-key": [1, 0x83] + many(3, 31), "empty": [],
        ])
      + Sample.of(
        "bus-message",
        [
          "valid-call": inhibit, "valid-signal": signal, "valid-objects": objects, "valid-values": values,
          "cut-objects": objects.without(last: 2), "big-endian": signal.with(0, Array("B".utf8)),
          "other-version": signal.with(3, [2]), "huge-body": signal.with(4, many(0xFF, 4)),
          "huge-fields": signal.with(12, many(0xFF, 4)), "fields-too-short": signal.with(12, [8]),
          "no-serial": signal.with(8, many(0, 4)), "unknown-kind": signal.with(1, [5]), "cut": signal.without(last: 1),
          "longer": signal + [0], "flag-of-two": signal.with(signal.count - 4, [2]),
          "padding": signal.with(signal.count - 5, [1]), "empty": [],
        ])
      + Sample.of(
        "bus-address",
        texts: [
          "valid-path": "unix:path=/run/dbus/system_bus_socket", "valid-two": "unix:path=/a,guid=0;tcp:host=b",
          "valid-escaped": "unix:path=/a%20b", "valid-empty": "", "relative": "unix:path=a", "no-colon": "unix",
          "no-value": "unix:path", "nul": "unix:path=/a%00", "half-an-escape": "unix:path=/a%2", "no-key": "unix:=a",
        ])
  }
}
