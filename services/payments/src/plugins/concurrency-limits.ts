import type { ConcurrencyLimitOptions } from '@trestle/common/capacity/concurrency-limit.ts'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { FastifyRequest } from 'fastify'
import { serverBusy } from '../errors.ts'

/** The rows, and entries of trails, that one operator may have read at a time. */
export const ROWS_OF_OPERATOR = 500

/** The limit of merchants and their users. The longest list has a thousand rows. */
export const MEMBER_LIMIT: ConcurrencyLimitOptions = {
  slots: 2_000,
  each: 1_000,
  clientOf: ({ ip }) => addressKey(ip),
  sizeOf,
  refuse: serverBusy,
}

/** The limit of operators, who all ask from the address of a console. They are fewer, so that merchants wait for no download. */
export const OPERATOR_LIMIT: ConcurrencyLimitOptions = {
  slots: 1_000,
  each: ROWS_OF_OPERATOR,
  clientOf: ({ operator }) => operator.actor.id,
  sizeOf: sizeOfOperatorRequest,
  refuse: serverBusy,
}

/**
 * The number of rows that count for a change of an operator, and the least for a read. A page of one row may
 * walk as many as a long one, or ask by several statements, a change may wait for its rows, and operators share few
 * connections: so one operator has two of them at a time, and leaves slots to the others.
 */
export const ROWS_OF_LONG_READ: number = ROWS_OF_OPERATOR / 2

/** The number of entries that count for a row with a trail: more than most trails have, and fewer than the longest. */
export const TRAIL_ENTRIES = 20

/** The number of rows that a request counts for; undefined when it takes no slots, or was refused. */
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
    /** The number of entries that count for a row of this list, beside the row. */
    readonly entriesOfRow?: number
    /** The number of rows that count for a request without a `limit`. */
    readonly rowsCounted?: number
  }
}
