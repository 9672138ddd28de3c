import type { DocumentPages } from '@trestle/common/documents/document-pages.ts'
import { type RenderedPage, wantsPage } from '@trestle/common/documents/front-page.ts'
import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { noteError, toHttpError } from '@trestle/common/errors/error-handler.ts'
import { addressKey } from '@trestle/common/server/address-key.ts'
import { Controller, type Guard, type GuardContext, type RawJson } from '@trestle/endpoints/endpoints.ts'
import { type Operator, readOperator, UnverifiableTokenError } from '@trestle/service/operators/operator.ts'
import { actorOf, type OperatorIdentity, operatorOf } from '../access/actor.ts'
import type { Identity, TokenVerifier } from '../access/token-verifier.ts'
import type { InventoryDeps } from '../deps.ts'
import { errorVocabulary } from '../error-body.ts'
import {
  invalidToken,
  missingToken,
  operatorUnauthorized,
  preconditionRequired,
  readScopeMissing,
  serviceUnavailable,
  tooManyRequests,
  writeScopeMissing,
} from '../errors.ts'
import { matchedVersions, namesTag } from '../requests/entity-tag.ts'
import { recordBody } from '../requests/envelope.ts'
import type { RateLimit } from '../requests/rate-limit.ts'
import { fastifyReplyOf, fastifyRequestOf, noteOn } from './fastify-request.ts'

/** Base of the controllers that are open to everybody. */
export abstract class OpenController extends Controller<InventoryDeps> {
  /**
   * Sends the API document, or a part of the page about it, as the other services do: compressed once for all clients. The
   * framework leaves a reply alone that has been sent.
   * @throws notFound while the documents are switched off
   */
  protected async sendDocument(part: keyof DocumentPages): Promise<void> {
    const request = fastifyRequestOf(this.request)
    const { documentPages } = request.server
    if (documentPages === undefined) throw errorVocabulary.notFound()
    await documentPages[part](request, fastifyReplyOf(this.request))
  }

  /** Sends a page to a browser that asks for one, while the documents are switched on. @returns whether it has */
  protected sendsFrontPage({ html, headers }: RenderedPage): boolean {
    const request = fastifyRequestOf(this.request)
    if (request.server.documentPages === undefined || !wantsPage(request.headers.accept)) return false
    fastifyReplyOf(this.request).headers(headers).send(html)
    return true
  }
}

/** Refuses a client that has sent too many requests. Counts before anything else is known of the request. */
const limitRate: Guard = Object.assign(
  (context: GuardContext) => {
    const { rateLimit } = depsOf(context)
    return rateLimit && countRequest(rateLimit, context.request.ip)
  },
  { responses: { 429: 'More requests of a client in a minute than are allowed, where they are limited' } },
)

/** @throws tooManyRequests when the address has used up its requests of this minute */
async function countRequest(rateLimit: RateLimit, address: string): Promise<void> {
  const seconds = await rateLimit.consume(address)
  if (seconds !== undefined) throw tooManyRequests({ headers: { 'Retry-After': String(seconds) } })
}

/** How a client authenticates, where INVENTORY_AUTH_ENABLED is true. */
const TOKEN = {
  name: 'token',
  scheme: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'An access token with the scope inventory:read or inventory:write. Needed while INVENTORY_AUTH_ENABLED is true; it is false by default',
  },
} as const

/** Refuses a request without a token that has the scope of its method, before the body is read or a record looked up. */
const authorize: Guard = Object.assign(
  async (context: GuardContext) => {
    const { request } = context
    const { tokens } = depsOf(context)
    if (tokens === undefined) return
    const identity = await verifyToken(request.header('authorization'), tokens)
    noteOn(request, { actor: identity.actor })
    requireScope(request.method, identity)
    request.identity = identity
  },
  {
    security: TOKEN,
    responses: { 401: 'No good access token, where authentication is on', 403: 'The token has not the scope' },
  },
)

/** @throws missingToken without a bearer token, invalidToken when the token is not good */
async function verifyToken(authorization: string | undefined, tokens: TokenVerifier): Promise<Identity> {
  const token = /^Bearer +([\w.~+/=-]+)$/i.exec(authorization ?? '')?.[1]
  if (token === undefined) throw missingToken()
  const identity = await tokens.verify(token)
  if (identity === undefined) throw invalidToken()
  return identity
}

/** @throws readScopeMissing for GET and HEAD, writeScopeMissing for other methods, when the token has not the scope */
function requireScope(method: string, { scopes }: Identity): void {
  const isRead = method === 'GET' || method === 'HEAD'
  if (isRead && !scopes.has('inventory:read')) throw readScopeMissing()
  if (!isRead && !scopes.has('inventory:write')) throw writeScopeMissing()
}

/** Base of the controllers that limit requests and check tokens. */
export abstract class InventoryController extends OpenController {
  static override use = [limitRate, authorize]

  /** Whose share of a limit a request uses: that of the token's `sub`, else that of the address. */
  protected get client(): string {
    return actorOf(this.request) ?? addressKey(this.request.ip)
  }

