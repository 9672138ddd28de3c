import { describe, expect, it } from 'vitest'
import { attemptLabels, CANCELLATIONS, NO_ANSWER, PAUSED, toAnsweredAttempt, WITHOUT_TLS } from './delivery-attempt.ts'

describe('attemptLabels', () => {
  const answered = (status: number) => toAnsweredAttempt({ status, body: '' })

  const cases: [string, object, object][] = [
    ['a 2xx', answered(204), { outcome: 'delivered' }],
    ['another answer', answered(500), { outcome: 'failed', reason: 'answer' }],
    ['a redirect', answered(301), { outcome: 'failed', reason: 'answer' }],
    ['an answer 410', answered(410), { outcome: 'cancelled', reason: 'webhook-gone' }],
    ['no answer in time', { error: NO_ANSWER }, { outcome: 'failed', reason: 'timeout' }],
    ['silent name servers', { error: 'ETIMEOUT' }, { outcome: 'failed', reason: 'timeout' }],
    ['a refused connection', { error: 'ECONNREFUSED' }, { outcome: 'failed', reason: 'connection' }],
    ['a webhook whose circuit breaker is open', { error: PAUSED }, { outcome: 'failed', reason: 'paused' }],
    ['http that is not allowed', { error: WITHOUT_TLS }, { outcome: 'failed', reason: 'not-https' }],
    [
      'a deleted webhook',
      { error: CANCELLATIONS['webhook-deleted'] },
      { outcome: 'cancelled', reason: 'webhook-deleted' },
    ],
    [
      'a disabled webhook',
      { error: CANCELLATIONS['webhook-disabled'] },
      { outcome: 'cancelled', reason: 'webhook-disabled' },
    ],
    ['an old event', { error: CANCELLATIONS['event-expired'] }, { outcome: 'cancelled', reason: 'event-expired' }],
  ]
  it.each(cases)('names the outcome and reason of %s', (_, attempt, labels) => {
    expect(attemptLabels(attempt)).toEqual(labels)
  })
})
