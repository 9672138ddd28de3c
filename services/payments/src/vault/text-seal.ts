import { type SealingKeys, seal, UnsealError, unseal } from './seal.ts'
import { deriveKey, type KeyPurpose, type VaultKey } from './vault-keys.ts'

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

/** What the checkout gives out and must know again. Each has a key of its own. */
export interface CheckoutSeals {
  /** Card numbers and security codes. */
  readonly tokens: TextSeal
  /** Proofs of steps. */
  readonly hints: TextSeal
  /** What the pages in frames go by. */
  readonly frames: TextSeal
}

export function createCheckoutSeals(vaultKeys: readonly [VaultKey, ...VaultKey[]]): CheckoutSeals {
  return {
    tokens: createTextSeal(vaultKeys, 'token/seal'),
    hints: createTextSeal(vaultKeys, 'hint/seal'),
    frames: createTextSeal(vaultKeys, 'frame/seal'),
  }
}
