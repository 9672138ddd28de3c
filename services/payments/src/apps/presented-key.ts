import type { KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { keyMac } from './app.ts'

/** The key that a request comes with, as nobody can use it. */
export interface PresentedKey {
  /** Shared by all requests with the key: not to be written to. */
  readonly mac: Buffer
  /** The same as text. */
  readonly name: string
}

/** Reads the key in an `Authorization` header. Undefined where there is none. */
export type ReadPresentedKey = (authorization: string | undefined) => PresentedKey | undefined

const REMEMBERED = 1_000
/** A header that holds a key of this service has less than half of it. */
const REMEMBERED_LENGTH_MAX = 256

/** A client sends the same header with each request: what was last read of it is remembered, not worked out again. */
export function createKeyReader(pepper: KeyObject): ReadPresentedKey {
  const seen = new LRUCache<string, PresentedKey>({ max: REMEMBERED })
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
  // Buffer ignores what is not base64; encoding back tells whether it ignored anything but missing padding.
  if (decoded.toString('base64').replace(/=+$/, '') !== encoded.replace(/=+$/, '')) return undefined
  const credentials = decoded.toString('utf8')
  return credentials.startsWith(':') && credentials.length > 1 ? credentials.slice(1) : undefined
}
