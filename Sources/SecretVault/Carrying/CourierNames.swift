import Courier

// Types of the library `Courier` under unambiguous names: `VaultProtocol` has types of the same names, and `Courier.Offer` can't be
// written, as `Courier` is also a type.

/// A parcel that could be given to whoever is met.
typealias CarriedOffer = Offer
/// What is said to such an offer.
typealias CarriedReply = Reply
/// The recipient's word that a parcel arrived, as it is passed on.
typealias CarriedReceipt = Receipt
/// What a device says first when it meets another.
typealias CarrierGreeting = Greeting
