import CZBar

/// zbar's image scanner, set to QR codes alone, read byte for byte.
///
/// The scanner, not zbar's processor: that one opens windows and cameras and tells the system D-Bus what it reads.
struct SymbolReader: ~Copyable {
  private let scanner: OpaquePointer

  init() throws(ScanError) {
    guard let scanner = zbar_image_scanner_create() else { throw .scanner }
    self.scanner = scanner
    // zbar's numbers for "every kind" and for settings of the scanner as a whole are both ZBAR_NONE.
    zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_ENABLE, 0)
    zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_ENABLE, 1)
    // Without this, bytes that look like some other character set are rewritten as UTF-8.
    zbar_image_scanner_set_config(scanner, ZBAR_QRCODE, ZBAR_CFG_BINARY, 1)
    // When a picture shows nothing, its negative is looked at too.
    zbar_image_scanner_set_config(scanner, ZBAR_NONE, ZBAR_CFG_TEST_INVERTED, 1)
    zbar_image_scanner_request_dbus(scanner, 0)
  }

  deinit { zbar_image_scanner_destroy(scanner) }

  /// The different contents of the symbols in `picture`, by the first of the treatments that shows any.
  func firstFind(in picture: GrayImage) throws(ScanError) -> [[UInt8]] {
    for treatment in Treatment.order(for: picture) {
      let contents = try read(treatment.apply(to: picture))
      if !contents.isEmpty { return contents }
    }
    return []
  }

  /// The different contents of the symbols in `picture` as it is, in the order that zbar finds them.
  func read(_ picture: GrayImage) throws(ScanError) -> [[UInt8]] {
    guard let width = UInt32(exactly: picture.width), let height = UInt32(exactly: picture.height),
      let length = UInt(exactly: picture.pixels.count), let image = zbar_image_create()
    else { throw .scanner }
    defer { zbar_image_destroy(image) }
    zbar_image_set_format(image, 0x3030_3859)  // "Y800", eight bits of gray.
    zbar_image_set_size(image, width, height)
    return picture.pixels.withUnsafeBytes { pixels in
      zbar_image_set_data(image, pixels.baseAddress, length, nil)
      guard zbar_scan_image(scanner, image) > 0 else { return [] }
      return contents(of: image)
    }
  }

  private func contents(of image: OpaquePointer) -> [[UInt8]] {
    var contents: [[UInt8]] = []
    var symbol = zbar_image_first_symbol(image)
    while let found = symbol {
      symbol = zbar_symbol_next(found)
      guard zbar_symbol_get_type(found) == ZBAR_QRCODE, let data = zbar_symbol_get_data(found) else { continue }
      let content = [UInt8](UnsafeRawBufferPointer(start: data, count: Int(zbar_symbol_get_data_length(found))))
      if !content.isEmpty && !contents.contains(content) { contents.append(content) }
    }
    return contents
  }
}
