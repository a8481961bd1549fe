import QRCode
import ScanPictures
import Testing

@testable import VaultScan

@Suite("The command line of vault-scan")
struct CommandLineTests {
  @Test("takes a picture from standard input for -, and a name after --")
  func waysToNameAPicture() throws {
    try Scan.withFile(try QRSymbol(text: "INPUT").png(scale: 4)) { (path) throws in
      #expect(try Scan(arguments: ["-"], input: path).contents() == [Array("INPUT".utf8)])
      #expect(try Scan(arguments: ["--", path]).contents() == [Array("INPUT".utf8)])
    }
  }

  @Test("says with exit code 1 that a picture shows no symbol")
  func nothingFound() throws {
    try Scan.withFile(try Picture(width: 300, height: 200, gray: 128).png()) { (path) throws in
      let scan = try Scan(arguments: [path])
      #expect(scan.status == 1)
      #expect(scan.output.isEmpty)
      #expect(scan.complaint == "vault-scan: no QR code found in \(path)\n")
    }
  }

  @Test("handles pictures of one pixel, one row and one column", arguments: [(1, 1), (400, 1), (1, 400), (2, 2)])
  func tiny(width: Int, height: Int) throws {
    #expect(try Scan(of: Picture(width: width, height: height, gray: 0).png()).status == 1)
  }

  @Test(
    "is refused with exit code 64 when it makes no sense",
    arguments: [
      [], ["--loud", "a.png"], ["a.png", "b.png"], ["--"], ["--camera", "/dev/a", "/dev/b"], ["--camera", "--timeout"],
      ["--camera", "--timeout", "0"], ["--camera", "--timeout", "3601"], ["--timeout", "5", "a.png"], ["--tied", "-"],
    ])
  func usage(arguments: [String]) throws {
    let scan = try Scan(arguments: arguments)
    #expect(scan.status == 64)
    #expect(scan.output.isEmpty)
    #expect(scan.complaint.contains("usage: vault-scan [--] IMAGE"))
  }

  @Test("explains itself")
  func help() throws {
    let help = try Scan(arguments: ["--help"])
    #expect(help.status == 0)
    #expect(help.output.contains("usage: vault-scan [--] IMAGE"))
    #expect(try Scan(arguments: ["--version"]).output == "vault-scan \(Version.text)\n")
  }

  @Test("prints no control characters out of a file name")
  func printable() throws {
    let scan = try Scan(arguments: ["/nonexistent/\u{1b}[31m\u{202e}gnp"])
    #expect(scan.complaint.hasPrefix("vault-scan: /nonexistent/?[31m?gnp: cannot open: "))
  }
}
