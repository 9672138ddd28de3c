import { FairGate } from '@trestle/common/capacity/fair-gate.ts'
import { addressKey } from '@trestle/common/server/address-key.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { serverBusy } from '../errors.ts'

/** The limits of reads at a time, and the client whose turn a request takes. */
interface Turns {
  /** Rows, and entries of trails, that all clients and that one client may have read at a time. */
  readonly rows: { readonly places: number; readonly each: number }
  readonly clientOf: (request: FastifyRequest) => string
}

/** The turns of merchants and their users. The longest list has a thousand rows. */
export const MEMBER_TURNS: Turns = { rows: { places: 2_000, each: 1_000 }, clientOf: ({ ip }) => addressKey(ip) }

/** The turns of operators, who all ask from the address of a console. They are fewer, so that merchants wait for no download. */
export const OPERATOR_TURNS: Turns = {
  rows: { places: 1_000, each: 500 },
  clientOf: ({ operator }) => operator.actor.id,
}
const PATIENCE_MS = 10_000

/**
 * The number of rows that a turn counts for a search. It asks by several statements, and operators share two
 * connections for reads: so one operator has two searches at a time, and leaves places to the others.
 */
export const ROWS_OF_SEARCH: number = OPERATOR_TURNS.rows.each / 2

/** The number of entries that a turn counts for a row with a trail: more than most trails have, and fewer than the longest. */
export const TRAIL_ENTRIES = 20

/**
 * Lets clients take turns with their lists, from the query until the answer, or its first piece, is written. A client that asks
 * for many long lists at once waits for its own lists, and keeps no other client waiting.
 * @throws serverBusy when the turn does not come in time
 */
export const listTurns = fp(
  async (app: FastifyInstance, { rows, clientOf }: Turns) => {
    const gate = new FairGate({ ...rows, patienceMs: PATIENCE_MS, refuse: serverBusy })
    app.decorateRequest('listTurn')
    app.decorateRequest('inListTurn', function inListTurn(size, read) {
      return gate.run(read, { client: clientOf(this), size })
    })
    app.addHook('preHandler', async (request, reply) => {
      const size = sizeOf(request)
      if (size === undefined || request.problem !== undefined) return
      const turn = await gate.enter({ client: clientOf(request), size })
      request.listTurn = turn
      // A client that left while it waited gets no answer, so no later hook ends its turn.
      if (isOver(reply)) turn[Symbol.dispose]()
    })
    app.addHook('onSend', (request, _reply, payload, done) => {
      request.listTurn?.[Symbol.dispose]()
      done(null, payload)
    })
    app.addHook('onResponse', (request, _reply, done) => {
      request.listTurn?.[Symbol.dispose]()
      done()
    })
  },
  { name: 'list-turns', dependencies: ['request-input'] },
)

/** The number of rows that a request asks for; undefined when it asks for no list. */
function sizeOf({ query, routeOptions }: FastifyRequest): number | undefined {
  if (routeOptions.config.rowsOfTurn !== undefined) return routeOptions.config.rowsOfTurn
  if (typeof query !== 'object' || query === null || !('limit' in query)) return undefined
  if (typeof query.limit !== 'number') return undefined
  const rows = query.limit * (1 + (routeOptions.config.entriesOfRow ?? 0))
  return 'search' in query && query.search !== undefined ? Math.max(rows, ROWS_OF_SEARCH) : rows
}

function isOver({ sent, raw }: FastifyReply): boolean {
  return sent || raw.destroyed
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The turn of a list that is read. */
    listTurn: Disposable | undefined
    /** Reads one piece of a long answer when it is the client's turn. `size`: the rows of the piece. */
    inListTurn<T>(size: number, read: () => Promise<T>): Promise<T>
  }
  interface FastifyContextConfig {
    /** The number of entries that a turn counts for a row of this list, beside the row. */
    readonly entriesOfRow?: number
    /** The number of rows that a turn counts for a list that has no `limit`. */
    readonly rowsOfTurn?: number
  }
}
