import Foundation
import ShamirKit
import Sodium
@testable import VaultStore
import WireCodec

/// Files and sealed records that a vault reads back.
enum StoreTargets {
  static let all = [
    FuzzTarget("text-list", upTo: TextList.byteLimit + 10) { bytes in
      let list = try canonical(TextList.self, bytes, limit: TextList.byteLimit)
      require((try? list.column("texts")) == bytes, "what was read from a column goes back into it")
      return true
    },
    FuzzTarget("drill-holders", upTo: DrillHolders.byteLimit + 10) { bytes in
      _ = try canonical(DrillHolders.self, bytes, limit: DrillHolders.byteLimit)
      return true
    },
    FuzzTarget("secret-companion", upTo: 70_000) { bytes in
      _ = try canonical(SecretCompanion.self, bytes, limit: SecretCompanion.byteLimit)
      return true
    },
    FuzzTarget("deleted-companion", upTo: 200) { bytes in
      _ = try canonical(DeletedCompanion.self, bytes, limit: SecretCompanion.byteLimit)
      return true
    },
    FuzzTarget("trust-companion", upTo: 70_000) { bytes in
      _ = try canonical(TrustCompanion.self, bytes, limit: SecretCompanion.byteLimit)
      return true
    },
    FuzzTarget("item-note", upTo: ItemNote.byteLimit + 10) { bytes in
      _ = try canonical(ItemNote.self, bytes, limit: ItemNote.byteLimit)
      return true
    },
    FuzzTarget("master-key", upTo: 9000) { try readMasterKey($0) },
    // The same with a right checksum, which no fuzzer finds by itself.
    FuzzTarget("master-key-checksum", upTo: 9000) { body in
      var hash = try DomainHash("vault/master-key-checksum/v1")
      hash.append(body)
      return try readMasterKey(body + hash.digest().bytes)
    },
    FuzzTarget("recovery-kit", upTo: RecoveryKit.byteLimit + 10) { bytes in
      let kit = try canonical(RecoveryKit.self, bytes, limit: RecoveryKit.byteLimit)
      require(MasterKeyFile.acceptedLogarithms.contains(kit.costLogarithm), "scrypt's cost is limited")
      return true
    },
    FuzzTarget("sealed-record", upTo: 400) { bytes in
      let name = RecordName(table: "peers", row: [1, 2, 3])
      let opened = try home.keys.open(bytes, name, what: "a record")
      require(opened.count + VaultKeys.sealOverhead == bytes.count, "a record is as long as its contents")
      return true
    },
    FuzzTarget("sealed-record-inside", upTo: 400, judges: false) { bytes in
      var tape = Tape(bytes)
      let nonce = tape.bytes(exactly: SecretBox.nonceByteCount)
      let name = RecordName(table: tape.text(upTo: 20), row: tape.bytes(upTo: 40), epoch: tape.anyNumber())
      let plaintext = tape.remainder()
      let record = prepared {
        let plaintext = try secret(plaintext)
        return try home.keys.seal(plaintext, name, nonce: nonce)
      }
      let opened = prepared { try home.keys.open(record, name, what: "a record") }
      require(exposed(opened) == plaintext, "a record opens to what was sealed")
      let other = RecordName(table: name.table + "s", row: name.row, epoch: name.epoch)
      require((try? home.keys.open(record, other, what: "a record").count) == nil, "a record opens in its place alone")
      return true
    },
    FuzzTarget("backup", upTo: 8000) { bytes in
      let path = home.folders.stagingPath + "/backup"
      home.write(bytes, to: path)
      let archive = try BackupArchive(path: path)
      require(archive.byteCount == UInt64(bytes.count), "a backup is as long as its file")
      var end = UInt64(BackupFormat.headByteCount)
      for entry in archive.entries {
        require(BackupFormat.rank(entry.name) != nil, "a file of a backup has a name from the list")
        require(entry.offset == end + 10 + UInt64(entry.name.utf8.count), "a backup has no gaps")
        end = entry.offset + entry.byteCount + 32
      }
      require(end + 32 == archive.byteCount, "a backup ends with its MAC")
      // Nobody but the vault can make one that verifies.
      require((try? archive.verify(home.keys)) == nil, "a made-up backup doesn't verify")
      return true
    },
    FuzzTarget("settings-file", upTo: SettingsFile.byteLimit + 100) { bytes in
      home.write(bytes, to: home.folders.settingsPath)
      let settings = try SettingsFile(home.folders, keys: home.keys).load()
      return checkSettings(settings)
    },
    // The same with a right MAC: the input is what stands behind "settings".
    FuzzTarget("settings-mac", upTo: 8000) { bytes in
      let claimed = try JSONDecoder().decode([String: String].self, from: Data(bytes))
      let sorted = claimed.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      let mac = prepared {
        try home.keys.mac("vault/settings/v1") { hash in
          hash.append(UInt64(sorted.count))
          for (key, value) in sorted {
            hash.append(key)
            hash.append(value)
          }
        }
      }
      let file = Array("{\"version\":1,\"mac\":\"\(hexadecimal(mac))\",\"settings\":".utf8) + bytes + Array("}".utf8)
      home.write(file, to: home.folders.settingsPath)
      return checkSettings(try SettingsFile(home.folders, keys: home.keys).load())
    },
    FuzzTarget("partial-fragment", upTo: 3000) { try resume($0) },
  ]

