import Glibc
import QRCode
import ScanPictures

/// Takes a photograph of a printed symbol, with the faults of a hasty one.
struct Photograph {
  var side = 700
  /// Turned by so many degrees.
  var tilt = 6.0
  /// How much nearer the lower edge is, as a share of the distance.
  var perspective = 0.08
  /// Times that each pixel is averaged with its eight neighbours.
  var blur = 2
  /// Spread of the sensor's noise in gray levels.
  var noise = 10.0
  /// Light at the dim corner, as a share of that at the bright one.
  var dimmest = 0.4
  var seed: UInt64 = 1

  func picture(of symbol: QRSymbol) -> Picture {
    var picture = blurred(projected(symbol))
    var random = Random(state: seed)
    for y in 0..<side {
      for x in 0..<side {
        let light = 1 - (1 - dimmest) * Double(x + y) / Double(2 * side)
        let value = Double(picture.pixels[y * side + x]) * light + noise * random.normal()
        picture.pixels[y * side + x] = UInt8(min(max(value, 0), 255))
      }
    }
    return picture
  }

  /// Dark gray ink on a sheet of off-white paper that lies on a brown table.
  private func projected(_ symbol: QRSymbol) -> Picture {
    var picture = Picture(width: side, height: side, gray: 90)
    let (sine, cosine) = (sin(tilt * .pi / 180), cos(tilt * .pi / 180))
    let quietZone = 4.0
    let modules = Double(symbol.side)
    // The sheet takes about three quarters of the picture.
    let scale = (modules + 2 * quietZone) / (Double(side) * 0.75)
    for y in 0..<side {
      for x in 0..<side {
        let (dx, dy) = (Double(x - side / 2), Double(y - side / 2))
        let depth = 1 - perspective * dy / Double(side)
        let u = (cosine * dx + sine * dy) * depth * scale + modules / 2
        let v = (cosine * dy - sine * dx) * depth * scale + modules / 2
        guard u > -quietZone, v > -quietZone, u < modules + quietZone, v < modules + quietZone else { continue }
        picture.pixels[y * side + x] = symbol[Int(u.rounded(.down)), Int(v.rounded(.down))] ? 50 : 225
      }
    }
    return picture
  }

  private func blurred(_ picture: Picture) -> Picture {
    var picture = picture
    for _ in 0..<blur {
      let source = picture.pixels
      for y in 1..<(side - 1) {
        for x in 1..<(side - 1) {
          let here = y * side + x
          var sum = 0
          for row in [here - side, here, here + side] {
            sum += Int(source[row - 1]) + Int(source[row]) + Int(source[row + 1])
          }
          picture.pixels[here] = UInt8(sum / 9)
        }
      }
    }
    return picture
  }
}
