import { createReadiness } from '@trestle/common/lifecycle/readiness.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPayments, type TestPayments } from '../../test/payments-app.ts'
import { buildApp } from '../app.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

describe('GET /ready', () => {
  it('200: answers without a key when the process can serve', async () => {
    const response = await payments.app.inject('/ready')
    expect([response.statusCode, response.body]).toEqual([200, '{"status":"ready"}\n'])
  })

  it('503: refuses while the process is about to stop', async () => {
    const readiness = createReadiness({})
    const app = await buildApp({ ...payments.deps, readiness })
    readiness.drain()
    const response = await app.inject('/ready')
    const body = { code: 'SERVICE_UNAVAILABLE', message: 'The process is draining' }
    expect([response.statusCode, response.json()]).toEqual([503, body])
    await app.close()
  })
})
