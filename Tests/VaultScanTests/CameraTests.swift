import Foundation
import QRCode
import ScanPictures
import Testing

@testable import VaultScan

@Suite("Through a camera, vault-scan")
struct CameraTests {
  static let card = Array(ReadingTests.card.utf8)
  static let size = (width: 640, height: 480)

  /// A dark room, a hand before the lens, a shaky picture, and then a still one.
  static func approach() throws -> [Picture] {
    let symbol = try QRSymbol(text: ReadingTests.card)
    var shaky = try view(symbol)
    for y in 0..<shaky.height {
      for x in 0..<(shaky.width - 12) {
        let row = y * shaky.width + x
        shaky.pixels[row] = UInt8(shaky.pixels[row..<(row + 12)].reduce(0) { $0 + Int($1) } / 12)
      }
    }
    return [
      Picture(width: size.width, height: size.height, gray: 3),
      Picture(width: size.width, height: size.height, gray: 120),
      shaky, try view(symbol),
    ]
  }

  /// A symbol somewhere on a gray wall.
  static func view(_ symbol: QRSymbol) throws -> Picture {
    var picture = Picture(width: size.width, height: size.height, gray: 140)
    let code = Picture(symbol, scale: 6)
    for y in 0..<code.height {
      for x in 0..<code.width {
        picture.pixels[(y + 40) * picture.width + x + 150] = code.pixels[y * code.width + x] / 2 + 60
      }
    }
    return picture
  }

  @Test("finds a symbol that only a later frame shows, in every kind of frame", arguments: PixelFormat.allCases)
  func formats(format: PixelFormat) throws {
    let scan = try FakeCamera(format, Self.approach(), padding: 32).look()
    #expect(scan.status == 0, "\(scan)")
    #expect(try scan.contents() == [Self.card])
  }

  @Test("reads a camera that shares no memory like a file")
  func readOnly() throws {
    let scan = try FakeCamera(.packed422, Self.approach(), fault: "only reading").look()
    #expect(try scan.contents() == [Self.card], "\(scan)")
  }

  @Test("reads frames of JPEG without the tables that cameras leave out")
  func withoutTables() throws {
    var camera = try FakeCamera(.motionJPEG, Self.approach())
    camera.frames = camera.frames.map { Self.withoutHuffmanTables($0) }
    #expect(camera.frames.allSatisfy { frame in !zip(frame, frame.dropFirst()).contains { $0 == 0xff && $1 == 0xc4 } })
    #expect(try camera.look().contents() == [Self.card])
  }

  @Test("skips frames that are cut off, and gives up on a camera that has no others")
  func brokenFrames() throws {
    var camera = try FakeCamera(.motionJPEG, Self.approach())
    camera.frames[0].removeLast(camera.frames[0].count / 2)
    camera.frames[1] = [1, 2, 3]
    #expect(try camera.look().contents() == [Self.card])

    camera.frames = [camera.frames[0]]
    #expect(try camera.look().complaint == "vault-scan: \(FakeCamera.device): the camera delivers only broken frames\n")
    for fault in ["hiccups", "marked frames"] {
      let scan = try FakeCamera(.gray, Self.approach(), fault: fault).look()
      #expect(scan.complaint.hasSuffix("the camera delivers only broken frames\n"))
      #expect(scan.status == 3)
    }
    camera = try FakeCamera(.gray, Self.approach())
    camera.frames = [Array(camera.frames[3].dropLast())]
    #expect(try camera.look().complaint.hasSuffix("the camera delivers only broken frames\n"))
  }

  @Test("says when nothing was seen in time")
  func nothing() throws {
    let camera = FakeCamera(.gray, [Picture(width: 64, height: 48, gray: 128)])
    let scan = try camera.look(["--timeout", "1"])
    #expect(scan.status == 1)
    #expect(scan.output.isEmpty)
    #expect(scan.complaint == "vault-scan: no QR code seen through \(FakeCamera.device) within 1 seconds\n")
  }

  @Test(
    "says in a sentence why a camera can't be used",
    arguments: [
      ("absent", "there is no camera"), ("not permitted", "no permission to use this camera"),
      ("busy at opening", "another program is using this camera"),
      ("busy at choosing", "another program is using this camera"),
      ("busy at sharing", "another program is using this camera"), ("unplugged", "the camera is gone"),
      ("only sound", "this device hands out no pictures that this program can take"),
      ("no memory", "this device hands out no pictures that this program can take"),
      ("empty memory", "this device hands out no pictures that this program can take"),
      ("huge frames", "this device hands out no pictures that this program can take"),
      ("wrong number", "cannot take a frame: Protocol error"),
    ])
  func faults(fault: String, sentence: String) throws {
    let camera = try FakeCamera(.gray, Array(Self.approach().dropLast(2)), fault: fault)
    let scan = try camera.look()
    #expect(scan.status == 3)
    #expect(scan.output.isEmpty)
    #expect(scan.complaint == "vault-scan: \(FakeCamera.device): \(sentence)\n")
  }

