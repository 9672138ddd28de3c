import { describe, expect, it } from 'vitest'
import { encodesUtf8 } from './encodes-utf8.ts'

describe('encodesUtf8', () => {
  it.each([
    ['an empty text', ''],
    ['characters of one to four bytes', 'a=%61&b=%C3%A9&c=%e2%82%ac&d=%F0%9F%98%80'],
    ['a character that stands for lost ones', 'a=%EF%BF%BD'],
    ['a bare percent sign', 'a=100%&b=%zz&c=%4'],
  ])('accepts %s', (_name, text) => {
    expect(encodesUtf8(text)).toBe(true)
  })

  it.each([
    ['a byte of Latin-1', 'a=caf%E9'],
    ['a name in Latin-1', 'caf%e9=1'],
    ['a character that is cut off', 'a=%E2%82&b=%AC'],
    ['an overlong character', 'a=%C0%AF'],
    ['a surrogate', 'a=%ED%A0%80'],
    ['a byte after a good character', 'a=%C3%A9%E9'],
  ])('refuses %s', (_name, text) => {
    expect(encodesUtf8(text)).toBe(false)
  })
})
