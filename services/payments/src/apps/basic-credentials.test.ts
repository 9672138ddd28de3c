import { describe, expect, it } from 'vitest'
import { readBasicKey } from './basic-credentials.ts'

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
    ['Basic Om=tleQ', undefined],
    [`Basic ${encode(':key')} x`, undefined],
  ])('%j gives %j', (header, expected) => {
    expect(readBasicKey(header)).toBe(expected)
  })
})
