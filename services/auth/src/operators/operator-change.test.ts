import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { describe, expect, it } from 'vitest'
import { type AskedChange, isProtected, requireAnother, requireSameOperator } from './operator-change.ts'

const SELF = '00000000-0000-4000-8000-000000000001'
const OTHER = '00000000-0000-4000-8000-000000000002'

const actorOf = (role: OperatorRole) => ({ id: SELF, email: 'ann@example.com', role })
const banAsked = (role: OperatorRole): AskedChange => ({
  operator: { key: 'console', actor: actorOf(role), role, address: '127.0.0.1' },
  action: 'users.ban',
})

/** The part of an error that clients see; undefined where an act throws none. */
function refusalOf(act: () => void): unknown {
  try {
    act()
    return undefined
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    const { status, code, details } = error
    return { status, code, details }
  }
}

const forbidden = (role: OperatorRole) => ({
  status: 403,
  code: 'operator_forbidden',
  details: { action: 'users.ban', role },
})

describe('requireAnother', () => {
  it('refuses an operator who acts on themselves, an admin too, and nobody who acts on others', () => {
    expect(refusalOf(() => requireAnother(banAsked('admin'), SELF))).toEqual(forbidden('admin'))
    expect(refusalOf(() => requireAnother(banAsked('support'), OTHER))).toBeUndefined()
  })
})

describe('requireSameOperator', () => {
  it.each([
    ['has kept their role', 'support', 'support', undefined],
    ['has got a higher role', 'support', 'admin', undefined],
    ['has got a lower role', 'admin', 'support', forbidden('support')],
  ] as const)('judges an operator who %s since the request began', (_what, before, now, expected) => {
    expect(refusalOf(() => requireSameOperator(banAsked(before), actorOf(now)))).toEqual(expected)
  })

  it('refuses whoever is no operator any more', () => {
    const refusal = refusalOf(() => requireSameOperator(banAsked('support'), undefined))
    expect(refusal).toEqual({ status: 401, code: 'operator_unauthorized', details: {} })
  })
})

describe('isProtected', () => {
  it.each([
    ['an operator', { consoleRole: 'viewer', role: 'authenticated' }, true],
    ['an admin of the API', { consoleRole: null, role: 'service_role' }, true],
    ['any other user', { consoleRole: null, role: 'authenticated' }, false],
  ] as const)('answers for %s', (_who, user, expected) => {
    expect(isProtected(user, { adminRoles: ['service_role', 'supabase_admin'] })).toBe(expected)
  })
})
