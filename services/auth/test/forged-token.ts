import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** The parts from which an attacker makes tokens: any header, any payload, any signature. */
type Json = Readonly<Record<string, unknown>>
type Signer = (data: string) => Buffer | string

/** Base64url of a text, or of the JSON of another value. */
export function encode(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return Buffer.from(text).toString('base64url')
}

/** A token in compact form. Header and payload that are text are taken as they are. */
export function forge(header: Json | string, payload: Json | string, signer: Signer): string {
  const data = `${encode(header)}.${encode(payload)}`
  const signature = signer(data)
  return `${data}.${typeof signature === 'string' ? signature : signature.toString('base64url')}`
}

/** HMAC with any bytes as its key. */
export function hmac(key: string | Buffer, digest = 'sha256'): Signer {
  return (data) => createHmac(digest, key).update(data).digest()
}

/** Signs with an asymmetric key. @param digest null where the algorithm has its own, as Ed25519 */
export function signWith(key: KeyObject, digest: string | null, options: Json = {}): Signer {
  return (data) => sign(digest, Buffer.from(data), { key, ...options })
}

/** A signature that is always the same. */
export function fixed(signature: Buffer | string): Signer {
  return () => signature
}

/** A key that no service trusts. */
export function attackerKey(type: 'rsa' | 'ec' | 'ed25519'): { readonly key: KeyObject; readonly jwk: Json } {
  const { privateKey, publicKey } = keyPair(type)
  return { key: privateKey, jwk: { ...publicKey.export({ format: 'jwk' }) } }
}

function keyPair(type: 'rsa' | 'ec' | 'ed25519') {
  if (type === 'rsa') return generateKeyPairSync('rsa', { modulusLength: 2_048 })
  return type === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519')
}

/** A bearer with any claims, signed with the secret of the tests. */
export function forgeBearer(claims: Json): string {
  const token = forge({ alg: 'HS256', typ: 'JWT' }, claims, hmac('a secret of at least 32 bytes, for tests'))
  return `Bearer ${token}`
}

/** The claims of an operator's token: only a role. */
export const OPERATOR = { authorization: forgeBearer({ role: 'service_role' }) } as const
