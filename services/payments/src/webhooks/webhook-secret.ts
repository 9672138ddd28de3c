import { OpenError, openSealed, type SealingKeys, seal } from '../vault/seal.ts'
import { deriveKey, type VaultKey } from '../vault/vault-keys.ts'

/** Seals secrets of webhooks, each for its merchant. */
export interface WebhookSecrets {
  readonly seal: (secret: string, merchantId: string) => Buffer
  /** @throws OpenError when the text was altered, belongs to another merchant, or its key is gone */
  readonly open: (sealed: Buffer, merchantId: string) => string
  /** Whether the first key has sealed it. */
  readonly isCurrent: (sealed: Buffer, merchantId: string) => boolean
}

/** The keys that seal and open secrets of webhooks. */
export interface WebhookSecretKeys {
  /** The first key seals. All keys open. */
  readonly vaultKeys: readonly [VaultKey, ...VaultKey[]]
  /** Opens secrets that the pepper sealed before the vault had keys. */
  readonly pepper: Buffer
}

const SECRET_BYTES = 32
/** The key id of secrets that the pepper sealed. A key of the vault may have the same id. */
const PEPPER_ID = 0

/** Encrypts and decrypts secrets of webhooks. A secret is bound to its merchant: no other merchant can decrypt it. */
export function createWebhookSecrets({ vaultKeys, pepper }: WebhookSecretKeys): WebhookSecrets {
  const [{ id: sealing }] = vaultKeys
  const keys = new Map(vaultKeys.map((key) => [key.id, deriveKey(key, 'webhook/secret')]))
  const former: SealingKeys = {
    sealing: PEPPER_ID,
    keys: new Map([[PEPPER_ID, deriveKey({ key: pepper }, 'webhook/secret')]]),
  }
  const open = (sealed: Buffer, merchantId: string): string =>
    tryToOpen({ sealing, keys }, sealed, merchantId) ?? openSealed(former, sealed, merchantId)
  return {
    seal: (secret: string, merchantId: string): Buffer => seal({ sealing, keys }, secret, merchantId),
    open,
    isCurrent: (sealed: Buffer, merchantId: string): boolean =>
      sealed[0] === sealing && tryToOpen({ sealing, keys }, sealed, merchantId) !== undefined,
  }
}

function tryToOpen(keys: SealingKeys, sealed: Buffer, merchantId: string): string | undefined {
  try {
    return openSealed(keys, sealed, merchantId)
  } catch (error) {
    if (error instanceof OpenError) return undefined
    throw error
  }
}

/** A new secret of 32 random bytes, as text. */
export function generateWebhookSecret(randomBytes: (size: number) => Buffer): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}
