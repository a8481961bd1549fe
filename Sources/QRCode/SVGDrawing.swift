extension QRSymbol {
  /// An SVG file: a white square with a quiet zone of four modules, and one path that is all dark modules.
  ///
  /// One unit is one module, and 8 pixels where nobody says how large it is to be. The path has one subpath `Mx
  /// yhNv1h-Nz` for each unbroken run of N dark modules in a row, top to bottom and left to right.
  package func svg() -> String {
    let quietZone = 4
    let size = side + 2 * quietZone
    var path = ""
    for y in 0..<side {
      var x = 0
      while x < side {
        let start = x
        while self[x, y] { x += 1 }
        let run = x - start
        if run > 0 { path += "M\(start + quietZone) \(y + quietZone)h\(run)v1h-\(run)z" }
        x += 1
      }
    }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <svg xmlns="http://www.w3.org/2000/svg" width="\(8 * size)" height="\(8 * size)" viewBox="0 0 \(size) \(size)" shape-rendering="crispEdges">
      <rect width="\(size)" height="\(size)" fill="#fff"/>
      <path d="\(path)" fill="#000"/>
      </svg>

      """
  }
}
