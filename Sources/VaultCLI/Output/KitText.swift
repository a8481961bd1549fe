import QRCode
import SecretVault
import Sodium
import VaultStore

/// The page of a recovery kit, for people who may find it in ten years.
enum KitText {
  static func heading(_ report: KitReport) -> [String] {
    [
      "RECOVERY KIT of a device with vault, a program that keeps secrets with people",
      "",
      "device       \(Printable.escape(report.label)), \(device(report.kit))",
      "fingerprint  \(report.fingerprint)",
      "made         \(Timestamp.minute(report.kit.createdAt))",
      "",
      "At the end is the key of this device, encrypted under a passphrase that is not",
      "on this page. If the device is lost, its vault comes back on another one with",
      "three things: this page, that passphrase, and a backup (vault backup create):",
      "",
      "    vault backup restore BACKUP --kit THIS-PAGE",
      "",
      "The old device must be gone for good before: a share must never live twice.",
      "Keep this page where the backups are not. Who has both can guess for ever.",
      "",
    ]
  }

  static func device(_ kit: RecoveryKit) -> String { hexadecimal(kit.device) }

  static func page(_ report: KitReport) throws -> String {
    let lines = try heading(report) + report.kit.lines() + ["", ""]
    return lines.joined(separator: "\n") + (try symbol(report.kit)).plain()
  }

  /// Of more correction than a screen needs: paper gets stains.
  static func symbol(_ kit: RecoveryKit) throws -> QRSymbol {
    do { return try QRSymbol(text: kit.qrText(), correction: .medium) } catch let error as QRCodeError {
      throw VaultError(.other, "cannot draw the QR code: \(error)")
    } catch { throw error }
  }
}

extension KitReport {
  func json(path: String?) throws -> JSONValue {
    [
      "path": path.map { .string($0) } ?? .null, "device": .string(KitText.device(kit)),
      "createdAt": .string(Timestamp.exact(kit.createdAt)), "text": .string(try kit.text()),
    ]
  }
}