  @Test("refuses what is no camera, and cameras without a kind of frame that it reads", arguments: ["", "stubborn"])
  func unusable(fault: String) throws {
    for path in ["/dev/null", "/"] {
      let scan = try Scan(arguments: ["--camera", path])
      #expect(scan.status == 3)
      #expect(scan.complaint.hasPrefix("vault-scan: \(path): "))
    }
    #expect(try Scan(arguments: ["--camera", "/dev/null"]).complaint == "vault-scan: /dev/null: this is no camera\n")
    var camera = try FakeCamera(.gray, Self.approach(), fault: fault)
    camera.letters = "H264"
    #expect(try camera.look().complaint.contains("this camera offers none of GREY, YU12"))
  }

  @Test("believes no length that a driver claims")
  func wrongLength() throws {
    #expect(try FakeCamera(.gray, Self.approach(), fault: "wrong length").look().contents() == [Self.card])
  }

  @Test("is closed off while it looks, and ends with its caller")
  func tied() throws {
    try FakeCamera(.gray, [Picture(width: 64, height: 48, gray: 128)]).withEnvironment { (additions) throws in
      let process = Process()
      process.executableURL = try Scan.program()
      process.arguments = ["--camera", "--tied", "--timeout", "600", FakeCamera.device]
      process.environment = ProcessInfo.processInfo.environment.merging(additions) { _, new in new }
      let (input, complaint) = (Pipe(), Pipe())
      process.standardInput = input
      process.standardError = complaint
      try process.run()
      let path = "/proc/\(process.processIdentifier)/status"
      while process.isRunning, try !String(contentsOfFile: path, encoding: .utf8).contains("Seccomp:\t2") {
        usleep(1000)
      }
      #expect(process.isRunning)
      try input.fileHandleForWriting.close()
      process.waitUntilExit()
      #expect(process.terminationStatus == 1)
    }
  }

  @Test("is killed with its caller, though standard input stays open", .timeLimit(.minutes(2)))
  func killedWithCaller() throws {
    try FakeCamera(.gray, [Picture(width: 64, height: 48, gray: 128)]).withEnvironment { (additions) throws in
      // A shell is the caller, and says its number.
      let caller = Process()
      caller.executableURL = URL(fileURLWithPath: "/bin/sh")
      caller.arguments = [
        "-c", "exec 3<&0; \"$@\" <&3 3<&- >/dev/null 2>&1 & echo $!; exec sleep 600", "sh", try Scan.program().path,
        "--camera", "--tied", "--timeout", "600", FakeCamera.device,
      ]
      caller.environment = ProcessInfo.processInfo.environment.merging(additions) { _, new in new }
      let (input, output) = (Pipe(), Pipe())
      caller.standardInput = input
      caller.standardOutput = output
      try caller.run()
      let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      let process = try #require(pid_t(line.dropLast()))
      defer { kill(process, SIGKILL) }
      let path = "/proc/\(process)/status"
      while try !String(contentsOfFile: path, encoding: .utf8).contains("Seccomp:\t2") { usleep(1000) }
      kill(caller.processIdentifier, SIGKILL)
      caller.waitUntilExit()
      // Nobody may have asked how it ended.
      while let status = try? String(contentsOfFile: path, encoding: .utf8), !status.contains("State:\tZ") {
        usleep(1000)
      }
      withExtendedLifetime(input) {}
    }
  }

  /// Takes out the segments that begin with ff c4.
  private static func withoutHuffmanTables(_ jpeg: [UInt8]) -> [UInt8] {
    var result = Array(jpeg[..<2])
    var position = 2
    while jpeg[position + 1] != 0xda {
      let length = 2 + Int(jpeg[position + 2]) << 8 + Int(jpeg[position + 3])
      if jpeg[position + 1] != 0xc4 { result += jpeg[position..<(position + length)] }
      position += length
    }
    return result + jpeg[position...]
  }
}

