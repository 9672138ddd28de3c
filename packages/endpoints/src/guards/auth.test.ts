import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type EveryInterface, everyInterface } from '../../test/every-interface.ts'
import { errorAnswer, jsonAnswer } from '../../test/whole-answers.ts'
import { Application, accepts, authBasic, authBearer, CallError, Controller, requireScopes } from '../endpoints.ts'

const fail = (error: Error) => () => {
  throw error
}

class Auth extends Controller {
  static GET_basic = accepts({
    use: [authBasic((name, password) => name === 'ada' && password === 'pass:é' && { name }, { realm: 'r' })],
  })
  GET_basic() {
    return this.request.identity
  }

  static GET_bearer = accepts({ use: [authBearer(async (token) => token === 't0k.en' && { scope: 'read write' })] })
  GET_bearer() {
    return [this.request.isAuth('bearer'), this.request.isAuth('token'), this.request.isAuth('client')]
  }

  static GET_scopes = accepts({
    use: [authBearer((token) => ({ scopes: token.split(',') })), requireScopes('read', 'write')],
  })
  GET_scopes() {
    return 'in'
  }

  static GET_scope = accepts({ use: [authBearer((scope) => ({ scope })), requireScopes('read')] })
  GET_scope() {
    return 'in'
  }

  static GET_error = accepts({ use: [authBearer(fail(new Error('the directory is unavailable')))] })
  GET_error() {}

  static GET_call_error = accepts({ use: [authBearer(fail(new CallError(503)))] })
  GET_call_error() {}

  static GET_handler_fault = accepts({ use: [authBearer(() => true)] })
  GET_handler_fault() {
    throw new TypeError('a fault of the handler')
  }
}

let all: EveryInterface
beforeAll(async () => {
  all = await everyInterface({ modules: { index: { Auth } } })
})
afterAll(() => all.close())

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

describe('authentication', () => {
  it.each([
    ['/auth/basic', basic('ada:pass:é'), '{"name":"ada"}'],
    ['/auth/bearer', 'Bearer t0k.en', '[true,true,false]'],
    ['/auth/bearer', 'bearer  t0k.en', '[true,true,false]'],
    ['/auth/scopes', 'Bearer read,write,more', '"in"'],
    ['/auth/scope', 'Bearer read', '"in"'],
  ])('200: admits %s with %s', async (path, authorization, body) => {
    expect(await all.ask({ path, headers: { authorization } })).toEqual(jsonAnswer(200, body))
  })

  const challenges: Readonly<Record<string, string>> = {
    '/auth/basic': 'Basic realm="r"',
    '/auth/bearer': 'Bearer realm="endpoints"',
    '/auth/error': 'Bearer realm="endpoints"',
  }

  it.each([
    ['/auth/basic', ''],
    ['/auth/basic', 'Basic'],
    ['/auth/basic', 'Basic ?'],
    ['/auth/basic', 'Basic /w=='],
    ['/auth/basic', basic('no colon')],
    ['/auth/basic', basic('ada:wrong')],
    ['/auth/basic', 'Bearer t0k.en'],
    ['/auth/bearer', ''],
    ['/auth/bearer', 'Bearer wrong'],
    ['/auth/bearer', basic('ada:pass')],
    ['/auth/error', 'Bearer any'],
  ])('401: refuses %s with "%s"', async (path, authorization) => {
    const answer = await all.ask({ path, headers: authorization === '' ? {} : { authorization } })
    expect(answer).toEqual(
      errorAnswer(401, 'UNAUTHENTICATED', 'Authentication is required', { 'www-authenticate': challenges[path] ?? '' }),
    )
  })

  it.each([
    [403, '/auth/scopes', 'Bearer read', 'INSUFFICIENT_PRIVILEGES', 'This needs the scope write'],
    [403, '/auth/scope', 'Bearer ready', 'INSUFFICIENT_PRIVILEGES', 'This needs the scope read'],
    [503, '/auth/call-error', 'Bearer any', 'SERVER_ERROR', 'An unexpected error occurred'],
    [500, '/auth/handler-fault', 'Bearer any', 'SERVER_ERROR', 'An unexpected error occurred'],
  ])('%i: answers %s with "%s"', async (...row) => {
    const [status, path, authorization, type, description] = row
    expect(await all.ask({ path, headers: { authorization } })).toEqual(errorAnswer(status, type, description))
  })
})

describe('an outage inside a check', () => {
  it.each([['authBasic'], ['authBearer']] as const)(
    '401: %s reports the outage to the log and as an event',
    async (name) => {
      const logged: string[] = []
      const log = {
        warn: () => {},
        error: (error: unknown, message: string) => void logged.push(`${message}: ${error}`),
      }
      class Guarded extends Controller {
        static override use = [{ authBasic, authBearer }[name](fail(new Error('the directory is unavailable')))]
        GET() {}
      }
      const app = new Application({ modules: { index: { Guarded } }, log })
      const told: unknown[] = []
      app.on('error', (error) => told.push(String(error)))
      const authorization = name === 'authBasic' ? basic('ada:pass') : 'Bearer any'
      const response = await app.inject({ path: '/guarded', headers: { authorization, 'x-request-id': 'r' } })
      expect([response.status, await response.json()]).toEqual([
        401,
        { statusCode: 401, error: { type: 'UNAUTHENTICATED', description: 'Authentication is required' } },
      ])
      expect(logged).toEqual(['GET /guarded failed (request r): Error: the directory is unavailable'])
      expect(told).toEqual(['Error: the directory is unavailable'])
      await app.inject({ path: '/guarded' })
      expect(told).toHaveLength(1)
    },
  )
})
