import { createHmac, type KeyObject } from 'node:crypto'

/** Who calls: an app, or a person, who has an e-mail address. */
export interface Identity {
  readonly id: string
  readonly name: string | null
  readonly email: string | null
  readonly created: Date
}

/** The keyed digest under which a key is stored and found. 32 bytes. @see contract 2.4 */
export function keyMac(pepper: KeyObject, key: string): Buffer {
  return createHmac('sha256', pepper).update(key).digest()
}

/** What may be shown of a key: its last four characters. */
export function keyHint(key: string): string {
  return key.slice(-4)
}