@Suite("A card in front of a camera")
struct CameraCommandTests {
  @Test("is shown by vault peer scan, imported by vault peer add, and found wanting like one in a picture")
  func commands() throws {
    try Scan.withFile([]) { (path) throws in
      let (alice, bob) = (path + "-alice", path + "-bob")
      defer { for home in [alice, bob] { try? FileManager.default.removeItem(atPath: home) } }
      for (home, label) in [(alice, "Alice"), (bob, "Bob")] {
        let made = try run(["init", "--label", label, "--no-passphrase", "--home", home])
        try #require(made.status == 0, "\(made)")
      }
      let card = try run(["id", "--text", "--home", alice]).output.trimmingCharacters(in: .newlines)
      let symbol = try QRSymbol(text: card.uppercased())
      let blank = Picture(width: CameraTests.size.width, height: CameraTests.size.height, gray: 128)
      let camera = FakeCamera(.packed422, [blank, try CameraTests.view(symbol)])

      let seen = try camera.look(["peer", "scan", "--camera", FakeCamera.device, "--home", bob], program: "vault")
      #expect(seen.status == 0, "\(seen)")
      #expect(seen.output == card.uppercased() + "\n")
      #expect(seen.complaint.hasPrefix("hold the code in front of the camera \(FakeCamera.device)"))
      let added = try camera.look(["peer", "add", "--camera", FakeCamera.device, "--home", bob], program: "vault")
      #expect(added.output == "Alice\n")
      #expect(added.complaint.contains("compare this fingerprint with the one on the peer's device:"))

      let other = FakeCamera(.gray, [try CameraTests.view(QRSymbol(text: "NO CARD"))])
      let refused = try other.look(["peer", "add", "--camera", FakeCamera.device, "--home", bob], program: "vault")
      #expect(refused.status == 64)
      #expect(refused.complaint.contains("that is no card of a peer"))
      let nothing = try FakeCamera(.gray, [blank])
        .look(["peer", "scan", "--camera", "--timeout", "1", FakeCamera.device, "--home", bob], program: "vault")
      #expect(nothing.status == 1)
      #expect(nothing.complaint.contains("no QR code seen through \(FakeCamera.device) within 1 seconds\nhint: "))
    }
  }

  @Test(
    "isn't seen by one that is missing, busy or not ours, and vault says what to do",
    arguments: [
      ("absent", "hint: name another one"), ("busy at opening", "hint: close the program that uses it"),
      ("not permitted", "hint: cameras usually belong to the group video"),
    ])
  func advice(fault: String, hint: String) throws {
    let camera = FakeCamera(.gray, [Picture(width: 64, height: 48, gray: 128)], fault: fault)
    let scan = try camera.look(["peer", "scan", "--camera", FakeCamera.device], program: "vault")
    #expect(scan.status == 1)
    #expect(scan.complaint.contains("vault: cannot look through \(FakeCamera.device): "))
    #expect(scan.complaint.contains(hint))
  }

  @Test("makes no sense together with a wrong time, or a time without a camera")
  func usage() throws {
    for arguments in [
      ["peer", "scan"], ["peer", "scan", "--camera", "--timeout", "0"], ["peer", "scan", "a.png", "--timeout", "5"],
      ["peer", "add"],
    ] {
      #expect(try run(arguments).status == 64)
    }
  }

  private func run(_ arguments: [String]) throws -> Scan { try Scan(arguments: arguments, program: "vault") }
}

@Suite("A frame of a camera")
struct PixelFormatTests {
  @Test("gives its brightness, whatever lies between and beside", arguments: PixelFormat.allCases)
  func brightness(format: PixelFormat) throws {
    var picture = Picture(width: 6, height: 4, gray: 0)
    for position in picture.pixels.indices { picture.pixels[position] = UInt8(position * 10) }
    guard format != .motionJPEG, format != .jpeg else { return }
    for padding in [0, 5] {
      let camera = FakeCamera(format, [picture], padding: padding)
      let frame = try camera.frames[0].withUnsafeBytes {
        try format.picture($0, width: 6, height: 4, bytesPerLine: padding == 0 ? 0 : camera.stride)
      }
      #expect(frame == GrayImage(width: 6, height: 4, pixels: picture.pixels))
    }
  }

  @Test("that is shorter than its size, or has lines shorter than its width, is refused")
  func short() {
    let bytes = [UInt8](repeating: 1, count: 24)
    for (width, height, line) in [
      (6, 5, 0), (6, 4, 7), (6, 4, 5), (25, 1, 0), (6, 4, Int.max), (0, 4, 0), (12_001, 1, 0),
    ] {
      #expect(throws: ScanError.self) {
        try bytes.withUnsafeBytes { try PixelFormat.gray.picture($0, width: width, height: height, bytesPerLine: line) }
      }
    }
    #expect(throws: ScanError.self) {
      try bytes.withUnsafeBytes { try PixelFormat.packed422.picture($0, width: 6, height: 4, bytesPerLine: 0) }
    }
  }

  @Test("is named by four letters, the first one lowest")
  func letters() { #expect(PixelFormat.gray.code == 0x5945_5247 && PixelFormat.motionJPEG.code == 0x4750_4a4d) }
}
