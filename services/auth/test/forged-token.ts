import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** Tools to forge tokens with any header, payload and signature. */
type Json = Readonly<Record<string, unknown>>
type Signer = (data: string) => Buffer | string

/** Encodes a text, or the JSON of another value, as base64url. */
export function encode(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return Buffer.from(text).toString('base64url')
}

/** Returns a token in compact form. Header and payload texts are used unchanged. */
export function forge(header: Json | string, payload: Json | string, signer: Signer): string {
  const data = `${encode(header)}.${encode(payload)}`
  const signature = signer(data)
  return `${data}.${typeof signature === 'string' ? signature : signature.toString('base64url')}`
}

/** Signs with HMAC, with any bytes as the key. */
export function hmac(key: string | Buffer, digest = 'sha256'): Signer {
  return (data) => createHmac(digest, key).update(data).digest()
}

/** Signs with an asymmetric key. @param digest `null` if the algorithm has its own, like Ed25519 */
export function signWith(key: KeyObject, digest: string | null, options: Json = {}): Signer {
  return (data) => sign(digest, Buffer.from(data), { key, ...options })
}

/** Returns the same signature for all tokens. */
export function fixed(signature: Buffer | string): Signer {
  return () => signature
}

/** Returns a key that no service trusts. */
export function attackerKey(type: 'rsa' | 'ec' | 'ed25519'): { readonly key: KeyObject; readonly jwk: Json } {
  const { privateKey, publicKey } = keyPair(type)
  return { key: privateKey, jwk: { ...publicKey.export({ format: 'jwk' }) } }
}

function keyPair(type: 'rsa' | 'ec' | 'ed25519') {
  if (type === 'rsa') return generateKeyPairSync('rsa', { modulusLength: 2_048 })
  return type === 'ec' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519')
}

/** Returns a bearer token with any claims, signed with the test secret. */
export function forgeBearer(claims: Json): string {
  const token = forge({ alg: 'HS256', typ: 'JWT' }, claims, hmac('a secret of at least 32 bytes, for tests'))
  return `Bearer ${token}`
}

/** An operator's token. It has only a role. */
export const OPERATOR = { authorization: forgeBearer({ role: 'service_role' }) } as const
