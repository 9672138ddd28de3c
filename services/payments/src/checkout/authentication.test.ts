import { describe, expect, it } from 'vitest'
import { completeScenario, type ScenarioChanges } from '../cards/scenario.ts'
import { type Authentication, nextOf, tdsVerdict } from './authentication.ts'
import { NOT_ENROLLED, type Step, simulatedEnrolment } from './enrolment.ts'

const at = (step: Step, changes: Partial<Authentication> = {}, scenario: ScenarioChanges = {}): Authentication => ({
  enrolment: simulatedEnrolment(completeScenario(scenario)),
  step,
  isTaken: true,
  outcome: null,
  isTimedOut: false,
  ...changes,
})
const DEVICE = { verdict: 'step', step: 'device-fingerprint' }
const answered = new Set<Step>(['card-lookup', 'tds-challenge'])

describe('nextOf', () => {
  it.each<[string, Authentication | undefined, ReadonlySet<Step>, object]>([
    ['an order without a session', undefined, new Set(), { verdict: 'step', step: 'card-lookup' }],
    ['the lookup', at('card-lookup'), new Set(), { verdict: 'step', step: 'device-fingerprint' }],
    ['the device', at('device-fingerprint'), new Set(), { verdict: 'step', step: 'tds-fingerprint' }],
    ['a fingerprint', at('tds-fingerprint'), new Set(), { verdict: 'step', step: 'tds-challenge' }],
    ['a device nobody has looked at', at('device-fingerprint', { isTaken: false }), new Set(), DEVICE],
    [
      'a fingerprint nobody has taken',
      at('tds-fingerprint', { isTaken: false }),
      new Set(),
      { verdict: 'step', step: 'tds-fingerprint' },
    ],
    [
      'a card without a fingerprint',
      at('device-fingerprint', {}, { tdsFingerprint: 'unavailable' }),
      new Set(),
      { verdict: 'step', step: 'tds-challenge' },
    ],
    [
      'a card without a challenge',
      at('tds-fingerprint', {}, { tdsChallenge: false }),
      new Set(),
      { verdict: 'final', status: 'authenticated' },
    ],
    [
      'neither',
      at('device-fingerprint', {}, { tdsFingerprint: 'unavailable', tdsChallenge: false, tdsStatus: 'attempted' }),
      new Set(),
      { verdict: 'final', status: 'attempted' },
    ],
    [
      'a live card',
      at('card-lookup', { enrolment: NOT_ENROLLED }),
      new Set(),
      { verdict: 'final', status: 'unavailable' },
    ],
    ['a challenge without a word', at('tds-challenge'), answered, { verdict: 'step', step: 'tds-challenge' }],
    [
      'a word without its hint',
      at('tds-challenge', { outcome: 'authenticated' }),
      new Set(),
      { verdict: 'step', step: 'tds-challenge' },
    ],
    [
      'a word with its hint',
      at('tds-challenge', { outcome: 'attempted' }),
      answered,
      { verdict: 'final', status: 'attempted' },
    ],
    [
      'the same, read late',
      at('tds-challenge', { outcome: 'attempted', isTimedOut: true }),
      answered,
      { verdict: 'final', status: 'attempted' },
    ],
    [
      'a word without its hint, read late',
      at('tds-challenge', { outcome: 'attempted', isTimedOut: true }),
      new Set(),
      { verdict: 'final', status: 'rejected' },
    ],
    ['no word in time', at('tds-challenge', { isTimedOut: true }), answered, { verdict: 'final', status: 'rejected' }],
  ])('finds the next step after %s', (_name, authentication, done, next) => {
    expect(nextOf(authentication, done)).toEqual(next)
  })
})

describe('tdsVerdict', () => {
  it.each([
    ['authenticated', 'attempt', { verdict: 'accepted', tds: 'full' }],
    ['authenticated', 'full', { verdict: 'accepted', tds: 'full' }],
    ['attempted', 'attempt', { verdict: 'accepted', tds: 'attempt' }],
    ['attempted', 'full', { verdict: 'refused', statusCode: 'TDSECURE_REQUIRED' }],
    ['unavailable', 'attempt', { verdict: 'accepted', tds: null }],
    ['unavailable', 'full', { verdict: 'refused', statusCode: 'TDSECURE_REQUIRED' }],
    ['rejected', 'attempt', { verdict: 'refused', statusCode: 'TDSECURE_FAILED' }],
    ['rejected', 'full', { verdict: 'refused', statusCode: 'TDSECURE_FAILED' }],
  ] as const)('decides %s for a merchant that demands %s: %j', (status, mode, verdict) => {
    expect(tdsVerdict(status, mode)).toEqual(verdict)
  })
})
