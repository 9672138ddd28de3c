import { describe, expect, it } from 'vitest'
import { printable } from './printable.ts'

describe('printable', () => {
  it.each([
    ['plain ąß 日本 🙂', 'plain ąß 日本 🙂'],
    ['\u001b[2Jgone', '\\u{1b}[2Jgone'],
    ['a\r\nb\u0007', 'a\\u{d}\\u{a}b\\u{7}'],
    ['\u009b31mred', '\\u{9b}31mred'],
    ['abc\u202ecba', 'abc\\u{202e}cba'],
    ['a\u2028b', 'a\\u{2028}b'],
    ['\ud800', '\\u{d800}'],
  ])('%j', (text, expected) => {
    expect(printable(text)).toBe(expected)
  })
})
