import { describe, expect, it } from 'vitest'
import { printable, printableJson } from './printable.ts'

describe('printable', () => {
  it.each([
    ['plain ąß 日本 🙂', 'plain ąß 日本 🙂'],
    ['\u001b[2Jgone', '\\u{1b}[2Jgone'],
    ['a\r\nb\u0007', 'a\\u{d}\\u{a}b\\u{7}'],
    ['\u009b31mred', '\\u{9b}31mred'],
    ['abc\u202ecba', 'abc\\u{202e}cba'],
    ['a\u2028b', 'a\\u{2028}b'],
    ['\ud800', '\\u{d800}'],
  ])('escapes what a terminal would obey in %j', (text, expected) => {
    expect(printable(text)).toBe(expected)
  })
})

describe('printableJson', () => {
  it('escapes the same characters, and keeps the value', () => {
    const value = {
      'na\u202eme': ['\u001b]0;title\u0007', '\u009b31m', 'tag \u{e0041}', '\ud800', 'plain ąß 日本 🙂', 1n],
    }
    const text = printableJson(value, (_name, member) => (typeof member === 'bigint' ? Number(member) : member))
    expect(text).toBe(
      String.raw`{"na\u202eme":["\u001b]0;title\u0007","\u009b31m","tag \udb40\udc41","\ud800","plain ąß 日本 🙂",1]}`,
    )
    expect(JSON.parse(text)).toEqual({ 'na\u202eme': [...value['na\u202eme'].slice(0, -1), 1] })
  })
})
