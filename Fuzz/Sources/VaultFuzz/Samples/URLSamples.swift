enum URLSamples {
  static func all() throws -> [Sample] {
    let encrypt = "coresecret://x-callback-url/encrypt?"
    let decrypt = "coresecret://x-callback-url/decrypt?"
    return Sample.of(
      "callback",
      texts: [
        "valid-text": encrypt + "&plaintext=a%20b&description=c&x-source=d&x-success=client%3A%2F%2Fdone%3Fa%3Db",
        "valid-file": encrypt + "plaintext=AAEC&filename=f&store=1",
        "valid-password": encrypt + "plaintext=&addPassword=1&scryptN=1048576",
        "valid-decrypt": decrypt + "encryptedData=AAEC&x-error=c%3A%2F%2F&x-cancel=c%3A%2F%2F%3F",
        "valid-case": "CORESECRET://X-CALLBACK-URL/encrypt?plaintext=a",
        "other-scheme": "https://x-callback-url/encrypt?plaintext=a",
        "other-action": "coresecret://x-callback-url/erase?plaintext=a",
        "no-content": encrypt, "twice": encrypt + "plaintext=a&plaintext=b", "half-an-escape": encrypt + "plaintext=%4",
        "no-hexadecimal": encrypt + "plaintext=%zz", "fragment": encrypt + "plaintext=a#b",
        "blank": encrypt + "plaintext=a b",
        "answer-to-the-web": encrypt + "plaintext=a&x-success=https%3A%2F%2Fexample.org",
        "answer-without-scheme": encrypt + "plaintext=a&x-success=done",
        "answer-in-circles": encrypt + "plaintext=a&x-error=coresecret%3A",
        "answer-to-a-port": encrypt + "plaintext=a&x-success=example.org%3A443%2F",
        "answer-to-a-web-application": encrypt + "plaintext=a&x-success=web%2Ba%3A%2F%2Fb",
        "answer-with-a-page": encrypt + "plaintext=a&x-success=c%3A%2F%2Fd%3Fe%3Dhttps%253A%252F%252Fexample.org",
        "answer-to-a-long-scheme": encrypt + "plaintext=a&x-success=" + String(repeating: "c", count: 65) + "%3A%2F%2F",
        "cost-too-small": encrypt + "plaintext=a&addPassword=1&scryptN=16384",
        "cost-without-password": encrypt + "plaintext=a&scryptN=32768",
        "cost-signed": encrypt + "plaintext=a&addPassword=1&scryptN=+32768",
        "file-not-base64": encrypt + "plaintext=a&filename=f",
        "bits-left-over": decrypt + "encryptedData=AB==", "not-a-flag": encrypt + "plaintext=a&store=true",
        "description-not-text": encrypt + "plaintext=a&description=%ff",
        "nul-in-source": encrypt + "plaintext=a&x-source=%00",
      ])
  }
}
