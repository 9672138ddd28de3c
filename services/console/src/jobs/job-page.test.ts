import { expect, it } from 'vitest'
import { jobsPage } from './job-page.ts'

it('says in words why a job has failed, where its task wrote down a code alone', () => {
  const job = { id: 'j1', task: 'webhook_delivery', state: 'failed', created: '2026-03-01T00:00:00Z', attempts: 3 }
  const registration = { mode: 'open', isClosed: false } as const
  const viewer = { role: 'viewer', userId: 'u1', now: new Date('2026-03-01') } as const
  const jobs = [{ ...job, error: 'ECONNREFUSED' }]
  const { html } = jobsPage({ tasks: [], jobs, registration, state: 'failed' }, viewer).main
  expect(/<div class="hint long">([^<]*)/.exec(html)?.[1]).toBe(
    'The connection was refused: nothing listens at the address (ECONNREFUSED)',
  )
})
