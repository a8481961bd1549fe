import Glibc
package import QRCode

/// A picture of a symbol as a camera takes it, with the faults that are asked for. The same faults and seed give the same
/// picture.
package struct Shot: Sendable {
  /// Pixels of the picture for a module of the symbol.
  package var pixelsPerModule = 5.0
  /// Turned by so many degrees.
  package var turn = 0.0
  /// How much nearer the lower edge of the picture is, as a share of the distance.
  package var perspective = 0.0
  /// Spread of the lens's blur in pixels.
  package var blur = 0.0
  /// Pixels that the camera moved while it exposed, to the lower right.
  package var smear = 0.0
  /// Spread of the sensor's noise in gray levels.
  package var noise = 0.0
  /// Share of pixels that are black or white, whatever they should be.
  package var specks = 0.0
  /// What falls on the symbol.
  package var light = Light.even
  /// Gray levels of dark and light modules.
  package var ink = 35.0
  package var paper = 225.0
  /// What the symbol is on.
  package var surface = Surface.paper
  /// Side of the picture, as a multiple of the symbol with its quiet zone.
  package var surround = 1.25
  /// Whether it is light on dark.
  package var isNegative = false
  package var seed: UInt64 = 1

  package init() {}

  package enum Light: Sendable {
    case even
    /// Falls off from the upper left corner to a share of its strength at the lower right one.
    case slope(Double)
    /// Falls off from the middle to a share of its strength in the corners.
    case vignette(Double)
    /// Something in its way leaves a share of it on one side of a slanting edge.
    case shadow(Double)
    /// A lamp mirrors itself in the paper: so many gray levels more in a spot.
    case glare(Double)
  }

  package enum Surface: Sendable {
    case paper
    /// Half blocks on a terminal that leaves such a share of a line free between lines.
    case terminal(gap: Double)
    /// A screen whose own pixels stand out with such a depth, so many of them to a module.
    case screen(depth: Double, pixels: Double)
  }

  /// Takes the picture.
  package func picture(of symbol: QRSymbol) -> Picture {
    var random = Random(state: seed)
    var plane = projected(symbol)
    plane.smear(smear)
    plane.blur(blur)
    let middle = Double(plane.width) / 2
    var picture = Picture(width: plane.width, height: plane.height, gray: 0)
    for y in 0..<plane.height {
      for x in 0..<plane.width {
        let (u, v) = (Double(x) / middle - 1, Double(y) / middle - 1)
        var value = lit(plane.values[y * plane.width + x], u, v)
        if isNegative { value = 255 - value }
        if noise > 0 { value += noise * random.normal() }
        if specks > 0, Double(random.next() >> 11) / 9_007_199_254_740_992 < specks {
          value = random.next() & 1 == 0 ? 0 : 255
        }
        picture.pixels[y * plane.width + x] = UInt8(min(max(value, 0), 255))
      }
    }
    return picture
  }

  /// What the light makes of a gray level at a place from -1 to 1 each way.
  private func lit(_ value: Double, _ u: Double, _ v: Double) -> Double {
    switch light {
    case .even: value
    case .slope(let rest): value * (1 - (1 - rest) * (u + v + 2) / 4)
    case .vignette(let rest): value * (1 - (1 - rest) * (u * u + v * v) / 2)
    case .shadow(let rest): u + 0.4 * v > 0.1 ? value * rest : value
    case .glare(let more): value + more * exp(-((u - 0.2) * (u - 0.2) + (v + 0.1) * (v + 0.1)) * 8)
    }
  }

  /// The symbol on its surface on a table, seen from the camera; each pixel is the mean of nine rays.
  private func projected(_ symbol: QRSymbol) -> Plane {
    let modules = Double(symbol.side)
    let side = Int((modules + 8) * pixelsPerModule * surround)
    let tall = tallness
    var plane = Plane(width: side, height: side)
    let (sine, cosine) = (sin(turn * .pi / 180), cos(turn * .pi / 180))
    let dark = (0..<(symbol.side * symbol.side)).map { symbol[$0 % symbol.side, $0 / symbol.side] }
    let middle = Double(side) / 2
    for y in 0..<side {
      for x in 0..<side {
        var sum = 0.0
        for ray in 0..<9 {
          let dx = Double(x) + Double(ray % 3) / 3 + 1 / 6 - middle
          let dy = Double(y) + Double(ray / 3) / 3 + 1 / 6 - middle
          let depth = 1 / (1 + perspective * dy / Double(side))
          let u = (cosine * dx + sine * dy) * depth / pixelsPerModule + modules / 2
          let v = (cosine * dy - sine * dx) * depth / pixelsPerModule + modules * tall / 2
          sum += level(u, v, dark, symbol.side)
        }
        plane.values[y * side + x] = sum / 9
      }
    }
    return plane
  }

  /// How much taller than wide the surface makes the symbol.
  private var tallness: Double {
    if case .terminal(let gap) = surface { return 1 + gap } else { return 1 }
  }

  /// The gray level at a place in modules.
  private func level(_ u: Double, _ v: Double, _ dark: [Bool], _ side: Int) -> Double {
    var v = v
    var shade = 1.0
    let bottom = Double(side) * tallness + 4
    guard u > -4, v > -4, u < Double(side) + 4, v < bottom else { return 95 + 10 * sin(u / 3) * cos(v / 4) }
    switch surface {
    case .paper: break
    case .terminal(let gap):
      let line = 2 * (1 + gap)
      let within = v - (v / line).rounded(.down) * line
      if within >= 2 { return paper }
      v = (v / line).rounded(.down) * 2 + within
    case .screen(let depth, let pixels):
      shade = 1 - depth * (2 - cos(2 * .pi * u * pixels) - cos(2 * .pi * v * pixels)) / 4
    }
    let (column, row) = (Int(u.rounded(.down)), Int(v.rounded(.down)))
    guard (0..<side).contains(column), (0..<side).contains(row) else { return paper * shade }
    return (dark[row * side + column] ? ink : paper) * shade
  }
}
