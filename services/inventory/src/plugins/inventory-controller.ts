import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { noteError, toHttpError } from '@trestle/common/errors/error-handler.ts'
import { addressKey } from '@trestle/common/server/address-key.ts'
import { type Application, Controller, type Guard, type GuardContext } from '@trestle/endpoints/endpoints.ts'
import type { FastifyReply } from 'fastify'
import { actorOf } from '../access/actor.ts'
import type { InventoryDeps } from '../deps.ts'
import { errorVocabulary } from '../error-vocabulary.ts'
import { preconditionRequired } from '../errors.ts'
import { matchedVersions } from '../products/entity-tag.ts'
import { authorize } from './authorize.ts'
import { fastifyRequestOf, noteOn } from './fastify-request.ts'
import { limitRate } from './limit-rate.ts'

/** Base of the controllers that answer everybody. */
export abstract class OpenController extends Controller<InventoryDeps> {}

/** Asks whether the client has come too often, where that is limited. */
const countClient: Guard = Object.assign(
  (context: GuardContext) => {
    const { clientLimit } = depsOf(context)
    return clientLimit && limitRate(clientLimit, context)
  },
  { responses: { 429: 'More requests of a client in a minute than are allowed, where they are limited' } },
)

/** Asks for a token where authentication is on. */
const knowCaller: Guard = Object.assign((context: GuardContext) => authorize(depsOf(context).tokens, context), {
  responses: { 401: 'No good access token, where authentication is on', 403: 'The token has not the scope' },
})

/** Base of the controllers that ask who calls, and how often. */
export abstract class InventoryController extends OpenController {
  static override use = [countClient, knowCaller]

  /** Whose part of what is limited a request takes: the caller's, else that of the network it comes from. */
  protected get client(): string {
    return actorOf(this.request) ?? addressKey(this.request.ip)
  }

  /**
   * Reads a list, or a piece of one, in its turn: the lists of one client follow each other, and keep no other client waiting.
   * @throws serviceUnavailable when the turn does not come in time
   */
  protected readInTurn<T>(read: () => Promise<T>): Promise<T> {
    return this.application.context.listTurns.run(read, { client: this.client })
  }

  /**
   * Writes stock or a location in its turn: the writes of one client leave connections to others.
   * @throws serviceUnavailable when the turn does not come in time
   */
  protected writeInTurn<T>(write: () => Promise<T>): Promise<T> {
    return this.application.context.stockWrites.run(write, { client: this.client })
  }

  /** Adds members to the log line of this request. */
  protected note(fields: Readonly<Record<string, unknown>>): void {
    noteOn(this.request, fields)
  }

  /** The versions that a change may be based on; undefined takes any. @throws preconditionRequired where one has to be named */
  protected versionsOf(kind: 'p' | 'l', id: number): readonly number[] | undefined {
    const header = this.request.header('if-match')
    if (header !== undefined) return matchedVersions(header, kind, id)
    if (this.application.context.config.requireIfMatch) throw preconditionRequired()
    return undefined
  }

  /** Logs a fault that comes when the answer has begun. Returns what the client may know of it. */
  protected noteFault(thrown: unknown): HttpError {
    const request = fastifyRequestOf(this.request)
    const error = toHttpError(errorVocabulary, thrown, request)
    noteError(error, request)
    return error
  }

  /** Lets this request take as long as there is something to send or to read. */
  protected liftDeadline(): void {
    this.#reply.liftDeadline()
  }

  /** Keeps something until the answer is over, however it ends. */
  protected keepUntilClosed(kept: Disposable): void {
    const { raw } = this.#reply
    // Of an answer that is over already nobody would hear again.
    if (raw.closed || raw.destroyed) kept[Symbol.dispose]()
    else raw.once('close', () => kept[Symbol.dispose]())
  }

  get #reply(): FastifyReply {
    const [reply] = this.request.raw.extra
    // What comes with a request of Fastify.
    return reply as FastifyReply
  }

  /** Tells of what was done in the log line; of what was done before, in a header. */
  protected noteRepeat(verdict: 'done' | 'replayed', fields: Readonly<Record<string, unknown>>): void {
    if (verdict === 'done') this.note(fields)
    else this.response.headers.set('idempotent-replayed', 'true')
  }
}

function depsOf({ request }: GuardContext): InventoryDeps {
  // Of the one application that has these controllers.
  return (request.application as Application<InventoryDeps>).context
}
