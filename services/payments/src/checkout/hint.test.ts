import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createCheckoutSeals } from '../vault/text-seal.ts'
import type { VaultKey } from '../vault/vault-keys.ts'
import type { Step } from './enrolment.ts'
import { readHints, sealHint } from './hint.ts'

const key: VaultKey = { id: 1, key: Buffer.alloc(32, 1) }
const { hints, frames } = createCheckoutSeals([key])
const order = Buffer.alloc(32, 2)
const otherOrder = Buffer.alloc(32, 3)
const [older, newer] = [randomUUID(), randomUUID()]

const hint = (step: Step, sessionId: string, digest = order) => sealHint(hints, digest, { sessionId, step })

describe('readHints', () => {
  it.each([
    ['no hint', [], undefined],
    ['no hint of a card lookup', [hint('device-fingerprint', older)], undefined],
    ['only the lookup of another order', [hint('card-lookup', older, otherOrder)], undefined],
    ['only a text of another seal', [frames.seal({ sessionId: older, step: 'card-lookup' }, 'frame')], undefined],
    ['only a text that nobody has sealed', ['card-lookup'], undefined],
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
      'a step of the same session that was sealed for another order',
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
