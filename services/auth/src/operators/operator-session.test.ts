import { expect, it } from 'vitest'
import type { FoundSession } from '../sessions/live-session.ts'
import { type OperatorSession, toOperatorActor } from './operator-session.ts'

const named: OperatorSession = {
  userId: '00000000-0000-4000-8000-000000000001',
  sessionId: '00000000-0000-4000-8000-000000000002',
  hasRaisedToken: false,
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
  ['finds an operator who has shown their factor', { hasRaisedToken: true }, factorShown, ann],
  ['finds nobody without a factor where one is required', { mfaRequired: true }, {}, undefined],
  ['finds an operator with the factor that is required', { mfaRequired: true, hasRaisedToken: true }, factorShown, ann],
])('reads the operator of a session: %s', (_what, session, user, expected) => {
  expect(toOperatorActor({ ...named, ...session }, user && { ...found, ...user })).toEqual(expected)
})
