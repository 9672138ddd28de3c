import { NoConnectionError } from '@trestle/database/unavailable.ts'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { createPasswordHasher } from '../../src/passwords/password-hasher.ts'
import { createSignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, get, post, type Request } from './error-case.ts'

const JSON_REASON = 'Could not parse request body as JSON: '
const never = () => new Promise<never>(() => {})

/** A request that the service with its usual settings refuses. */
export const refused = (request: Request, rest: Omit<ErrorCase, 'raise'> = {}): ErrorCase => ({
  ...rest,
  raise: async (world, send) => send(await world.service(), request),
})

/** Errors that any endpoint may answer. */
export const requestErrors: ErrorCases = {
  validationFailed: [
    refused(post('/signup', { email: 'a@example.com' }), { text: 'Signup requires a valid password' }),
    refused(get('/verify?type=a%00&token=x'), { text: 'Text may not contain NUL characters or lone surrogates' }),
    refused(get('/%zz'), { text: 'Malformed request' }),
    refused(get(`/${'x'.repeat(8_192)}`), { text: 'Malformed request' }),
  ],
  badJson: [
    refused(post('/signup', '{'), { text: new RegExp(`^${JSON_REASON}the body is not JSON from character 2 on$`) }),
    refused(post('/signup', ''), { text: `${JSON_REASON}the body is empty` }),
    refused(post('/signup', '[]'), { text: `${JSON_REASON}the body is not an object` }),
    refused(post('/signup', { email: 5 }), { text: /^Could not parse request body as JSON: email: / }),
    refused(post('/signup', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`), {
      text: `${JSON_REASON}nesting deeper than 64 levels`,
    }),
    refused(post('/token?grant_type=password', '{'), {
      text: new RegExp(`^${JSON_REASON}the body is not JSON from character 2 on$`),
      oauth: 'invalid_request',
    }),
  ],
  requestTooLarge: [
    refused(post('/signup', `{"a":"${'x'.repeat(262_144)}"}`), { text: 'Request body too large (max 262144 bytes)' }),
  ],
  notFound: [refused(get('/nowhere'))],
  methodNotAllowed: [refused(get('/signup')), refused({ method: 'DELETE', url: '/token' })],
  overRequestRateLimit: [
    {
      raise: async (world, send) => {
        const service = await world.service()
        const headers = { 'x-real-ip': `client ${Math.random()}` }
        for (let i = 0; i < 30; i += 1) await service.app.inject(get('/verify', headers))
        return send(service, get('/verify', headers))
      },
    },
  ],
  captchaFailed: [
    { raise: async (world, send) => send(await world.service(CAPTCHA), post('/signup', {})) },
    {
      text: 'captcha protection: request disallowed (no captcha_token found)',
      oauth: 'invalid_request',
      raise: async (world, send) => send(await world.service(CAPTCHA), post('/token?grant_type=password', {})),
    },
    {
      text: 'captcha protection: request disallowed (invalid-input-response)',
      raise: async (world, send) => {
        const body = { success: false, 'error-codes': ['invalid-input-response'] }
        const provider = await startStubProvider(() => ({ body }))
        const service = await world.broken({ settings: { ...CAPTCHA, AUTH_SECURITY_CAPTCHA_URL: provider.url } })
        const answer = await send(service, post('/signup', { captcha_token: 'x' }))
        await provider.close()
        return answer
      },
    },
  ],
  captchaUnreachable: [
    {
      raise: async (world, send) => send(await world.service(CAPTCHA), post('/signup', { captcha_token: 'x' })),
    },
  ],
  unexpectedFailure: [
    {
      oauth: 'server_error',
      raise: async (world, send) => {
        const service = await world.broken({
          replace: ({ passwords }) => ({
            passwords: { ...passwords, verify: () => Promise.reject(new Error('a secret in /etc/passwd')) },
          }),
        })
        return send(service, post('/token?grant_type=password', { email: 'a@example.com', password: 'x' }))
      },
    },
  ],
  serviceUnavailable: [
    {
      text: 'the process is starting',
      raise: async (world, send) => send(await world.service(), get('/ready')),
    },
    {
      oauth: 'server_error',
      raise: async (world, send) => {
        const away = () => Promise.reject(new NoConnectionError('no connection'))
        const lane = { one: away, first: away, all: away }
        const service = await world.broken({ replace: () => ({ lanes: { read: lane, write: lane, lagging: lane } }) })
        return send(service, post('/token?grant_type=password', { email: 'a@example.com', password: 'x' }))
      },
    },
  ],
  serverBusy: [
    {
      oauth: 'server_error',
      raise: async (world, send) => {
        const passwords = createPasswordHasher({ runTasks: never, concurrency: 1, clock: () => 0 })
        const service = await world.broken({ replace: () => ({ passwords }) })
        for (let i = 0; i < 50; i += 1) passwords.hash('x').catch(() => {})
        return send(service, post('/token?grant_type=password', { email: 'a@example.com', password: 'x' }))
      },
    },
  ],
  requestTimeout: [
    {
      oauth: 'server_error',
      raise: async (world, send) => {
        const service = await world.broken({
          settings: { AUTH_API_MAX_REQUEST_DURATION: '50ms' },
          replace: ({ passwords }) => ({ passwords: { ...passwords, verify: never } }),
        })
        const { email } = await createSignedUp(service.deps)
        return send(service, post('/token?grant_type=password', { email, password: 'x' }))
      },
    },
  ],
}

const CAPTCHA = {
  AUTH_SECURITY_CAPTCHA_ENABLED: 'true',
  AUTH_SECURITY_CAPTCHA_SECRET: 'captcha secret',
  AUTH_SECURITY_CAPTCHA_URL: 'http://127.0.0.1:1',
}
