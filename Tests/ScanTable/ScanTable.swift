import Foundation
import QRCode
import ScanPictures

/// Prints a table of what `vault-scan` and `zbarimg` read of spoiled pictures: `ScanTable VAULT-SCAN`.
@main
struct ScanTable {
  static let seeds: ClosedRange<UInt64> = 1...3

  static func main() throws {
    guard CommandLine.arguments.count == 2 else {
      FileHandle.standardError.write(Data("usage: ScanTable VAULT-SCAN\n".utf8))
      exit(64)
    }
    let table = ScanTable(vaultScan: CommandLine.arguments[1])
    try table.print()
  }

  let vaultScan: String

  func print() throws {
    let symbols = try Distortion.cards.map { try QRSymbol(text: $0) }
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("scan-table-\(getpid())").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    var (ours, theirs, onlyTheirs, count) = (0, 0, 0, 0)
    show("| what is wrong | weakest | | | | strongest |")
    show("|---|---|---|---|---|---|")
    for distortion in Distortion.all {
      var cells = [distortion.name]
      for strength in distortion.strengths.indices {
        var (read, reference) = (0, 0)
        for seed in Self.seeds {
          let card = Int(seed) % symbols.count
          let picture = distortion.shot(strength, seed: seed).picture(of: symbols[card])
          let bytes =
            try distortion.qualities.isEmpty ? picture.png() : picture.jpeg(quality: distortion.qualities[strength])
          try Data(bytes).write(to: URL(fileURLWithPath: file))
          let text = Distortion.cards[card]
          let isOurs =
            try output(of: [vaultScan, file]) == "qr \(text.utf8.count) \(Data(text.utf8).base64EncodedString())\n"
          let isTheirs = try output(of: ["zbarimg", "-q", "--raw", "--nodbus", file]) == text + "\n"
          read += isOurs ? 1 : 0
          reference += isTheirs ? 1 : 0
          onlyTheirs += isTheirs && !isOurs ? 1 : 0
          count += 1
        }
        cells.append("\(distortion.strengths[strength]): \(read) / \(reference)")
        ours += read
        theirs += reference
      }
      show("| " + cells.joined(separator: " | ") + " |")
    }
    show(
      "\nOf \(count) pictures `vault-scan` reads \(ours), `zbarimg` \(theirs), of which `vault-scan` misses \(onlyTheirs)."
    )
  }

  /// At once, not when a buffer is full.
  private func show(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

  /// What a program prints.
  private func output(of command: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text
  }
}