  /**
   * Reads a list, or a piece of one, in its turn. The lists of one client wait for each other, and not the lists of other
   * clients.
   * @throws serviceUnavailable when the turn does not come in time
   */
  protected readInTurn<T>(read: () => Promise<T>): Promise<T> {
    return this.application.context.listTurns.run(read, { client: this.client })
  }

  /**
   * Writes stock or a location in its turn, so that the writes of one client leave connections to others.
   * @throws serviceUnavailable when the turn does not come in time
   */
  protected writeInTurn<T>(write: () => Promise<T>): Promise<T> {
    return this.application.context.stockWrites.run(write, { client: this.client })
  }

  /** Reads a list that may lag behind, in its turn. @throws serviceUnavailable when the turn does not come in time */
  protected readLagging<T>(read: (db: InventoryDeps['db']) => Promise<T>): Promise<T> {
    const { readLagging } = this.application.context
    return this.readInTurn(() => readLagging(read, this.request.signal))
  }

  /** Answers a record with its tag. Undefined, with the status 304, for a client whose `If-None-Match` names the tag. */
  protected answerUnlessKnown(etag: string, json: string): RawJson | undefined {
    this.response.headers.set('etag', etag)
    this.response.headers.set('cache-control', 'no-cache')
    const known = this.request.header('if-none-match')
    if (known === undefined || !namesTag(known, etag)) return recordBody(200, json)
    this.response.status = 304
    return undefined
  }

  /** Adds members to the log line of this request. */
  protected note(fields: Readonly<Record<string, unknown>>): void {
    noteOn(this.request, fields)
  }

  /** The versions that `If-Match` names; undefined accepts any version. @throws preconditionRequired for a missing header */
  protected versionsOf(kind: 'p' | 'l', id: number): readonly number[] | undefined {
    const header = this.request.header('if-match')
    if (header !== undefined) return matchedVersions(header, kind, id)
    if (this.application.context.config.requireIfMatch) throw preconditionRequired()
    return undefined
  }

  /** Logs a fault that happens after the answer has begun. Returns the error that the client may see. */
  protected noteFault(thrown: unknown): HttpError {
    const request = fastifyRequestOf(this.request)
    const error = toHttpError(errorVocabulary, thrown, request)
    noteError(error, request)
    return error
  }

  /** Lifts the timeout of handlers: the request may take as long as the client sends or reads. */
  protected liftDeadline(): void {
    fastifyReplyOf(this.request).liftDeadline()
  }

  /** Disposes of a resource when the answer has ended or was broken off. */
  protected keepUntilClosed(resource: Disposable): void {
    const { raw } = fastifyReplyOf(this.request)
    // An answer that is over already emits no further event.
    if (raw.closed || raw.destroyed) resource[Symbol.dispose]()
    else raw.once('close', () => resource[Symbol.dispose]())
  }

  /** Logs what was done. For a repeated request, which did nothing, sets the header `Idempotent-Replayed`. */
  protected noteRepeat(verdict: 'done' | 'replayed', fields: Readonly<Record<string, unknown>>): void {
    if (verdict === 'done') this.note(fields)
    else this.response.headers.set('idempotent-replayed', 'true')
  }
}

/** How an operator authenticates, where INVENTORY_OPERATOR_KEYS is set. */
const OPERATOR = {
  name: 'operator',
  scheme: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Trestle-Operator-Key',
    description: 'The operator key of a console, beside the access token of the operator who acts as bearer',
  },
} as const

/** Refuses whoever is no operator (console reference: Checks of a request). Without operator keys there is no such path. */
const recognizeOperator: Guard = Object.assign(
  async (context: GuardContext) => {
    const { request } = context
    const { operators } = depsOf(context)
    if (operators === undefined) throw errorVocabulary.notFound()
    const { headers } = fastifyRequestOf(request)
    const operator = await readOperator(operators, { headers, ip: request.ip }).catch(refuseUnverifiable)
    if (operator === undefined) throw operatorUnauthorized()
    noteOn(request, { operator_id: operator.actor.id, operator_key: operator.key })
    request.identity = { actor: operator.actor.id, operator } satisfies OperatorIdentity
  },
  {
    security: OPERATOR,
    responses: { 401: 'No good operator key with a good access token', 404: 'The service has no operator keys' },
  },
)

function refuseUnverifiable(error: unknown): never {
  throw error instanceof UnverifiableTokenError ? serviceUnavailable({ cause: error }) : error
}

/** Base of the controllers of operators. */
export abstract class OperatorController extends OpenController {
  static override use = [recognizeOperator]

  /** Who makes the request. */
  protected get operator(): Operator {
    return operatorOf(this.request)
  }
}

/** What the guards need of the context of the application. */
type GuardDeps = Pick<InventoryDeps, 'rateLimit' | 'tokens' | 'operators'>

/** @throws Error in another application than `buildApp` makes */
function depsOf({ request }: GuardContext): GuardDeps {
  const { context } = request.application
  if (!isGuardDeps(context)) throw new Error('the controllers run in another application')
  return context
}

function isGuardDeps(context: unknown): context is GuardDeps {
  const isObject = typeof context === 'object' && context !== null
  return isObject && ['rateLimit', 'tokens', 'operators'].every((name) => name in context)
}
