import { HttpError } from '@trestle/common/errors/define-error.ts'
import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { describe, expect, it } from 'vitest'
import type { FoundSession } from '../sessions/active-caller.ts'
import {
  type AskedChange,
  isProtected,
  type OperatorSession,
  requireAnother,
  requireSameOperator,
  toOperatorActor,
} from './operator-change-repository.ts'

const SELF = '00000000-0000-4000-8000-000000000001'
const OTHER = '00000000-0000-4000-8000-000000000002'

const actorOf = (role: OperatorRole) => ({ id: SELF, email: 'ann@example.com', role })
const banAsked = (role: OperatorRole): AskedChange => ({
  operator: { key: 'console', actor: actorOf(role), role, address: '127.0.0.1' },
  action: 'users.ban',
})

/** The part of an error that clients get, or `undefined` if none is thrown. */
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

const named: OperatorSession = {
  userId: '00000000-0000-4000-8000-000000000001',
  sessionId: '00000000-0000-4000-8000-000000000002',
  hasAal2Token: false,
  limits: { timeboxMs: undefined, inactivityTimeoutMs: undefined },
  mfaRequired: false,
}
const found: FoundSession = {
  role: 'authenticated',
  consoleRole: 'support',
  email: 'ann@example.com',
  hasShownFactor: false,
  userHasFactor: false,
  isBanned: false,
}
const factorShown = { hasShownFactor: true, userHasFactor: true }
const ann = { id: named.userId, email: 'ann@example.com', role: 'support' }

it.each([
  ['finds the operator of a session', {}, {}, ann],
  ['finds nobody for a session that has ended', {}, undefined, undefined],
  ['finds nobody for a banned user', {}, { isBanned: true }, undefined],
  ['finds nobody for a user without a console role', {}, { consoleRole: null }, undefined],
  ['finds nobody for a user without an email', {}, { email: null }, undefined],
  ['finds nobody who has a factor and has not shown it', {}, { userHasFactor: true }, undefined],
  ['finds nobody whose token is from before the factor was shown', {}, factorShown, undefined],
  ['finds an operator who has shown their factor', { hasAal2Token: true }, factorShown, ann],
  ['finds nobody without a factor where one is required', { mfaRequired: true }, {}, undefined],
  ['finds an operator with the factor that is required', { mfaRequired: true, hasAal2Token: true }, factorShown, ann],
])('reads the operator of a session: %s', (_what, session, user, expected) => {
  expect(toOperatorActor({ ...named, ...session }, user && { ...found, ...user })).toEqual(expected)
})
