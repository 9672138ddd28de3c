import { type SealingKeys, seal, UnsealError, unseal } from './seal.ts'
import { deriveKey, type KeyPurpose, type VaultKey } from './vault-keys.ts'

/** Gives values to clients as texts. A client cannot read or forge such a text, and it opens for one place only. */
export interface TextSeal {
  /** Base64. */
  seal(value: object, place: string): string
  /** The value; undefined for a text that this service did not seal for the place. */
  open(text: string, place: string): unknown
}

/** Texts are padded to a multiple of this length, so that the length of a sealed text reveals little. */
const BLOCK = 128
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** A seal for one purpose, with keys derived from those of the vault. */
function createTextSeal(vaultKeys: readonly [VaultKey, ...VaultKey[]], purpose: KeyPurpose): TextSeal {
  const keys: SealingKeys = {
    sealing: vaultKeys[0].id,
    keys: new Map(vaultKeys.map((key) => [key.id, deriveKey(key, purpose)])),
  }
  return {
    seal: (value, place) => {
      const text = JSON.stringify(value)
      return seal(keys, text.padEnd(Math.ceil(text.length / BLOCK) * BLOCK), place).toString('base64')
    },
    open: (text, place) => {
      if (!BASE64.test(text)) return undefined
      try {
        return JSON.parse(unseal(keys, Buffer.from(text, 'base64'), place))
      } catch (error) {
        if (error instanceof UnsealError) return undefined
        throw error
      }
    },
  }
}

/** What the checkout gives to clients and reads again later. Each kind has its own key. */
export interface CheckoutSeals {
  /** Card numbers and security codes. */
  readonly tokens: TextSeal
  /** Hints. */
  readonly hints: TextSeal
  /** States of the pages in frames. */
  readonly frames: TextSeal
}

/** Makes the three seals of the checkout. Each has a key of its own, so a text of one never opens as another. */
export function createCheckoutSeals(vaultKeys: readonly [VaultKey, ...VaultKey[]]): CheckoutSeals {
  return {
    tokens: createTextSeal(vaultKeys, 'token/seal'),
    hints: createTextSeal(vaultKeys, 'hint/seal'),
    frames: createTextSeal(vaultKeys, 'frame/seal'),
  }
}
