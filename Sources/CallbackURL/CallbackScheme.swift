/// Schemes that don't belong to one program on this device. A web page could otherwise have somebody's plaintext sent
/// to its server, to a browser that goes there, or to somebody's telephone.
///
/// No list of these can be complete: each installed program may bring another. What protects is the user, who is told
/// which scheme the answer goes to; the list spares them the questions that nobody should say yes to.
enum CallbackScheme {
  /// Most bytes of a scheme: it stands in a question.
  static let byteLimit = 64

  /// Whether no answer goes to a scheme, which is written in small letters.
  static func isForbidden(_ scheme: String) -> Bool {
    // The first is what web pages register for themselves, the second what extensions of browsers do.
    if scheme.hasPrefix("web+") || scheme.hasPrefix("ext+") || names.contains(scheme) { return true }
    if scheme.hasPrefix("microsoft-edge") { return true }
    // `git+https`, `opera-http`, `chrome-extension`, `org.mozilla.firefox`
    return scheme.split { "+-.".contains($0) }.contains { web.contains(String($0)) }
  }

  /// What makes a scheme one of the web wherever it stands in it.
  private static let web: Set<String> = [
    "brave", "browser", "chrome", "chromium", "dav", "davs", "duckduckgo", "epiphany", "falkon", "firefox", "ftp",
    "ftps", "googlechrome", "googlechromes", "http", "https", "konqueror", "librewolf", "midori", "moz", "mozilla",
    "opera", "palemoon", "qutebrowser", "safari", "seamonkey", "sftp", "ssh", "vivaldi", "waterfox", "webkit",
    "yandexbrowser",
  ]

  private static let names: Set<String> = Set(transfer + calls + pages + files + programs)

  /// Protocols of servers.
  private static let transfer: [String] = [
    "acap", "cifs", "coap", "coaps", "cvs", "dav", "davs", "dict", "dns", "ed2k", "feed", "feeds", "finger", "fish",
    "ftp", "ftpes", "ftpis", "ftps", "gemini", "git", "gopher", "gophers", "http", "https", "icap", "imap", "imaps",
    "ipfs", "ipns", "ipp", "ipps", "ldap", "ldapi", "ldaps", "magnet", "mms", "mmsh", "mmst", "mmsu", "modem",
    "mongodb", "mqtt", "mqtts", "mysql", "news", "nfs", "nntp", "nntps", "nx", "pnm", "pop", "pop3", "pop3s",
    "postgres", "postgresql", "radmin", "rdp", "redis", "rediss", "rlogin", "rsh", "rsync", "rtmp", "rtmpe", "rtmps",
    "rtmpt", "rtp", "rtsp", "rtsps", "rtspu", "rss", "s3", "scp", "sftp", "smb", "smtp", "smtps", "snews", "snmp",
    "spartan", "spice", "srt", "ssh", "stun", "stuns", "svn", "tcp", "telnet", "tftp", "titan", "tls", "tn3270",
    "turn", "turns", "udp", "uucp", "vnc", "wais", "webcal", "webcals", "webdav", "webdavs", "ws", "wss", "x3270",
  ]

  /// What reaches somebody elsewhere.
  private static let calls: [String] = [
    "callto", "discord", "facetime", "fax", "im", "irc", "irc6", "ircs", "jabber", "mailto", "matrix", "mmsto",
    "msteams", "mumble", "pres", "sgnl", "signal", "sip", "sips", "skype", "slack", "sms", "smsto", "teamspeak", "tel",
    "tg", "tox", "ts3server", "viber", "wechat", "weixin", "whatsapp", "xmpp", "zoommtg", "zoomus",
  ]

  /// What browsers open, and what runs in them.
  private static let pages: [String] = [
    "about", "blob", "content", "data", "devtools", "edge", "filesystem", "javascript", "livescript", "mocha",
    "resource", "tor", "urn", "vbscript", "view-source", "wyciwyg", "x-web-search",
  ]

  /// Files, and folders of the desktop.
  private static let files: [String] = [
    "admin", "afc", "afp", "archive", "burn", "cdda", "computer", "file", "ghelp", "google-drive", "gphoto2", "help",
    "info", "jar", "man", "mtp", "network", "onedrive", "recent", "recentlyused", "remote", "tar", "trash", "zip",
  ]

  /// Programs that open what stands behind them, or fetch it, and this one.
  private static let programs: [String] = [
    "android-app", "appimage", "apt", "coresecret", "flatpak", "heroic", "intent", "ios-app", "lutris", "market",
    "ms-browser-extension", "search-ms", "shell", "snap", "steam", "steamlink", "vlc",
  ]
}