  static let home = prepared { try ScratchHome() }

  private static func readMasterKey(_ bytes: [UInt8]) throws -> Bool {
    let file = try canonical(MasterKeyFile.self, bytes, limit: MasterKeyFile.byteLimit)
    require(file.costLogarithm.map(MasterKeyFile.acceptedLogarithms.contains) != false, "scrypt's cost is limited")
    return true
  }

  private static func checkSettings(_ settings: [String: String]) -> Bool {
    let file = SettingsFile(home.folders, keys: home.keys)
    // Written anew it may be longer: indented, and with other escapes.
    do throws(StoreError) { try file.save(settings) } catch .invalid { return true } catch { violated("\(error)") }
    let again = prepared { try file.load() }
    require(again == settings, "settings are read as they were written")
    return true
  }

  /// A fragment taken up again from a file of any length.
  private static func resume(_ bytes: [UInt8]) throws -> Bool {
    var tape = Tape(bytes)
    let pieceByteCount = 1 + tape.number(below: 65_536)
    let byteCount = Int64(truncatingIfNeeded: tape.flag() ? tape.anyNumber() : UInt64(tape.u16()))
    let contents = tape.bytes()
    let store = FragmentStore(home.folders)
    let id = SecretID(high: 3, low: 3)
    defer { try? store.remove(id, 1) }
    let isFinal = tape.flag()
    home.write(contents, to: prepared { try isFinal ? store.path(id, 1) : store.partialPath(id, 1) })
    let partial = try PartialFragment(
      store, secretID: id, index: 1, byteCount: byteCount, pieceByteCount: pieceByteCount, confirm: {})
    require(partial.piecesPresent <= partial.pieceCount, "no more pieces are there than there are")
    for number in 0..<min(partial.piecesPresent, 4) {
      let piece = try partial.read(piece: number)
      require(contents.dropFirst(number * pieceByteCount).starts(with: piece), "pieces are what lies in the file")
    }
    while tape.hasMore {
      let before = partial.piecesPresent
      do throws(StoreError) {
        switch tape.byte() % 6 {
        case 0:
          try partial.append(tape.bytes().span.bytes)
          require(partial.piecesPresent == before + 1, "a piece that was taken is there")
        case 1: _ = try partial.read(piece: Int(truncatingIfNeeded: tape.anyNumber()))
        case 2: try partial.truncate(toPieces: Int(truncatingIfNeeded: tape.anyNumber()))
        case 3:
          let offset = Int64(truncatingIfNeeded: tape.anyNumber() & 0xffff)
          let trailer = tape.bytes()
          try partial.writeTrailer(trailer.span.bytes, at: offset)
          require((try? partial.readTrailer(at: offset, count: trailer.count)) == trailer, "a trailer stays as it is")
        case 4:
          _ = try partial.readTrailer(at: Int64(truncatingIfNeeded: tape.anyNumber()), count: tape.number(below: 300))
        default: try partial.finish(trailer: tape.bytes().span.bytes)
        }
      } catch {
        require(partial.piecesPresent <= partial.pieceCount, "a failure makes no pieces")
        return false
      }
    }
    return true
  }
}
