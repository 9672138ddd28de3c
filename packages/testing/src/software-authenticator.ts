import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'

/** A page's request to an authenticator, as JSON. Contains only the options that the tests use. */
export interface AskedOptions {
  readonly challenge: string
  readonly rp?: { readonly id?: string }
  readonly rpId?: string
  readonly user?: { readonly id: string }
  readonly excludeCredentials?: readonly { readonly id: string }[]
  readonly allowCredentials?: readonly { readonly id: string }[]
}

/** Deviations of an authenticator or a page: faults, and credentials that can be copied to other devices. */
export interface Misbehaviour {
  readonly origin?: string
  readonly rpId?: string
  readonly challenge?: string
  readonly counter?: number
  readonly userPresent?: boolean
  readonly backupEligible?: boolean
  /** The owner of the credential in the answer. An empty string means no owner. */
  readonly userHandle?: string
  readonly idBytes?: number
  readonly attestation?: { readonly fmt: string; readonly statement: Buffer }
}

interface Credential {
  readonly id: string
  readonly privateKey: KeyObject
  readonly userHandle: string
  counter: number
}

const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const BACKUP_ELIGIBLE = 0x08
const ATTESTED = 0x40

export interface SoftwareAuthenticator {
  readonly credentials: Credential[]
  /** Stands in for `navigator.credentials.create`. */
  readonly create: (options: AskedOptions, wrong?: Misbehaviour) => CredentialAnswer<Attestation>
  /** Stands in for `navigator.credentials.get`. */
  readonly get: (options: AskedOptions, wrong?: Misbehaviour) => CredentialAnswer<Assertion>
}

interface CredentialAnswer<Response> {
  readonly response: Response
  readonly id: string
  readonly rawId: string
  readonly type: 'public-key'
  readonly clientExtensionResults: Record<string, never>
  readonly authenticatorAttachment: 'platform'
}

interface Attestation {
  readonly clientDataJSON: string
  readonly attestationObject: string
  readonly transports: string[]
}

interface Assertion {
  readonly clientDataJSON: string
  readonly authenticatorData: string
  readonly signature: string
  readonly userHandle: string
}

/**
 * Creates a WebAuthn authenticator (level 3, ES256) that is implemented from the standard. Its answers have the JSON format of
 * browsers. @param origin the origin of the page that uses it
 */
export function createAuthenticator(origin = 'https://app.example.com'): SoftwareAuthenticator {
  const credentials: Credential[] = []
  const find = (id: string) => credentials.find((credential) => credential.id === id)
  return {
    credentials,
    create: (options: AskedOptions, wrong: Misbehaviour = {}) => {
      if (options.excludeCredentials?.some(({ id }) => find(id))) throw new Error('it has one of these already')
      const { credential, attested } = createCredential(options, wrong)
      credentials.push(credential)
      const { fmt, statement } = wrong.attestation ?? { fmt: 'none', statement: map([]) }
      const attestationObject = map([
        [text('fmt'), text(fmt)],
        [text('attStmt'), statement],
        [text('authData'), bytes(authData(options, credential.counter, { ...wrong, attested }))],
      ])
      const clientDataJSON = clientData('webauthn.create', options, { origin, ...wrong }).toString('base64url')
      const response = { clientDataJSON, attestationObject: attestationObject.toString('base64url') }
      return { ...answerOf(credential), response: { ...response, transports: ['internal'] } }
    },
    get: (options: AskedOptions, wrong: Misbehaviour = {}) => {
      const allowed = options.allowCredentials
      const credential = allowed ? allowed.map(({ id }) => find(id)).find(Boolean) : credentials.at(-1)
      if (!credential) throw new Error('it has none of these')
      credential.counter += 1
      const client = clientData('webauthn.get', options, { origin, ...wrong })
      const data = authData(options, credential.counter, wrong)
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()])
      const response = {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: createSign('sha256').update(signed).sign(credential.privateKey).toString('base64url'),
        userHandle: wrong.userHandle ?? credential.userHandle,
      }
      return { ...answerOf(credential), response }
    },
  }
}

function createCredential(
  options: AskedOptions,
  { idBytes = 32 }: Misbehaviour,
): { readonly credential: Credential; readonly attested: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(idBytes)
  const key = map([
    [int(1), int(2)],
    [int(3), int(-7)],
    [int(-1), int(1)],
    [int(-2), bytes(Buffer.from(x, 'base64url'))],
    [int(-3), bytes(Buffer.from(y, 'base64url'))],
  ])
  return {
    credential: { id: id.toString('base64url'), privateKey, userHandle: options.user?.id ?? '', counter: 0 },
    attested: Buffer.concat([Buffer.alloc(16), uint16(id.length), id, key]),
  }
}

function answerOf({ id }: Credential) {
  return {
    id,
    rawId: id,
    type: 'public-key' as const,
    clientExtensionResults: {},
    authenticatorAttachment: 'platform' as const,
  }
}

function clientData(
  type: string,
  options: AskedOptions,
  { challenge = options.challenge, origin }: Misbehaviour,
): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
}

function authData(
  options: AskedOptions,
  counter: number,
  { attested, ...wrong }: Misbehaviour & { readonly attested?: Buffer },
): Buffer {
  const rpIdHash = createHash('sha256')
    .update(wrong.rpId ?? options.rp?.id ?? options.rpId ?? '')
    .digest()
  const present = wrong.userPresent === false ? 0 : USER_PRESENT | USER_VERIFIED
  const eligible = wrong.backupEligible ? BACKUP_ELIGIBLE : 0
  const count = Buffer.alloc(4)
  count.writeUInt32BE(wrong.counter ?? counter)
  const flags = Buffer.from([present | eligible | (attested ? ATTESTED : 0)])
  return Buffer.concat([rpIdHash, flags, count, attested ?? Buffer.alloc(0)])
}

// CBOR (RFC 8949), only the parts that an attestation needs.

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length])
  return length < 256
    ? Buffer.from([(major << 5) | 24, length])
    : Buffer.concat([Buffer.from([(major << 5) | 25]), uint16(length)])
}

function int(value: number): Buffer {
  return value < 0 ? head(1, -1 - value) : head(0, value)
}

function bytes(value: Buffer): Buffer {
  return Buffer.concat([head(2, value.length), value])
}

function text(value: string): Buffer {
  return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
}

export function map(entries: readonly (readonly [Buffer, Buffer])[]): Buffer {
  return Buffer.concat([head(5, entries.length), ...entries.flat()])
}

function uint16(value: number): Buffer {
  const buffer = Buffer.alloc(2)
  buffer.writeUInt16BE(value)
  return buffer
}
