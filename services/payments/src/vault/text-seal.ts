import { deriveKey, type KeyPurpose } from './derive-key.ts'
import { type SealingKeys, seal, UnsealError, unseal } from './seal.ts'
import type { VaultKey } from './vault-keys.ts'

/** Hands values to clients as texts that tell nothing, cannot be made up, and open in one place only. */
export interface TextSeal {
  /** Base64. */
  seal(value: object, place: string): string
  /** The value, or undefined when the text was not made here, for this place. */
  open(text: string, place: string): unknown
}

/** Texts are a multiple of it long before they are sealed, so that their length does not tell what is in them. */
const BLOCK = 128
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** A seal of one purpose over the keys of the vault. */
export function createTextSeal(vaultKeys: readonly [VaultKey, ...VaultKey[]], purpose: KeyPurpose): TextSeal {
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
