import type { InjectOptions } from 'fastify'
import { createSignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, post } from './error-case.ts'
import { refused } from './request-errors.ts'
import { NO_CODES, NO_METHODS, NO_SIGNUP, RULES } from './settings.ts'

const credentials = { email: 'somebody@example.com', password: 'correct horse' }
const caller = { phone: '14155550100', password: 'correct horse' }
const login = (payload: object) => post('/token?grant_type=password', payload)

/** A request that the service rejects with certain settings. */
export const under = (
  settings: Readonly<Record<string, string>>,
  request: InjectOptions,
  rest: Omit<ErrorCase, 'raise'> = {},
): ErrorCase => ({ ...rest, raise: async (world, send) => send(await world.service(settings), request) })

/** An error case of a sign-in with the correct password. */
function loginOf(changes: Parameters<typeof createSignedUp>[1]): ErrorCase {
  return {
    oauth: 'invalid_grant',
    raise: async (world, send) => {
      const service = await world.service()
      const { email, password } = await createSignedUp(service.deps, changes)
      return send(service, login({ email, password }))
    },
  }
}

let phones = 0

export const signInErrors: ErrorCases = {
  userAlreadyExists: [signUpAgain(NO_CODES)],
  userAlreadyRegistered: [signUpAgain({ ...NO_CODES, AUTH_PROFILE: 'supabase' })],
  signupDisabled: [under(NO_SIGNUP, post('/signup', credentials)), under(NO_SIGNUP, post('/signup', {}))],
  emailSignupsDisabled: [under(NO_METHODS, post('/signup', credentials))],
  phoneSignupsDisabled: [under(NO_METHODS, post('/signup', caller))],
  anonymousDisabled: [under(NO_METHODS, post('/signup', {}))],
  emailSignInsDisabled: [
    under(NO_METHODS, login(credentials), { oauth: 'unauthorized_client' }),
    under(NO_METHODS, post('/otp', { email: credentials.email })),
    under(NO_METHODS, post('/magiclink', { email: credentials.email })),
  ],
  phoneSignInsDisabled: [under(NO_METHODS, login(caller), { oauth: 'unauthorized_client' })],
  weakPassword: [
    refused(post('/signup', { ...credentials, password: 'short' }), {
      text: 'Password should be at least 6 characters.',
      details: { weak_password: { reasons: ['length'] } },
    }),
    under(RULES, post('/signup', { ...credentials, password: 'x' }), {
      text: 'Password should be at least 6 characters. Password should contain at least one character of each: abc, 123.',
      details: { weak_password: { reasons: ['length', 'characters'] } },
    }),
  ],
  invalidCredentials: [
    refused(login(credentials), { oauth: 'invalid_grant' }),
    {
      oauth: 'invalid_grant',
      raise: async (world, send) => {
        const service = await world.service()
        const { email } = await createSignedUp(service.deps)
        return send(service, login({ email, password: 'wrong' }))
      },
    },
  ],
  unsupportedGrantType: [
    refused(post('/token', {}), { oauth: 'unsupported_grant_type' }),
    refused(post('/token?grant_type=client_credentials', {}), { oauth: 'unsupported_grant_type' }),
  ],
  web3Disabled: [refused(post('/token?grant_type=web3', {}), { oauth: 'unauthorized_client' })],
  signInUserBanned: [loginOf({ banned_until: new Date('2100-01-01') })],
  emailNotConfirmed: [loginOf({ email_confirmed_at: null })],
  phoneNotConfirmed: [
    {
      oauth: 'invalid_grant',
      raise: async (world, send) => {
        const service = await world.service()
        const phone = `1415555${1_000 + phones++}`
        const { password } = await createSignedUp(service.deps, { phone })
        return send(service, login({ phone, password }))
      },
    },
  ],
}

/** A sign-up with a taken address, if emails need no confirmation. */
function signUpAgain(settings: Readonly<Record<string, string>>): ErrorCase {
  return {
    raise: async (world, send) => {
      const service = await world.service(settings)
      const { email } = await createSignedUp(service.deps)
      return send(service, post('/signup', { email, password: 'correct horse' }))
    },
  }
}
