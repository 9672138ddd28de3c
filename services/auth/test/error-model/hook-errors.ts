import { randomUUID } from 'node:crypto'
import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { StubAnswer } from '@trestle/testing/stub-provider.ts'
import { z } from 'zod'
import { hookRejected } from '../../src/external-errors.ts'
import { enrolApp } from '../authenticator-app.ts'
import { createSignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, post } from './error-case.ts'
import { ask } from './factor-errors.ts'
import { signInByPasskey } from './passkey-errors.ts'
import { HOOKS, hooks, MAILS_IN_REQUEST } from './settings.ts'

const EMAIL = (word: string) => `${word}@hooks.example.com`
const ANSWERS: Readonly<Record<string, StubAnswer | undefined>> = {
  limited: { body: { error: { http_code: 429, message: 'Not so fast' } } },
  rejected: { body: { error: { http_code: 403, message: 'Rejected by a hook' } } },
  silent: undefined,
  away: { status: 503, body: '' },
  long: { body: { text: 'x'.repeat(204_800) } },
  text: { headers: { 'content-type': 'text/plain' }, body: 'no' },
  broken: { status: 500, body: '' },
}
const Named = z.object({ email: z.string().optional() })
/** The hook's answer for factors. Cases run one after the other. */
let factorText = ''
/** Users whose passwords the hook rejects. */
const rejected = new Set<unknown>()
hooks.answer = ({ name, payload }) => {
  if (name === 'MFA_VERIFICATION_ATTEMPT')
    return { body: { decision: 'reject', ...(factorText && { message: factorText }) } }
  if (name === 'PASSWORD_VERIFICATION_ATTEMPT')
    return {
      body: rejected.has(payload.user_id)
        ? { decision: 'reject', message: 'Come back later' }
        : { decision: 'continue' },
    }
  if (name === 'CUSTOM_ACCESS_TOKEN')
    return payload.authentication_method === 'passkey' ? ANSWERS.long : { body: { claims: payload.claims } }
  const { email = '' } = Named.parse(payload.user)
  return ANSWERS[email.split(/[-@]/)[0] ?? '']
}

/** An error case of a sign-up with a given hook answer. */
const signUp = (word: string, expected?: HttpError): ErrorCase => ({
  ...(expected && { expected }),
  raise: async (world, send) =>
    send(await world.service(HOOKS), post('/signup', { email: EMAIL(word), password: 'correct horse' })),
})

export const hookErrors: ErrorCases = {
  hookRejected: [
    signUp('rejected', hookRejected({ status: 403, message: 'Rejected by a hook' })),
    signUp('limited', hookRejected({ status: 429, message: 'Not so fast' })),
  ],
  hookTimeout: [signUp('silent')],
  hookTimeoutAfterRetry: [
    signUp('away'),
    askForMail((email) => post('/recover', { email })),
    askForMail((email) => post('/resend', { type: 'signup', email }), { email_confirmed_at: null }),
  ],
  hookAnswerTooLong: [signUp('long'), signInByPasskey(undefined, HOOKS)],
  hookAnswerNoJson: [signUp('text')],
  hookFailed: [signUp('broken')],
  factorAttemptRejected: [answerFactor('')],
  factorAttemptRejectedWith: [{ ...answerFactor('Call the help desk'), text: 'Call the help desk' }],
  passwordAttemptRejected: [
    {
      text: 'Come back later',
      oauth: 'invalid_grant',
      raise: async (world, send) => {
        const service = await world.service(HOOKS)
        const { user, email, password } = await createSignedUp(service.deps)
        rejected.add(user.id)
        return send(service, post('/token?grant_type=password', { email, password }))
      },
    },
  ],
}

/** A mail for which the hook is unavailable. */
function askForMail(
  request: (email: string) => ReturnType<typeof post>,
  changes: Parameters<typeof createSignedUp>[1] = {},
): ErrorCase {
  return {
    raise: async (world, send) => {
      const service = await world.service(MAILS_IN_REQUEST)
      const email = EMAIL(`away-${randomUUID()}`)
      await createSignedUp(service.deps, { ...changes, email })
      return send(service, request(email))
    },
  }
}

/** An answer of an authenticator app that the hook rejects. */
function answerFactor(text: string): ErrorCase {
  return ask(
    async ({ headers }, service) => {
      factorText = text
      const app = await enrolApp(service, headers)
      const challenged = await service.post(`/factors/${app.factorId}/challenge`, {}, headers)
      const payload = { challenge_id: challenged.json().id, code: app.code() }
      return post(`/factors/${app.factorId}/verify`, payload, headers)
    },
    { settings: HOOKS },
  )
}
