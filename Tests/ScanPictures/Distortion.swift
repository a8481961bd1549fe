/// One way to spoil a picture, in several strengths.
package struct Distortion: Sendable {
  package let name: String
  /// What the strengths are, for people.
  package let strengths: [String]
  /// The quality of the JPEG file that each strength is written as; PNG where there is none.
  package var qualities: [Int32] = []
  private let shots: [Shot]

  /// `change` makes each of the values out of an ordinary good picture.
  private init<Value>(
    _ name: String, _ values: [Value], _ unit: String = "", qualities: [Int32] = [], change: (inout Shot, Value) -> Void
  ) {
    self.name = name
    strengths = values.map { "\($0)\(unit)" }
    self.qualities = qualities
    shots = values.map { value in
      var shot = Shot()
      change(&shot, value)
      return shot
    }
  }

  /// The shot of a strength. Each `seed` has noise of its own, and a hand of its own that turns the picture a little.
  package func shot(_ strength: Int, seed: UInt64) -> Shot {
    var shot = shots[strength]
    shot.seed = seed
    shot.turn += Double(Int(seed) * 5 % 9 - 4)
    return shot
  }

  /// Cards as `vault id` draws them, with the keys of nobody: 49 and 53 modules.
  package static let cards = [
    "VAULTPEER1QYQC92HK9JV3KZ5J52M8M4FWENG75AFASH0E2JZPLFQ97A6YR9Z7Q2S2RD5YZNC9RHFTNFX2R68JAXPSQ5CYUSY0N5PA6WPT70MJVDFCZSX9U0GMHPA5CF0QFTG04XYH338AR02JVZ8UVARHE08G0MM8DNSQYP2PD35KXEGPQ3LSQQQPZFCSQQQQQQQQQQQZF6VG2WP8R0CKTKGK5VFJ5HS285QQQSGAFW2",
    "VAULTPEER1QYQKQ6EYUAKU53NXUW4WUA489WLYJ0ARMGX504LXVLZ4FDTSAV5R7HEX7L3QXE6X5EKWAXAVES9F8L8DD4X30U2VPN0QT559PEJSMP24FG8AP6KZNS040SKD06TG99X90CX9DJCLA32QNMSV4MLNXQAC7T45V2J8WFSKUERDDA6XSETJYAEJQAR9D3JHQ6R0DEJJQ6TWYP6XSEFQDD5HGCMGV4HZCGXW4YPQFSQQQGG3YUGXYQQSMWQQQQQQQQQQQQQQQQQQZUF8ZQQQQQQQQQQQQTKJYHW8TKDHAW4Z5FWPAXFLCTMQQQQ2U8ASS",
  ]

  /// All that pictures are put through.
  package static let all: [Distortion] = [
    Distortion("noise, gray levels", [15, 30, 45, 60, 80]) { $0.noise = Double($1) },
    Distortion("specks, share of pixels", [0.02, 0.05, 0.1, 0.2, 0.3]) { $0.specks = $1 },
    Distortion("blur, modules", [0.3, 0.45, 0.6, 0.75, 0.9]) { $0.blur = $1 * 5 },
    Distortion("motion, modules", [0.5, 1.0, 1.5, 2.0, 2.5]) { $0.smear = $1 * 5 },
    Distortion("turned, degrees", [10, 25, 45, 100, 200], "°") { $0.turn = Double($1) },
    Distortion("perspective", [0.1, 0.2, 0.3, 0.4, 0.5]) { $0.perspective = $1 },
    Distortion("light falling off, noise 6", [0.4, 0.25, 0.15, 0.1, 0.05]) {
      $0.light = .slope($1)
      $0.noise = 6
    },
    Distortion("dark corners, noise 6", [0.4, 0.25, 0.15, 0.1, 0.05]) {
      $0.light = .vignette($1)
      $0.noise = 6
    },
    Distortion("edge of a shadow, noise 6", [0.5, 0.3, 0.2, 0.12, 0.08]) {
      $0.light = .shadow($1)
      $0.noise = 6
    },
    Distortion("glare, gray levels", [60, 120, 180, 240, 320]) { $0.light = .glare(Double($1)) },
    Distortion("contrast, gray levels, noise 6", [60, 40, 28, 20, 14]) {
      $0.ink = 130 - Double($1) / 2
      $0.paper = 130 + Double($1) / 2
      $0.noise = 6
    },
    Distortion("JPEG, quality, noise 10", [40, 20, 10, 6, 3], qualities: [40, 20, 10, 6, 3]) { shot, _ in
      shot.noise = 10
    },
    Distortion("pixels a module", [3.0, 2.5, 2.2, 1.9, 1.6]) { $0.pixelsPerModule = $1 },
    Distortion("pixels a module, blur 0.5, noise 8", [3.5, 3.0, 2.5, 2.2, 1.9]) {
      $0.pixelsPerModule = $1
      $0.blur = $1 * 0.5
      $0.noise = 8
    },
    Distortion("negative, noise", [0, 15, 30, 45, 60]) {
      $0.isNegative = true
      $0.noise = Double($1)
    },
    Distortion("terminal, gap between lines", [0.05, 0.1, 0.2, 0.3, 0.4]) {
      $0.surface = .terminal(gap: $1)
      $0.blur = 1
    },
    Distortion("moiré of a screen, depth", [0.2, 0.4, 0.6, 0.8, 1.0]) {
      $0.surface = .screen(depth: $1, pixels: 4.6)
      $0.pixelsPerModule = 4.4
    },
    Distortion("small in the picture, share of its side", [0.5, 0.35, 0.25, 0.18, 0.12]) {
      $0.surround = 1 / $1
      $0.pixelsPerModule = 3
      $0.noise = 8
    },
    Distortion("a hasty photograph, all at once", [1, 2, 3, 4, 5]) {
      let much = Double($1)
      $0.turn = 9 * much
      $0.perspective = 0.05 * much
      $0.blur = 0.9 + 0.3 * much
      $0.noise = 4 * much
      $0.light = .slope(0.7 - 0.11 * much)
    },
  ]
}
