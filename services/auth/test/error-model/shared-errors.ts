import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { z } from 'zod'
import { buildOpenApi } from '../../src/openapi.ts'
import { factorRow } from '../factor-row.ts'
import { forgeBearer, OPERATOR } from '../forged-token.ts'
import type { ErrorCase, ErrorCases } from './error-case.ts'
import { signIn } from './session-errors.ts'
import { FEATURES } from './settings.ts'

const Document = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({ security: z.array(z.looseObject({})).optional(), responses: z.record(z.string(), z.unknown()) }),
    ),
  ),
})

/** An operation of the API document, with the statuses of the errors that it documents. */
export interface Operation {
  /** The method and path, such as `get /admin/users/{userId}`. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly needsToken: boolean
  readonly statuses: readonly number[]
}

const METHODS = { get: 'GET', post: 'POST', put: 'PUT', patch: 'PATCH', delete: 'DELETE' } as const
const { paths } = Document.parse(await buildOpenApi())

/** All operations of the API document. */
export const operations: readonly Operation[] = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(METHODS).flatMap(([name, method]) => {
    const described = methods[name]
    if (described === undefined) return []
    const statuses = Object.keys(described.responses).map(Number)
    return {
      name: `${name} ${path}`,
      method,
      path,
      // Operators have separate credentials.
      needsToken: described.security === undefined || described.security.some((scheme) => 'bearer' in scheme),
      statuses: statuses.filter((status) => status >= 400),
    }
  }),
)

const USER = { authorization: forgeBearer({ sub: randomUUID(), aud: 'authenticated', role: 'authenticated' }) }
const isForAdmins = ({ path }: Operation): boolean => path.startsWith('/admin/') || path === '/invite'
/** The headers of a caller who may call an operation. */
export const bearerOf = (operation: Operation) => (isForAdmins(operation) ? OPERATOR : USER)

/** A request to an operation. All parameters of its path have the same value. */
export const request = (
  { method, path }: Operation,
  headers: InjectOptions['headers'],
  parameter: string = randomUUID(),
): InjectOptions => ({
  method,
  url: path.replaceAll(/\{\w+\}/g, parameter),
  headers: { ...headers },
  ...(method === 'GET' ? {} : { payload: {} }),
})

/** Operations for operators. Other callers get 401 before the request is read (cases in operator-errors.ts). */
const isForOperators = (path: string): boolean => path.startsWith('/operator/')

/** The same error at every operation that meets a condition. */
const ofAll = (
  applies: (operation: Operation) => boolean,
  toRequest: (operation: Operation) => InjectOptions,
  {
    settings = FEATURES,
    ...rest
  }: Pick<ErrorCase, 'text'> & { readonly settings?: Readonly<Record<string, string>> } = {},
): readonly ErrorCase[] =>
  operations.filter(applies).map((operation) => ({
    ...rest,
    ...(operation.name === 'post /token' ? { oauth: 'invalid_request' } : {}),
    operation: operation.name,
    raise: async (world, send) => send(await world.service(settings), toRequest(operation)),
  }))

/** Operations that search for users. Only an admin may name another audience, with a second factor if the admin has one. */
const TAKES_AUDIENCE: ReadonlySet<string> = new Set(['post /magiclink', 'post /otp'])
const NO_JWT =
  'invalid JWT: unable to parse or verify signature, token is malformed: token contains an invalid number of segments'
/** The operations with a separate rate limit. */
const RATE_LIMITED: ReadonlySet<string> = new Set([
  'get /authorize',
  'get /callback',
  'post /callback',
  'get /callback/{provider}',
  'post /callback/{provider}',
  'get /user/identities/authorize',
  'post /verify',
  'post /token',
  'post /passkeys/authentication/options',
  'post /passkeys/authentication/verify',
  'post /passkeys/registration/options',
  'post /passkeys/registration/verify',
  'post /factors/{factorId}/challenge',
  'post /factors/{factorId}/verify',
  'put /user',
])
/** The burst of each of these limits. `FEATURES` allows few later requests. */
const BURST = 30
const LARGE = `{"a":"${'x'.repeat(1_048_577)}"}`

