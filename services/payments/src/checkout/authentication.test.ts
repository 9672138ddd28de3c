import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { completeScenario, type ScenarioChanges } from '../cards/scenario.ts'
import { createCheckoutCiphers } from '../vault/encryption.ts'
import type { VaultKey } from '../vault/vault-keys.ts'
import {
  type Authentication,
  encryptHint,
  NOT_ENROLLED,
  nextOf,
  readHints,
  type Step,
  simulatedEnrolment,
  tdsVerdict,
} from './authentication.ts'

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

const key: VaultKey = { id: 1, key: Buffer.alloc(32, 1) }
const { hints, frames } = createCheckoutCiphers([key])
const order = Buffer.alloc(32, 2)
const otherOrder = Buffer.alloc(32, 3)
const [older, newer] = [randomUUID(), randomUUID()]

const hint = (step: Step, sessionId: string, digest = order) => encryptHint(hints, digest, { sessionId, step })

describe('readHints', () => {
  it.each([
    ['no hint', [], undefined],
    ['no hint of a card lookup', [hint('device-fingerprint', older)], undefined],
    ['only the lookup of another order', [hint('card-lookup', older, otherOrder)], undefined],
    ['only a text of another cipher', [frames.encrypt({ sessionId: older, step: 'card-lookup' }, 'frame')], undefined],
    ['only a text that nobody has encrypted', ['card-lookup'], undefined],
    ['one lookup', [hint('card-lookup', older)], { sessionId: older, done: ['card-lookup'] }],
    [
      'a lookup after its steps',
      [hint('tds-challenge', older), hint('device-fingerprint', older), hint('card-lookup', older)],
      { sessionId: older, done: ['tds-challenge', 'device-fingerprint', 'card-lookup'] },
    ],
    [
      'a step of another session of the order',
      [hint('tds-challenge', older), hint('card-lookup', newer)],
      { sessionId: newer, done: ['card-lookup'] },
    ],
    [
      'a step of the same session that was encrypted for another order',
      [hint('card-lookup', older), hint('tds-challenge', older, otherOrder)],
      { sessionId: older, done: ['card-lookup'] },
    ],
    [
      'two lookups and a step of the first',
      [hint('card-lookup', older), hint('tds-challenge', older), hint('card-lookup', newer)],
      { sessionId: newer, done: ['card-lookup'] },
    ],
    [
      'two lookups and a step of the last',
      [hint('card-lookup', older), hint('device-fingerprint', newer), hint('card-lookup', newer)],
      { sessionId: newer, done: ['device-fingerprint', 'card-lookup'] },
    ],
    [
      'the same step twice',
      [hint('card-lookup', older), hint('tds-fingerprint', older), hint('tds-fingerprint', older)],
      { sessionId: older, done: ['card-lookup', 'tds-fingerprint'] },
    ],
  ])('counts only the steps of the session of the last lookup: %s', (_hints, texts, expected) => {
    const progress = readHints(hints, order, texts)
    expect(progress && { ...progress, done: [...progress.done] }).toEqual(expected)
  })
})
