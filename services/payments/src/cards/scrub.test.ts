import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasLongNumber, LONG_NUMBERS, scrub, scrubStart } from './scrub.ts'

const PAN = '4111111111111111'

/** A card number in groups, with different separators between the groups. */
const SEPARATED = [
  '.',
  '_',
  '\u2009',
  '\u00a0',
  '  ',
  ',',
  '/',
  ', ',
  ' - ',
  '%E2%80%89',
  '%C2%A0',
  '%20%20',
  '%5F',
  ':',
  '":"',
  // UTF-8 that was decoded as Latin-1, and a tab and a control character in the form in which JSON escapes them.
  '\u00e2\u0080\u0089',
  '\u00c2\u00a0',
  '\\t',
  '\\u001f',
].flatMap((separator) =>
  [
    ['4111', '1111', '1111', '1111'],
    ['41', '11', '11', '11', '11', '11', '11', '11'],
    ['411', '111', '111', '111', '1111'],
    ['37', '8282246', '310005'],
    [...PAN],
  ].map((groups) => {
    const text = groups.join(separator)
    const masked = groups.map((group) => '9'.repeat(group.length)).join(separator)
    return [`a ${text} 08/66 b`, `a ${masked} 08/66 b`]
  }),
)

/** Long numbers. One in ten has a valid check digit. */
const TIMES = Array.from({ length: 100 }, (_, ms) => `2026-11-20 16:46:44.${123 + ms}`)

describe('scrub', () => {
  it.each([
    [`GET /transactions/${PAN}`, 'GET /transactions/9999999999999999'],
    [`x${PAN}y`, 'x9999999999999999y'],
    ['4111 1111 1111 1111', '9999 9999 9999 9999'],
    ['4111-1111-1111-1111', '9999-9999-9999-9999'],
    ['6304000000000000000', '9999999999999999999'],
    ['378282246310005', '999999999999999'],
    ['3782 822463 10005', '9999 999999 99999'],
    ['/nope/4539%205787%206362%201486', '/nope/9999%209999%209999%209999'],
    ['/nope/4539%2D5787%2d6362%2E1486?a=1', '/nope/9999%2D9999%2d9999%2E9999?a=1'],
    ['/nope/4539%25205787%25206362%25201486', '/nope/9999%25209999%25209999%25209999'],
    ['/nope/4539+5787+6362%201486/x', '/nope/9999+9999+9999%209999/x'],
    ['/nope/%34%35%33%39%35%37%38%37%36%33%36%32%31%34%38%36', `/nope/${'%39'.repeat(16)}`],
    ['/nope/7%204539%205787%206362%201486%209', '/nope/7%209999%209999%209999%209999%209'],
    ...SEPARATED,
    ['"pcn":"1000000000000000"', '"pcn":"[redacted]"'],
    ['"pcn": 1000 0000 0000 0001', '"pcn": [redacted]'],
    ['type=pcn&value=12', 'type=pcn&value=[redacted]'],
    ['DK5000400440116243', '[redacted]6243'],
    ['to DK50 0040 0440 1162 43, today', 'to [redacted]6243, today'],
    ['GB29 NWBK 6016 1331 9268 19', '[redacted]6819'],
    ['ISO 9001 and DK50 0040', 'ISO 9001 and DK50 0040'],
    ['to john.doe+x@mail.example.com now', 'to j***@mail.example.com now'],
    ["o'neil@example.com", 'o***@example.com'],
  ])('masks %s', (text, expected) => {
    expect(scrub(text)).toBe(expected)
  })

  it.each([
    ['4111111111111112'],
    ['41111111111'],
    ['41111111111111111111'],
    ['411111111111111111111111'],
    ['6ba3f2c1411111111111111f'],
    ['4bf92f3577b34da6a3ce929d0e0e4736'],
    ['2026-03-01T10:20:30.123Z'],
    ['"duration_ms":12.345'],
    ['@trestle/payments'],
    ['/nope/4539%205787%206362%201487'],
    ['/pos?text=a%20b&value=10%2C50'],
    ...TIMES.map((time) => [`at ${time} and`]),
    ['/x?from=2026-11-20%2016%3A46%3A44.1&to=2026-11-21%2016%3A46%3A44.1'],
    ['41111111-1111-4111-8111-111111111111'],
    ['200 4111111111111111abcdef12, 4.18.0-553.22.1'],
    ['a4111b1111c1111d1111'],
    ['4111.1111.1111.1112'],
  ])('leaves %s', (text) => {
    expect(scrub(text)).toBe(text)
  })

  it('keeps lines valid JSON, whether a number stands in a text or alone', () => {
    const line = {
      time: 1,
      value: 378282246310005,
      path: `/x/${PAN}`,
      msg: 'john@example.com',
      list: [378282246310005],
    }
    const clean: unknown = JSON.parse(scrub(JSON.stringify(line)))
    expect(clean).toEqual({
      time: 1,
      value: 999999999999999,
      path: '/x/9999999999999999',
      msg: 'j***@example.com',
      list: [999999999999999],
    })
  })

  it('takes time in proportion to the text, for any text', () => {
    for (const text of [
      'a',
      '1',
      '1 ',
      '%20',
      '1%20',
      '%25',
      '%31',
      '12345%2d',
      '1-',
      '4 ',
      '1,,,,,,',
      '1 6a0f3c12-',
      '1\\u00a0',
      'pcn ',
      'DK50',
      'a@',
      'f'.repeat(24),
    ]) {
      const long = text.repeat(65_536 / text.length)
      // CPU time of this thread in microseconds, so that other load does not count. A quadratic pattern takes seconds.
      const before = process.threadCpuUsage()
      scrub(long)
      const { user, system } = process.threadCpuUsage(before)
      expect(user + system).toBeLessThan(500_000)
    }
  })
})

