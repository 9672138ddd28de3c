import type { HttpError } from '@trestle/common/errors/define-error.ts'
import type { InjectOptions } from 'fastify'
import type { InventoryDeps } from '../../src/deps.ts'
import type * as errors from '../../src/errors.ts'
import { importReport } from '../bodies.ts'
import type { TestReplica } from '../inventory-app.ts'
import type { stockRequests } from '../stock-requests.ts'

/** An answer, from `inject` or from a socket. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** Processes of the service that the cases share. All work on one database. */
export interface World {
  /** Without settings and replacements: a service without a check of access. */
  readonly service: (
    settings?: Readonly<Record<string, string>>,
    instead?: Partial<InventoryDeps>,
  ) => Promise<TestReplica>
  readonly stock: () => Promise<ReturnType<typeof stockRequests>>
  readonly listen: (service: TestReplica) => Promise<number>
  readonly query: (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
  readonly databaseUrl: () => string
}

export interface ErrorCase {
  /** The operation that documents the error, such as `post /locations`. Undefined for a request that reaches no operation. */
  readonly operation?: string | undefined
  /** Default: the error of the catalogue without options. */
  readonly expected?: HttpError
  readonly raise: (world: World) => Promise<Answer>
}

type ErrorName = Exclude<keyof typeof errors, 'RECORD_TEXTS' | 'IMPORT_TEXTS'>

/** The ways to each error, by its name in the catalogue: `errors.ts` and the files that it lists. */
export type ErrorCases = {
  readonly [Name in ErrorName]?: readonly ErrorCase[]
}

export async function send({ app }: TestReplica, request: InjectOptions): Promise<Answer> {
  const { statusCode: status, headers, body } = await app.inject(request)
  return { status, headers, body }
}

export function json(
  method: 'POST' | 'PUT' | 'PATCH',
  url: string,
  payload: object | string,
  headers: Readonly<Record<string, string>> = {},
): InjectOptions {
  return { method, url, payload, headers: { 'content-type': 'application/json', ...headers } }
}

let serial = 0

/** A text that no other case uses. */
export const unique = (): string => `ERROR-${++serial}`

/** The report of an import that ended at a line before a record was stored. */
export const brokenOff = (line: number, stored = 0) => ({
  details: { report: importReport({ received: stored, created: stored, line }) },
})
