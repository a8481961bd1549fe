"""An independent client (slixmpp): echoes plain messages, and tells of parcels what it sees.

Arguments: address, password, port, file of certificates. It says "ready" when it is logged in. To a message "hello" it
answers "hello to you"; to a parcel it answers with its id and the SHA-256 of its bytes, and with a parcel "back" of the same bytes,
and of the same carrier's word.
"""
import asyncio, base64, hashlib, sys
import xml.etree.ElementTree as ET
import slixmpp

PARCEL = "urn:vault:parcel:1"


class Client(slixmpp.ClientXMPP):
    def __init__(self, address, password, certificates):
        super().__init__(address, password)
        self.ca_certs = certificates
        self.add_event_handler("session_start", self.start)
        self.register_plugin("xep_0184")
        self.register_handler(slixmpp.xmlstream.handler.Callback(
            "all", slixmpp.xmlstream.matcher.MatchXPath("{jabber:client}message"), self.came))

    async def start(self, event):
        self.send_presence()
        await self.get_roster()
        print("ready", flush=True)

    def came(self, message):
        parcel = message.xml.find("{%s}parcel" % PARCEL)
        if parcel is not None:
            data = base64.b64decode(parcel.text or "", validate=True)
            self.send_message(mto=message["from"], mtype="chat",
                              mbody="%s %s" % (parcel.get("id"), hashlib.sha256(data).hexdigest()))
            answer = self.make_message(mto=message["from"], mtype="chat")
            said = {name: parcel.get(name) for name in ("branch", "hops") if parcel.get(name) is not None}
            back = ET.Element("{%s}parcel" % PARCEL, {"id": "back", **said})
            back.text = base64.b64encode(data).decode()
            answer.xml.append(back)
            answer.send()
        elif message["body"]:
            self.send_message(mto=message["from"], mbody=message["body"] + " to you", mtype="chat")


client = Client(sys.argv[1], sys.argv[2], sys.argv[4])
client.enable_direct_tls = False
client.connect(host="127.0.0.1", port=int(sys.argv[3]))
asyncio.get_event_loop().run_forever()
