import type { DocumentPages } from '@trestle/common/documents/document-pages.ts'
import { type RenderedPage, wantsPage } from '@trestle/common/documents/front-page.ts'
import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { logError, toHttpError } from '@trestle/common/errors/error-handler.ts'
import { addressKey } from '@trestle/common/server/address-key.ts'
import { Controller, type RawJson } from '@trestle/endpoints/endpoints.ts'
import type { Operator } from '@trestle/operators/operator.ts'
import { actorOf, findOperator, operatorOf } from '../access/actor.ts'
import type { InventoryDeps } from '../deps.ts'
import { errorVocabulary } from '../error-body.ts'
import { notFound, preconditionRequired } from '../errors.ts'
import type { Audited } from '../operators/operator-change.ts'
import { cutPage, listingById, type PageLimits, pageLinks, positionById, readPage } from '../pagination/page.ts'
import { matchedVersions, namesTag, recordBody } from '../requests/answers.ts'
import type { PageKeywords } from '../requests/fields.ts'
import { addLogFields, fastifyReplyOf, fastifyRequestOf } from './fastify-request.ts'

/** The base of controllers without access control. */
export abstract class OpenController extends Controller<InventoryDeps> {
  /**
   * Sends the API document or a part of its page like the other services: compressed once for all clients. The framework skips a
   * reply that was already sent.
   * @throws notFound if the documents are disabled
   */
  protected async sendDocument(part: keyof DocumentPages): Promise<void> {
    const request = fastifyRequestOf(this.request)
    const { documentPages } = request.server
    if (documentPages === undefined) throw notFound({})
    await documentPages[part](request, fastifyReplyOf(this.request))
  }

  /** Sends a page if a browser requests one and documents are enabled. @returns whether it was sent */
  protected sendsFrontPage({ html, headers }: RenderedPage): boolean {
    const request = fastifyRequestOf(this.request)
    if (request.server.documentPages === undefined || !wantsPage(request.headers.accept)) return false
    fastifyReplyOf(this.request).headers(headers).send(html)
    return true
  }
}

interface WantedPage {
  readonly path: string
  /** The sort and filters of the list, to which a cursor is bound. */
  readonly selection?: string | undefined
  readonly keywords: PageKeywords
  readonly limits: PageLimits
}

interface RowsBehind {
  /** The id after which to read. 0 reads from the first row. */
  readonly after: number
  readonly limit: number
}

/** The base of controllers with a known client. */
abstract class ClientController extends OpenController {
  /** The client for limits: the token's `sub`, otherwise the IP address. */
  protected get client(): string {
    return actorOf(this.request) ?? addressKey(this.request.ip)
  }

  /**
   * Reads a list, or a part of it, in a slot. The lists of one client wait for each other, but not for the lists of other
   * clients.
   * @throws serviceUnavailable if no slot is free in time
   */
  protected withListSlot<T>(read: () => Promise<T>): Promise<T> {
    return this.application.context.listReads.run(read, { client: this.client })
  }

  /** Reads a list that may lag behind, in a slot. @throws serviceUnavailable if no slot is free in time */
  protected readLagging<T>(read: (db: InventoryDeps['db']) => Promise<T>): Promise<T> {
    const { readLagging } = this.application.context
    return this.withListSlot(() => readLagging(read, this.request.signal))
  }

  /**
   * Reads a page of a list by id, and sets the header `Link`.
   * @param read gets a limit of one row more than the page, to see whether there is a next page
   * @throws limitTooHigh for too many rows, cursorForeign for a cursor of another list
   */
  protected async readPageById<Row extends { readonly id: number }>(
    { path, selection, keywords, limits }: WantedPage,
    read: (behind: RowsBehind) => Promise<readonly Row[]>,
  ): Promise<readonly Row[]> {
    const listing = { ...listingById(path), selection }
    const { limit, after } = readPage(listing, limits, keywords)
    const found = await read({ after: Number(after?.[0] ?? 0), limit: limit + 1 })
    const page = cutPage(listing, limit, found, positionById)
    this.linkPages(path, page.next)
    return page.rows
  }

