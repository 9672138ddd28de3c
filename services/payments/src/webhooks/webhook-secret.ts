import { deriveKey } from '../vault/derive-key.ts'
import { type SealingKeys, seal, unseal } from '../vault/seal.ts'

/** Seals the secrets that sign webhooks, each for its merchant. */
export interface WebhookSecrets {
  seal(secret: string, merchantId: string): Buffer
  /** @throws UnsealError when it was altered or belongs to another merchant */
  open(sealed: Buffer, merchantId: string): string
}

const SECRET_BYTES = 32
const KEY_ID = 0

/** @param pepper not a key of the vault, which are replaced one day: what they sealed would have to be sealed anew */
export function createWebhookSecrets(pepper: Buffer): WebhookSecrets {
  const keys: SealingKeys = { sealing: KEY_ID, keys: new Map([[KEY_ID, deriveKey({ key: pepper }, 'webhook/secret')]]) }
  return {
    seal: (secret, merchantId) => seal(keys, secret, merchantId),
    open: (sealed, merchantId) => unseal(keys, sealed, merchantId),
  }
}

/** A new secret. */
export function drawWebhookSecret(randomBytes: (size: number) => Buffer): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}
