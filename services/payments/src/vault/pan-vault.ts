import { createHmac, type KeyObject } from 'node:crypto'
import type { Meter } from '@opentelemetry/api'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import { decrypt, type EncryptionKeys, encrypt } from './encryption.ts'
import { deriveKey, type VaultKey } from './vault-keys.ts'

/** The row that a card number belongs to. A number that is encrypted for one row does not open for another. */
export interface PanPlace {
  readonly merchantId: string
  readonly instrumentId: string
}

/** The stored columns of a card number: nothing in them shows the number. */
export interface EncryptedPan {
  readonly encrypted: Buffer
  /** The key that encrypted it and made the digest. */
  readonly keyId: number
  /** Keyed digest, 32 bytes: finds the same number within a merchant. */
  readonly mac: Buffer
}

/** Why a card number is opened; a label of the metric. */
export type DecryptionPurpose = 'authorization' | 'rotation'

/** Encrypts and decrypts card numbers. Stored card numbers are opened only here. */
export interface PanVault {
  /** The id of the key that encrypts. */
  readonly keyId: number
  readonly encrypt: (pan: string, place: PanPlace) => EncryptedPan
  /** @throws DecryptionError when the number was altered, belongs to another row, or its key is gone */
  readonly decrypt: (encrypted: Buffer, place: PanPlace, purpose: DecryptionPurpose) => string
  /** The digests that a number may be stored under: one for each key. */
  readonly macs: (pan: string) => readonly Buffer[]
}

/** Creates the vault, which encrypts and decrypts card numbers. The first key encrypts. Every opening of a number is counted (reference: Security). */
export function createPanVault(vaultKeys: readonly [VaultKey, ...VaultKey[]], meter: Meter): PanVault {
  const opens = startAtZero(
    meter.createCounter('payments_vault_opens_total', { description: 'Card numbers opened by purpose' }),
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

/** Both ids have 24 digits, so two places never have the same text. */
function textOf({ merchantId, instrumentId }: PanPlace): string {
  return `${merchantId}${instrumentId}`
}

function digest(key: KeyObject, pan: string): Buffer {
  return createHmac('sha256', key).update(pan).digest()
}
