import CShims
import Glibc
import Sandbox

/// What this process takes from itself before it speaks to any server: all of the file system but what names and
/// certificates need, other processes, and the system calls that neither needs.
enum Confinement {
  static let memoryLimit: rlim_t = 2 << 30
  /// Descriptors: libstrophe waits by select().
  static let descriptorLimit: rlim_t = 1024
  /// Longest file, which can only be one in memory: certificates of an account.
  static let fileLimit: rlim_t = 2 << 20

  /// What the kernel granted; older or differently built kernels grant less, and the program runs with what there is.
  struct Strength: CustomStringConvertible {
    /// Calls beyond those of `SystemCallFilter.speaking` fail, or end the process.
    var filter = false
    /// The version of Landlock that forbids files, or nil.
    var landlock: Int32?

    var description: String {
      """
      system calls: \(filter ? "only those that speaking to servers needs" : "not filtered by this kernel")
      files: \(landlock.map { "none but certificates and what names need (Landlock \($0))" }
        ?? "not forbidden by Landlock in this kernel")

      """
    }
  }

  /// To be called before there is another thread: what is given up holds for this one and those that it makes. Nil if
  /// the system refuses what every kernel has.
  static func enter() -> Strength? {
    guard vault_forbid_dumping() == 0, limit(RLIMIT_CORE, to: 0), limit(RLIMIT_AS, to: memoryLimit),
      limit(RLIMIT_NOFILE, to: descriptorLimit), limit(RLIMIT_FSIZE, to: fileLimit),
      vault_forbid_new_privileges() == 0
    else { return nil }
    vault_spare_address_space()
    signal(SIGXFSZ, SIG_IGN)
    signal(SIGPIPE, SIG_IGN)
    var strength = Strength()
    let version = vault_landlock_version()
    if version > 0 {
      guard landlock(version) else { return nil }
      strength.landlock = version
    }
    _ = vault_drop_capabilities()
    strength.filter = SystemCallFilter.speaking().install(failingWith: ENOSYS)
    return strength
  }

  private static func landlock(_ version: Int32) -> Bool {
    let paths = readable.map { strdup($0) }
    defer { for path in paths { free(path) } }
    let pointers = paths.map { UnsafePointer($0) }
    return vault_landlock_but_reading(version, pointers, pointers.count) == 0
  }

  /// What may be read, as far as it is there. A link stands for what it leads to now.
  private static var readable: [String] {
    var paths = [
      // Names.
      "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services",
      "/etc/protocols",
      // Certificates, where distributions have them.
      "/etc/ssl/certs", "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
      "/etc/ssl/ca-bundle.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem",
      "/etc/pki/ca-trust/extracted", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/share/pki",
      "/usr/local/share/ca-certificates", "/usr/lib/ssl", "/var/lib/ca-certificates",
      "/dev/urandom", "/dev/null",
      // Dispatch looks at /proc/THREAD/stat for what its threads are at, and ends the process where it may not. Memory,
      // environment and descriptors of other processes Landlock keeps out of reach there as well.
      "/proc",
    ]
    // Whoever sets these may name a home by mistake: no more of it than certificates.
    if let file = getenv("SSL_CERT_FILE").map({ String(cString: $0) }), isRegularFile(file) { paths.append(file) }
    for folder in getenv("SSL_CERT_DIR").map({ String(cString: $0).split(separator: ":") }) ?? [] {
      paths += certificates(in: String(folder))
    }
    return paths
  }

  /// Most certificates of a folder.
  private static let certificatesLimit = 4096

  /// What OpenSSL looks for in a folder: files named by a hash, a dot and a number, with an r ahead of that of a list
  /// of revocations.
  private static func certificates(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var paths: [String] = []
    while paths.count < certificatesLimit, let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      let path = folder + "/" + name
      if isCertificate(name), isRegularFile(path) { paths.append(path) }
    }
    return paths
  }

  private static func isCertificate(_ name: String) -> Bool {
    let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == 8 else { return false }
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    let number = parts[1].first == UInt8(ascii: "r") ? parts[1].dropFirst() : parts[1]
    return parts[0].allSatisfy { digits.contains($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0) }
      && !number.isEmpty && number.allSatisfy(digits.contains)
  }

  private static func isRegularFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Lowers a limit; where the caller's is lower already, that one stays.
  private static func limit(_ name: __rlimit_resource, to limit: rlim_t) -> Bool {
    let resource = __rlimit_resource_t(name.rawValue)
    var limits = rlimit()
    guard getrlimit(resource, &limits) == 0 else { return false }
    limits.rlim_max = min(limits.rlim_max, limit)
    limits.rlim_cur = min(limits.rlim_cur, limit)
    return setrlimit(resource, &limits) == 0
  }
}
