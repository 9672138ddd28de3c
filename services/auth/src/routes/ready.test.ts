import { createReadiness } from '@trestle/common/lifecycle/readiness.ts'
import { afterAll, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { errorBody } from '../../test/bodies.ts'

const starting = await openTestApp()
const ready = await openTestApp({ replace: () => ({ readiness: createReadiness({}) }) })
ready.deps.readiness.markReady()
afterAll(() => Promise.all([starting.close(), ready.close()]))

it('503: GET /ready fails before the service is ready', async () => {
  const answer = await starting.app.inject('/ready')
  expect([answer.statusCode, answer.headers['retry-after'], answer.json()]).toEqual([
    503,
    '1',
    errorBody(503, 'service_unavailable', 'The process is starting', { error_id: answer.headers['x-request-id'] }),
  ])
})

it('200: GET /ready answers once the service is ready', async () => {
  const answer = await ready.app.inject('/ready')
  expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ready' }])
})
