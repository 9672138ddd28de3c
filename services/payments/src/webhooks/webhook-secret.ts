import { DecryptionError, decrypt, type EncryptionKeys, encrypt } from '../vault/encryption.ts'
import { deriveKey, type VaultKey } from '../vault/vault-keys.ts'

/** Encrypts secrets of webhooks, each for its merchant. */
export interface WebhookSecrets {
  readonly encrypt: (secret: string, merchantId: string) => Buffer
  /** @throws DecryptionError when the text was altered, belongs to another merchant, or its key is gone */
  readonly decrypt: (encrypted: Buffer, merchantId: string) => string
  /** Whether the first key has encrypted it. */
  readonly isCurrent: (encrypted: Buffer, merchantId: string) => boolean
}

/** The keys that encrypt and decrypt secrets of webhooks. */
export interface WebhookSecretKeys {
  /** The first key encrypts. All keys decrypt. */
  readonly vaultKeys: readonly [VaultKey, ...VaultKey[]]
  /** Opens secrets that the pepper encrypted before the vault had keys. */
  readonly pepper: Buffer
}

const SECRET_BYTES = 32
/** The key id of secrets that the pepper encrypted. A key of the vault may have the same id. */
const PEPPER_ID = 0

/** Encrypts and decrypts secrets of webhooks. A secret is bound to its merchant: no other merchant can decrypt it. */
export function createWebhookSecrets({ vaultKeys, pepper }: WebhookSecretKeys): WebhookSecrets {
  const [{ id: encryptingId }] = vaultKeys
  const keys = new Map(vaultKeys.map((key) => [key.id, deriveKey(key, 'webhook/secret')]))
  const former: EncryptionKeys = {
    encryptingId: PEPPER_ID,
    keys: new Map([[PEPPER_ID, deriveKey({ key: pepper }, 'webhook/secret')]]),
  }
  const open = (encrypted: Buffer, merchantId: string): string =>
    tryToOpen({ encryptingId: encryptingId, keys }, encrypted, merchantId) ?? decrypt(former, encrypted, merchantId)
  return {
    encrypt: (secret: string, merchantId: string): Buffer =>
      encrypt({ encryptingId: encryptingId, keys }, secret, merchantId),
    decrypt: open,
    isCurrent: (encrypted: Buffer, merchantId: string): boolean =>
      encrypted[0] === encryptingId &&
      tryToOpen({ encryptingId: encryptingId, keys }, encrypted, merchantId) !== undefined,
  }
}

function tryToOpen(keys: EncryptionKeys, encrypted: Buffer, merchantId: string): string | undefined {
  try {
    return decrypt(keys, encrypted, merchantId)
  } catch (error) {
    if (error instanceof DecryptionError) return undefined
    throw error
  }
}

/** A new secret of 32 random bytes, as text. */
export function generateWebhookSecret(randomBytes: (size: number) => Buffer): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}
