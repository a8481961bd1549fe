/// The description of the interface, as it is served: the text of docs/openapi.yaml, which a test compares.
enum OpenAPIDocument {
  static let text = #"""
    openapi: 3.1.0
    info:
      title: vault-server
      version: "1"
      summary: Keeps encrypted shares for groups until they expire.
      description: |
        A service that its users don't trust: what they put here is encrypted and split over several such services
        before. It draws all ids and keys. A group has one master key and, for each user, an access key; both are shown
        once.

        What was answered with 200 or 201 is durable. A share is in no answer any more from the millisecond `expires`
        on.

        Every request may also be answered with 400 and an empty body when it isn't HTTP, or its head has more than
        16 KiB.
      license:
        name: GPL-3.0-or-later
        identifier: GPL-3.0-or-later
    servers:
      - url: /
    security:
      - access: []
    tags:
      - name: groups
      - name: users
      - name: shares
      - name: service
    paths:
      /v1/groups:
        post:
          operationId: makeGroup
          tags: [groups]
          summary: Make a group. Its maker is its owner and first user.
          security:
            - {}
            - creation: []
          requestBody:
            required: true
            content:
              application/json:
                schema:
                  type: object
                  additionalProperties: false
                  required: [ttl]
                  properties:
                    ttl: { $ref: "#/components/schemas/TTL" }
          responses:
            "201":
              description: The group, and both keys, which are never shown again.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content:
                application/json:
                  schema:
                    type: object
                    additionalProperties: false
                    required: [group, owner, masterKey, accessKey, ttl]
                    properties:
                      group: { $ref: "#/components/schemas/ID" }
                      owner: { $ref: "#/components/schemas/ID" }
                      masterKey: { $ref: "#/components/schemas/MasterKey" }
                      accessKey: { $ref: "#/components/schemas/AccessKey" }
                      ttl: { $ref: "#/components/schemas/TTL" }
            "400": { $ref: "#/components/responses/Malformed" }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "405": { $ref: "#/components/responses/Method" }
            "413": { $ref: "#/components/responses/TooLarge" }
            "415": { $ref: "#/components/responses/MediaType" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
      /v1/groups/{group}:
        parameters:
          - $ref: "#/components/parameters/Group"
        get:
          operationId: group
          tags: [groups]
          summary: What is known of a group. Any of its keys will do.
          security:
            - access: []
            - master: []
          responses:
            "200":
              description: The group.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content:
                application/json:
                  schema:
                    type: object
                    additionalProperties: false
                    required: [group, ttl, shares, bytes, quota, newest, time]
                    properties:
                      group: { $ref: "#/components/schemas/ID" }
                      ttl: { $ref: "#/components/schemas/TTL" }
                      users:
                        type: integer
                        minimum: 1
                        description: Users that were not removed. For the master key only.
                      shares: { type: integer, minimum: 0, description: Shares that are kept. }
                      bytes: { type: integer, minimum: 0, description: "Their bytes, and what keeping each takes besides: 256 and four for each recipient." }
                      quota:
                        type: object
                        additionalProperties: false
                        required: [bytes, shares]
                        properties:
                          bytes: { type: integer, minimum: 0 }
                          shares: { type: integer, minimum: 0 }
                      newest: { $ref: "#/components/schemas/Cursor" }
                      time: { $ref: "#/components/schemas/Time" }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "404": { $ref: "#/components/responses/NotFound" }
            "405": { $ref: "#/components/responses/Method" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
        delete:
          operationId: eraseGroup
          tags: [groups]
          summary: Erase a group, its users and all that is kept for it.
          security:
            - master: []
          responses:
            "204": { description: Everything is erased. }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "403": { $ref: "#/components/responses/Forbidden" }
            "404": { $ref: "#/components/responses/NotFound" }
            "405": { $ref: "#/components/responses/Method" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
      /v1/groups/{group}/master:
        parameters:
          - $ref: "#/components/parameters/Group"
        post:
          operationId: rotateMasterKey
          tags: [groups]
          summary: Draw a new master key. The old one ends when the new one is used first.
          security:
            - master: []
          requestBody: { $ref: "#/components/requestBodies/Nothing" }
          responses:
            "200":
              description: The new key, which is never shown again.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content:
                application/json:
                  schema:
                    type: object
                    additionalProperties: false
                    required: [masterKey]
                    properties:
                      masterKey: { $ref: "#/components/schemas/MasterKey" }
            "400": { $ref: "#/components/responses/Malformed" }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "403": { $ref: "#/components/responses/Forbidden" }
            "404": { $ref: "#/components/responses/NotFound" }
            "405": { $ref: "#/components/responses/Method" }
            "413": { $ref: "#/components/responses/TooLarge" }
            "415": { $ref: "#/components/responses/MediaType" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
      /v1/groups/{group}/users:
        parameters:
          - $ref: "#/components/parameters/Group"
        post:
          operationId: addUser
          tags: [users]
          summary: Add a user.
          security:
            - master: []
          requestBody: { $ref: "#/components/requestBodies/Nothing" }
          responses:
            "201":
              description: The user, and his key, which is never shown again.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content: { application/json: { schema: { $ref: "#/components/schemas/UserKey" } } }
            "400": { $ref: "#/components/responses/Malformed" }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "403": { $ref: "#/components/responses/Forbidden" }
            "404": { $ref: "#/components/responses/NotFound" }
            "405": { $ref: "#/components/responses/Method" }
            "413": { $ref: "#/components/responses/TooLarge" }
            "415": { $ref: "#/components/responses/MediaType" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
      /v1/groups/{group}/users/{user}:
        parameters:
          - $ref: "#/components/parameters/Group"
          - $ref: "#/components/parameters/User"
        delete:
          operationId: removeUser
          tags: [users]
          summary: Remove a user. His keys end at once; what he sent stays until it expires.
          security:
            - master: []
          responses:
            "204": { description: The user is removed. }
            "400": { $ref: "#/components/responses/Malformed" }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "403": { $ref: "#/components/responses/Forbidden" }
            "404": { $ref: "#/components/responses/NotFound" }
            "405": { $ref: "#/components/responses/Method" }
            "409": { $ref: "#/components/responses/Conflict" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
      /v1/groups/{group}/users/{user}/key:
        parameters:
          - $ref: "#/components/parameters/Group"
          - $ref: "#/components/parameters/User"
        post:
          operationId: rotateAccessKey
          tags: [users]
          summary: Draw a new key for a user. The old one ends when the new one is used first.
          description: At most one new key waits for its first use; drawing another one replaces it.
          security:
            - master: []
          requestBody: { $ref: "#/components/requestBodies/Nothing" }
          responses:
            "200":
              description: The user, and his new key, which is never shown again.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content: { application/json: { schema: { $ref: "#/components/schemas/UserKey" } } }
            "400": { $ref: "#/components/responses/Malformed" }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "403": { $ref: "#/components/responses/Forbidden" }
            "404": { $ref: "#/components/responses/NotFound" }
            "405": { $ref: "#/components/responses/Method" }
            "413": { $ref: "#/components/responses/TooLarge" }
            "415": { $ref: "#/components/responses/MediaType" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
      /v1/groups/{group}/shares:
        parameters:
          - $ref: "#/components/parameters/Group"
        get:
          operationId: listShares
          tags: [shares]
          summary: What is new for this user, in order of cursors.
          description: |
            Everything that has not expired, is for this user or for all, and was not sent by this user. A page holds at
            most 4 MiB of shares, but at least one share. A share with a smaller cursor never appears after a greater
            one was answered.

            A cursor that this group hasn't given yet is one from before the service was set back to an earlier state;
            then everything is answered, from the start.
          parameters:
            - name: after
              in: query
              description: The `next` of the page before.
              schema: { type: integer, minimum: 0, maximum: 549755813887, default: 0 }
            - name: limit
              in: query
              description: The largest number of shares on the page.
              schema: { type: integer, minimum: 1, maximum: 500, default: 100 }
            - name: wait
              in: query
              description: Seconds to wait if there is nothing. The answer comes as soon as there is something.
              schema: { type: integer, minimum: 0, maximum: 60, default: 0 }
          responses:
            "200":
              description: The page. It may be empty.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content:
                application/json:
                  schema:
                    type: object
                    additionalProperties: false
                    required: [shares, next, more]
                    properties:
                      shares:
                        type: array
                        maxItems: 500
                        items:
                          type: object
                          additionalProperties: false
                          required: [share, cursor, sender, expires, data]
                          properties:
                            share: { $ref: "#/components/schemas/ID" }
                            cursor: { $ref: "#/components/schemas/Cursor" }
                            sender: { $ref: "#/components/schemas/ID" }
                            expires: { $ref: "#/components/schemas/Time" }
                            data: { type: string, contentEncoding: base64 }
                      next:
                        description: What to pass as `after` next, also when the page is empty.
                        $ref: "#/components/schemas/Cursor"
                      more:
                        type: boolean
                        description: Whether to ask again at once. Also an empty page may have more behind it.
            "400": { $ref: "#/components/responses/Malformed" }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "403": { $ref: "#/components/responses/Forbidden" }
            "404": { $ref: "#/components/responses/NotFound" }
            "405": { $ref: "#/components/responses/Method" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
      /v1/groups/{group}/shares/{share}:
        parameters:
          - $ref: "#/components/parameters/Group"
          - name: share
            in: path
            required: true
            description: Drawn by the sender.
            schema: { $ref: "#/components/schemas/ID" }
        put:
          operationId: putShare
          tags: [shares]
          summary: Keep a share until it expires.
          description: Doing so again changes and prolongs nothing.
          parameters:
            - name: Recipients
              in: header
              description: The ids of at most 256 users, with commas between. Without it the share is for all.
              schema:
                type: string
                pattern: "^[0-9a-f]{32}(,[0-9a-f]{32}){0,255}$"
          requestBody:
            required: true
            description: 1 byte to 1 MiB.
            content:
              application/octet-stream:
                schema: { type: string, format: binary, minLength: 1, maxLength: 1048576 }
          responses:
            "201":
              description: The share is kept, durably.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content: { application/json: { schema: { $ref: "#/components/schemas/Receipt" } } }
            "200":
              description: The same user had put the same bytes for the same recipients before.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content: { application/json: { schema: { $ref: "#/components/schemas/Receipt" } } }
            "400": { $ref: "#/components/responses/Malformed" }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "403": { $ref: "#/components/responses/Forbidden" }
            "404": { $ref: "#/components/responses/NotFound" }
            "405": { $ref: "#/components/responses/Method" }
            "409": { $ref: "#/components/responses/Conflict" }
            "413": { $ref: "#/components/responses/TooLarge" }
            "415": { $ref: "#/components/responses/MediaType" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
        get:
          operationId: readShare
          tags: [shares]
          summary: One share, if it is for this user or from him.
          responses:
            "200":
              description: The bytes.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content:
                application/octet-stream:
                  schema: { type: string, format: binary, minLength: 1, maxLength: 1048576 }
            "400": { $ref: "#/components/responses/Malformed" }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "403": { $ref: "#/components/responses/Forbidden" }
            "404": { $ref: "#/components/responses/NotFound" }
            "405": { $ref: "#/components/responses/Method" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
        delete:
          operationId: eraseShare
          tags: [shares]
          summary: Delete a share that this user sent.
          responses:
            "204": { description: No answer contains the share any more. }
            "400": { $ref: "#/components/responses/Malformed" }
            "401": { $ref: "#/components/responses/Unauthorized" }
            "403": { $ref: "#/components/responses/Forbidden" }
            "404": { $ref: "#/components/responses/NotFound" }
            "405": { $ref: "#/components/responses/Method" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
            "507": { $ref: "#/components/responses/Room" }
      /health:
        get:
          operationId: health
          tags: [service]
          summary: Whether the store can be read and written.
          security:
            - {}
          responses:
            "200":
              description: It can.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content:
                application/json:
                  schema:
                    type: object
                    additionalProperties: false
                    required: [status]
                    properties:
                      status: { const: ok }
            "405": { $ref: "#/components/responses/Method" }
            "429": { $ref: "#/components/responses/Rate" }
            "503": { $ref: "#/components/responses/Unavailable" }
      /openapi.yaml:
        get:
          operationId: description
          tags: [service]
          summary: This document.
          security:
            - {}
          responses:
            "200":
              description: The document.
              headers: { Cache-Control: { $ref: "#/components/headers/NoStore" } }
              content:
                application/yaml:
                  schema: { type: object }
            "405": { $ref: "#/components/responses/Method" }
            "429": { $ref: "#/components/responses/Rate" }
    components:
      securitySchemes:
        access:
          type: http
          scheme: bearer
          bearerFormat: vga_ and 64 hexadecimal digits in lower case
          description: A user's access key.
        master:
          type: http
          scheme: bearer
          bearerFormat: vgm_ and 64 hexadecimal digits in lower case
          description: The group's master key.
        creation:
          type: http
          scheme: bearer
          description: What the operator gave to those who may make groups, if not everybody may.
      parameters:
        Group:
          name: group
          in: path
          required: true
          schema: { $ref: "#/components/schemas/ID" }
        User:
          name: user
          in: path
          required: true
          schema: { $ref: "#/components/schemas/ID" }
      headers:
        NoStore:
          description: Always `no-store`.
          schema: { type: string }
        RetryAfter:
          description: Seconds after which asking again makes sense.
          schema: { type: integer, minimum: 1 }
        Challenge:
          description: Always `Bearer`.
          schema: { type: string }
        Allow:
          description: The methods that there are.
          schema: { type: string }
      requestBodies:
        Nothing:
          required: false
          content:
            application/json:
              schema:
                type: object
                additionalProperties: false
                properties: {}
      responses:
        Malformed:
          description: "`malformed`: a part of the request is not as it has to be."
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
        Unauthorized:
          description: |
            `unauthorized`: there is no such group, or the key is wrong or another group's; nobody is told which.
          headers: { WWW-Authenticate: { $ref: "#/components/headers/Challenge" } }
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
        Forbidden:
          description: "`forbidden`: this needs the other kind of key, or only its sender may delete a share."
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
        NotFound:
          description: |
            `not_found`: there is no such thing, or not for this user. `recipient`: a recipient is no user of the group.
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
        Method:
          description: "`method`: another method is needed here."
          headers: { Allow: { $ref: "#/components/headers/Allow" } }
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
        Conflict:
          description: "`conflict`: another share has this id. `owner`: the owner can't be removed."
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
        TooLarge:
          description: "`too_large`: the body is larger than is allowed here."
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
        MediaType:
          description: "`media_type`: the body has to be of another media type."
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
        Rate:
          description: "`rate`: too many requests from this address or with this key, or too many new groups."
          headers: { Retry-After: { $ref: "#/components/headers/RetryAfter" } }
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
        Unavailable:
          description: |
            `unavailable`: the store doesn't answer; what was asked may or may not have been done. `busy`: too much is
            under way. `stopping`: the service is about to end.
          headers: { Retry-After: { $ref: "#/components/headers/RetryAfter" } }
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
        Room:
          description: |
            `quota`: the group or the service has as much as it may have. `full`: the service has no room left.
          content: { application/json: { schema: { $ref: "#/components/schemas/Error" } } }
      schemas:
        ID:
          type: string
          pattern: "^[0-9a-f]{32}$"
        MasterKey:
          type: string
          pattern: "^vgm_[0-9a-f]{64}$"
        AccessKey:
          type: string
          pattern: "^vga_[0-9a-f]{64}$"
        TTL:
          description: Seconds that shares live.
          type: integer
          minimum: 60
          maximum: 2592000
        Cursor:
          description: A place in the order of a group's shares. Grows, and is never used again.
          type: integer
          minimum: 0
          maximum: 549755813887
        Time:
          description: Milliseconds since 1970 by the service's clock.
          type: integer
          minimum: 0
        UserKey:
          type: object
          additionalProperties: false
          required: [user, accessKey]
          properties:
            user: { $ref: "#/components/schemas/ID" }
            accessKey: { $ref: "#/components/schemas/AccessKey" }
        Receipt:
          type: object
          additionalProperties: false
          required: [cursor, expires]
          properties:
            cursor: { $ref: "#/components/schemas/Cursor" }
            expires: { $ref: "#/components/schemas/Time" }
        Error:
          type: object
          additionalProperties: false
          required: [error, message]
          properties:
            error: { type: string }
            message: { type: string }

    """#
}
