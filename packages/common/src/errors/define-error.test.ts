import { describe, expect, it } from 'vitest'
import { defineError } from './define-error.ts'

const memberOf = ({ status, code, message, details, headers, cause }: ReturnType<ReturnType<typeof defineError>>) => ({
  status,
  code,
  message,
  details,
  headers,
  cause,
})

describe('defineError', () => {
  it('makes an error with the text, status and headers of the catalogue', () => {
    const busy = defineError(503, 'busy', 'Busy', { 'retry-after': '1' })
    expect([busy.status, busy.code, busy.message]).toEqual([503, 'busy', 'Busy'])
    expect(memberOf(busy())).toEqual({
      status: 503,
      code: 'busy',
      message: 'Busy',
      details: {},
      headers: { 'retry-after': '1' },
      cause: undefined,
    })
  })

  it('makes the text of a template from its values', () => {
    const tooLong = defineError(400, 'too_long', ({ max }: { readonly max: number }) => `at most ${max} characters`)
    const cause = new Error('a limit')
    expect([tooLong.status, tooLong.code]).toEqual([400, 'too_long'])
    expect(memberOf(tooLong({ max: 5 }, { cause, details: { a: 1 }, headers: { b: 'c' } }))).toEqual({
      status: 400,
      code: 'too_long',
      message: 'at most 5 characters',
      details: { a: 1 },
      headers: { b: 'c' },
      cause,
    })
  })
})

describe('isOfInput', () => {
  it.each([400, 413, 414, 415, 422])('is true for %d, which refuses the input', (status) => {
    expect(defineError(status, 'refused', 'Refused')().isOfInput).toBe(true)
  })

  it.each([401, 403, 404, 409, 412, 429, 500, 503])('is false for %d, which does not refuse the input', (status) => {
    expect(defineError(status, 'refused', 'Refused')().isOfInput).toBe(false)
  })
})
