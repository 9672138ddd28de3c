import { createHash } from 'node:crypto'
import { type ErrorCase, type ErrorCases, post } from './error-case.ts'
import { ID_TOKENS, openId } from './settings.ts'

const NONCE = 'a nonce of the app'
const claims = {
  iss: 'https://accounts.google.com',
  aud: 'web.apps.example',
  sub: 'google-1',
  email: 'google@example.com',
  email_verified: true,
}

/** An error case of a sign-in by a Google id_token with these claims. */
const grant = (changes: object, members: object = {}, profile: Readonly<Record<string, string>> = {}): ErrorCase => ({
  oauth: 'invalid_request',
  raise: async (world, send) => {
    const service = await world.service({ ...ID_TOKENS, ...profile }, openId.replace)
    const id_token = await openId.sign({ ...claims, ...changes })
    return send(service, post('/token?grant_type=id_token', { provider: 'google', id_token, ...members }))
  },
})

export const idTokenErrors: ErrorCases = {
  idTokensUnsupported: [
    { ...grant({}, { provider: 'github' }), text: 'Provider github cannot be used with the id_token grant' },
  ],
  idTokenInvalid: [grant({}, { id_token: 'x' })],
  idTokenAudienceForeign: [grant({ aud: 'elsewhere' })],
  idTokenNonceRequired: [grant({}, {}, { AUTH_PROFILE: 'strict', AUTH_TRUSTED_PROXIES: '1' })],
  idTokenNonceUnpaired: [grant({}, { nonce: NONCE })],
  idTokenNonceWrong: [grant({ nonce: createHash('sha256').update(NONCE).digest('hex') }, { nonce: 'another' })],
  idTokenWithoutEmail: [grant({ email: undefined })],
}
