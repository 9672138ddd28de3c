import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { insertRecoverySet } from '../../src/factors/recovery-code-repository.ts'
import { type AuthenticatorApp, addApp, challenge, enrolApp } from '../authenticator-app.ts'
import { factorRow } from '../factor-row.ts'
import type { MailApp } from '../mail-app.ts'
import { type ErrorCase, type ErrorCases, get, post } from './error-case.ts'
import { type SignedIn, signIn } from './session-errors.ts'
import { FEATURES, NO_CODES, RULES } from './settings.ts'

type Settings = Readonly<Record<string, string>>

/** An error case of a user who has just signed in. */
export function ask(
  toRequest: (signedIn: SignedIn, service: MailApp) => Promise<InjectOptions> | InjectOptions,
  { settings = {}, ...rest }: { readonly settings?: Settings } & Pick<ErrorCase, 'text'> = {},
): ErrorCase {
  return {
    ...rest,
    raise: async (world, send) => {
      const service = await world.service(settings)
      return send(service, await toRequest(await signIn(service), service))
    },
  }
}

const enrol = (headers: Record<string, string>, factor: object = {}) =>
  post('/factors', { factor_type: 'totp', ...factor }, headers)
const verify = (
  { factorId, ...payload }: { factorId: string; challenge_id: string; code: string },
  signedIn: SignedIn,
) => post(`/factors/${factorId}/verify`, payload, signedIn.headers)

/** Inserts a factor directly, because its type may be switched off. */
async function insertFactor({ deps }: MailApp, { user }: SignedIn, values: Record<string, string>): Promise<string> {
  const factor = { user_id: user.id, factor_type: 'totp', status: 'verified', ...values }
  return (await deps.db.insertInto('mfa_factors').values(factorRow(factor)).returning('id').executeTakeFirstOrThrow())
    .id
}

/** An error case for an answer to the challenge of an app. */
function answerWith(
  toPayload: (
    app: AuthenticatorApp,
    signedIn: SignedIn,
    service: MailApp,
  ) => Promise<{ challenge_id: string; code: string }>,
  text?: RegExp,
): ErrorCase {
  return ask(async (signedIn, service) => {
    const app = await enrolApp(service, signedIn.headers)
    return verify({ factorId: app.factorId, ...(await toPayload(app, signedIn, service)) }, signedIn)
  }, text && { text })
}

const challengeOfDisabled = (settings: Settings, values: Record<string, string>) =>
  ask(
    async (signedIn, service) => {
      const id = await insertFactor(service, signedIn, values)
      return post(`/factors/${id}/challenge`, {}, signedIn.headers)
    },
    { settings },
  )

/** An error case of a user with an authenticator app and recovery codes. */
const withCodes = (
  toRequest: (headers: Record<string, string>, service: MailApp) => Promise<InjectOptions> | InjectOptions,
) =>
  ask(
    async (signedIn, service) => {
      const { headers } = await addApp(service, signedIn.headers, 'app')
      await service.post('/factors/recovery-codes', {}, headers)
      return toRequest(headers, service)
    },
    { settings: FEATURES },
  )
const guess = (headers: Record<string, string>) => post('/factors/recovery-codes/verify', { code: 'x' }, headers)

