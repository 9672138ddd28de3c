import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPair,
  type JsonWebKey,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { equalSecrets } from '../secrets/encrypted-secret.ts'

/** The algorithms that this service signs with (RFC 7518 section 3.1, RFC 8037). */
export const SIGNING_ALGORITHMS = ['ES256', 'EdDSA', 'RS256', 'HS256', 'ES512', 'RS512'] as const

/** An algorithm of `SIGNING_ALGORITHMS`. A token with another algorithm in its header is refused. */
export type SigningAlgorithm = (typeof SIGNING_ALGORITHMS)[number]

/** The format of the id of a new key. Keys of `JWT_KEYS` may have ids in another format. */
export const KID: RegExp = /^[\w.:-]{1,128}$/

/** A private JWK as in `JWT_KEYS` and in the table. */
export interface PrivateJwk extends JsonWebKey {
  readonly kid: string
  readonly alg?: string
  readonly key_ops?: readonly string[]
}

/** The schema of the members that this service reads. `node:crypto` checks the other members when the key is imported. */
const JwkMembers = z.looseObject({
  kty: z.string(),
  kid: z.string().min(1).max(128),
  alg: z.string().optional(),
  key_ops: z.array(z.string()).optional(),
})

export const PrivateJwk = z.custom<PrivateJwk>((value) => JwkMembers.safeParse(value).success)

/** A public JWK as in `/.well-known/jwks.json`. */
export interface PublicJwk extends JsonWebKey {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly use: 'sig'
  readonly key_ops: readonly ['verify']
}

export interface SigningKey {
  /** `undefined` for `JWT_SECRET` without `JWT_KEY_ID`. */
  readonly kid: string | undefined
  readonly alg: SigningAlgorithm
  /** The first part of every token that this key signs: its JOSE header in base64url. */
  readonly header: string
  /** `null` for a symmetric key, which must stay secret. */
  readonly publicJwk: PublicJwk | null
  /** Returns the base64url signature of a token's first two parts. */
  sign(data: string): string
  verify(data: string, signature: Buffer): boolean
}

const HASHES = { RS256: 'sha256', RS512: 'sha512', ES256: 'sha256', ES512: 'sha512', EdDSA: null } as const
type AsymmetricAlgorithm = keyof typeof HASHES
/** The size of each of the two integers of an ECDSA signature, in bytes. */
const INTEGER_BYTES = { ES256: 32, ES512: 66 } as const

/** The minimum that RFC 7518 requires (sections 3.2 and 3.3). */
const SECRET_BYTES_MIN = 32
const MODULUS_BITS_MIN = 2_048

/** Returns an HS256 key with the bytes of `JWT_SECRET`. */
export function secretSigningKey(secret: string, kid: string | undefined): SigningKey {
  return symmetricKey(createSecretKey(secret, 'utf8'), kid)
}

/** Imports the key of a private JWK. @throws Error if the key is not private, is weak or has an unsupported algorithm */
export function importSigningKey(jwk: PrivateJwk): SigningKey {
  const alg = algorithmOf(jwk)
  if (alg === 'HS256') return symmetricKey(importSecret(jwk), jwk.kid)
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' })
  const publicKey = createPublicKey(privateKey)
  const { modulusLength = MODULUS_BITS_MIN } = publicKey.asymmetricKeyDetails ?? {}
  if (modulusLength < MODULUS_BITS_MIN) throw new Error(`key ${jwk.kid} is shorter than ${MODULUS_BITS_MIN} bits`)
  const key: SigningKey = {
    kid: jwk.kid,
    alg,
    header: headerPart(alg, jwk.kid),
    publicJwk: { ...publicKey.export({ format: 'jwk' }), kid: jwk.kid, alg, use: 'sig', key_ops: ['verify'] },
    ...createSigner(alg, privateKey, publicKey),
  }
  // `node:crypto` does not check that the private and the public part of a JWK belong together.
  if (!key.verify('', Buffer.from(key.sign(''), 'base64url'))) throw new Error(`key ${jwk.kid} does not fit together`)
  return key
}

const generatePair = promisify(generateKeyPair)

export async function generateSigningKey(alg: SigningAlgorithm, kid: string): Promise<PrivateJwk> {
  return { ...(await generateMembers(alg)), kid, alg }
}

async function generateMembers(alg: SigningAlgorithm): Promise<JsonWebKey> {
  switch (alg) {
    case 'HS256':
      return { kty: 'oct', k: randomBytes(SECRET_BYTES_MIN).toString('base64url') }
    case 'RS256':
    case 'RS512':
      return (await generatePair('rsa', { modulusLength: MODULUS_BITS_MIN })).privateKey.export({ format: 'jwk' })
    case 'ES256':
      return (await generatePair('ec', { namedCurve: 'P-256' })).privateKey.export({ format: 'jwk' })
    case 'ES512':
      return (await generatePair('ec', { namedCurve: 'P-521' })).privateKey.export({ format: 'jwk' })
    case 'EdDSA':
      return (await generatePair('ed25519', {})).privateKey.export({ format: 'jwk' })
  }
}

function createSigner(
  alg: AsymmetricAlgorithm,
  privateKey: KeyObject,
  publicKey: KeyObject,
): Pick<SigningKey, 'sign' | 'verify'> {
  const hash = HASHES[alg]
  const size = alg === 'ES256' || alg === 'ES512' ? INTEGER_BYTES[alg] : undefined
  return {
    sign(data) {
      const signature = sign(hash, Buffer.from(data), privateKey)
      return (size === undefined ? signature : fromDer(signature, size)).toString('base64url')
    },
    verify(data, signature) {
      const asSigned = size === undefined ? signature : toDer(signature, size)
      return asSigned !== undefined && verify(hash, Buffer.from(data), publicKey, asSigned)
    },
  }
}

