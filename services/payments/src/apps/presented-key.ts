import { isUtf8 } from 'node:buffer'
import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { keyMac } from './app.ts'

/** The key of a request, in a form that cannot be used to call. */
export interface PresentedKey {
  /** All requests with the key share it: do not write to it. */
  readonly mac: Buffer
  /** The MAC as text. */
  readonly name: string
}

/** Reads the key from an `Authorization` header. Undefined when there is none. */
export type ReadPresentedKey = (authorization: string | undefined) => PresentedKey | undefined

const REMEMBERED_KEYS_MAX = 1_000
/** A header with a key of this service has less than half of this length. */
const REMEMBERED_LENGTH_MAX = 256

/**
 * Creates a reader that remembers the keys of the last headers: a client sends the same header with each
 * request, and its MAC need not be computed again.
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
 * The API key in an `Authorization` header: Basic, an empty user name, the key as password. Undefined for anything else
 * (reference: API keys). @see RFC 7617
 */
export function readBasicKey(header: string | undefined): string | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? '')?.[1]
  if (encoded === undefined) return undefined
  const decoded = Buffer.from(encoded, 'base64')
  // Buffer ignores characters that are not base64. Encoding again shows whether it ignored more than missing padding.
  if (decoded.toString('base64').replace(/=+$/, '') !== encoded.replace(/=+$/, '')) return undefined
  if (!isUtf8(decoded)) return undefined
  const credentials = decoded.toString('utf8')
  return credentials.startsWith(':') && credentials.length > 1 ? credentials.slice(1) : undefined
}
