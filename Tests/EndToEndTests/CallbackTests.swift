import Foundation
import Testing

/// Other programs ask by URL (C85–C92).
@Suite("Requests of other programs") struct CallbackTests {
  /// Two peers who share a key called `family`.
  private func withKey(_ body: (Bench, Peer, Peer) async throws -> Void) async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("key", "create", "family", "--threshold", "2")
      try await body(bench, alice, bob)
    }
  }

  private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent()
    .deletingLastPathComponent().path

  private func script(_ path: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }

  private let back = "&x-source=Client&x-success=client%3A%2F%2Fdone%3F&x-error=client%3A%2F%2Ffailed%3F"

  /// The parameters of the answer that was printed.
  private func parameters(_ outcome: Outcome, of prefix: String) throws -> [String: String] {
    let url = try #require(URLComponents(string: outcome.line), "\(outcome)")
    #expect(outcome.line.hasPrefix(prefix), "\(outcome)")
    return Dictionary((url.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { first, _ in first }
  }

  private func request(_ action: String, _ parameters: [(String, String)]) -> String {
    let allowed = CharacterSet.alphanumerics
    let query = parameters.map { name, value in
      "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")"
    }
    return "coresecret://x-callback-url/\(action)?" + query.joined(separator: "&") + back
  }

  @Test("a text that one holder has encrypted is decrypted by another") func text() async throws {
    try await withKey { _, alice, bob in
      let secret = "two words & ä=1\n"
      let encrypted = try await alice.succeed(
        "url", request("encrypt", [("plaintext", secret), ("description", "An example")]), "--key", "family", "--print")
      let data = try #require(try parameters(encrypted, of: "client://done?")["encryptedData"])
      #expect(Data(base64Encoded: data) != nil)
      let decrypted = try await bob.succeed("url", request("decrypt", [("encryptedData", data)]), "--yes", "--print")
      let answer = try parameters(decrypted, of: "client://done?")
      #expect(answer["plaintext"] == secret)
      #expect(answer["description"] == "An example")
      #expect(answer["filename"] == nil)
      // Nothing was asked to be kept.
      #expect(try await alice.succeed("item", "list", "--json").output == "[]\n")
      #expect(try await bob.succeed("item", "list", "--json").output == "[]\n")
    }
  }

  @Test("the content of a file goes there and back in base64, and is kept where that was asked for")
  func file() async throws {
    try await withKey { _, alice, bob in
      let content = Data((0...255).map { UInt8($0) })
      let encrypted = try await alice.succeed(
        "url",
        request("encrypt", [("plaintext", content.base64EncodedString()), ("filename", "all.bin"), ("store", "1")]),
        "--key", "family", "--print")
      let data = try #require(try parameters(encrypted, of: "client://done?")["encryptedData"])
      let decrypted = try await bob.succeed(
        "url", request("decrypt", [("encryptedData", data), ("store", "1")]), "--yes", "--print")
      let answer = try parameters(decrypted, of: "client://done?")
      #expect(answer["plaintext"] == content.base64EncodedString())
      #expect(answer["filename"] == "all.bin")
      for peer in [alice, bob] {
        let list = try await peer.succeed("item", "list")
        #expect(list.output.contains("all.bin"), "\(list)")
      }
    }
  }

  @Test("a password goes on top, and a wrong one is told to the other program") func password() async throws {
    try await withKey { bench, alice, bob in
      let right = try bench.file("right", Array("correct horse".utf8))
      let wrong = try bench.file("wrong", Array("battery".utf8))
      let encrypted = try await alice.succeed(
        "url", request("encrypt", [("plaintext", "abc"), ("addPassword", "1"), ("scryptN", "32768")]), "--key",
        "family",
        "--print", "--password-file", right)
      let data = try #require(try parameters(encrypted, of: "client://done?")["encryptedData"])
      let decrypt = request("decrypt", [("encryptedData", data)])
      let refused = try await bob.run("url", decrypt, "--yes", "--print", "--password-file", wrong)
      #expect(refused.status == 10, "\(refused)")
      let told = try parameters(refused, of: "client://failed?")
      #expect(told == ["errorCode": "10", "errorMessage": "the password was missing or wrong"])
      let decrypted = try await bob.succeed("url", decrypt, "--yes", "--print", "--password-file", right)
      #expect(try parameters(decrypted, of: "client://done?")["plaintext"] == "abc")
    }
  }

  @Test(
    "what fails before a yes has its exit code, and the other program is told no more than that",
    arguments: [
      ("encrypt?store=2", 64), ("encrypt?description=a", 64), ("decrypt?encryptedData=AAAA", 8),
      ("encrypt?plaintext=a&scryptN=1024&addPassword=1", 64),
    ])
  func failure(_ request: String, _ code: Int32) async throws {
    try await withKey { _, alice, _ in
      let outcome = try await alice.run("url", "coresecret://x-callback-url/\(request)\(back)", "--yes", "--print")
      #expect(outcome.status == code, "\(outcome)")
      let answer = try parameters(outcome, of: "client://failed?")
      #expect(answer == ["errorCode": "1", "errorMessage": "the request was not carried out"])
    }
  }

  @Test("nothing is decrypted without a yes, and no answer goes to the web") func consent() async throws {
    try await withKey { _, alice, _ in
      let encrypted = try await alice.succeed(
        "url", request("encrypt", [("plaintext", "abc")]), "--key", "family", "--print")
      let data = try #require(try parameters(encrypted, of: "client://done?")["encryptedData"])
      let unasked = try await alice.run("url", request("decrypt", [("encryptedData", data)]), "--print")
      #expect(unasked.status == 64, "\(unasked)")
      #expect(!unasked.output.contains("plaintext="))
      let escaped = data.replacing("+", with: "%2B").replacing("=", with: "%3D")
      let web = try await alice.run(
        "url", "coresecret://x-callback-url/decrypt?encryptedData=\(escaped)&x-success=https%3A%2F%2Fexample.org",
        "--yes",
        "--print")
      #expect(web.status == 64, "\(web)")
      #expect(web.output.isEmpty)
    }
  }

  @Test("the answer is opened by the desktop's program, and the request is no argument of vault's any more")
  func desktop() async throws {
    try await withKey { _, alice, _ in
      let opened = alice.folder + "/opened"
      let tools = alice.folder + "/tools"
      try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: true)
      // It shows the answer, and what the arguments of its caller look like by now.
      let text =
        "#!/bin/sh\nprintf '%s\\n' \"$1\" >'\(opened)'\ntr '\\0' ' ' </proc/$PPID/cmdline >'\(opened).caller'\n"
      try script(tools + "/xdg-open", text)
      let outcome = try await alice.shell(
        "PATH='\(tools)':$PATH \"$VAULT\" url '\(request("encrypt", [("plaintext", "readable")]))' --key family")
      #expect(outcome.status == 0, "\(outcome)")
      #expect(outcome.output.isEmpty)
      let answer = try String(contentsOfFile: opened, encoding: .utf8)
      #expect(answer.hasPrefix("client://done?encryptedData=%"), "\(answer)")
      let caller = try String(contentsOfFile: opened + ".caller", encoding: .utf8)
      #expect(caller.contains("url coresecret:"), "\(caller)")
      #expect(!caller.contains("readable") && !caller.contains("plaintext"), "\(caller)")
    }
  }

  @Test("the sample client gets what it asks for") func client() async throws {
    try await withKey { _, alice, _ in
      let client = Self.repository + "/Examples/callback-client/callback-client"
      let tools = alice.folder + "/tools"
      try FileManager.default.createDirectory(atPath: tools, withIntermediateDirectories: true)
      // What a desktop does with URLs of the two schemes.
      try script(
        tools + "/xdg-open",
        """
        #!/bin/sh
        case $1 in
          coresecret:*) exec "$VAULT" url "$1" --key family --yes ;;
          csclient:*) exec '\(client)' handle "$1" ;;
        esac
        """)
      let outcome = try await alice.shell(
        """
        export PATH='\(tools)':$PATH XDG_RUNTIME_DIR='\(alice.folder)'
        printf 'for my eyes & %% ä\\n\\nend\\n' | '\(client)' encrypt | '\(client)' decrypt
        """)
      #expect(outcome.status == 0, "\(outcome)")
      #expect(outcome.output == "for my eyes & % ä\n\nend\n", "\(outcome)")
      let failed = try await alice.shell(
        "export PATH='\(tools)':$PATH XDG_RUNTIME_DIR='\(alice.folder)'; printf AAAA | '\(client)' decrypt")
      #expect(failed.status == 1, "\(failed)")
      #expect(failed.complaint.contains("callback-client: the request was not carried out"), "\(failed)")
      let empty = try await alice.shell("export XDG_RUNTIME_DIR='\(alice.folder)'; '\(client)' decrypt </dev/null")
      #expect(empty.status == 1 && empty.complaint.contains("there is nothing to decrypt"), "\(empty)")
    }
  }
}
