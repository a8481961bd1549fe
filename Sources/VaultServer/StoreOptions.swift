import ArgumentParser
import ShareServer

struct StoreOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Keep everything in this folder.", valueName: "folder"))
  var data: String?

  @Option(
    help: ArgumentHelp(
      "Keep everything in Redis instead (--data is not used then): redis://HOST:PORT, redis+unix:///PATH or redis+sentinel://HOST:PORT,HOST:PORT/NAME.",
      valueName: "url"))
  var store: String?

  @Option(help: ArgumentHelp("The password of that Redis is in the first line of this file.", valueName: "file"))
  var storePasswordFile: String?

  @Option(help: ArgumentHelp("Keep the keys to it in this Redis, which writes to no disk.", valueName: "url"))
  var keyStore: String?

  @Option(help: ArgumentHelp("The password of the one with the keys is in this file.", valueName: "file"))
  var keyStorePasswordFile: String?

  @Option(help: ArgumentHelp("The password of the sentinels is in this file.", valueName: "file"))
  var sentinelPasswordFile: String?

  @Option(
    help: ArgumentHelp(
      "Replicas that must have a change before it is acknowledged (default: 1 with sentinels, 0 without).",
      valueName: "number"))
  var redisReplicas: Int?

  func validate() throws {
    guard data != nil || store != nil else {
      throw ValidationError("--data or --store has to say where everything is kept")
    }
    let needStore = [storePasswordFile, keyStore, keyStorePasswordFile, sentinelPasswordFile].contains { $0 != nil }
    if store == nil, needStore || redisReplicas != nil {
      throw ValidationError("without --store there is no Redis that this could be about")
    }
    guard (0...16).contains(redisReplicas ?? 0) else { throw ValidationError("--redis-replicas is 0 to 16") }
    do { try redis?.validate() } catch { throw ValidationError("\(error)") }
  }

  private var redis: RedisOptions? {
    guard let store else { return nil }
    var options = RedisOptions(store: store)
    options.passwordFile = storePasswordFile
    options.keyStore = keyStore
    options.keyPasswordFile = keyStorePasswordFile
    options.sentinelPasswordFile = sentinelPasswordFile
    options.replicas = redisReplicas
    return options
  }

  var options: ServerOptions { redis.map { ServerOptions(redis: $0) } ?? ServerOptions(data: data ?? "") }
}
