-- Prosody for tests, on loopback alone. FOLDER and PORT are filled in by the tests.
data_path = "FOLDER/data"
pidfile = "FOLDER/prosody.pid"
log = { info = "FOLDER/prosody.log" }
certificates = "FOLDER"
interfaces = { "127.0.0.1" }
c2s_ports = { PORT }
c2s_direct_tls_ports = {}
s2s_ports = {}
http_ports = {}
https_ports = {}
modules_enabled = { "roster", "saslauth", "tls", "disco", "ping", "offline", "carbons", "smacks", "mam", "register_ibr", "user_account_management" }
modules_disabled = { "s2s" }
allow_registration = true
c2s_require_encryption = true
authentication = "internal_hashed"
storage = "internal"
default_archive_policy = true
VirtualHost "localhost"
  ssl = { key = "FOLDER/server.key", certificate = "FOLDER/server.pem" }
