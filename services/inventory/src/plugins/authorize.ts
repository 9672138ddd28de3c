import type { Guard, GuardContext } from '@trestle/endpoints/endpoints.ts'
import { type Operator, readOperator, UnverifiableTokenError } from '@trestle/operators/operator.ts'
import type { OperatorAction } from '@trestle/operators/operator-roles.ts'
import { requireAction } from '@trestle/operators/operator-routes.ts'
import type { Identity, OperatorIdentity } from '../access/actor.ts'
import type { TokenVerifier } from '../access/token-verifier.ts'
import type { InventoryDeps } from '../deps.ts'
import {
  invalidToken,
  missingToken,
  notFound,
  operatorForbidden,
  operatorUnauthorized,
  readScopeMissing,
  serviceUnavailable,
  tooManyRequests,
  writeScopeMissing,
} from '../errors.ts'
import { addLogFields, fastifyReplyOf, fastifyRequestOf } from './fastify-request.ts'

/**
 * The operator's action for each method of a controller (console reference: Actions). HEAD needs the action of GET. Operators may
 * not use a method without an action.
 */
export type MethodActions = Readonly<Partial<Record<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', OperatorAction>>>

/**
 * Returns the guards of a controller for clients with a token, and for operators with their two credentials. They run before the
 * service reads the body or a record.
 */
export function guardsFor(actions: MethodActions): readonly Guard[] {
  return [limitRate, Object.assign((context: GuardContext) => authorize(context, actions), TOKEN_ANSWERS)]
}

/** Guards for operators only. Without operator keys the path does not exist. */
export function operatorGuardsFor(actions: MethodActions): readonly Guard[] {
  const guard = async (context: GuardContext) => {
    const { operators } = depsOf(context)
    if (operators === undefined) throw notFound({})
    await judgeOperator(context, operators, actions)
  }
  return [Object.assign(guard, OPERATOR_ANSWERS)]
}

const LIMIT_ANSWERS = {
  429: 'More requests of a client in a minute than are allowed, where they are limited',
} as const

/**
 * Refuses a client that has sent too many requests. Counts each request before any other check. A request with an operator key is
 * counted later, because all operators share the console's address.
 */
const limitRate: Guard = Object.assign(
  async (context: GuardContext) => {
    const deps = depsOf(context)
    if (operatorsOf(context) === undefined) await countRequest(deps, context.request.ip)
  },
  { responses: LIMIT_ANSWERS },
)

/** @throws tooManyRequests if the client has used up its requests for this minute */
async function countRequest({ rateLimits }: Pick<GuardDeps, 'rateLimits'>, client: string): Promise<void> {
  const seconds = await rateLimits?.consume(client)
  if (seconds !== undefined) throw tooManyRequests({ headers: { 'Retry-After': String(seconds) } })
}

/** The access rules of operators. `undefined` if the request has no operator key. */
function operatorsOf(context: GuardContext): GuardDeps['operators'] {
  return context.request.header('x-trestle-operator-key') === undefined ? undefined : depsOf(context).operators
}

/** The authentication of clients, if `INVENTORY_AUTH_ENABLED` is `true`. */
const TOKEN_ANSWERS = {
  security: {
    name: 'token',
    scheme: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description:
        'An access token with the scope inventory:read or inventory:write. Needed while INVENTORY_AUTH_ENABLED is true; it is false by default',
    },
  },
  responses: { 401: 'No good access token, where authentication is on', 403: 'The token lacks the scope' },
} as const

/**
 * Refuses a request whose token lacks the scope for its method. A request with an operator key is checked only as an operator's
 * request.
 */
async function authorize(context: GuardContext, actions: MethodActions): Promise<void> {
  const { request } = context
  const { tokenVerifier } = depsOf(context)
  const operators = operatorsOf(context)
  if (operators !== undefined) return judgeOperator(context, operators, actions)
  if (tokenVerifier === undefined) return
  const identity = await verifyToken(request.header('authorization'), tokenVerifier)
  addLogFields(request, { actor: identity.actor })
  requireScope(request.method, identity)
  request.identity = identity
  await fastifyReplyOf(request).countForCaller(identity.actor)
}

