import { createHmac, type KeyObject } from 'node:crypto'
import type { Meter } from '@opentelemetry/api'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import { decrypt, type EncryptionKeys, encrypt } from './encryption.ts'
import { deriveKey, type VaultKey } from './vault-keys.ts'

/** The row that stores a card number. A number that is encrypted for one row cannot be decrypted for another. */
export interface PanPlace {
  readonly merchantId: string
  readonly instrumentId: string
}

/** The stored columns of a card number. None of them reveals the number. */
export interface EncryptedPan {
  readonly encrypted: Buffer
  /** The id of the key that encrypted the number and made the digest. */
  readonly keyId: number
  /** A keyed digest of 32 bytes, which finds the same number within a merchant. */
  readonly mac: Buffer
}

/** The reason for decrypting a card number, used as a label of the metric. */
export type DecryptionPurpose = 'authorization' | 'rotation'

/** Encrypts and decrypts card numbers. Only this vault decrypts stored card numbers. */
export interface PanVault {
  /** The id of the encrypting key. */
  readonly keyId: number
  readonly encrypt: (pan: string, place: PanPlace) => EncryptedPan
  /** @throws DecryptionError if the number was altered, belongs to another row, or its key is missing */
  readonly decrypt: (encrypted: Buffer, place: PanPlace, purpose: DecryptionPurpose) => string
  /** Returns the digests under which a number may be stored, one for each key. */
  readonly macs: (pan: string) => readonly Buffer[]
}

/** Creates the vault of card numbers. The first key encrypts. Every decryption of a number is counted (reference: Security). */
export function createPanVault(vaultKeys: readonly [VaultKey, ...VaultKey[]], meter: Meter): PanVault {
  const opens = startAtZero(
    meter.createCounter('payments_vault_opens_total', { description: 'Card numbers decrypted, by purpose' }),
    [{ purpose: 'authorization' }, { purpose: 'rotation' }],
  )
  const [first] = vaultKeys
  const encryptingId: EncryptionKeys = {
    encryptingId: first.id,
    keys: new Map(vaultKeys.map((key) => [key.id, deriveKey(key, 'pan/seal')])),
  }
  const macKey = deriveKey(first, 'pan/mac')
  const macKeys = vaultKeys.map((key) => deriveKey(key, 'pan/mac'))
  return {
    keyId: first.id,
    encrypt: (pan: string, place: PanPlace): EncryptedPan => ({
      encrypted: encrypt(encryptingId, pan, textOf(place)),
      keyId: first.id,
      mac: digest(macKey, pan),
    }),
    decrypt: (encrypted: Buffer, place: PanPlace, purpose: DecryptionPurpose): string => {
      opens.add(1, { purpose })
      return decrypt(encryptingId, encrypted, textOf(place))
    },
    macs: (pan: string): readonly Buffer[] => macKeys.map((key) => digest(key, pan)),
  }
}

/** Both ids have 24 digits, so different places never have the same text. */
function textOf({ merchantId, instrumentId }: PanPlace): string {
  return `${merchantId}${instrumentId}`
}

function digest(key: KeyObject, pan: string): Buffer {
  return createHmac('sha256', key).update(pan).digest()
}
