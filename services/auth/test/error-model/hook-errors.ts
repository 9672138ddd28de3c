import type { StubAnswer } from '@trestle/testing/stub-provider.ts'
import { afterAll } from 'vitest'
import { enrollApp } from '../authenticator-app.ts'
import { type HookStub, startHookStub } from '../hook-stub.ts'
import { type ErrorCase, type ErrorCases, post } from './error-case.ts'
import { ask } from './factor-errors.ts'

/** A hook of the cases' own, whose answer its address names. */
const stub: HookStub = await startHookStub()
afterAll(() => stub.close())

const settings = stub.settings('BEFORE_USER_CREATED')
const EMAIL = (word: string) => `${word}@hooks.example.com`
const ANSWERS: Readonly<Record<string, StubAnswer | undefined>> = {
  rejected: { body: { error: { http_code: 403, message: 'Rejected by a hook' } } },
  silent: undefined,
  away: { status: 503, body: '' },
  long: { body: { text: 'x'.repeat(204_800) } },
  text: { headers: { 'content-type': 'text/plain' }, body: 'no' },
  broken: { status: 500, body: '' },
}
stub.answer = ({ name, payload }) => {
  if (name === 'MFA_VERIFICATION_ATTEMPT') return { body: { decision: 'reject' } }
  return ANSWERS[String(Reflect.get(Object(payload.user), 'email')).split('@')[0] ?? '']
}

/** What a signup is told for which the hook answers so. */
const signUp = (word: string): ErrorCase => ({
  raise: async (world, send) =>
    send(await world.service(settings), post('/signup', { email: EMAIL(word), password: 'correct horse' })),
})

/** Errors of hooks. */
export const hookErrors: ErrorCases = {
  hookRejected: [signUp('rejected')],
  hookTimeout: [signUp('silent')],
  hookTimeoutAfterRetry: [signUp('away')],
  hookAnswerTooLong: [signUp('long')],
  hookAnswerNoJson: [signUp('text')],
  hookFailed: [signUp('broken')],
  factorAttemptRejected: [
    ask(
      async ({ headers }, service) => {
        const app = await enrollApp(service, headers)
        const challenged = await service.post(`/factors/${app.factorId}/challenge`, {}, headers)
        const payload = { challenge_id: challenged.json().id, code: app.code() }
        return post(`/factors/${app.factorId}/verify`, payload, headers)
      },
      { settings: stub.settings('MFA_VERIFICATION_ATTEMPT') },
    ),
  ],
}
