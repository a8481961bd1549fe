enum ServerSamples {
  static func all() throws -> [Sample] {
    let one = String(repeating: "1", count: 32)
    let two = String(repeating: "2", count: 32)
    let digits = String(repeating: "0123456789abcdef", count: 4)
    return Sample.of(
      "server-path",
      texts: [
        "valid-groups": "/v1/groups", "valid-share": "/v1/groups/\(one)/shares/\(two)",
        "valid-key": "/v1/groups/\(one)/users/\(two)/key", "valid-health": "/health",
        "other-version": "/v2/groups", "empty-part": "/v1//groups", "no-slash": "v1/groups",
        "too-long": "/" + String(repeating: "a", count: 300), "slash-behind": "/health/",
      ])
      + Sample.of(
        "server-query",
        texts: [
          "valid-all": "after=7&limit=10&wait=60", "valid-other": "x=y&after=3", "twice": "after=7&after=7",
          "signed": "after=+7", "too-large": "limit=501", "endless": "wait=99999999999999999999",
          "no-number": "after=a",
        ])
      + Sample.of(
        "server-recipients",
        texts: [
          "valid-two": "\(one), \(two)", "valid-one": one, "valid-twice": "\(one),\(one)", "nobody": "",
          "comma-behind": "\(one),",
          "capitals": String(repeating: "A", count: 32), "short": "11",
          "too-many": (100..<357).map { String(repeating: "0", count: 29) + "\($0)" }.joined(separator: ","),
        ])
      + Sample.of(
        "server-key",
        texts: [
          "valid-access": "Bearer vga_" + digits, "valid-master": "bearer vgm_" + digits,
          "other-scheme": "Basic vga_" + digits,
          "other-kind": "Bearer vgx_" + digits, "capitals": "Bearer vga_" + digits.uppercased(),
          "short": "Bearer vga_00",
          "long": "Bearer vga_" + digits + "00", "blank": "Bearer  vga_" + digits, "nothing": "",
        ])
  }
}