/** @throws missingToken if there is no bearer token, invalidToken if it is invalid */
async function verifyToken(authorization: string | undefined, verifier: TokenVerifier): Promise<Identity> {
  const token = /^Bearer +([\w.~+/=-]+)$/i.exec(authorization ?? '')?.[1]
  if (token === undefined) throw missingToken()
  const identity = await verifier.verify(token)
  if (identity === undefined) throw invalidToken()
  return identity
}

/** @throws readScopeMissing for GET and HEAD, writeScopeMissing for other methods, if the token lacks the scope */
function requireScope(method: string, { scopes }: Identity): void {
  const isRead = method === 'GET' || method === 'HEAD'
  if (isRead && !scopes.has('inventory:read')) throw readScopeMissing()
  if (!isRead && !scopes.has('inventory:write')) throw writeScopeMissing()
}

/** The authentication of operators, if `INVENTORY_OPERATOR_KEYS` is set. */
const OPERATOR_ANSWERS = {
  security: {
    name: 'operator',
    scheme: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Trestle-Operator-Key',
      description: 'The operator key of a console, beside the access token of the operator who acts as bearer',
    },
  },
  responses: {
    ...LIMIT_ANSWERS,
    401: 'No good operator key with a good access token',
    404: 'The service has no operator keys',
  },
} as const

/** @throws tooManyRequests; the errors of `admitOperator` */
async function judgeOperator(
  context: GuardContext,
  operators: NonNullable<GuardDeps['operators']>,
  actions: MethodActions,
): Promise<void> {
  const operator = await findOperator(context, operators)
  // Count operators' requests by user. A forwarded address could belong to any client or differ in each request.
  await countRequest(depsOf(context), operator === undefined ? context.request.ip : `operator ${operator.actor.id}`)
  await admitOperator(context, operator, actions)
}

/** @throws serviceUnavailable while the token cannot be verified */
function findOperator(
  { request }: GuardContext,
  operators: NonNullable<GuardDeps['operators']>,
): Promise<Operator | undefined> {
  const { headers } = fastifyRequestOf(request)
  return readOperator(operators, { headers, ip: request.ip }).catch(refuseUnverifiable)
}

/**
 * Checks whether an operator may use the method of a request (console reference: Checks of a request).
 * @throws operatorUnauthorized, operatorForbidden, or serverBusy if there is no slot for the body
 */
async function admitOperator(
  { request }: GuardContext,
  operator: Operator | undefined,
  actions: MethodActions,
): Promise<void> {
  if (operator === undefined) throw operatorUnauthorized()
  addLogFields(request, { operator_id: operator.actor.id, operator_key: operator.key })
  const method = request.method === 'HEAD' ? 'GET' : request.method
  requireAction(operator.role, new Map(Object.entries(actions)).get(method), operatorForbidden)
  request.identity = { actor: operator.actor.id, operator } satisfies OperatorIdentity
  await fastifyReplyOf(request).countForCaller(operator.actor.id)
}

function refuseUnverifiable(error: unknown): never {
  throw error instanceof UnverifiableTokenError ? serviceUnavailable({ cause: error }) : error
}

type GuardDeps = Pick<InventoryDeps, 'rateLimits' | 'tokenVerifier' | 'operators'>

/** @throws Error in an application that `buildApp` has not created */
function depsOf({ request }: GuardContext): GuardDeps {
  const { context } = request.application
  if (!isGuardDeps(context)) throw new Error('the controllers run in another application')
  return context
}

function isGuardDeps(context: unknown): context is GuardDeps {
  const isObject = typeof context === 'object' && context !== null
  return isObject && ['rateLimits', 'tokenVerifier', 'operators'].every((name) => name in context)
}
