import { createHmac, type KeyObject } from 'node:crypto'
import type { Meter } from '@opentelemetry/api'
import { startAtZero } from '@trestle/common/telemetry/start-at-zero.ts'
import { openSealed, type SealingKeys, seal } from './seal.ts'
import { deriveKey, type VaultKey } from './vault-keys.ts'

/** The row that a card number belongs to. A number that is sealed for one row does not open for another. */
export interface PanPlace {
  readonly merchantId: string
  readonly instrumentId: string
}

/** The stored columns of a card number: nothing in them shows the number. */
export interface SealedPan {
  readonly sealed: Buffer
  /** The key that sealed it and made the digest. */
  readonly keyId: number
  /** Keyed digest, 32 bytes: finds the same number within a merchant. */
  readonly mac: Buffer
}

/** Why a card number is opened; a label of the metric. */
export type OpenPurpose = 'authorization' | 'rotation'

/** Seals and opens card numbers. Stored card numbers are opened only here. */
export interface PanVault {
  /** The id of the key that seals. */
  readonly keyId: number
  readonly seal: (pan: string, place: PanPlace) => SealedPan
  /** @throws OpenError when the number was altered, belongs to another row, or its key is gone */
  readonly open: (sealed: Buffer, place: PanPlace, purpose: OpenPurpose) => string
  /** The digests that a number may be stored under: one for each key. */
  readonly macs: (pan: string) => readonly Buffer[]
}

/** Creates the vault, which encrypts and decrypts card numbers. The first key seals. Every opening of a number is counted (reference: Security). */
export function createPanVault(vaultKeys: readonly [VaultKey, ...VaultKey[]], meter: Meter): PanVault {
  const opens = startAtZero(
    meter.createCounter('payments_vault_opens_total', { description: 'Card numbers opened by purpose' }),
    [{ purpose: 'authorization' }, { purpose: 'rotation' }],
  )
  const [first] = vaultKeys
  const sealing: SealingKeys = {
    sealing: first.id,
    keys: new Map(vaultKeys.map((key) => [key.id, deriveKey(key, 'pan/seal')])),
  }
  const macKey = deriveKey(first, 'pan/mac')
  const macKeys = vaultKeys.map((key) => deriveKey(key, 'pan/mac'))
  return {
    keyId: first.id,
    seal: (pan: string, place: PanPlace): SealedPan => ({
      sealed: seal(sealing, pan, textOf(place)),
      keyId: first.id,
      mac: digest(macKey, pan),
    }),
    open: (sealed: Buffer, place: PanPlace, purpose: OpenPurpose): string => {
      opens.add(1, { purpose })
      return openSealed(sealing, sealed, textOf(place))
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