describe('scrubStart', () => {
  it('masks before it cuts, and shows no more than the length', () => {
    expect(scrubStart(`x ${PAN}`, 10)).toBe('x 99999999')
    expect(scrubStart(`x ${PAN}`, 100)).toBe('x 9999999999999999')
  })

  it('shows no beginning of a card number, wherever the text is cut in it', () => {
    // The masks of the addresses shorten the text so much that its unmasked end could become visible.
    const addresses = `${'a'.repeat(64)}@b.example `.repeat(64)
    for (let at = 5_500; at <= 5_550; at++) {
      const shown = scrubStart(`${addresses.padEnd(at, '_ ')}:${PAN}${' .'.repeat(2_000)}`, 2_000)
      expect(shown).toMatch(/^(?:a\*{3}@b\.example )+[^1]*$/)
    }
  })
})

const pieces = fc.array(
  fc.oneof(
    fc.constantFrom(
      '4111111111111111',
      '4111 1111 1111 1111',
      '6a0f3c121230001234567abc',
      '/',
      '"',
      'x',
      '_',
      'é',
      ' ',
      '-',
      '.',
      '":"',
      '\u00a0',
      '0b6a5c1e-7d53-4a4b-9d39-1c2d3e4f5a6b',
    ),
    fc.stringMatching(/^\d{1,13}$/),
    fc.stringMatching(/^[0-9a-f]{1,13}$/),
  ),
  { maxLength: 12 },
)

describe('hasLongNumber', () => {
  it.each([
    ['/transactions/4111111111111111'],
    ['4111 1111 1111'],
    ['4111-1111-1111'],
    ['a4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1z'],
    ['4\u20091_1.1/1:1;1\u00a01+1=1*1 1'],
    ['"n":411111111111,"id":"6a0f3c121230001234567abc"'],
    ['6a0f3c121230001234567abc 411111111111'],
    ['6a0f3c121230001234567abcx'],
    ['_6a0f3c121230001234567abc'],
    ['123456789012345678901234a'],
  ])('is true of %s', (text) => {
    expect(hasLongNumber(text)).toBe(true)
  })

  it.each([
    [''],
    ['41111111111'],
    ['"/merchants/6a0f3c121230001234567abc"'],
    ['123456789012345678901234'],
    ['12345678901 123456789012345678901234 12345678901'],
    ['203.0.113.19'],
    ['"time":"2026-11-20T16:46:44.123Z","request_id":"0b6a5c1e-7d53-4a4b-9d39-1c2d3e4f5a6b"'],
  ])('is false of %s', (text) => {
    expect(hasLongNumber(text)).toBe(false)
  })

  it('finds each number, wherever it stands', () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = parts.join('')
        const isId = (match: string) => /^(?:[0-9a-f]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i.test(match)
        const hasNumber = [...text.matchAll(LONG_NUMBERS)].some(([match]) => !isId(match))
        expect(hasNumber && !hasLongNumber(text)).toBe(false)
      }),
      { numRuns: 5_000 },
    )
  })
})
