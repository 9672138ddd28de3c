import { NoConnectionError } from '@trestle/database/unavailable.ts'
import type { InjectOptions } from 'fastify'
import { createPasswordHasher } from '../../src/passwords/password-hasher.ts'
import { createSignedUp } from '../signed-up.ts'
import { type ErrorCase, type ErrorCases, get, post } from './error-case.ts'
import { CAPTCHA_AWAY, CAPTCHA_REFUSED } from './settings.ts'

export const never = () => new Promise<never>(() => {})

/** A request that the service with its usual settings rejects. */
export const refused = (request: InjectOptions, rest: Omit<ErrorCase, 'raise'> = {}): ErrorCase => ({
  ...rest,
  raise: async (world, send) => send(await world.service(), request),
})

/** Errors of any endpoint. */
export const requestErrors: ErrorCases = {
  notFound: [refused(get('/nowhere')), refused(get('/'), { operation: 'get /' })],
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
    { raise: async (world, send) => send(await world.service(CAPTCHA_AWAY), post('/signup', {})) },
    {
      oauth: 'invalid_request',
      raise: async (world, send) => send(await world.service(CAPTCHA_AWAY), post('/token?grant_type=password', {})),
    },
  ],
  captchaRefused: [
    {
      text: 'captcha protection: request disallowed (invalid-input-response)',
      raise: async (world, send) => send(await world.service(CAPTCHA_REFUSED), post('/signup', { captcha_token: 'x' })),
    },
  ],
  captchaUnreachable: [
    {
      raise: async (world, send) => send(await world.service(CAPTCHA_AWAY), post('/signup', { captcha_token: 'x' })),
    },
  ],
  unexpectedFailure: [
    {
      oauth: 'server_error',
      raise: async (world, send) => {
        const service = await world.broken('defect', ({ passwords }) => ({
          passwords: { ...passwords, verify: () => Promise.reject(new Error('a secret in /etc/passwd')) },
        }))
        return send(service, post('/token?grant_type=password', { email: 'a@example.com', password: 'x' }))
      },
    },
  ],
  notReady: [
    {
      text: 'The process is starting',
      raise: async (world, send) => send(await world.service(), get('/ready')),
    },
  ],
  serviceUnavailable: [
    {
      oauth: 'server_error',
      raise: async (world, send) => {
        const away = () => Promise.reject(new NoConnectionError('no connection'))
        const pool = { one: away, first: away, all: away }
        const service = await world.broken('outage', () => ({ pools: { read: pool, write: pool, lagging: pool } }))
        return send(service, post('/token?grant_type=password', { email: 'a@example.com', password: 'x' }))
      },
    },
  ],
  serverBusy: [
    {
      oauth: 'server_error',
      raise: async (world, send) => {
        const passwords = createPasswordHasher({ runTasks: never, concurrency: 1, clock: () => 0 })
        const service = await world.broken('busy', () => ({ passwords }))
        for (let i = 0; i < 50; i += 1) service.deps.passwords.hash('x').catch(() => {})
        return send(service, post('/token?grant_type=password', { email: 'a@example.com', password: 'x' }))
      },
    },
  ],
  requestTimeout: [
    {
      oauth: 'server_error',
      raise: async (world, send) => {
        const service = await world.failing()
        const { email } = await createSignedUp(service.deps)
        return send(service, post('/token?grant_type=password', { email, password: 'x' }))
      },
    },
  ],
}
