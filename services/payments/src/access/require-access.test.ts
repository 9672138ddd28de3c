import { describe, expect, it } from 'vitest'
import { conflict, forbidden, idempotencyKeyUsed, invalidFields, notFound, unauthorized } from '../errors.ts'
import type { Caller } from './caller.ts'
import {
  keyMacOf,
  mapInput,
  type Problem,
  type RequestInput,
  refuseRunning,
  requireAccess,
  requireObject,
  requireOutcome,
  valid,
  valuesOrNull,
} from './require-access.ts'
import type { Verdict } from './verdict.ts'

const callerOf = (keyMac: Buffer | null): Caller => ({ keyMac, userEmail: null, idempotentRequest: undefined })
/** Returns a caller that records the ids passed to `onIdentified`. */
const listening = () => {
  const heard: string[] = []
  return { heard, caller: { ...callerOf(null), onIdentified: (identityId: string) => void heard.push(identityId) } }
}
const parse: Problem = { stage: 'parse', error: invalidFields([{ field: 'body', message: 'parse', code: 'FORMAT' }]) }
const values: Problem = {
  stage: 'validation',
  error: invalidFields([{ field: 'a', message: 'values', code: 'RANGE' }]),
}

describe('requireAccess', () => {
  it.each<readonly [Verdict, Problem | undefined, Error]>([
    ['unauthorized', undefined, unauthorized()],
    ['unauthorized', parse, unauthorized()],
    ['unauthorized', values, unauthorized()],
    ['not-found', undefined, notFound()],
    ['not-found', parse, parse.error],
    ['not-found', values, notFound()],
    ['forbidden', undefined, forbidden()],
    ['forbidden', parse, parse.error],
    ['forbidden', values, forbidden()],
    ['key-mismatch', undefined, idempotencyKeyUsed()],
    ['key-mismatch', parse, parse.error],
    ['key-mismatch', values, values.error],
    ['key-running', undefined, conflict()],
    ['key-running', parse, parse.error],
    ['key-running', values, values.error],
    ['replayed', parse, parse.error],
    ['replayed', values, values.error],
    ['done', parse, parse.error],
    ['done', values, values.error],
  ])('refuses in the order of checks: %s, with %j', (verdict, problem, refusal) => {
    const input: RequestInput<string> = problem ? { verdict: 'refused', problem } : valid('values')
    expect(() => requireAccess(callerOf(null), { verdict, identityId: null }, input)).toThrow(refusal)
  })

  it.each<Verdict>(['replayed', 'done'])(
    'returns the result and the values of a request that may go on: %s',
    (verdict) => {
      const { caller, heard } = listening()
      const result = { verdict, identityId: 'i', amount: 1 }
      expect(requireAccess(caller, result, valid('v'))).toEqual({ verdict, identityId: 'i', amount: 1, values: 'v' })
      expect(heard).toEqual(['i'])
    },
  )

  it('names the caller of a refused request for the log', () => {
    const { caller, heard } = listening()
    expect(() => requireAccess(caller, { verdict: 'forbidden', identityId: 'i' }, valid('v'))).toThrow(forbidden())
    expect(heard).toEqual(['i'])
  })
})

describe('requireObject', () => {
  const nothing = { input: valid('v'), name: 'line' } as const

  it('returns the object of a request that may go on', () => {
    const result = { verdict: 'done', identityId: 'i', line: { id: 'l' } } as const
    expect(requireObject(callerOf(null), result, nothing)).toBe(result.line)
  })

  it('refuses first what requireAccess refuses', () => {
    const result = { verdict: 'not-found', identityId: 'i', line: null } as const
    expect(() => requireObject(callerOf(null), result, nothing)).toThrow(notFound())
  })

  it.each([null, undefined])('throws for a query that lets the request go on without the object: %s', (line) => {
    const result = { verdict: 'done', identityId: 'i', line } as const
    expect(() => requireObject(callerOf(null), result, nothing)).toThrow('a query answered done without a line')
  })
})

describe('requireOutcome', () => {
  const paid = { verdict: 'paid' } as const

  it.each<[Verdict, boolean]>([
    ['done', false],
    ['replayed', true],
  ])('returns the outcome and the values, and whether the request is a repeat: %s', (verdict, replayed) => {
    const result = { verdict, identityId: 'i', outcome: paid }
    expect(requireOutcome(callerOf(null), result, valid('v'))).toEqual({ outcome: paid, values: 'v', replayed })
  })

  it('refuses first what requireAccess refuses', () => {
    const result = { verdict: 'key-mismatch', identityId: 'i', outcome: paid } as const
    expect(() => requireOutcome(callerOf(null), result, valid('v'))).toThrow(idempotencyKeyUsed())
  })

  it('throws for a query that lets the request go on without an outcome', () => {
    const result = { verdict: 'done', identityId: 'i', outcome: undefined } as const
    expect(() => requireOutcome(callerOf(null), result, valid('v'))).toThrow('a query answered done without an outcome')
  })
})

describe('refuseRunning', () => {
  it('409: keeps the cause of the refusal for the log', () => {
    const cause = new Error('busy')
    expect(() => refuseRunning(cause)).toThrow(conflict({ cause }))
  })
})

describe('keyMacOf', () => {
  it('403: refuses a user, who has no keys', () => {
    expect(() => keyMacOf(callerOf(null))).toThrow(forbidden())
  })

  it('returns the MAC of the key of an app', () => {
    const mac = Buffer.alloc(32)
    expect(keyMacOf(callerOf(mac))).toBe(mac)
  })
})

const refused: RequestInput<{ readonly amount: number }> = {
  verdict: 'refused',
  problem: {
    stage: 'validation',
    error: invalidFields([{ field: 'amount', message: 'is required', code: 'REQUIRED' }]),
  },
}

it('gives valid values another form, and leaves a refused request its problem', () => {
  const double = ({ amount }: { readonly amount: number }) => amount * 2
  expect([mapInput(valid({ amount: 1 }), double), mapInput(refused, double)]).toEqual([
    { verdict: 'valid', values: 2 },
    refused,
  ])
})

it('has the values of a valid request for a statement, and null for a refused one', () => {
  expect([valuesOrNull(valid({ amount: 1 })), valuesOrNull(refused)]).toEqual([{ amount: 1 }, null])
})
