import { DecryptionError, decrypt, type EncryptionKeys, encrypt } from '../vault/encryption.ts'
import { deriveKey, type VaultKey } from '../vault/vault-keys.ts'

/** Encrypts webhook secrets, each for its merchant. */
export interface WebhookSecrets {
  readonly encrypt: (secret: string, merchantId: string) => Buffer
  /** @throws DecryptionError if the text was altered, belongs to another merchant, or its key is missing */
  readonly decrypt: (encrypted: Buffer, merchantId: string) => string
  /** Returns whether the secret is encrypted with the first key. */
  readonly isCurrent: (encrypted: Buffer, merchantId: string) => boolean
}

/** The keys that encrypt and decrypt webhook secrets. */
export interface WebhookSecretKeys {
  /** The first key encrypts. All keys decrypt. */
  readonly vaultKeys: readonly [VaultKey, ...VaultKey[]]
  /** Decrypts secrets from before the vault had keys. At that time the pepper encrypted them. */
  readonly pepper: Buffer
}

const SECRET_BYTES = 32
/** The key id of secrets that are encrypted with the pepper. A vault key may have the same id. */
const PEPPER_ID = 0

/** Returns the cipher of webhook secrets. A secret is bound to its merchant and cannot be decrypted for another merchant. */
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

/** Returns a new secret: 32 random bytes in base64url. */
export function generateWebhookSecret(randomBytes: (size: number) => Buffer): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}