  /** Sets the header `Link` of a list. @param next the cursor of the next page, `undefined` on the last page */
  protected linkPages(path: string, next: string | undefined): void {
    this.response.headers.set('link', pageLinks({ path, query: this.request.query, next }))
  }

  protected addLogFields(fields: Readonly<Record<string, unknown>>): void {
    addLogFields(this.request, fields)
  }

  /** Disables the timeout of handlers, so that the request lasts as long as the client sends or reads. */
  protected liftDeadline(): void {
    fastifyReplyOf(this.request).liftDeadline()
  }

  /** Logs the effect. An idempotent request has no effect and gets the header `Idempotent-Replayed`. */
  protected logOrMarkReplayed(verdict: 'done' | 'replayed', fields: Readonly<Record<string, unknown>>): void {
    if (verdict === 'done') this.addLogFields(fields)
    else this.response.headers.set('idempotent-replayed', 'true')
  }
}

/** The base of controllers that limit requests and check tokens, with the guards of `guardsFor`. */
export abstract class InventoryController extends ClientController {
  /**
   * Writes stock in a slot, so that one client leaves connections for other clients.
   * @throws serviceUnavailable if no slot is free in time
   */
  protected writeWithSlot<T>(write: () => Promise<T>): Promise<T> {
    return this.application.context.stockWrites.run(write, { client: this.client })
  }

  /**
   * Makes a change in a slot. Operators have few slots of their own.
   * @param gate the gate whose slots the change uses
   * @throws serviceUnavailable if no slot is free in time
   */
  protected changeWithSlot<Made>(
    gate: 'productWrites' | 'stockWrites',
    change: (audited: Audited) => Promise<Made>,
  ): Promise<Made> {
    const operator = findOperator(this.request)
    const { client } = this
    const { [gate]: writes, operatorWrites } = this.application.context
    if (operator === undefined) return writes.run(() => change({}), { client })
    const operatorChange = { operator, key: this.request.header('idempotency-key') }
    return operatorWrites.run(() => writes.run(() => change({ operatorChange }), { client }), { client })
  }

  /** Answers a record with its tag, or 304 and `undefined` if the client's `If-None-Match` contains the tag. */
  protected answerUnlessKnown(etag: string, json: string): RawJson | undefined {
    this.response.headers.set('etag', etag)
    this.response.headers.set('cache-control', 'no-cache')
    const known = this.request.header('if-none-match')
    if (known === undefined || !namesTag(known, etag)) return recordBody(200, json)
    this.response.status = 304
    return undefined
  }

  /**
   * Returns the versions in `If-Match`. `undefined` accepts any version.
   * @throws preconditionRequired if the header is missing and the client is an operator or the service requires the header
   */
  protected versionsOf(kind: 'p' | 'l', id: number): readonly number[] | undefined {
    const header = this.request.header('if-match')
    if (header !== undefined) return matchedVersions(header, kind, id)
    const isOperator = findOperator(this.request) !== undefined
    if (isOperator || this.application.context.config.requireIfMatch) throw preconditionRequired()
    return undefined
  }

  protected toShown(thrown: unknown): HttpError {
    return toHttpError(errorVocabulary, thrown, fastifyRequestOf(this.request))
  }

  /** Logs a fault after the answer has begun. Returns the error that the client may see. */
  protected logFault(thrown: unknown): HttpError {
    const error = this.toShown(thrown)
    logError(error, fastifyRequestOf(this.request))
    return error
  }

  /** Disposes of a resource when the answer has ended or was interrupted. */
  protected keepUntilClosed(resource: Disposable): void {
    const { raw } = fastifyReplyOf(this.request)
    // An answer that has already ended emits no further event.
    if (raw.closed || raw.destroyed) resource[Symbol.dispose]()
    else raw.once('close', () => resource[Symbol.dispose]())
  }
}

/** The base of controllers for operators, with the guards of `operatorGuardsFor`. */
export abstract class OperatorController extends ClientController {
  protected get operator(): Operator {
    return operatorOf(this.request)
  }
}
