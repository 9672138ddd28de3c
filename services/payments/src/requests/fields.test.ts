import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { descriptor, email, ListQuery, name, pathId, website } from './fields.ts'

const accepts = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success

describe('fields', () => {
  // ASVS 1.3.3, 1.3.11
  it.each([
    [name(), 'x', true],
    [name(), 'x'.repeat(255), true],
    [name(), 'x'.repeat(256), false],
    [name(), '   ', false],
    [name(), 'a\0b', false],
    [name(), 'a\ud800b', false],
    [name(), 5, false],
    [email(), 'john@example.com', true],
    [email(), ' john@example.com ', true],
    [email(), 'john@localhost', false],
    [email(), 'a@b@c.com', false],
    [email(), 'jo hn@example.com', false],
    [email(), 'john@example.com\r\nBcc: x@y.z', false],
    [email(), 'john@example.com\u0085x', false],
    [email(), 'john@.com', false],
    [email(), 'john@⁴¹¹¹¹¹¹¹¹¹¹¹¹¹¹¹.example', false],
    [email(), 'john@example.', false],
    [email(), "o'hara+shop_1.x@mail.example.com", true],
    [email(), 'josé@bücher.example', true],
    [email(), `${'x'.repeat(242)}@example.com`, true],
    [email(), `${'x'.repeat(243)}@example.com`, false],
    [website(), 'https://example.com', true],
    [website(), 'HTTP://example.com:8080/a?b#c', true],
    [website(), 'example.com', true],
    [website(), 'bücher.example', true],
    [website(), 'localhost', true],
    [website(), 'ftp://example.com', false],
    [website(), 'javascript:alert(1)', false],
    [website(), 'https://', false],
    [website(), 'exa mple.com', false],
    [website(), '-example.com', false],
    [website(), `https://example.com/${'x'.repeat(2028)}`, true],
    [website(), `https://example.com/${'x'.repeat(2029)}`, false],
    [descriptor(), 'Coffee & John', true],
    [descriptor(), 'ab', true],
    [descriptor(), 'a', false],
    [descriptor(), 'x'.repeat(22), true],
    [descriptor(), 'x'.repeat(23), false],
    [descriptor(), 'Café', false],
    [descriptor(), 'a\tb', false],
  ])('accepts or refuses the value %#: %j', (schema, value, expected) => {
    expect(accepts(schema, value)).toBe(expected)
  })

  it.each([
    [website(), 'http://localhost:3000/return'],
    [website(), 'http://127.0.0.1:8080'],
    [website(), 'https://shop.example.com:12345/'],
    [website(), 'https://a.b.c.d.e.example?order=1#paid'],
    [website(), 'shop.of.the.north.example'],
    [email(), 'john@mail.shop.of.the.north.example'],
  ])('lets the API document permit the value %#: %s', (schema, value) => {
    const { pattern } = schema.meta() ?? {}
    expect([accepts(schema, value), new RegExp(String(pattern)).test(value)]).toEqual([true, true])
  })

  // Mail libraries drop these characters, so one mailbox would have many spellings.
  it.each([
    '<john@example.com>',
    'jo<hn@example.com',
    '(c)john@example.com',
    'x:john@example.com;',
    'a;b@example.com',
    'a,b@example.com',
    '"john"@example.com',
    'jo\\hn@example.com',
    'jo\u200bhn@example.com',
    'john@[127.0.0.1]',
    'john@example.com>',
    'john@exa(c)mple.com',
    'john@mail\u3002example.com',
  ])('refuses the address %j', (value) => {
    expect(accepts(email(), value)).toBe(false)
  })

  it.each(['josé@bücher.example', 'josé@BÜCHER.example', 'josé@bu\u0308cher.example', 'josé@xn--bcher-kva.example'])(
    'reads %j as the address of one user',
    (value) => {
      expect(email().parse(value)).toBe('josé@xn--bcher-kva.example')
    },
  )

  it('trims every text but a descriptor', () => {
    expect(email().parse(' john@example.com ')).toBe('john@example.com')
    expect(descriptor().parse(' ab ')).toBe(' ab ')
  })

  it.each([
    ['65A1B2C3000000000000ABCD', '65a1b2c3000000000000abcd'],
    ['65a1b2c3000000000000abc', ''],
    ['65a1b2c3000000000000abcdd', ''],
    ['65a1b2c3000000000000abcg', ''],
    ['', ''],
    ['\0', ''],
  ])('reads the path id %j as %j', (value, expected) => {
    expect(pathId().parse(value)).toBe(expected)
  })

  it.each([[0], [-1], [1001], [10.5], ['10'], [undefined], [1e9]])('refuses the limit %j', (limit) => {
    expect(accepts(ListQuery, { limit })).toBe(false)
  })

  it('takes cursors in upper case', () => {
    expect(ListQuery.parse({ limit: 1000, before: '65A1B2C3000000000000ABCD' })).toEqual({
      limit: 1000,
      before: '65a1b2c3000000000000abcd',
    })
    expect(accepts(ListQuery, { limit: 1, after: '65a1' })).toBe(false)
  })
})
