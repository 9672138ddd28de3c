import { anyText } from '@trestle/testing/any-text.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileGlob } from './glob.ts'

describe('compileGlob', () => {
  it.each([
    ['https://*.h', 'https://a.h', true],
    ['https://*.h', 'https://a.b.h', false],
    ['https://*.h', 'https://h', false],
    ['https://*.h', 'https://elsewhere?.h', false],
    ['https://h/*', 'https://h/p', true],
    ['https://h/*', 'https://h/p?q=1', true],
    ['https://h/*', 'https://h/', true],
    ['https://h/*', 'https://h', false],
    ['https://h/*', 'https://h/p/q', false],
    ['https://h/**', 'https://h/p/q.r?s', true],
    ['https://h/?', 'https://h/p', true],
    ['https://h/?', 'https://h/', false],
    ['https://h/?', 'https://h/.', false],
    ['https://h/?', 'https://h/😀', true],
    ['https://h/[abc]', 'https://h/b', true],
    ['https://h/[abc]', 'https://h/d', false],
    ['https://h/[a-c0]', 'https://h/0', true],
    ['https://h/[a-]', 'https://h/-', true],
    ['https://h/[!a-c]', 'https://h/d', true],
    ['https://h/[!a-c]', 'https://h/a', false],
    ['https://h/[!a-c]', 'https://h//', false],
    ['https://{a,b}.h', 'https://b.h', true],
    ['https://{a,b}.h', 'https://c.h', false],
    ['https://{a*,b{1,2},}.h', 'https://azz.h', true],
    ['https://{a*,b{1,2},}.h', 'https://b2.h', true],
    ['https://{a*,b{1,2},}.h', 'https://.h', true],
    ['https://{a*,b{1,2},}.h', 'https://b3.h', false],
    ['https://h/\\*', 'https://h/*', true],
    ['https://h/\\*', 'https://h/a', false],
    ['http://\\[::1\\]:*/', 'http://[::1]:3000/', true],
    ['https://h/*', 'https://h/a%2fb', false],
    ['https://h/*', 'https://h/a%252Fb', false],
    ['https://h/?', 'https://h/%2f', false],
    ['https://h/*', 'https://h/p?next=%2fq', true],
    ['https://h/**', 'https://h/a%2fb', true],
    ['https://h/**', 'https://h%2fa', false],
    ['https://h/a%2Fb/*', 'https://h/a%2Fb/c', true],
    ['https://h/a%2Fb/*', 'https://h/a/b/c', false],
    ['https://h/\\%2\\f*', 'https://h/%2fa', true],
    ['https://h/\\\\%2f*', 'https://h/\\%2fa', true],
    ['https://h/%2fa?next=%2fq', 'https://h/%2fa?next=%2fq', true],
    ['', '', true],
    ['', 'a', false],
  ])('says whether %s matches %s: %s', (glob, text, expected) => {
    expect(compileGlob(glob).matches(text)).toBe(expected)
  })

  it.each(['https://h/[', 'https://h/[a', 'https://h/[]', 'https://h/[!]', 'https://h/{a', 'https://h/\\', '[z-a]'])(
    'refuses %s',
    (glob) => {
      expect(() => compileGlob(glob)).toThrow(SyntaxError)
    },
  )

  it('matches a text against itself when every character is escaped', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        const escaped = [...text].map((character) => `\\${character}`).join('')
        return compileGlob(escaped).matches(text)
      }),
    )
  })

  it('agrees with a regular expression on stars, question marks and literals', () => {
    const glob = fc.array(fc.constantFrom('*', '**', '?', 'a', 'b', '.', '/'), { maxLength: 8 })
    const text = fc.array(fc.constantFrom('a', 'b', '.', '/'), { maxLength: 10 })
    fc.assert(
      fc.property(glob, text, (parts, characters) => {
        const source = parts.join('')
        const pattern = source.replaceAll(/\*\*|\*|\?|\.|\//g, (part) =>
          part === '**' ? '.*' : part === '*' ? '[^./]*' : part === '?' ? '[^./]' : `\\${part}`,
        )
        const candidate = characters.join('')
        return compileGlob(source).matches(candidate) === new RegExp(`^${pattern}$`, 's').test(candidate)
      }),
      { numRuns: 1000 },
    )
  })

  it('takes linear time where a backtracking matcher takes forever', () => {
    const glob = compileGlob(`${'*a'.repeat(50)}{*,**,{*,**}}b`)
    expect(glob.matches('a'.repeat(2_000))).toBe(false)
  })
})
