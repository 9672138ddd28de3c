import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { keyMac } from './app.ts'
import { createKeyReader, readBasicKey } from './presented-key.ts'

const pepper = createSecretKey(randomBytes(32))

function basic(key: string): string {
  return `Basic ${Buffer.from(`:${key}`).toString('base64')}`
}

describe('createKeyReader', () => {
  it('reads each key unchanged, the first time and again, whatever was read in between', () => {
    const read = createKeyReader(pepper)
    const keys = ['one', 'two', 'x'.repeat(4_000)]
    for (const key of [...keys, ...keys]) {
      const mac = keyMac(pepper, key)
      expect(read(basic(key))).toEqual({ mac, name: mac.toString('base64url') })
    }
  })

  it('computes the MAC of a key once, unless its header is too long to remember', () => {
    const read = createKeyReader(pepper)
    expect(read(basic('one'))).toBe(read(basic('one')))
    expect(read(basic('x'.repeat(4_000)))).not.toBe(read(basic('x'.repeat(4_000))))
  })

  it.each([undefined, '', 'Basic', 'Bearer abc', basic('')])('finds no key in %o', (header) => {
    const read = createKeyReader(pepper)
    expect([read(header), read(header)]).toEqual([undefined, undefined])
  })
})

const encode = (text: string) => Buffer.from(text).toString('base64')

describe('readBasicKey', () => {
  it.each([
    [`Basic ${encode(':key')}`, 'key'],
    [`bAsIc   ${encode(':a:b')}`, 'a:b'],
    [`Basic ${encode(':key').replace(/=+$/, '')}`, 'key'],
    [undefined, undefined],
    ['', undefined],
    ['Basic', undefined],
    [`Bearer ${encode(':key')}`, undefined],
    [`Basic ${encode('user:key')}`, undefined],
    [`Basic ${encode('key')}`, undefined],
    [`Basic ${encode(':')}`, undefined],
    ['Basic :key', undefined],
    [`Basic ${Buffer.from(':caf\xe9', 'latin1').toString('base64')}`, undefined],
    ['Basic Om=tleQ', undefined],
    [`Basic ${encode(':key')} x`, undefined],
  ])('reads the header %j as the key %j', (header, expected) => {
    expect(readBasicKey(header)).toBe(expected)
  })
})
