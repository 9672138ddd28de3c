import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { decryptToken, encryptToken } from './card-token.ts'
import { createCheckoutCiphers } from './encryption.ts'
import type { VaultKey } from './vault-keys.ts'

const first: VaultKey = { id: 1, key: Buffer.alloc(32, 1) }
const second: VaultKey = { id: 2, key: Buffer.alloc(32, 2) }
const { tokens, hints, frames } = createCheckoutCiphers([first])
const moment = { now: () => new Date('2026-11-20T12:00:00.000Z'), randomBytes }
const number = { type: 'pcn', value: '1000000000000000' } as const

describe('encryptToken and decryptToken', () => {
  it('make a number expire after a day, and a code after an hour', () => {
    const opened = decryptToken(tokens, encryptToken(tokens, moment, number), 'pcn')
    expect(opened).toEqual({
      verdict: 'opened',
      token: {
        value: number.value,
        jti: expect.stringMatching(/^[\w-]{22}$/),
        expires: new Date('2026-11-21T12:00:00.000Z'),
      },
    })
    const code = decryptToken(tokens, encryptToken(tokens, moment, { type: 'pcsc', value: '123' }), 'pcsc')
    expect(code).toEqual({
      verdict: 'opened',
      token: { value: '123', expires: new Date('2026-11-20T13:00:00.000Z'), jti: expect.any(String) },
    })
  })

  it('distinguish a token of the other kind from other texts', () => {
    const text = encryptToken(tokens, moment, number)
    expect(decryptToken(tokens, text, 'pcsc')).toEqual({ verdict: 'unexpected' })
    for (const other of [
      '',
      'x',
      '====',
      text.slice(4),
      text.replace(/^./, 'Z'),
      hints.encrypt({}, 'vault/pcn'),
      `${text} `,
    ]) {
      expect(decryptToken(tokens, other, 'pcn')).toEqual({ verdict: 'invalid' })
    }
  })

  it('open tokens that an older key of the vault has encrypted', () => {
    const text = encryptToken(tokens, moment, number)
    expect(decryptToken(createCheckoutCiphers([second, first]).tokens, text, 'pcn')).toEqual(
      decryptToken(tokens, text, 'pcn'),
    )
    expect(decryptToken(createCheckoutCiphers([second]).tokens, text, 'pcn')).toEqual({ verdict: 'invalid' })
  })
})

describe('createTextCipher', () => {
  it('refuses every altered bit, every other place and every other purpose', () => {
    const encrypted = Buffer.from(frames.encrypt({ a: 1 }, 'here'), 'base64')
    expect(frames.decrypt(encrypted.toString('base64'), 'here')).toEqual({ a: 1 })
    expect(frames.decrypt(encrypted.toString('base64'), 'there')).toBeUndefined()
    expect(hints.decrypt(encrypted.toString('base64'), 'here')).toBeUndefined()
    for (let bit = 0; bit < encrypted.length * 8; bit++) {
      const altered = Buffer.from(encrypted)
      altered.writeUInt8(altered.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      expect(frames.decrypt(altered.toString('base64'), 'here')).toBeUndefined()
    }
  })
})