function importSecret({ kid, k = '' }: PrivateJwk): KeyObject {
  const bytes = Buffer.from(k, 'base64url')
  if (bytes.length < SECRET_BYTES_MIN) throw new Error(`key ${kid} is shorter than ${SECRET_BYTES_MIN} bytes`)
  return createSecretKey(bytes)
}

function symmetricKey(key: KeyObject, kid: string | undefined): SigningKey {
  const mac = (data: string) => createHmac('sha256', key).update(data)
  return {
    kid,
    alg: 'HS256',
    header: headerPart('HS256', kid),
    publicJwk: null,
    sign: (data) => mac(data).digest('base64url'),
    verify: (data, signature) => equalSecrets(signature, mac(data).digest()),
  }
}

/** Returns the algorithm that a JWK names, otherwise the default of its type (reference: Signing keys). */
function algorithmOf(jwk: PrivateJwk): AsymmetricAlgorithm | 'HS256' {
  const allowed = allowedAlgorithms(jwk)
  if (jwk.alg === undefined && allowed[0] !== undefined) return allowed[0]
  const named = allowed.find((alg) => alg === jwk.alg)
  if (named === undefined) throw new Error(`key ${jwk.kid} has no supported algorithm`)
  return named
}

function allowedAlgorithms({ kty, crv }: PrivateJwk): readonly (AsymmetricAlgorithm | 'HS256')[] {
  if (kty === 'RSA') return ['RS256', 'RS512']
  if (kty === 'EC' && crv === 'P-256') return ['ES256']
  if (kty === 'EC' && crv === 'P-521') return ['ES512']
  if (kty === 'OKP' && crv === 'Ed25519') return ['EdDSA']
  return kty === 'oct' ? ['HS256'] : []
}

function headerPart(alg: SigningAlgorithm, kid: string | undefined): string {
  return Buffer.from(JSON.stringify({ alg, typ: 'JWT', kid })).toString('base64url')
}

// An ECDSA signature has two formats. JWS concatenates the two integers. OpenSSL uses DER (RFC 3279, section 2.2.3). Node.js can
// convert them (`dsaEncoding: 'ieee-p1363'`), but takes twice as long: 72 instead of 33 microseconds per signature.

const SEQUENCE = 0x30
const INTEGER = 0x02
/** A length from here on takes a second byte. Before an integer byte from here on, a zero keeps the sign positive. */
const HIGH = 0x80
const LONG_LENGTH = 0x81

/**
 * Converts a signature of OpenSSL to the format of JWS (RFC 7518, section 3.4).
 * @param size the size of each integer in bytes: 32 for P-256, 66 for P-521
 */
export function fromDer(der: Buffer, size: number): Buffer {
  const joined = Buffer.alloc(2 * size)
  // The first integer follows the tag and the length of the sequence.
  let at = der.readUInt8(1) === LONG_LENGTH ? 3 : 2
  for (const end of [size, 2 * size]) {
    const next = at + 2 + der.readUInt8(at + 1)
    const start = Math.max(at + 2, next - size)
    der.copy(joined, end - (next - start), start, next)
    at = next
  }
  return joined
}

/** Converts a signature of JWS to the format of OpenSSL. Returns `undefined` unless the signature has twice `size` bytes. */
export function toDer(joined: Buffer, size: number): Buffer | undefined {
  if (joined.length !== 2 * size) return undefined
  const integers = [...derInteger(joined.subarray(0, size)), ...derInteger(joined.subarray(size))]
  const length = integers.length < HIGH ? [integers.length] : [LONG_LENGTH, integers.length]
  return Buffer.from([SEQUENCE, ...length, ...integers])
}

/** Encodes an integer in DER, without unnecessary leading zeros. */
function derInteger(bytes: Buffer): readonly number[] {
  const first = bytes.findIndex((byte) => byte !== 0)
  const digits = first < 0 ? [0] : [...bytes.subarray(first)]
  const sign = (digits[0] ?? 0) < HIGH ? [] : [0]
  return [INTEGER, sign.length + digits.length, ...sign, ...digits]
}

/**
 * The state of a signing key (reference: Signing keys). `next`: in the key set, but does not sign. `active`: signs. At most one
 * key is active. `retired`: verifies until `retire_at`.
 */
export type SigningKeyState = (typeof SIGNING_KEY_STATES)[number]

export const SIGNING_KEY_STATES = ['next', 'active', 'retired'] as const

export interface SigningKeyStatus {
  readonly kid: string
  readonly alg: string
  readonly state: SigningKeyState
  readonly createdAt: string
  readonly ageSeconds: number
  readonly retireAt: string | null
  /** `false` for a retired key whose time is over. */
  readonly verifies: boolean
  /** `null` for a symmetric key. */
  readonly publicJwk: Record<string, unknown> | null
}

/** A signing key as operators see it, without its private part (console reference: Routes of auth). */
export const SigningKeyView = z
  .object({
    kid: z.string(),
    algorithm: z.string().meta({ example: 'ES256' }),
    state: z
      .enum(['next', 'active', 'retired', 'over'])
      .meta({ description: 'next: waits. active: signs. retired: verifies what it has signed. over: does neither' }),
    created_at: z.string().meta({ format: 'date-time', example: '2026-01-02T03:04:05.123456+00:00' }),
    public: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: 'The public JWK; null for a symmetric key' }),
  })
  .meta({ id: 'SigningKey' })

export function viewSigningKey({
  kid,
  alg,
  state,
  createdAt,
  verifies,
  publicJwk,
}: SigningKeyStatus): z.output<typeof SigningKeyView> {
  return { kid, algorithm: alg, state: verifies ? state : 'over', created_at: createdAt, public: publicJwk }
}
