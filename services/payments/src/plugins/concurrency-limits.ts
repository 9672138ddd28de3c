import type { ConcurrencyLimitOptions } from '@trestle/common/capacity/concurrency-limit.ts'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { FastifyRequest } from 'fastify'
import { serverBusy } from '../errors.ts'

/** The number of rows and trail entries that one operator may read at the same time. */
export const ROWS_OF_OPERATOR = 500

/** The limit of merchants and their users. The longest list has 1,000 rows. */
export const MEMBER_LIMIT: ConcurrencyLimitOptions = {
  slots: 2_000,
  each: 1_000,
  clientOf: ({ ip }) => addressKey(ip),
  sizeOf,
  refuse: serverBusy,
}

/** The limit of operators, who share the address of a console. It is lower, so that merchants wait for no download. */
export const OPERATOR_LIMIT: ConcurrencyLimitOptions = {
  slots: 1_000,
  each: ROWS_OF_OPERATOR,
  clientOf: ({ operator }) => operator.actor.id,
  sizeOf: sizeOfOperatorRequest,
  refuse: serverBusy,
}

/**
 * The number of rows that an operator's change counts as, and the minimum for an operator's read. A page of one row may scan as
 * many rows as a long page, or use several statements. A change may wait for locked rows. Operators share few connections, so one
 * operator may use two at the same time and leaves the other slots free.
 */
export const ROWS_OF_LONG_READ: number = ROWS_OF_OPERATOR / 2

/** The number of rows that a trail counts as. Most trails have fewer entries, and the longest trails have more. */
export const TRAIL_ENTRIES = 20

/** Returns the number of rows that a request counts as. Returns `undefined` if the request needs no slots or was refused. */
function sizeOf({ query, routeOptions, problem }: FastifyRequest): number | undefined {
  if (problem !== undefined) return undefined
  if (routeOptions.config.rowsCounted !== undefined) return routeOptions.config.rowsCounted
  if (typeof query !== 'object' || query === null || !('limit' in query)) return undefined
  if (typeof query.limit !== 'number') return undefined
  return query.limit * (1 + (routeOptions.config.entriesOfRow ?? 0))
}

function sizeOfOperatorRequest(request: FastifyRequest): number | undefined {
  const rows = request.idempotentRequest ? ROWS_OF_LONG_READ : sizeOf(request)
  return rows === undefined ? undefined : Math.max(rows, ROWS_OF_LONG_READ)
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The number of trail entries counted for each row of this list, in addition to the row itself. */
    readonly entriesOfRow?: number
    /** The number of rows that a request without a `limit` counts as. */
    readonly rowsCounted?: number
  }
}
