import { describe, expect, it } from 'vitest'
import { toAnsweredAttempt, toShownAnswer } from './delivery-attempt.ts'

/** Masking shortens these addresses so much that text near the end of the answer would be shown. */
const ADDRESSES = `${'a'.repeat(64)}@b.example `.repeat(80)
const MASKED = 'a***@b.example '.repeat(80)
const READ_CHARS = 9_728
const ENCODED = '%25252525'

describe('toAnsweredAttempt', () => {
  it.each([200, 204, 299])('takes an event for delivered by an answer with %i', (status) => {
    expect(toAnsweredAttempt({ status, body: 'thanks' })).toEqual({ status, answer: 'thanks' })
  })

  it.each([199, 300, 404, 500])('takes an attempt for failed by an answer with %i', (status) => {
    expect(toAnsweredAttempt({ status, body: '' })).toEqual({ status, answer: '', error: `answered ${status}` })
  })
})

describe('toShownAnswer', () => {
  it('shows a short answer to its end, with masks', () => {
    expect(toShownAnswer(`${ADDRESSES}4111111111111111`)).toBe(`${MASKED}9999999999999999`)
  })

  it('shows the first 4 KiB of a long answer, without a character that is cut', () => {
    expect(toShownAnswer(`x${'å'.repeat(32_767)}`)).toBe(`x${'å'.repeat(2_047)}`)
    expect(toShownAnswer(`x${'å'.repeat(READ_CHARS - 1)}`)).toBe(`x${'å'.repeat(2_047)}`)
  })

  it.each([
    ['a card number', '4111111111111111'],
    ['a card number in groups', '4111 - 1111 - 1111 - 1111'],
    ['a card number as JSON escapes it', '4111\\u00a01111\\u00a01111\\u00a01111'],
    [
      'an encoded card number',
      [...'6304000000000000000'].map((digit) => `${ENCODED}3${digit}`).join(`${ENCODED}20`.repeat(6)),
    ],
    ['a bank account', 'DK5000400440116243'],
    ['an email address', `jane.doe.${'j'.repeat(55)}@${'k'.repeat(63)}.example.com`],
  ])('shows no beginning of %s, wherever the text is cut in it', (_kind, secret) => {
    for (let read = 0; read <= secret.length + 1; read++) {
      const filler = '_ '.repeat(READ_CHARS).slice(0, READ_CHARS - ADDRESSES.length - read - 1)
      const shown = toShownAnswer(`${ADDRESSES}${filler}:${secret}${' .'.repeat(READ_CHARS)}`)
      expect(shown.startsWith(MASKED)).toBe(true)
      expect(shown.slice(MASKED.length).replace(/[_ ]*/, '')).toBe('')
    }
  })
})