/** Errors that operations share. Each is raised at every operation that has it. */
export const sharedErrors: ErrorCases = {
  noAuthorization: [
    ...ofAll(
      ({ needsToken }) => needsToken,
      (operation) => request(operation, {}),
    ),
    {
      operation: 'post /token',
      oauth: 'invalid_request',
      raise: async (world, send) => {
        const payload = { link_identity: true, id_token: 'x' }
        return send(await world.service(FEATURES), { method: 'POST', url: '/token?grant_type=id_token', payload })
      },
    },
  ],
  badJwt: [
    ...ofAll(
      ({ needsToken }) => needsToken,
      (operation) => request(operation, { authorization: 'Bearer x' }),
      { text: NO_JWT },
    ),
    {
      operation: 'post /token',
      text: NO_JWT,
      oauth: 'invalid_request',
      raise: async (world, send) => {
        const payload = { link_identity: true, id_token: 'x' }
        const headers = { authorization: 'Bearer x' }
        return send(await world.service(FEATURES), {
          method: 'POST',
          url: '/token?grant_type=id_token',
          payload,
          headers,
        })
      },
    },
  ],
  notAdmin: ofAll(isForAdmins, (operation) => request(operation, USER)),
  adminNeedsSecondFactor: operations
    .filter(({ name }) => TAKES_AUDIENCE.has(name))
    .map(
      (operation): ErrorCase => ({
        operation: operation.name,
        raise: async (world, send) => {
          const service = await world.service(FEATURES)
          const { user, headers } = await signIn(service, { role: 'service_role' })
          const factor = { user_id: user.id, factor_type: 'totp', status: 'verified' }
          await service.deps.db.insertInto('mfa_factors').values(factorRow(factor)).execute()
          const asked = request(operation, { ...headers, 'x-jwt-aud': 'elsewhere' })
          return send(service, { ...asked, payload: { email: `${user.id}@example.com` } })
        },
      }),
    ),
  malformedId: ofAll(
    ({ path, needsToken }) => needsToken && /\{\w+Id\}/.test(path) && path !== '/admin/users/{userId}',
    (operation) => request(operation, bearerOf(operation), 'x'),
    { text: /^(user|factor|identity|passkey)_id must be an UUID$/ },
  ),
  bodyNotJsonFrom: ofAll(
    ({ method, path, statuses }) => method !== 'GET' && statuses.includes(400) && !isForOperators(path),
    (operation) => ({ ...request(operation, operation.needsToken ? bearerOf(operation) : {}), payload: '{x' }),
    { text: 'Could not parse request body as JSON: the body is not JSON from character 2 on' },
  ),
  unstorableText: ofAll(
    ({ method, path, statuses }) => method === 'GET' && statuses.includes(400) && !isForOperators(path),
    (operation) => {
      const asked = request(operation, operation.needsToken ? bearerOf(operation) : {})
      return { ...asked, url: `${asked.url}?x=%00` }
    },
  ),
  userNotFound: ofAll(
    ({ name }) => /^(get|put|delete) \/admin\/users\/\{userId\}$/.test(name),
    (operation) => request(operation, OPERATOR),
  ),
  customProviderNotFound: ofAll(
    ({ name }) => /^(get|put|delete) \/admin\/custom-providers\/\{identifier\}$/.test(name),
    (operation) => request(operation, OPERATOR, 'custom:none'),
  ),
  passkeysDisabled: ofAll(
    ({ path }) => path.startsWith('/passkeys'),
    (operation) => request(operation, operation.needsToken ? USER : {}),
    { settings: {} },
  ),
  customProvidersDisabled: ofAll(
    ({ path }) => path.startsWith('/admin/custom-providers'),
    (operation) => request(operation, OPERATOR),
    { settings: {} },
  ),
  overRequestRateLimit: operations
    .filter(({ name }) => RATE_LIMITED.has(name))
    .map((operation) => ({
      ...(operation.name === 'post /token' ? { oauth: 'slow_down' } : {}),
      operation: operation.name,
      raise: async (world, send) => {
        const service = await world.service(FEATURES)
        const limited = request(operation, { ...bearerOf(operation), 'x-real-ip': `client ${randomUUID()}` })
        for (let i = 0; i < BURST; i += 1) await service.app.inject(limited)
        return send(service, limited)
      },
    })),
  requestTooLarge: ofAll(
    ({ method, path, statuses }) => method !== 'GET' && statuses.includes(413) && !isForOperators(path),
    (operation) => ({ ...request(operation, operation.needsToken ? bearerOf(operation) : {}), payload: LARGE }),
    { text: /^Request body too large \(max \d+ bytes\)$/ },
  ),
}
