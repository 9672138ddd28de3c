import { isUtf8 } from 'node:buffer'
import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { keyMac } from './app.ts'

/** The key of a request in a form that cannot authenticate a call. */
export interface PresentedKey {
  /** All requests with the same key share this buffer. Do not write to it. */
  readonly mac: Buffer
  /** The MAC as a string. */
  readonly name: string
}

/** Reads the key from an `Authorization` header. Returns `undefined` if there is no key. */
export type ReadPresentedKey = (authorization: string | undefined) => PresentedKey | undefined

const REMEMBERED_KEYS_MAX = 1_000
/** A header with a key of this service is shorter than half of this length. */
const REMEMBERED_LENGTH_MAX = 256

/**
 * Creates a reader that caches the keys of recent headers. A client sends the same header with each request, so the reader need
 * not compute the MAC again.
 */
export function createKeyReader(pepper: KeyObject): ReadPresentedKey {
  const seen = new LRUCache<string, PresentedKey>({ max: REMEMBERED_KEYS_MAX })
  return (authorization) => {
    const known = seen.get(authorization ?? '')
    if (known !== undefined) return known
    const key = readBasicKey(authorization)
    if (key === undefined) return undefined
    const mac = keyMac(pepper, key)
    const presented = { mac, name: mac.toString('base64url') }
    if (authorization !== undefined && authorization.length <= REMEMBERED_LENGTH_MAX) seen.set(authorization, presented)
    return presented
  }
}

/**
 * Returns the API key in an `Authorization` header of type Basic with an empty user name and the key as the password. Returns
 * `undefined` for any other header (reference: API keys). @see RFC 7617
 */
export function readBasicKey(header: string | undefined): string | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? '')?.[1]
  if (encoded === undefined) return undefined
  const decoded = Buffer.from(encoded, 'base64')
  // `Buffer` ignores characters that are not base64. Encoding the bytes again shows whether it ignored more than missing padding.
  if (decoded.toString('base64').replace(/=+$/, '') !== encoded.replace(/=+$/, '')) return undefined
  if (!isUtf8(decoded)) return undefined
  const credentials = decoded.toString('utf8')
  return credentials.startsWith(':') && credentials.length > 1 ? credentials.slice(1) : undefined
}
