import { createNoopMeter, type Meter } from '@opentelemetry/api'
import { describe, expect, it } from 'vitest'
import { DecryptionError } from './encryption.ts'
import { createPanVault } from './pan-vault.ts'
import type { VaultKey } from './vault-keys.ts'

const first: VaultKey = { id: 1, key: Buffer.alloc(32, 1) }
const second: VaultKey = { id: 255, key: Buffer.alloc(32, 2) }
const place = { merchantId: 'a'.repeat(24), instrumentId: 'b'.repeat(24) }
const pan = '4539148803436467'
const meter = createNoopMeter()

describe('createPanVault', () => {
  // ASVS 11.3.1, 11.3.2
  it('opens what it encrypted, and never encrypts to the same bytes twice', () => {
    const vault = createPanVault([first], meter)
    const [one, other] = [vault.encrypt(pan, place), vault.encrypt(pan, place)]
    expect(vault.decrypt(one.encrypted, place, 'authorization')).toBe(pan)
    expect(one.encrypted.equals(other.encrypted)).toBe(false)
    expect(one.mac.equals(other.mac)).toBe(true)
    expect([one.keyId, one.mac.length, one.encrypted.length]).toEqual([1, 32, 1 + 12 + 16 + 16])
    expect(one.encrypted.toString('latin1')).not.toContain(pan.slice(0, 6))
  })

  // ASVS 11.3.3
  it('refuses every altered bit, every shorter text, and every other row', () => {
    const vault = createPanVault([first, { ...second, id: 0 }], meter)
    const { encrypted } = vault.encrypt(pan, place)
    for (let bit = 0; bit < encrypted.length * 8; bit++) {
      const altered = Buffer.from(encrypted)
      altered.writeUInt8(altered.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      expect(() => vault.decrypt(altered, place, 'authorization')).toThrow(DecryptionError)
    }
    for (let length = 0; length < encrypted.length; length++) {
      expect(() => vault.decrypt(encrypted.subarray(0, length), place, 'authorization')).toThrow(DecryptionError)
    }
    const elsewhere = { merchantId: place.instrumentId, instrumentId: place.merchantId }
    expect(() => vault.decrypt(encrypted, elsewhere, 'authorization')).toThrow(DecryptionError)
  })

  it('encrypts with the first key, opens with all, and finds a number under each', () => {
    const old = createPanVault([first], meter)
    const both = createPanVault([second, first], meter)
    const record = old.encrypt(pan, place)
    expect(both.decrypt(record.encrypted, place, 'rotation')).toBe(pan)
    expect(both.encrypt(pan, place).keyId).toBe(255)
    expect(both.macs(pan).some((mac) => mac.equals(record.mac))).toBe(true)
    expect(both.macs(pan)).toHaveLength(2)
    const gone = createPanVault([second], meter)
    expect(() => gone.decrypt(record.encrypted, place, 'rotation')).toThrow('key 1, which is not configured')
  })

  it('counts every opening, also failed ones', () => {
    const counted: unknown[] = []
    const counting: Meter = Object.assign(Object.create(meter), {
      createCounter: (name: string) => ({ add: (...measurement: unknown[]) => counted.push([name, ...measurement]) }),
    })
    const vault = createPanVault([first], counting)
    counted.length = 0
    vault.decrypt(vault.encrypt(pan, place).encrypted, place, 'authorization')
    expect(() => vault.decrypt(Buffer.alloc(0), place, 'rotation')).toThrow(DecryptionError)
    expect(counted).toEqual([
      ['payments_vault_opens_total', 1, { purpose: 'authorization' }],
      ['payments_vault_opens_total', 1, { purpose: 'rotation' }],
    ])
  })
})
