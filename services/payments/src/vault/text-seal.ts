import { OpenError, openSealed, type SealingKeys, seal } from './seal.ts'
import { deriveKey, type KeyPurpose, type VaultKey } from './vault-keys.ts'

/** Gives values to clients as texts. A client cannot read or forge such a text, and it opens for one place only. */
export interface TextSeal {
  /** The sealed value, in base64. */
  readonly seal: (value: object, place: string) => string
  /** The value; undefined for a text that this service did not seal for the place. */
  readonly open: (text: string, place: string) => unknown
}

/** Texts are padded to a multiple of this length, so that the length of a sealed text reveals little. */
const BLOCK_LENGTH = 128
/** The pattern of sealed texts, which are base64, for schemas and the API document. */
export const SEALED_PATTERN = '^[A-Za-z0-9+/]+={0,2}$'
const BASE64 = new RegExp(SEALED_PATTERN)

/** A seal for one purpose, with keys derived from the keys of the vault. */
function createTextSeal(vaultKeys: readonly [VaultKey, ...VaultKey[]], purpose: KeyPurpose): TextSeal {
  const keys: SealingKeys = {
    sealing: vaultKeys[0].id,
    keys: new Map(vaultKeys.map((key) => [key.id, deriveKey(key, purpose)])),
  }
  return {
    seal: (value, place) => {
      const text = JSON.stringify(value)
      return seal(keys, text.padEnd(Math.ceil(text.length / BLOCK_LENGTH) * BLOCK_LENGTH), place).toString('base64')
    },
    open: (text, place): unknown => {
      if (!BASE64.test(text)) return undefined
      try {
        return JSON.parse(openSealed(keys, Buffer.from(text, 'base64'), place))
      } catch (error) {
        if (error instanceof OpenError) return undefined
        throw error
      }
    },
  }
}

/** The seals of what the checkout gives to clients and reads again later. */
export interface CheckoutSeals {
  /** Card numbers and security codes. */
  readonly tokens: TextSeal
  readonly hints: TextSeal
  /** States of the pages in frames. */
  readonly frames: TextSeal
}

/** Returns the three seals of the checkout. Each has a key of its own, so a text of one never opens as another. */
export function createCheckoutSeals(vaultKeys: readonly [VaultKey, ...VaultKey[]]): CheckoutSeals {
  return {
    tokens: createTextSeal(vaultKeys, 'token/seal'),
    hints: createTextSeal(vaultKeys, 'hint/seal'),
    frames: createTextSeal(vaultKeys, 'frame/seal'),
  }
}
