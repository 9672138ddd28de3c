import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { openToken, sealToken } from './card-token.ts'
import { createCheckoutSeals } from './seal.ts'
import type { VaultKey } from './vault-keys.ts'

const first: VaultKey = { id: 1, key: Buffer.alloc(32, 1) }
const second: VaultKey = { id: 2, key: Buffer.alloc(32, 2) }
const { tokens, hints, frames } = createCheckoutSeals([first])
const moment = { now: () => new Date('2026-11-20T12:00:00.000Z'), randomBytes }
const number = { type: 'pcn', value: '1000000000000000' } as const

describe('sealToken and openToken', () => {
  it('make a number expire after a day, and a code after an hour', () => {
    const opened = openToken(tokens, sealToken(tokens, moment, number), 'pcn')
    expect(opened).toEqual({
      verdict: 'opened',
      token: {
        value: number.value,
        jti: expect.stringMatching(/^[\w-]{22}$/),
        expires: new Date('2026-11-21T12:00:00.000Z'),
      },
    })
    const code = openToken(tokens, sealToken(tokens, moment, { type: 'pcsc', value: '123' }), 'pcsc')
    expect(code).toEqual({
      verdict: 'opened',
      token: { value: '123', expires: new Date('2026-11-20T13:00:00.000Z'), jti: expect.any(String) },
    })
  })

  it('distinguish a token of the other kind from other texts', () => {
    const text = sealToken(tokens, moment, number)
    expect(openToken(tokens, text, 'pcsc')).toEqual({ verdict: 'unexpected' })
    for (const other of [
      '',
      'x',
      '====',
      text.slice(4),
      text.replace(/^./, 'Z'),
      hints.seal({}, 'vault/pcn'),
      `${text} `,
    ]) {
      expect(openToken(tokens, other, 'pcn')).toEqual({ verdict: 'invalid' })
    }
  })

  it('open tokens that an older key of the vault has sealed', () => {
    const text = sealToken(tokens, moment, number)
    expect(openToken(createCheckoutSeals([second, first]).tokens, text, 'pcn')).toEqual(openToken(tokens, text, 'pcn'))
    expect(openToken(createCheckoutSeals([second]).tokens, text, 'pcn')).toEqual({ verdict: 'invalid' })
  })
})

describe('createTextSeal', () => {
  it('refuses every altered bit, every other place and every other purpose', () => {
    const sealed = Buffer.from(frames.seal({ a: 1 }, 'here'), 'base64')
    expect(frames.open(sealed.toString('base64'), 'here')).toEqual({ a: 1 })
    expect(frames.open(sealed.toString('base64'), 'there')).toBeUndefined()
    expect(hints.open(sealed.toString('base64'), 'here')).toBeUndefined()
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const altered = Buffer.from(sealed)
      altered.writeUInt8(altered.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      expect(frames.open(altered.toString('base64'), 'here')).toBeUndefined()
    }
  })
})