export const factorErrors: ErrorCases = {
  anonymousNotAllowed: [
    {
      raise: async (world, send) => {
        const service = await world.service()
        const { access_token } = (await service.post('/signup', {})).json()
        return send(service, enrol({ authorization: `Bearer ${access_token}` }))
      },
    },
  ],
  enrolNeedsSecondFactor: [
    ask(async (signedIn, service) => {
      await insertFactor(service, signedIn, { friendly_name: 'app' })
      return enrol(signedIn.headers)
    }),
  ],
  unenrolNeedsSecondFactor: [
    ask(async (signedIn, service) => {
      const set = {
        id: randomUUID(),
        user_id: signedIn.user.id,
        friendly_name: 'x',
        codes_at: new Date(),
        created_at: new Date(),
        updated_at: new Date(),
      }
      await service.deps.db.transaction().execute((trx) => insertRecoverySet(trx, set))
      return { method: 'DELETE', url: '/factors/recovery-codes', headers: signedIn.headers }
    }),
    ask(async (signedIn, service) => {
      const id = await insertFactor(service, signedIn, {})
      return { method: 'DELETE', url: `/factors/${id}`, headers: signedIn.headers }
    }),
  ],
  phoneFactorExists: [
    ask(
      async (signedIn, service) => {
        await insertFactor(service, signedIn, { factor_type: 'phone', phone: '14155550100' })
        return enrol(signedIn.headers, { factor_type: 'phone', phone: '14155550100' })
      },
      { settings: FEATURES },
    ),
  ],
  tooManyFactors: [
    ask(
      async (signedIn, service) => {
        const { headers } = await addApp(service, signedIn.headers, 'app')
        return enrol(headers)
      },
      { settings: RULES },
    ),
  ],
  totpEnrolDisabled: [ask(({ headers }) => enrol(headers), { settings: NO_CODES })],
  totpVerifyDisabled: [challengeOfDisabled(NO_CODES, {})],
  phoneEnrolDisabled: [ask(({ headers }) => enrol(headers, { factor_type: 'phone', phone: '14155550100' }))],
  phoneVerifyDisabled: [challengeOfDisabled({}, { factor_type: 'phone', phone: '14155550100' })],
  webauthnEnrolDisabled: [ask(({ headers }) => enrol(headers, { factor_type: 'webauthn' }))],
  webauthnVerifyDisabled: [challengeOfDisabled({}, { factor_type: 'webauthn' })],
  challengeNotFound: [answerWith(async () => ({ challenge_id: randomUUID(), code: '123456' }))],
  challengeMismatch: [
    answerWith(async ({ factorId, code }, { headers }, service) => {
      const elsewhere = { ...headers, 'x-forwarded-for': '203.0.113.7' }
      return { challenge_id: await challenge(service, elsewhere, factorId), code: code() }
    }),
  ],
  challengeExpired: [
    answerWith(async ({ factorId, code }, { headers }, service) => {
      const challenge_id = await challenge(service, headers, factorId)
      const created_at = new Date(service.clock.now().getTime() - 300_000)
      await service.deps.db.updateTable('mfa_challenges').set({ created_at }).where('id', '=', challenge_id).execute()
      return { challenge_id, code: code() }
    }, /^MFA challenge [0-9a-f-]{36} has expired, verify against another challenge or create a new challenge\.$/),
  ],
  friendlyNameMissing: [
    ask(({ headers }) => ({ method: 'PATCH', url: `/passkeys/${randomUUID()}`, payload: {}, headers }), {
      settings: FEATURES,
    }),
  ],
  friendlyNameTooLong: [
    ask(({ headers }) => enrol(headers, { friendly_name: 'x'.repeat(121) }), {
      text: 'friendly_name may not be longer than 120 characters',
    }),
  ],
  issuerTooLong: [
    ask(({ headers }) => enrol(headers, { issuer: 'x'.repeat(121) }), {
      text: /^issuer may not be longer than \d+ characters$/,
    }),
  ],
  factorTypeUnsupported: [ask(({ headers }) => enrol(headers, { factor_type: 'x' }))],
  factorPhoneMissing: [ask(({ headers }) => enrol(headers, { factor_type: 'phone' }), { settings: FEATURES })],
  factorCodeMissing: [
    ask((signedIn) => verify({ factorId: randomUUID(), challenge_id: randomUUID(), code: '' }, signedIn)),
  ],
  totpCodeWrong: [
    answerWith(async ({ factorId, code }, { headers }, service) => {
      const wrong =
        ['000000', '000001', '000002', '000003'].find((guess) => ![-1, 0, 1].map(code).includes(guess)) ?? ''
      return { challenge_id: await challenge(service, headers, factorId), code: wrong }
    }),
  ],
  phoneFactorCodeWrong: [
    ask(
      async (signedIn, service) => {
        const phone = String(1_000_000_000 + Math.trunc(Math.random() * 1_000_000_000))
        const factorId = await insertFactor(service, signedIn, { factor_type: 'phone', phone })
        return verify(
          { factorId, challenge_id: await challenge(service, signedIn.headers, factorId), code: '1' },
          signedIn,
        )
      },
      { settings: FEATURES },
    ),
  ],
  factorNotFound: [
    ask(({ headers }) => ({ method: 'DELETE', url: '/factors/recovery-codes', headers }), { settings: FEATURES }),
    ask(({ headers }) => get('/factors/recovery-codes', headers), { settings: FEATURES }),
    ask(({ headers }) => guess(headers), { settings: FEATURES }),
    ask(
      async ({ headers }, service) => {
        const app = await addApp(service, headers, 'app')
        return post('/factors/recovery-codes/regenerate', {}, app.headers)
      },
      { settings: FEATURES },
    ),
  ],
  recoveryEnrolDisabled: [
    ask(({ headers }) => post('/factors/recovery-codes', {}, headers)),
    ask(({ headers }) => post('/factors/recovery-codes/regenerate', {}, headers)),
  ],
  recoveryVerifyDisabled: [ask(({ headers }) => guess(headers))],
  recoveryCodesAlone: [ask(({ headers }) => post('/factors/recovery-codes', {}, headers), { settings: FEATURES })],
  recoveryCodesExist: [withCodes((headers) => post('/factors/recovery-codes', {}, headers))],
  recoveryCodesLocked: [
    withCodes(async (headers, service) => {
      for (let count = 0; count < 5; count += 1) await service.app.inject(guess(headers))
      return guess(headers)
    }),
  ],
  recoveryCodeWrong: [withCodes((headers) => guess(headers))],
  webauthnFactorWrong: [
    ask(
      async (signedIn, service) => {
        const factorId = await insertFactor(service, signedIn, { factor_type: 'webauthn', status: 'unverified' })
        return verify(
          { factorId, challenge_id: await challenge(service, signedIn.headers, factorId), code: 'x' },
          signedIn,
        )
      },
      { settings: FEATURES },
    ),
  ],
}
