import { createHash, randomBytes } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { hashAuthCode } from '../../src/flows/flow-repository.ts'
import { OPERATOR } from '../forged-token.ts'
import type { MailApp } from '../mail-app.ts'
import { createSignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, get, post } from './error-case.ts'
import { refused } from './request-errors.ts'
import { signIn } from './session-errors.ts'
import { NO_CODES, NO_MESSAGES, NO_METHODS, RULES, STRICT } from './settings.ts'
import { under } from './sign-in-errors.ts'

const SOON = /^For security purposes, you can only request this after \d+ seconds\.$/
const email = 'nobody@example.com'
const phone = '14155550199'

let people = 0
const newEmail = () => `new${++people}@example.com`
const newPhone = () => `1628555${1_000 + ++people}`

/** An error case for the second of two requests without the required interval. */
const soon = (makeRequest: () => InjectOptions): ErrorCase => ({
  text: SOON,
  raise: async (world, send) => {
    const service = await world.service()
    const request = makeRequest()
    await service.app.inject(request)
    return send(service, request)
  },
})

/** An auth code from a mail link, with its verifier. */
async function newAuthCode(service: MailApp) {
  const verifier = randomBytes(32).toString('base64url')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  const signedUp = await createSignedUp(service.deps)
  await service.post('/magiclink', { email: signedUp.email, code_challenge: challenge, code_challenge_method: 's256' })
  const { link } = await service.readMail(signedUp.email)
  const answer = await service.app.inject(`${link.pathname}${link.search}`)
  return { auth_code: new URL(String(answer.headers.location)).searchParams.get('code'), code_verifier: verifier }
}

const exchange = (body: object) => post('/token?grant_type=pkce', body)

/** Errors of messages, codes, links and their results. */
export const messageErrors: ErrorCases = {
  emailMessagesDisabled: [
    under(NO_METHODS, post('/recover', { email })),
    under(NO_METHODS, post('/resend', { type: 'signup', email })),
  ],
  phoneMessagesDisabled: [under(NO_METHODS, post('/resend', { type: 'sms', phone }))],
  phoneCodesDisabled: [under(NO_METHODS, post('/otp', { phone }))],
  otpDisabled: [
    refused(post('/otp', { email, create_user: false })),
    refused(post('/otp', { phone, create_user: false })),
  ],
  smsProviderMissing: [
    under(NO_CODES, post('/signup', { phone, password: 'correct horse' })),
    under(NO_CODES, post('/otp', { phone })),
  ],
  smsSendFailed: [
    {
      text: /^Error sending confirmation OTP to provider: .*no such number/,
      raise: async (world, send) => {
        const service = await world.service(RULES)
        return send(service, post('/otp', { phone: newPhone() }))
      },
    },
  ],
  overEmailRateLimit: [
    under(NO_MESSAGES, post('/invite', { email: 'invited@example.com' }, OPERATOR)),
    under(NO_MESSAGES, post('/signup', { email, password: 'correct horse' })),
    under(NO_MESSAGES, post('/recover', { email })),
  ],
  emailTooSoon: [
    {
      text: SOON,
      raise: async (world, send) => {
        const service = await world.service()
        const request = get('/reauthenticate', (await signIn(service)).headers)
        await service.app.inject(request)
        return send(service, request)
      },
    },
    soon(() => post('/recover', { email: newEmail() })),
    soon(() => post('/magiclink', { email: newEmail() })),
    soon(() => post('/resend', { type: 'signup', email: newEmail() })),
  ],
  overSmsRateLimit: [
    under(NO_MESSAGES, post('/signup', { phone, password: 'correct horse' })),
    under(NO_MESSAGES, post('/otp', { phone })),
  ],
  smsTooSoon: [
    soon(() => post('/otp', { phone: newPhone() })),
    soon(() => post('/resend', { type: 'sms', phone: newPhone() })),
  ],
  otpExpired: [
    refused(post('/verify', { type: 'signup', email, token: '123456' })),
    refused(post('/verify', { type: 'sms', phone, token: '123456' })),
  ],
  linkExpired: [refused(post('/verify', { type: 'signup', token_hash: 'x'.repeat(56) }))],
  linkWithoutPkce: [
    under(STRICT, get('/verify?type=signup&token=x'), {
      redirected: 'invalid_request',
      inFragment: true,
    }),
  ],
  linkFetchedAhead: [refused(get('/verify?type=signup&token=x', { 'sec-purpose': 'prefetch' }))],
  flowStateNotFound: [
    refused(exchange({ auth_code: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff', code_verifier: 'x'.repeat(43) }), {
      oauth: 'invalid_grant',
    }),
  ],
  flowStateExpired: [
    {
      oauth: 'invalid_grant',
      raise: async (world, send) => {
        const service = await world.service()
        const body = await newAuthCode(service)
        const long = { auth_code_issued_at: new Date(service.clock.now().getTime() - 300_000) }
        await service.deps.db
          .updateTable('flow_state')
          .set(long)
          .where('auth_code_hash', '=', hashAuthCode(String(body.auth_code)))
          .execute()
        return send(service, exchange(body))
      },
    },
  ],
  badCodeVerifier: [
    {
      oauth: 'invalid_grant',
      raise: async (world, send) => {
        const service = await world.service()
        const { auth_code } = await newAuthCode(service)
        return send(service, exchange({ auth_code, code_verifier: 'x'.repeat(43) }))
      },
    },
  ],
}
