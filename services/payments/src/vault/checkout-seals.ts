import { createTextSeal, type TextSeal } from './text-seal.ts'
import type { VaultKey } from './vault-keys.ts'

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
